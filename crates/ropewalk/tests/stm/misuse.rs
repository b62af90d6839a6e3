//! What must not be done inside of a transaction says so; and what is done with its errors does no harm.

use crate::kit::{guarded, panic_of};
use ropewalk::stm::{TVar, atomically};
use ropewalk::{Blocking, Runtime, Wait, with_handler};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn refused(said: Option<String>, what: &str) {
    let said = said.unwrap_or_default();
    assert!(said.contains(what) && said.contains("inside a transaction"), "{said}");
}

/// What a transaction says that does this.
fn inside(mut f: impl FnMut()) -> Option<String> {
    panic_of(|| {
        atomically(|_| {
            f();
            Ok(())
        })
        .wait()
    })
}

fn everywhere(test: impl Fn() + Send + Sync + Clone + 'static) {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    test();
    runtime.run(&test);
    let inside = test.clone();
    runtime.spawn(async move { inside() }).wait().unwrap();
}

#[test]
fn a_wait_inside() {
    everywhere(|| {
        let wait = || ropewalk::wait(ropewalk::time::sleep(Duration::ZERO));
        refused(inside(wait), "a wait");
        refused(inside(|| with_handler(&Blocking, wait)), "a wait");
        refused(inside(|| with_handler(&ropewalk::OnStrand, wait)), "a wait");
        wait(); // after it all is as before
    });
}

#[test]
fn block_on_inside() {
    let runtime = Runtime::builder().worker_threads(0).build().unwrap();
    refused(inside(|| ropewalk::block_on(async {})), "block_on");
    refused(inside(|| runtime.block_on(async {})), "block_on");
}

#[test]
fn a_transaction_inside() {
    everywhere(|| {
        let counter = TVar::new(0);
        let add = || atomically(|tx| tx.modify(&counter, |count| *count += 1));
        let poll = || pin!(add()).poll(&mut Context::from_waker(Waker::noop()));
        refused(panic_of(|| atomically(|_| Ok(poll().is_ready())).wait()), "a transaction");
        refused(inside(|| add().wait()), "a wait");
        assert_eq!(counter.get(), 0);
        assert_eq!((poll(), counter.get()), (Poll::Ready(()), 1));
    });
}

#[test]
fn a_yield_of_a_strand_inside() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    runtime.run(|| refused(inside(ropewalk::strand::yield_now), "a wait"));
}

/// A transaction that takes long is asked to yield, and cannot: it goes on.
#[test]
fn a_point_of_preemption_inside_does_nothing() {
    guarded("a long transaction", || {
        let runtime = Runtime::builder()
            .worker_threads(1)
            .preempt_threshold(Duration::from_micros(200))
            .build()
            .unwrap();
        runtime.run(|| {
            let began = std::time::Instant::now();
            atomically(|_| {
                while began.elapsed() < Duration::from_millis(20) {
                    ropewalk::preempt_point();
                }
                Ok(())
            })
            .wait();
        });
    });
}

/// A scope waits for its members at its end, where it cannot be refused any more.
#[test]
fn a_scope_inside() {
    everywhere(|| {
        refused(inside(|| ropewalk::strand::scope(|_| ())), "a scope of strands");
        refused(inside(|| ropewalk::strand::nursery(|_| ())), "a nursery");
        refused(inside(|| ropewalk::thread::scope(|_| ())), "a scope of threads");
    });
}

/// Whether all of 2 to that power halves run on that thread.
fn halves_on(thread: std::thread::ThreadId, depth: u32) -> bool {
    if depth == 0 {
        return std::thread::current().id() == thread;
    }
    let (left, right) = ropewalk::join(|| halves_on(thread, depth - 1), || halves_on(thread, depth - 1));
    left && right
}

/// Nobody else is given a half: it would have to be waited for.
#[test]
fn halves_inside_are_done_in_place() {
    use std::thread::current;
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    let here = || {
        let (total, me) = (TVar::new(0_u64), current().id());
        atomically(|tx| {
            let (sum, all_here) = ropewalk::par_map_reduce(
                0..20_000_u64,
                || (0, true),
                |n| (n, current().id() == me),
                |a, b| (a.0 + b.0, a.1 && b.1),
            );
            assert!(all_here && halves_on(me, 10));
            tx.write(&total, sum)
        })
        .wait();
        assert_eq!(total.get(), 19_999 * 10_000);
        assert_eq!(
            inside(|| ropewalk::join(|| panic!("on purpose"), || ()).1).as_deref(),
            Some("on purpose")
        );
    };
    here();
    runtime.run(move || (0..200).for_each(|_| here())); // the other worker asks for halves all the time
    runtime.spawn(async move { here() }).wait().unwrap();
}

/// Handlers that are called by hand do not wait either.
#[test]
fn a_handler_inside() {
    use ropewalk::Handler;
    everywhere(|| {
        refused(inside(|| Blocking.suspend(pin!(async {}))), "a wait");
        refused(inside(|| ropewalk::OnStrand.suspend(pin!(async {}))), "a wait");
    });
}

#[test]
fn retry_without_having_read_anything() {
    let said = panic_of(|| atomically(|tx| tx.retry::<()>()).named("hopeless").wait()).unwrap();
    assert!(
        said.contains("`hopeless`") && said.contains("misuse.rs") && said.contains("wait for ever"),
        "{said}"
    );
    // Nor of what nobody else could change.
    let said = panic_of(|| {
        atomically(|tx| {
            let gone = TVar::new(0);
            let seen = tx.read(&gone)?;
            drop(gone);
            tx.check(seen > 0)
        })
        .wait();
    });
    assert!(said.unwrap().contains("wait for ever"));
}

#[test]
fn polled_after_it_is_done() {
    let mut done = pin!(atomically(|_| Ok(())));
    let cx = &mut Context::from_waker(Waker::noop());
    assert_eq!(done.as_mut().poll(cx), Poll::Ready(()));
    assert!(panic_of(|| done.as_mut().poll(cx)).unwrap().contains("after it was done"));
}

#[test]
fn limits_and_capacities_of_nothing() {
    assert!(panic_of(|| drop(atomically(|_| Ok(())).limit(0))).unwrap().contains("at least one"));
    assert!(panic_of(|| drop(ropewalk::stm::TBQueue::<u8>::new(0))).unwrap().contains("at least one"));
    let full = ropewalk::stm::TSemaphore::new(usize::MAX);
    assert!(panic_of(|| atomically(|tx| full.release(tx, 1)).wait()).unwrap().contains("too many permits"));
}

/// A body that ignores a conflict reads nothing more, and is not committed.
#[test]
fn a_conflict_that_is_swallowed() {
    let (left, right) = (TVar::new(0), TVar::new(0));
    let change = || {
        std::thread::scope(|s| {
            s.spawn(|| {
                let both = |tx: &mut ropewalk::stm::Tx| {
                    tx.modify(&left, |left| *left += 1)?;
                    tx.modify(&right, |right| *right += 1)
                };
                atomically(both).wait();
            });
        });
    };
    let (mut attempts, mut refusals) = (0, 0);
    atomically(|tx| {
        attempts += 1;
        let seen = tx.read(&left)?;
        if attempts == 1 {
            change();
        }
        match tx.read(&right) {
            Ok(right) => assert_eq!(seen, right),
            Err(_) => {
                refusals += 1;
                assert!(tx.read(&left).is_err() && tx.read(&right).is_err(), "whatever it reads");
                tx.write(&left, 100)?;
            }
        }
        Ok(())
    })
    .wait();
    assert_eq!((attempts, refusals, left.get(), right.get()), (2, 1, 1, 1));
}
