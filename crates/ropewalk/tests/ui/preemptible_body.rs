//! Mistakes in the body are shown where they are.

#[ropewalk::preemptible]
async fn in_async_code(items: Vec<u32>) -> u32 {
    for item in items {
        let text: String = item;
    }
    "no number"
}

#[ropewalk::preemptible(calls)]
fn in_plain_code(items: &[u32]) -> u32 {
    let mut sum = 0;
    for item in items {
        sum += missing(item);
        if sum > 3 {
            break sum;
        }
    }
    items.len()
}

fn main() {}
