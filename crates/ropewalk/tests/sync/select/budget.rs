//! An exhausted budget is never mistaken for "nothing is ready".

use crate::kit::on_every_kind;
use ropewalk::time::sleep;
use ropewalk::{Runtime, block_on, select, select_wait, task, yield_now};
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Ready whenever the budget allows it, as every operation on something that is there.
fn something() -> impl Future<Output = ()> {
    task::consume_budget()
}

/// Uses up what is left of this poll's budget.
async fn use_up() {
    poll_fn(|cx| {
        while pin!(something()).poll(cx).is_ready() {}
        Poll::Ready(())
    })
    .await;
}

/// The same, but the one that is refused has a waker that does nothing.
async fn swallow_a_refusal() {
    poll_fn(|_| {
        let mut none = Context::from_waker(Waker::noop());
        while pin!(something()).poll(&mut none).is_ready() {}
        Poll::Ready(())
    })
    .await;
}

#[test]
fn default_does_not_run_while_something_is_there() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            for _ in 0..1000 {
                select! { () = something() => {}, default => panic!("something was there") }
            }
        });
        runtime.block_on(task).unwrap();
        assert!(runtime.metrics().total(|worker| worker.budget_yields) > 0, "the budget was used up");
    });
}

#[test]
fn nor_does_it_in_a_wait_in_a_task_or_on_a_strand() {
    fn look() {
        for _ in 0..1000 {
            select_wait! { () = something() => {}, default => panic!("something was there") }
        }
    }
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async { look() });
        runtime.block_on(task).unwrap();
        let strand = crate::kit::strand_in(&runtime, look);
        runtime.block_on(strand).unwrap();
    });
}

/// The one that is refused need not be the one that has something, nor is its waker called for us.
#[test]
fn a_refusal_that_somebody_swallows_does_not_put_the_task_to_sleep() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            let looks = AtomicU32::new(0);
            let ran = select! {
                () = async {
                    if looks.fetch_add(1, Relaxed) == 0 {
                        swallow_a_refusal().await;
                    }
                    pending().await
                } => "branch",
                default => "default",
            };
            (ran, looks.load(Relaxed))
        });
        assert_eq!(runtime.block_on(task).unwrap(), ("default", 1));
    });
}

#[test]
fn default_runs_with_a_used_up_budget_if_nothing_is_there() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            use_up().await;
            select! { () = pending() => false, default => true }
        });
        assert!(runtime.block_on(task).unwrap());
    });
}

/// Both timers fire at once, and then the branch has something but no budget left to take it.
#[test]
fn a_timeout_that_is_over_gives_one_more_look() {
    let second = Duration::from_secs(1);
    let runtime = Runtime::builder().paused(true).build().unwrap();
    let task = runtime.spawn(async move {
        let late = async {
            sleep(second).await;
            use_up().await;
            something().await;
        };
        select! { () = late => true, timeout(second) => false }
    });
    assert!(runtime.block_on(task).unwrap(), "something was there");
}

#[test]
fn but_only_one() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            let endless = async {
                loop {
                    something().await;
                }
            };
            select! { () = endless => {}, timeout(Duration::from_micros(500)) => {} }
        });
        runtime.block_on(task).unwrap();
    });
}

#[test]
fn on_a_plain_thread_there_is_no_budget() {
    for _ in 0..1000 {
        select_wait! { () = something() => {}, default => panic!("something was there") }
    }
    block_on(async {
        yield_now().await;
        assert!(select! { () = pending() => false, default => true });
    });
}
