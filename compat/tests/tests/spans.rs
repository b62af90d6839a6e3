//! Spans of `tracing` belong to the stack that has entered them: strands and parked tasks take turns on a thread, and none sees those
//! of another.

use ropewalk::sync::Notify;
use ropewalk::{Runtime, Wait, strand};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tracing::span::{Id, Span};
use tracing::{Subscriber, info_span, subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// The span that what runs here is in.
fn current() -> Option<Id> {
    Span::current().id()
}

fn with_registry(f: impl FnOnce()) {
    // One for all threads and all tests: spans differ by their ids.
    let _there_already = subscriber::set_global_default(tracing_subscriber::registry());
    f();
}

fn runtimes() -> impl Iterator<Item = Runtime> {
    [1, 2].into_iter().map(|workers| Runtime::builder().worker_threads(workers).build().unwrap())
}

#[test]
fn strands_that_take_turns_are_each_in_their_own() {
    with_registry(|| {
        for runtime in runtimes() {
            runtime.run(|| {
                strand::scope(|s| {
                    let strands: Vec<_> = (0..8)
                        .map(|number| {
                            s.spawn(move || {
                                assert_eq!(current(), None);
                                let outer = info_span!("outer", number).entered();
                                let inner = info_span!("inner", number).entered();
                                let ids = (outer.id(), inner.id());
                                for _ in 0..20 {
                                    assert_eq!(current(), ids.1);
                                    strand::yield_now();
                                }
                                drop(inner);
                                strand::yield_now();
                                assert_eq!(current(), ids.0);
                                drop(outer);
                                strand::yield_now();
                                assert_eq!(current(), None);
                            })
                        })
                        .collect();
                    strands.into_iter().for_each(strand::Strand::join);
                });
            });
        }
    });
}

/// Also if the parent stands by, and whether or not the child is suspended.
#[test]
fn a_child_is_not_in_its_parents() {
    with_registry(|| {
        for runtime in runtimes() {
            runtime.run(|| {
                strand::scope(|s| {
                    let span = info_span!("parent").entered();
                    for waits in [false, true] {
                        let child = s.spawn(move || {
                            let before = current();
                            if waits {
                                strand::yield_now();
                            }
                            (before, current())
                        });
                        assert_eq!(child.join(), (None, None));
                        assert_eq!(current(), span.id());
                    }
                });
            });
        }
    });
}

/// A strand that is gone has left its spans, also those that it never would have.
#[test]
fn who_has_ended_is_in_none() {
    with_registry(|| {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        runtime.run(|| {
            strand::scope(|s| {
                s.spawn(|| std::mem::forget(info_span!("forgotten").entered())).join();
                assert_eq!(current(), None);
                s.spawn(|| assert_eq!(current(), None)).join();
            });
        });
    });
}

/// A wait inside a poll parks the stack of the task: others that are polled meanwhile are not in its spans.
#[test]
fn a_parked_task_takes_its_spans_along() {
    with_registry(|| {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        runtime.block_on(async {
            let go = std::sync::Arc::new(Notify::new());
            let parked = runtime.spawn({
                let go = go.clone();
                async move {
                    let span = info_span!("parked").entered();
                    go.notified().wait(); // on purpose without `await`
                    assert_eq!(current(), span.id());
                    drop(span);
                    assert_eq!(current(), None);
                }
            });
            let other = runtime.spawn(async move {
                ropewalk::yield_now().await;
                assert_eq!(current(), None);
                go.notify_one();
            });
            parked.await.unwrap();
            other.await.unwrap();
        });
    });
}

/// What a subscriber does the next time that a span is left, or entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prank {
    PanicsOnExit,
    PanicsOnEnter,
    WaitsOnExit,
    WaitsOnEnter,
}

thread_local!(static PRANK: Cell<Option<Prank>> = const { Cell::new(None) });

struct Prankster;

fn play(panics: Prank, waits: Prank) {
    let prank = PRANK.get();
    if prank == Some(panics) {
        PRANK.set(None);
        panic!("on purpose: a subscriber");
    }
    if prank == Some(waits) {
        PRANK.set(None);
        ropewalk::wait(ropewalk::yield_now());
    }
}

impl<S: Subscriber> Layer<S> for Prankster {
    fn on_enter(&self, _: &Id, _: Context<'_, S>) {
        play(Prank::PanicsOnEnter, Prank::WaitsOnEnter);
    }

    fn on_exit(&self, _: &Id, _: Context<'_, S>) {
        play(Prank::PanicsOnExit, Prank::WaitsOnExit);
    }
}

/// A subscriber is somebody's code: what it does while a strand is suspended, or goes on, harms neither that nor who lends to it.
#[test]
fn a_subscriber_may_panic_and_wait_while_strands_take_turns() {
    let registry = tracing_subscriber::registry().with(Prankster);
    subscriber::with_default(registry, || {
        for prank in [Prank::PanicsOnExit, Prank::PanicsOnEnter, Prank::WaitsOnExit, Prank::WaitsOnEnter] {
            // On this thread, for which the subscriber is.
            let runtime = Runtime::builder().worker_threads(0).build().unwrap();
            let lent = AtomicUsize::new(0);
            let sum = runtime.run(|| {
                let span = info_span!("tripped");
                strand::scope(|s| {
                    let tripped = s.spawn(|| {
                        let _entered = span.enter();
                        for turn in 0..10 {
                            if turn == 3 {
                                PRANK.set(Some(prank));
                            }
                            strand::yield_now();
                            lent.fetch_add(1, SeqCst);
                        }
                        assert_eq!(PRANK.get(), None, "{prank:?} was played");
                        assert_eq!(current(), span.id(), "{prank:?}");
                        lent.load(SeqCst)
                    });
                    let other = s.spawn(|| (0..20).for_each(|_| strand::yield_now()));
                    other.join();
                    tripped.join()
                })
            });
            assert_eq!((sum, lent.into_inner(), current()), (10, 10, None), "{prank:?}");
        }
    });
}
