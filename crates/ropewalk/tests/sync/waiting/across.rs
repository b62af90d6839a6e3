//! Waiting across two runtimes.

use crate::kit::{Gate, KINDS, RuntimeKind, guarded, strand_in, until_async};
use ropewalk::{Runtime, Wait, spawn, yield_now};
use std::future::poll_fn;
use std::task::Poll;

fn on_every_pair(test: impl Fn(RuntimeKind, RuntimeKind)) {
    for outer in KINDS {
        for inner in KINDS {
            guarded(format!("{inner:?} in {outer:?}"), || test(outer, inner));
        }
    }
}

#[test]
fn block_on_of_another_runtime_in_a_task() {
    on_every_pair(|outer, inner| {
        let (outer, inner) = (outer.build(), inner.build());
        let task = outer.spawn(async move {
            inner.block_on(async {
                let tasks: Vec<_> = (0..10).map(|number| spawn(async move { number })).collect();
                let mut sum = 0;
                for task in tasks {
                    yield_now().await;
                    sum += task.await.unwrap();
                }
                sum
            })
        });
        assert_eq!(outer.block_on(task).unwrap(), 45);
    });
}

#[test]
fn block_on_of_another_runtime_in_a_strand() {
    on_every_pair(|outer, inner| {
        let (outer, inner) = (outer.build(), inner.build());
        let strand = strand_in(&outer, move || inner.block_on(async { spawn(async { 5 }).await.unwrap() }));
        assert_eq!(outer.block_on(strand).unwrap(), 5);
    });
}

#[test]
fn block_on_inside_block_on_of_another_runtime() {
    on_every_pair(|outer, inner| {
        let (outer, inner) = (outer.build(), inner.build());
        let both = outer.block_on(async {
            let here = spawn(async { 1 });
            let there = inner.block_on(async { spawn(async { 10 }).await.unwrap() });
            here.await.unwrap() + there
        });
        assert_eq!(both, 11);
    });
}

/// The inner root waits for a task of the outer runtime, which may have one worker, and that worker is where it waits.
#[test]
fn the_inner_root_waits_for_the_outer_runtime() {
    on_every_pair(|outer, inner| {
        let (outer, inner) = (outer.build(), inner.build());
        let task = outer.spawn(async move {
            let of_outer = spawn(async {
                yield_now().await;
                5
            });
            inner.block_on(async { spawn(async { of_outer.await.unwrap() + 1 }).await.unwrap() })
        });
        assert_eq!(outer.block_on(task).unwrap(), 6);
    });
}

/// The same on a strand, which is cancelled meanwhile: what it drives goes on to its end, and then it is interrupted.
#[test]
fn a_cancelled_strand_drives_the_inner_runtime_to_its_end() {
    on_every_pair(|outer, inner| {
        let (outer, inner, gate) = (outer.build(), inner.build(), Gate::new());
        let (passed, there) = (gate.passed(), gate.clone());
        let strand = strand_in(&outer, move || {
            inner.block_on(async { spawn(passed).await.unwrap() });
            there.is_open()
        });
        outer.block_on(until_async("it waits", || gate.waiting() > 0));
        strand.cancel();
        outer.block_on(outer.spawn(yield_now())).unwrap();
        gate.open();
        match outer.block_on(strand) {
            Ok(open) => assert!(open, "a runtime without threads cannot be left half way"),
            Err(error) => assert!(error.is_cancelled(), "a thread's can"),
        }
    });
}

/// Two tasks of one worker are in `block_on` of the same runtime without threads: one drives it for both.
#[test]
fn two_tasks_share_an_inner_runtime_without_threads() {
    for outer in KINDS {
        for inner in [RuntimeKind::Caller, RuntimeKind::Hosted(4)] {
            guarded(format!("{inner:?} in {outer:?}"), || {
                let (outer, inner) = (outer.build(), inner.build());
                let (one, two) = (Gate::new(), Gate::new());
                let start = |mine: &Gate, other: &Gate| {
                    let (passed, other, inner) = (mine.passed(), other.clone(), inner.handle());
                    outer.spawn(async move {
                        inner.block_on(async move {
                            let task = spawn(passed);
                            other.open();
                            task.await.unwrap();
                        });
                    })
                };
                let (first, second) = (start(&one, &two), start(&two, &one));
                outer.block_on(first).unwrap();
                outer.block_on(second).unwrap();
            });
        }
    }
}

/// The name of the thread on which a task runs that is spawned without further words.
async fn where_spawned() -> String {
    spawn(async { std::thread::current().name().unwrap_or("").to_owned() }).await.unwrap()
}

/// The same in a task of `runtime`.
fn where_spawned_in(runtime: &Runtime) -> String {
    runtime.block_on(runtime.spawn(where_spawned())).unwrap()
}

/// Enters the inner runtime and waits there in the middle of a poll, then spawns.
fn wait_inside(inner: &ropewalk::Handle, passed: impl Future<Output = ()>) -> String {
    inner.block_on(async {
        let mut passed = Some(passed);
        poll_fn(|_| {
            passed.take().map(Wait::wait);
            Poll::Ready(())
        })
        .await;
        where_spawned().await
    })
}

/// While a stack inside two runtimes is parked, the others on its worker are in one.
#[test]
fn a_parked_stack_takes_the_runtime_it_entered_with_it() {
    for outer in KINDS {
        guarded(format!("{outer:?}"), || {
            let (outer, gate) = (outer.builder().thread_name("outer").build().unwrap(), Gate::new());
            let inner = Runtime::builder().worker_threads(1).thread_name("inner").build().unwrap();
            let (passed, inner_handle) = (gate.passed(), inner.handle());
            let task = outer.spawn(async move { wait_inside(&inner_handle, passed) });
            outer.block_on(until_async("it waits", || gate.waiting() > 0));
            for _ in 0..10 {
                let spawned = where_spawned_in(&outer);
                assert!(!spawned.starts_with("inner"), "{spawned}");
            }
            gate.open();
            let spawned = outer.block_on(task).unwrap();
            assert!(spawned.starts_with("inner"), "{spawned}");
            let spawned = where_spawned_in(&outer);
            assert!(!spawned.starts_with("inner"), "{spawned}");
        });
    }
}

/// The same for a strand that is suspended there.
#[test]
fn a_suspended_strand_takes_the_runtime_it_entered_with_it() {
    for outer in KINDS {
        guarded(format!("{outer:?}"), || {
            let (outer, gate) = (outer.builder().thread_name("outer").build().unwrap(), Gate::new());
            let inner = Runtime::builder().worker_threads(1).thread_name("inner").build().unwrap();
            let (passed, inner_handle) = (gate.passed(), inner.handle());
            let strand = strand_in(&outer, move || wait_inside(&inner_handle, passed));
            outer.block_on(until_async("it waits", || gate.waiting() > 0));
            let spawned = where_spawned_in(&outer);
            assert!(!spawned.starts_with("inner"), "{spawned}");
            gate.open();
            let spawned = outer.block_on(strand).unwrap();
            assert!(spawned.starts_with("inner"), "{spawned}");
            let spawned = where_spawned_in(&outer);
            assert!(!spawned.starts_with("inner"), "{spawned}");
        });
    }
}
