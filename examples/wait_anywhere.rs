//! One function that waits, for every kind of caller: `.await` in async code, `.wait()` anywhere else.
//!
//! Where it is called decides what is suspended: a thread parks, a strand is put aside, and inside a task's poll the stack
//! is parked while the worker goes on. So it is no mistake to wait there, on a single worker either.

use ropewalk::{Runtime, Wait, strand};

/// What a library offers to async code.
async fn length_of(rope: &'static str) -> usize {
    ropewalk::spawn(async move {
        ropewalk::yield_now().await; // as if it had to be fetched
        rope.len()
    })
    .await
    .expect("it neither panics nor is it cancelled")
}

/// What it offers to everybody else. It knows nothing of its caller.
fn length_of_now(rope: &'static str) -> usize {
    length_of(rope).wait()
}

/// Code in the middle that is not async, and need not become so.
fn longest(ropes: &[&'static str]) -> usize {
    ropes.iter().map(|rope| length_of_now(rope)).max().unwrap_or(0)
}

fn main() {
    const ROPES: [&str; 3] = ["warp", "hawser", "line"];
    println!("on a thread:      {}", longest(&ROPES));

    let runtime = Runtime::builder().worker_threads(1).build().expect("one thread can be had");
    let in_a_task = runtime.spawn(async {
        // In the middle of a poll. The one worker serves the tasks we wait for meanwhile.
        longest(&ROPES)
    });
    println!("inside a poll:    {}", in_a_task.wait().expect("it does not panic"));

    let on_a_strand = runtime.spawn(async {
        let strand = strand::spawn_local(|| longest(&ROPES)).expect("we are on a worker");
        strand.await.expect("it does not panic")
    });
    println!("on a strand:      {}", on_a_strand.wait().expect("it does not panic"));
    println!("in async code:    {}", runtime.block_on(length_of("hawser")));

    let parked = runtime.metrics().total(|worker| worker.waits_in_poll);
    println!("stacks parked in the middle of a poll: {parked}");
    assert_eq!(longest(&ROPES), 6);
    assert!(parked >= 3, "one for each rope");
}
