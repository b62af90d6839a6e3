//! What is heard of an interruption, and of what a destructor leaves: in processes of their own, for it is on standard error.

use crate::kit::{self, ON_PURPOSE};
use crate::{AGES, thrown};
use ropewalk::strand::{self, Interrupted, StrandError};
use ropewalk::{Runtime, Wait, sync::Notify};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The output of the test of this name, unless this is it.
fn as_child(name: &str) -> Option<Output> {
    (!kit::is_child()).then(|| kit::run_as_child(&format!("heard::{name}"), |_| {}))
}

/// A strand in the middle of `f` is cancelled, and says how it ended.
fn interrupted<T: Send>(f: impl FnOnce() -> T + Send) -> Result<T, StrandError> {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let began = Notify::new();
    runtime.run(|| {
        strand::scope(|s| {
            let child = s.spawn(|| {
                began.notify_one();
                f()
            });
            began.notified().wait();
            child.cancel();
            child.try_join()
        })
    })
}

/// The panic hook is for panics.
#[test]
fn an_interruption_calls_no_hook() {
    if let Some(output) = as_child("an_interruption_calls_no_hook") {
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        assert_eq!(text.matches("panicked").count(), 1, "only what was meant to: {text}");
        return;
    }
    let called = Arc::new(AtomicUsize::new(0));
    let (usual, counts) = (std::panic::take_hook(), called.clone());
    std::panic::set_hook(Box::new(move |panic| {
        counts.fetch_add(1, SeqCst);
        usual(panic);
    }));
    assert!(matches!(interrupted(|| strand::sleep(AGES)), Err(StrandError::Cancelled)));
    let caught = interrupted(|| thrown(|| strand::sleep(AGES)).is::<Interrupted>());
    assert!(caught.unwrap(), "it was caught");
    let nursery = thrown(|| {
        strand::run(|| {
            strand::nursery(|n| {
                drop(n.spawn(|| strand::sleep(AGES)));
                drop(n.spawn(|| panic!("heard once")));
                strand::sleep(AGES);
            })
        })
    });
    assert_eq!(crate::text(nursery), "heard once");
    assert_eq!(called.load(SeqCst), 1);
}

/// A destructor that runs because of a panic leaves a scope with a live child: nobody could be thrown at, so it is written.
#[test]
fn what_a_destructor_leaves_is_written() {
    if let Some(output) = as_child("what_a_destructor_leaves_is_written") {
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        let told = text.lines().find(|line| line.contains("a scope was left with 1 live child"));
        assert!(told.is_some_and(|line| line.contains("forlorn")), "{text}");
        return;
    }
    struct LeavesAChild;
    impl Drop for LeavesAChild {
        fn drop(&mut self) {
            strand::scope(|s| {
                drop(strand::Builder::new().name("forlorn").spawn_in(s, || strand::sleep(AGES)))
            });
        }
    }
    let payload = thrown(|| {
        strand::run(|| {
            let _leaves = LeavesAChild;
            panic!("{ON_PURPOSE}: outside")
        })
    });
    assert_eq!(crate::text(payload), format!("{ON_PURPOSE}: outside"));
}

extern "C" fn sleeps_as_c_would() {
    strand::sleep(AGES);
}

/// Nothing unwinds through a frame of C: the process ends there, and says so.
#[test]
fn an_interruption_through_a_frame_of_c_aborts() {
    if let Some(output) = as_child("an_interruption_through_a_frame_of_c_aborts") {
        let text = kit::stderr_of(&output);
        assert!(!output.status.success() && text.contains("cannot unwind"), "{text}");
        return;
    }
    let ended = interrupted(|| sleeps_as_c_would());
    unreachable!("it went through: {ended:?}");
}

/// So shield it there: what waits inside goes on, and what comes after it is interrupted.
#[test]
fn a_shield_keeps_an_interruption_from_a_frame_of_c() {
    extern "C" fn yields_as_c_would() {
        while !strand::is_cancelled() {
            strand::yield_now();
        }
        strand::yield_now();
    }
    kit::guarded("shielded", || {
        let reached = AtomicUsize::new(0);
        let ended = interrupted(|| {
            strand::shield(|| yields_as_c_would());
            reached.fetch_add(1, SeqCst);
            strand::sleep(AGES);
        });
        assert!(matches!(ended, Err(StrandError::Cancelled)), "{ended:?}");
        assert_eq!(reached.into_inner(), 1);
    });
}
