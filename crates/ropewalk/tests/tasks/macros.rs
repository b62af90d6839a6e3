//! The attributes, as users write them. What they refuse is in `tests/ui.rs`.

use ropewalk::{Handle, Wait, spawn, spawn_local, task, time, yield_now};
use std::time::Duration;

#[ropewalk::test]
async fn a_test_has_a_root() {
    assert_eq!(spawn(async { 2 }).await.unwrap(), 2);
    assert!(task::id().is_some(), "on a thread of its own, the root is a task");
}

/// Without `threads` everything runs here, also what is not `Send`.
#[ropewalk::test]
async fn a_test_is_single_threaded() {
    let here = std::thread::current().id();
    let rc = std::rc::Rc::new(5);
    let local = spawn_local(async move { (*rc, std::thread::current().id()) }).unwrap();
    assert_eq!(local.await.unwrap(), (5, here));
    assert_eq!(spawn(async { std::thread::current().id() }).await.unwrap(), here);
}

#[ropewalk::test(threads = 2)]
async fn threads() {
    assert_eq!(Handle::current().metrics().pools[0].active, 2);
    let there = spawn(async { std::thread::current().id() }).await.unwrap();
    assert_ne!(there, std::thread::current().id());
}

#[ropewalk::test(threads = 0)]
async fn no_threads() {
    assert_eq!(spawn(async { std::thread::current().id() }).await.unwrap(), std::thread::current().id());
}

#[ropewalk::test]
fn a_plain_function_waits() {
    assert_eq!(spawn(async { 3 }).wait().unwrap(), 3);
}

#[ropewalk::test(threads = 1)]
fn a_plain_function_waits_beside_threads() {
    assert_eq!(spawn(async { 3 }).wait().unwrap(), 3);
}

#[ropewalk::test]
async fn a_result() -> Result<(), Box<dyn std::error::Error>> {
    let number: u32 = "17".parse()?;
    assert_eq!(spawn(async move { number }).await?, 17);
    Ok(())
}

#[ropewalk::test]
#[should_panic = "as it should"]
async fn other_attributes_count() {
    yield_now().await;
    panic!("as it should");
}

#[ropewalk::test]
#[ignore = "to see that it is"]
async fn an_ignored_one() {
    unreachable!("it is ignored");
}

#[ropewalk::test(threads = 60000)]
#[should_panic(expected = "#[ropewalk::test]: worker_threads: 60000 is not possible; accepted: 1 to 1024")]
async fn what_the_builder_refuses_is_told() {}

/// An hour takes no time, and things happen in the order of their deadlines.
#[ropewalk::test(paused)]
async fn paused() {
    let (hour, real) = (Duration::from_secs(3600), std::time::Instant::now());
    let from = time::Instant::now();
    let naps: Vec<_> = [3, 1, 2]
        .map(|hours| {
            spawn(async move {
                time::sleep(hour * hours).await;
                from.elapsed()
            })
        })
        .into();
    for (nap, hours) in naps.into_iter().zip([3, 1, 2]) {
        assert_eq!(nap.await.unwrap(), hour * hours);
    }
    assert!(real.elapsed() < hour);
}

#[ropewalk::test(paused, threads = 0, seed = 5)]
fn paused_in_a_plain_function() {
    let from = time::Instant::now();
    time::sleep(Duration::from_secs(60)).wait();
    assert_eq!(from.elapsed(), Duration::from_secs(60));
}

mod renamed {
    mod deep {
        pub use ::ropewalk as other;
    }

    #[deep::other::test(crate = deep::other)]
    async fn under_another_name() {
        assert_eq!(deep::other::spawn(async { 1 }).await.unwrap(), 1);
    }
}

/// Names that are keywords, and options from a macro's variables.
macro_rules! make {
    ($name:ident, $threads:literal) => {
        #[ropewalk::test(threads = $threads)]
        pub(crate) async fn $name() {
            assert_eq!(Handle::current().metrics().pools[0].active, $threads);
        }
    };
}
make!(r#match, 3);

#[test]
fn main_runs_in_the_default_runtime() {
    #[ropewalk::main]
    async fn main() -> u32 {
        spawn(async { 4 }).await.unwrap()
    }
    assert_eq!(main(), 4);
}

#[test]
fn main_with_options_has_a_runtime_of_its_own() {
    #[ropewalk::main(threads = 3)]
    async fn main() -> usize {
        Handle::current().metrics().pools[0].active
    }
    assert_eq!(main(), 3);
    #[ropewalk::main(single)]
    async fn single() -> bool {
        spawn(async { std::thread::current().id() }).await.unwrap() == std::thread::current().id()
    }
    assert!(single());
}
