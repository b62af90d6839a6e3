//! Tasks that belong together. A task ends after its children, so cancelling one at the root ends the whole tree.

use ropewalk::{TaskError, TaskGroup, task_group};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

fn main() {
    ropewalk::block_on(async {
        together().await;
        the_first_failure().await;
        a_tree_cancelled_at_its_root().await;
    });
}

/// Results in the order of spawning, or as they come.
async fn together() {
    let squares = task_group(|group| {
        for n in 1..=4 {
            group.spawn(async move { n * n });
        }
    });
    let squares: Vec<u32> = squares.await.into_iter().map(Result::unwrap).collect();
    println!("in the order of spawning: {squares:?}");

    let mut group = TaskGroup::new();
    group.spawn(async { "a task" });
    group.spawn_blocking(|| "a job on a thread of its own");
    while let Some(from) = group.join_next().await {
        println!("joined {}", from.expect("neither panics"));
    }
}

/// With `fail_fast` the first failure cancels the others.
async fn the_first_failure() {
    let ends = task_group(|group| {
        group.fail_fast(true).fail_on(Result::is_err);
        group.spawn(pending());
        group.spawn(async { Err::<u32, _>("the rope broke") });
    });
    let ends = ends.await;
    println!("the first failed, so the other is {:?}", ends[0]);
    assert!(matches!(ends[0], Err(TaskError::Cancelled)));
    assert_eq!(*ends[1].as_ref().unwrap(), Err("the rope broke"));
}

/// One of those that are alive.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, SeqCst);
        Self(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// A task with two children, each of which has two, and so on; the leaves wait for ever.
fn grow(depth: u32, alive: Arc<AtomicUsize>) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let _alive = Alive::new(&alive);
        if depth == 0 {
            return pending().await;
        }
        let mut group = TaskGroup::new();
        for _ in 0..2 {
            group.spawn(grow(depth - 1, alive.clone()));
        }
        if depth.is_multiple_of(2) {
            std::mem::forget(group); // does not matter: they are children of this task all the same
            return pending().await;
        }
        group.join_all().await;
    })
}

async fn a_tree_cancelled_at_its_root() {
    let alive = Arc::new(AtomicUsize::new(0));
    let root = ropewalk::spawn(grow(7, alive.clone()));
    while alive.load(SeqCst) < 255 {
        ropewalk::yield_now().await;
    }
    root.cancel();
    let end = root.await; // when this completes, nothing of the tree runs any more
    println!("the root says {end:?}, and of 255 tasks {} are left", alive.load(SeqCst));
    assert_eq!(alive.load(SeqCst), 0);
}
