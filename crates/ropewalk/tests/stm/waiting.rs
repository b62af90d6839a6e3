//! Waiting for a change, and giving up.

use crate::kit::{guarded, until};
use ropewalk::stm::{Abandoned, TMVar, TVar, atomically, stats};
use ropewalk::{Runtime, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

fn runtime() -> Runtime {
    Runtime::builder().worker_threads(2).build().unwrap()
}

#[test]
fn tasks_strands_and_threads_wait_for_a_change() {
    guarded("three kinds", || {
        let (runtime, level) = (runtime(), TVar::new(0));
        let reach = |wanted: u32| {
            let level = level.clone();
            atomically(move |tx| {
                let now = tx.read(&level)?;
                tx.check(now >= wanted)?;
                Ok(now)
            })
        };
        let before = stats().retries;
        let task = runtime.spawn(reach(1));
        let on_thread = thread::spawn({
            let reach = reach(2);
            move || reach.wait()
        });
        let in_poll = runtime.spawn({
            let reach = reach(3);
            async move { reach.wait() }
        });
        let strand = thread::spawn({
            let (runtime, reach) = (runtime.handle(), reach(4));
            move || runtime.run(|| reach.wait())
        });
        until("all wait", || stats().retries >= before + 4);
        for _ in 0..4 {
            atomically(|tx| tx.modify(&level, |level| *level += 1)).wait();
        }
        assert!(task.wait().unwrap() >= 1);
        assert!(on_thread.join().unwrap() >= 2);
        assert!(in_poll.wait().unwrap() >= 3);
        assert_eq!(strand.join().unwrap(), 4);
    });
}

/// It is run again when something that it read has changed, and at no other time.
#[test]
fn run_again_by_a_change_of_what_was_read_and_by_nothing_else() {
    let (runtime, runs) = (runtime(), Arc::new(AtomicUsize::new(0)));
    let [read, also_read, not_read] = [0, 0, 0].map(TVar::new);
    let set = |variable: &TVar<i32>, value: i32| atomically(|tx| tx.write(variable, value)).wait();
    let waiting = {
        let (runs, read, also_read, not_read) =
            (runs.clone(), read.clone(), also_read.clone(), not_read.clone());
        runtime.spawn(atomically(move |tx| {
            runs.fetch_add(1, SeqCst);
            let seen = tx.read(&read)? + tx.read(&also_read)?;
            tx.write(&not_read, seen)?; // written, not read
            tx.check(seen == 3)
        }))
    };
    until("it waits", || runs.load(SeqCst) == 1);
    let mut expected = 1;
    for (variable, value) in [(&not_read, 1), (&read, 1), (&not_read, 2), (&also_read, 1), (&not_read, 3)] {
        set(variable, value);
        if !variable.is_same(&not_read) {
            expected += 1;
            until("it has run again", || runs.load(SeqCst) == expected);
        }
        thread::sleep(Duration::from_millis(5)); // time to do what it must not
        assert_eq!(runs.load(SeqCst), expected);
    }
    set(&read, 2);
    waiting.wait().unwrap();
    assert!(runs.load(SeqCst) > expected && not_read.get() == 3); // more than once more, if another one had the floor
}

#[test]
fn or_else_waits_for_both() {
    for which in 0..2 {
        let (runtime, boxes) = (runtime(), [TMVar::empty(), TMVar::empty()]);
        let [first, second] = boxes.clone();
        let before = stats().retries;
        let taken =
            runtime.spawn(atomically(move |tx| tx.or_else(|tx| first.take(tx), |tx| second.take(tx))));
        until("it waits", || stats().retries > before);
        atomically(|tx| boxes[which].put(tx, which)).wait();
        assert_eq!(taken.wait().unwrap(), which);
    }
}

#[test]
fn a_wait_that_is_dropped_leaves_nothing_behind() {
    let (runtime, variable) = (runtime(), TVar::new(0));
    for _ in 0..100 {
        let waiting = {
            let variable = variable.clone();
            runtime.spawn(atomically(move |tx| {
                let seen = tx.read(&variable)?;
                tx.check(seen < 0)
            }))
        };
        waiting.cancel();
        assert!(waiting.wait().is_err());
    }
    let before = stats();
    atomically(|tx| tx.write(&variable, 1)).wait();
    let after = stats();
    assert!(after.commits > before.commits);
    let timed_out = ropewalk::time::timeout(
        Duration::from_millis(5),
        atomically(|tx| {
            let seen = tx.read(&variable)?;
            tx.check(seen < 0)
        }),
    );
    assert!(timed_out.wait().is_err());
    atomically(|tx| tx.write(&variable, 2)).wait();
}

/// A crowd that waits for one variable is woken as a whole, and those that cannot go on wait again.
#[test]
fn a_crowd_waits_for_one_variable() {
    guarded("a crowd", || {
        let (runtime, places) = (runtime(), TVar::new(0_usize));
        let crowd: Vec<_> = (0..200)
            .map(|_| {
                let places = places.clone();
                runtime.spawn(atomically(move |tx| {
                    let free = tx.read(&places)?;
                    tx.check(free > 0)?;
                    tx.write(&places, free - 1)
                }))
            })
            .collect();
        for _ in 0..20 {
            atomically(|tx| tx.modify(&places, |places| *places += 10)).wait();
        }
        crowd.into_iter().for_each(|one| one.wait().unwrap());
        assert_eq!(places.get(), 0);
    });
}

fn disturbed(limit: u32, disturb: impl Fn(&TVar<u32>) + Sync) -> (Result<u32, Abandoned>, u32) {
    let (counter, mut attempts) = (TVar::named("the counter", 0), 0);
    let result = atomically(|tx| {
        attempts += 1;
        let seen = tx.read(&counter)?;
        if seen < 5 {
            thread::scope(|s| drop(s.spawn(|| disturb(&counter))));
        }
        tx.write(&counter, 100 + seen)?;
        Ok(seen)
    })
    .named("the unlucky one")
    .limit(limit)
    .wait();
    (result, attempts)
}

#[test]
fn a_limit_gives_an_error_with_names() {
    let disturb = |counter: &TVar<u32>| atomically(|tx| tx.modify(counter, |count| *count += 1)).wait();
    let before = stats();
    let (result, attempts) = disturbed(3, disturb);
    let error = result.unwrap_err();
    assert_eq!((error.attempts(), attempts), (3, 3));
    let said = error.to_string();
    for part in ["`the unlucky one`", "waiting.rs", "3 attempts", "`the counter`", "times"] {
        assert!(said.contains(part), "{part} in: {said}");
    }
    let after = stats();
    assert!(after.abandoned > before.abandoned && after.conflicts() >= before.conflicts() + 3);
    // From the sixth on nobody disturbs it. (Others of this program may have the floor meanwhile.)
    let (result, attempts) = disturbed(100, disturb);
    assert!(result == Ok(5) && attempts >= 6, "{result:?} after {attempts}");
}

/// Every attempt meets another one, until nobody else may commit.
#[test]
fn who_meets_others_too_often_gets_the_floor() {
    guarded("the floor", || {
        let counter = TVar::new(0_u64);
        let (calls, called) = std::sync::mpsc::channel();
        let disturber = thread::spawn({
            let counter = counter.clone();
            move || {
                called.iter().for_each(|()| atomically(|tx| tx.modify(&counter, |count| *count += 1)).wait())
            }
        });
        let before = stats().alone;
        let mut attempts = 0;
        atomically(|tx| {
            attempts += 1;
            let seen = tx.read(&counter)?;
            calls.send(()).unwrap();
            // The other one commits first, each time, until it may not.
            while counter.get() == seen && stats().alone == before {
                thread::yield_now();
            }
            tx.write(&counter, seen + 1000)
        })
        .wait();
        assert!(stats().alone > before && attempts < 200, "{attempts} attempts");
        drop(calls);
        disturber.join().unwrap();
        assert_eq!(counter.get(), 1000 + attempts, "nothing is lost");
    });
}

#[test]
fn what_a_task_waits_for_is_shown() {
    let runtime = Runtime::builder().worker_threads(1).observe(true).build().unwrap();
    let variable = TVar::new(0);
    let seen = variable.clone();
    let waiting = runtime.spawn(atomically(move |tx| {
        let value = tx.read(&seen)?;
        tx.check(value > 0)
    }));
    let shown = || runtime.tasks().iter().any(|task| format!("{task:?}").contains("Transaction"));
    until("it is shown", shown);
    atomically(|tx| tx.write(&variable, 1)).wait();
    waiting.wait().unwrap();
}

/// One who waits, and panics when it is woken, takes nobody's call along.
#[test]
fn a_waker_that_panics() {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Wake, Waker};
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("on purpose: in a waker");
        }
    }
    let (runtime, variable) = (runtime(), TVar::new(0));
    let reach = || {
        let variable = variable.clone();
        atomically(move |tx| {
            let seen = tx.read(&variable)?;
            tx.check(seen > 0)
        })
    };
    let mut first = pin!(reach());
    assert!(first.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::new(Panics)))).is_pending());
    let before = stats().retries;
    let second = runtime.spawn(reach());
    until("it waits", || stats().retries > before);
    atomically(|tx| tx.write(&variable, 1)).wait();
    second.wait().unwrap();
    assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

/// Those who wait for the floor own nothing: who is not polled any more stops nobody.
#[test]
fn one_who_wants_the_floor_and_is_not_polled_stops_nobody() {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};
    guarded("set aside", || {
        let counter = TVar::new(0);
        let add = || atomically(|tx| tx.modify(&counter, |count| *count += 1));
        let disturb = || thread::scope(|s| drop(s.spawn(|| add().wait())));
        // Each of its attempts is in vain, so it asks for the floor sooner or later; then it is left alone.
        let mut polls = 0;
        let mut aside = pin!(atomically(|tx| {
            let seen = tx.read(&counter)?;
            if polls < 47 {
                polls += 1;
                disturb();
            }
            tx.write(&counter, seen)
        }));
        for _ in 0..5 {
            let _either_way = aside.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        }
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..2_000).for_each(|_| add().wait()));
            }
        });
        assert!(counter.get() >= 8_000);
    });
}
