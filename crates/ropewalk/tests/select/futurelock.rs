//! A future that is kept outside of `select!` and has a place in a queue while nobody polls it.

use ropewalk::sync::{Mutex, RwLock, Semaphore};
use ropewalk::{Runtime, select, yield_now};
use std::future::{Future, ready};
use std::pin::pin;
use std::sync::Arc;

/// One task holds the thing; another queues for it with a future that it keeps, and then, in an arm, with a second one.
/// The thing is given back after that, or before the arm asks. True: the arm got it.
fn arm_gets<L, G, F>(thing: L, take: fn(&'static L) -> F, given_back_first: bool) -> bool
where
    L: Send + Sync + 'static,
    F: Future<Output = G> + Send + 'static,
    G: Send,
{
    let thing: &'static L = Box::leak(Box::new(thing));
    let runtime = Runtime::builder().worker_threads(0).build().unwrap();
    let done = Arc::new(());
    let (holds, kept) = (done.clone(), Arc::downgrade(&done));
    drop(done);
    drop(runtime.spawn(async move {
        let held = take(thing).await;
        for _ in 0..if given_back_first { 2 } else { 6 } {
            yield_now().await;
        }
        drop(held);
    }));
    drop(runtime.spawn(async move {
        let _holds = holds;
        yield_now().await;
        let mut first = pin!(take(thing));
        select! {
            biased;
            _ = first.as_mut() => panic!("it is held by the other task"),
            () = ready(()) => {
                for _ in 0..if given_back_first { 6 } else { 0 } {
                    yield_now().await;
                }
                drop(take(thing).await); // nobody polls `first` meanwhile
            }
        }
        first.await;
    }));
    runtime.run_until_stalled().unwrap();
    kept.upgrade().is_none()
}

#[test]
fn an_arm_overtakes_the_future_of_its_own_task() {
    for given_back_first in [true, false] {
        assert!(
            arm_gets(Mutex::new(()), |lock| lock.lock(), given_back_first),
            "a mutex, {given_back_first}"
        );
        assert!(
            arm_gets(RwLock::new(()), |lock| lock.write(), given_back_first),
            "to write, {given_back_first}"
        );
        assert!(
            arm_gets(Semaphore::new(1), |one| one.acquire(), given_back_first),
            "a permit, {given_back_first}"
        );
    }
}

/// The usual way: what `select!` owns is gone before the arm runs.
#[test]
fn what_is_given_to_select_leaves_its_queue_before_the_arm_runs() {
    let runtime = Runtime::builder().worker_threads(0).build().unwrap();
    let lock: &'static Mutex<()> = Box::leak(Box::default());
    drop(runtime.spawn(async {
        let _held = lock.lock().await;
        for _ in 0..4 {
            yield_now().await;
        }
    }));
    let task = runtime.spawn(async {
        yield_now().await;
        select! {
            biased;
            _ = lock.lock() => panic!("it is held by the other task"),
            () = ready(()) => drop(lock.lock().await),
        }
    });
    runtime.run_until_stalled().unwrap();
    assert!(task.is_finished());
}
