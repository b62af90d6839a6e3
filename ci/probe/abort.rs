//! What strands do in a program that cannot unwind. Built and run by `ci/abort`; each line on standard output is something that
//! was seen to hold.

use ropewalk::strand::{self, StrandError};
use ropewalk::sync::Notify;
use ropewalk::{Runtime, Wait};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

fn main() {
    assert!(cfg!(panic = "abort"), "this program is about builds that cannot unwind");
    match std::env::args().nth(1).as_deref() {
        None => all_that_goes_well(),
        Some("leave") => leave_a_live_child(),
        Some(other) => panic!("what is {other}?"),
    }
}

fn all_that_goes_well() {
    one_worker().run(|| {
        a_cancelled_strand_goes_on();
        a_strand_that_was_not_started_does_not_run();
        a_scope_waits_for_cancelled_children();
    });
    a_runtime_waits_for_a_strand_that_listens();
}

fn one_worker() -> Runtime {
    Runtime::builder().worker_threads(1).build().unwrap()
}

/// The wait it is in is not interrupted, nor is the next one.
fn a_cancelled_strand_goes_on() {
    let (began, go_on) = (Notify::new(), Notify::new());
    let ended = strand::scope(|s| {
        let child = s.spawn(|| {
            began.notify_one();
            go_on.notified().wait();
            assert!(strand::is_cancelled());
            strand::yield_now();
            strand::sleep(Duration::from_millis(1));
            7
        });
        began.notified().wait();
        child.cancel();
        for _ in 0..100 {
            strand::yield_now();
        }
        assert!(!child.is_finished(), "it was interrupted");
        go_on.notify_one();
        child.try_join()
    });
    assert!(matches!(ended, Ok(7)), "{ended:?}");
    println!("a cancelled strand goes on, and gives its value");
}

fn a_strand_that_was_not_started_does_not_run() {
    let (dropped, ran) = (AtomicBool::new(false), AtomicBool::new(false));
    struct Drops<'a>(&'a AtomicBool);
    impl Drop for Drops<'_> {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    strand::scope(|s| {
        let held = Drops(&dropped);
        let child = s.spawn(|| {
            let _held = held;
            ran.store(true, SeqCst);
        });
        child.cancel(); // the only worker is ours
        assert!(matches!(child.try_join(), Err(StrandError::Cancelled)));
    });
    assert!(dropped.into_inner() && !ran.into_inner());
    println!("a cancelled strand that was not started does not run");
}

fn a_scope_waits_for_cancelled_children() {
    let (began, go_on, mut borrowed) = (Notify::new(), Notify::new(), 0);
    strand::scope(|s| {
        let child = s.spawn(|| {
            began.notify_one();
            go_on.notified().wait();
            strand::yield_now();
            borrowed += 1;
        });
        began.notified().wait();
        s.cancel_all();
        drop(child);
        go_on.notify_one();
        s.join_all();
    });
    assert_eq!(borrowed, 1);
    println!("a scope waits for cancelled children to their end");
}

fn a_runtime_waits_for_a_strand_that_listens() {
    let runtime = one_worker();
    let began = std::sync::Arc::new(Notify::new());
    let tell = began.clone();
    let strand = runtime.run(|| {
        strand::spawn(move || {
            tell.notify_one();
            while !strand::is_cancelled() {
                strand::yield_now();
            }
            7
        })
    });
    began.notified().wait();
    let account = runtime.shutdown(Duration::ZERO).unwrap_err();
    assert!(account.cancelled == 1 && account.left.is_empty(), "{account}");
    let ended = strand.try_join();
    assert!(matches!(ended, Ok(7)), "{ended:?}");
    println!("a runtime that shuts down waits for a strand that listens");
}

/// The end of the process, since this is a panic: but not before the child has ended.
fn leave_a_live_child() {
    one_worker().run(|| {
        let began = Notify::new();
        strand::scope(|s| {
            drop(s.spawn(|| {
                began.notify_one();
                while !strand::is_cancelled() {
                    strand::yield_now();
                }
                strand::sleep(Duration::from_millis(20));
                println!("a scope that is left waits for a child that listens, and then panics");
            }));
            began.notified().wait();
        });
    });
    println!("a scope that was left with a live child says nothing of it");
}
