//! Start tasks, then wait for what they give.
//!
//! A task runs from the moment it is spawned, whether or not somebody waits for it. Its handle is a future of its result.

/// How many bytes of rope a word takes.
async fn lay(word: &'static str) -> usize {
    ropewalk::yield_now().await; // others may go first
    word.len()
}

fn main() {
    // Outside of any runtime the default one is used: as many workers as there are cores.
    let total = ropewalk::block_on(async {
        let tasks = ["hemp", "yarn", "strand", "rope"].map(|word| (word, ropewalk::spawn(lay(word))));
        let mut total = 0;
        for (word, task) in tasks {
            let length = task.await.expect("it neither panics nor is it cancelled");
            println!("{word:>6}: {length}");
            total += length;
        }
        total
    });
    println!("total: {total}");
    assert_eq!(total, 18);
}
