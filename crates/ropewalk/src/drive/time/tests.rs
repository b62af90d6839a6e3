//! Timers race with those who advance them, on one shard and across shards, and with the worker that falls asleep.

use super::entry::state;
use super::*;
use crate::drive::Driver;
use crate::drive::futex::FutexDriver;
use crate::kit::Counter;
use crate::sched::park::{Limit, NEVER, Parker, Seam};
use ropewalk_core::prim::{self, thread};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Nobody to tell.
struct Silence;

impl Bell for Silence {
    fn deadline_moved(&self, _deadline: u64) {}
}

/// An open shard that is freed in the end, which the models can do: they know when nobody has it any more.
struct Rack(NonNull<Shard>);

// SAFETY: a shard may be shared and sent.
unsafe impl Send for Rack {}
// SAFETY: as above.
unsafe impl Sync for Rack {}

const CLOCK: u32 = 7;

impl Rack {
    fn new() -> Self {
        let shard = Box::leak(Box::new(Shard::new()));
        shard.open(Weak::<Silence>::new(), CLOCK);
        Self(NonNull::from(shard))
    }

    fn shard(&self) -> &'static Shard {
        // SAFETY: valid until the rack is dropped, after all that uses it.
        unsafe { self.0.as_ref() }
    }

    /// A timer in this shard.
    fn timer(&self, deadline: u64, waker: Waker) -> Timer {
        let timer = Timer(Box::pin(Entry::new(self.shard(), deadline, CLOCK, state::IDLE)));
        timer.0.as_ref().link(self.shard(), waker).expect("it is open");
        timer
    }
}

impl Drop for Rack {
    fn drop(&mut self) {
        assert_eq!(self.shard().len(), 0, "something is left in the wheel");
        // SAFETY: from `Box::leak`, and nobody uses it any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

struct Timer(Pin<Box<Entry>>);

impl Timer {
    fn poll(&mut self, waker: &Waker) -> Poll<()> {
        self.0.as_mut().poll(&mut Context::from_waker(waker))
    }
}

// mutation: cancel-does-not-look-again
// - in crates/ropewalk/src/drive/time/shard.rs: `return None; // it expired just before the lock was ours`
// + `{} // it expired just before the lock was ours`
// mutation: expired-node-touched-after-its-end
// - in crates/ropewalk/src/drive/time/entry.rs: `(node.waker.with_mut(|waker| (*waker).take()), &node.state)`
// + `{ node.state.store(outcome, Ordering::Release); (node.waker.with_mut(|waker| (*waker).take()), &node.state) }`
// mutation: expiry-does-not-release
// - in crates/ropewalk/src/drive/time/entry.rs: `state.store(outcome, Ordering::Release);`
// + `state.store(outcome, Ordering::Relaxed);`
#[test]
fn model_cancel_races_with_expire() {
    prim::model(|| {
        let rack = Arc::new(Rack::new());
        let (counter, waker) = Counter::new();
        let mut timer = rack.timer(5, waker.clone());
        let there = rack.clone();
        let worker = thread::spawn(move || there.shard().expire(5, 1));
        let seen = timer.poll(&waker).is_ready();
        drop(timer);
        let fired = worker.join().unwrap();
        assert_eq!(counter.count(), fired, "woken exactly if it was taken out");
        assert!(!seen || fired == 1, "never early");
    });
}

// mutation: reset-does-not-look-again
// - in crates/ropewalk/src/drive/time/shard.rs: `return None; // it is over: the owner begins anew`
// + `{} // it is over: the owner begins anew`
#[test]
fn model_reset_races_with_expire() {
    prim::model(|| {
        let rack = Arc::new(Rack::new());
        let (counter, waker) = Counter::new();
        let mut timer = rack.timer(5, waker);
        let there = rack.clone();
        let worker = thread::spawn(move || there.shard().expire(5, 1));
        timer.0.as_mut().reset(9);
        let fired = worker.join().unwrap();
        assert_eq!(counter.count(), fired);
        assert_eq!(timer.0.deadline(), 9);
        assert!(!timer.0.has_fired(), "whatever came first, the new deadline has not come");
        assert_eq!(rack.shard().len(), 1 - fired);
        assert_eq!(rack.shard().expire(9, 1), 1 - fired);
    });
}

/// A future that moved to another task: the old waker is woken, or the new one is, or the poll sees that it is over.
// mutation: renewed-waker-is-put-into-a-timer-that-is-over
// - in crates/ropewalk/src/drive/time/shard.rs: `return Err(waker); // it expired while the waker was cloned`
// + `{} // it expired while the waker was cloned`
#[test]
fn model_a_poll_by_another_task_races_with_expire() {
    prim::model(|| {
        let rack = Arc::new(Rack::new());
        let ((old, waker), (new, new_waker)) = (Counter::new(), Counter::new());
        let mut timer = rack.timer(5, waker);
        let there = rack.clone();
        let worker = thread::spawn(move || there.shard().expire(5, 1));
        let over = timer.poll(&new_waker).is_ready();
        assert_eq!(worker.join().unwrap(), 1);
        assert_eq!(old.count() + new.count(), 1);
        assert!(over || new.count() == 1, "whoever polled last hears of it");
        drop(timer);
        drop(new_waker);
        assert_eq!(Arc::strong_count(&new), 1, "no waker is left behind");
    });
}

/// Two workers find the same shard due.
// mutation: next-deadline-never-raised
// - in crates/ropewalk/src/drive/time/shard.rs: `self.next.store(wheel.next_deadline().unwrap_or(NEVER), Ordering::Relaxed);`
// + `let _ = wheel.next_deadline();`
#[test]
fn model_two_workers_advance_one_shard() {
    prim::model(|| {
        let rack = Arc::new(Rack::new());
        let ((one, waker), (two, other)) = (Counter::new(), Counter::new());
        let timers = [rack.timer(5, waker), rack.timer(6, other)];
        let workers = [0, 1].map(|_| {
            let there = rack.clone();
            thread::spawn(move || there.shard().expire(6, 1))
        });
        let fired: usize = workers.map(|worker| worker.join().unwrap()).iter().sum();
        assert_eq!((fired, one.count(), two.count()), (2, 1, 1));
        assert_eq!(rack.shard().next(), NEVER);
        assert!(timers.iter().all(|timer| timer.0.has_fired()));
    });
}

/// The pool is over while a timer comes: it is refused, or told.
// mutation: closed-shard-takes-timers
// - in crates/ropewalk/src/drive/time/shard.rs: `self.inner.lock().owner = None;`
// + `let _ = &self.inner;`
#[test]
fn model_close_races_with_register() {
    prim::model(|| {
        let rack = Arc::new(Rack::new());
        let (counter, waker) = Counter::new();
        let there = rack.clone();
        let closer = thread::spawn(move || there.shard().close());
        let timer = Timer(Box::pin(Entry::new(rack.shard(), 5, CLOCK, state::IDLE)));
        let refused = timer.0.as_ref().link(rack.shard(), waker).is_err();
        closer.join().unwrap();
        assert_eq!(counter.count(), usize::from(!refused));
        assert!(!timer.0.has_fired(), "it is not over, only its shard is");
    });
}

/// A futex driver that takes any timeout for one that is over.
#[derive(Debug, Default)]
struct Impatient(FutexDriver);

impl Driver for Impatient {
    fn park(&self, timeout: Option<Duration>) {
        if timeout.is_none() {
            self.0.park(None);
        }
    }
    fn poll(&self) {}
    fn unpark(&self) {
        self.0.unpark();
    }
}

/// What a pool has of timers.
struct Clockwork {
    racks: [Rack; 2],
    seam: Seam,
}

impl Clockwork {
    fn new() -> Arc<Self> {
        Arc::new(Self { racks: [Rack::new(), Rack::new()], seam: Seam::new(Box::new(Impatient::default())) })
    }

    fn limit(&self) -> Limit {
        let wake_at = self.racks.iter().map(|rack| rack.shard().next()).min().unwrap();
        Limit { wake_at, timeout: (wake_at != NEVER).then_some(Duration::ZERO) }
    }

    /// Sleeps until something is due, and sees to it, until so many have fired.
    fn poll_until_fired(&self, mut left: usize) {
        let parker = Parker::new();
        while left > 0 {
            parker.park(&self.seam, || self.limit());
            left -= self.racks.iter().map(|rack| rack.shard().expire(NEVER - 1, 1)).sum::<usize>();
        }
    }

    fn register(&self, at: usize, deadline: u64, waker: Waker) -> Timer {
        let timer = Timer(Box::pin(Entry::new(self.racks[at].shard(), deadline, CLOCK, state::IDLE)));
        if timer.0.as_ref().link(self.racks[at].shard(), waker).expect("it is open") {
            self.seam.deadline_moved(deadline);
        }
        timer
    }
}

/// Timers come to two shards while a worker falls asleep in the driver: none is slept past.
// mutation: deadline-not-published
// - in crates/ropewalk/src/drive/time/shard.rs: `self.next.store(deadline, Ordering::Relaxed);`
// + `let _ = deadline;`
// mutation: earliest-deadline-not-told
// - in crates/ropewalk/src/drive/time/shard.rs: `Ok(self.publish(deadline))`
// + `Ok(self.publish(deadline) && false)`
// mutation: next-deadline-lost-when-advancing
// - in crates/ropewalk/src/drive/time/shard.rs: `self.next.store(wheel.next_deadline().unwrap_or(NEVER), Ordering::Relaxed);`
// + `self.next.store(NEVER, Ordering::Relaxed);`
#[test]
fn model_new_deadlines_across_shards_race_with_the_poller() {
    prim::model(|| {
        let clockwork = Clockwork::new();
        let there = clockwork.clone();
        let poller = thread::spawn(move || there.poll_until_fired(3));
        let (counter, waker) = Counter::new();
        let timers =
            [(0, 5), (1, 9), (1, 7)].map(|(at, deadline)| clockwork.register(at, deadline, waker.clone()));
        poller.join().unwrap();
        assert_eq!(counter.count(), 3);
        drop(timers);
    });
}

/// Somebody else advances a shard, and raises its deadline, while a timer comes and the poller falls asleep.
// mutation: later-deadline-taken-for-the-earliest
// - in crates/ropewalk/src/drive/time/shard.rs: `let earliest = deadline < self.next.load(Ordering::Relaxed);`
// + `let earliest = deadline > self.next.load(Ordering::Relaxed);`
#[test]
fn model_a_deadline_raised_by_another_worker_races_with_a_new_one() {
    prim::model(|| {
        let clockwork = Clockwork::new();
        let (counter, waker) = Counter::new();
        let first = clockwork.register(0, 3, waker.clone());
        let busy = clockwork.clone();
        let worker = thread::spawn(move || busy.racks[0].shard().expire(3, 1));
        let second = clockwork.register(0, 4, waker);
        let there = clockwork.clone();
        let poller = thread::spawn(move || {
            let parker = Parker::new();
            while there.racks[0].shard().len() > 0 {
                parker.park(&there.seam, || there.limit());
                there.racks[0].shard().expire(NEVER - 1, 1);
            }
        });
        worker.join().unwrap();
        poller.join().unwrap();
        assert_eq!(counter.count(), 2);
        assert!(first.0.has_fired() && second.0.has_fired());
    });
}
