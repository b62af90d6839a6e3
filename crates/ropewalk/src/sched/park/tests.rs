//! Wake-ups race with falling asleep, on the word and in the driver.

use super::*;
use crate::drive::futex::FutexDriver;
use ropewalk_core::prim::{self, AtomicUsize, UnsafeCell, thread};
use std::task::Waker;

fn seam() -> Seam {
    Seam::new(Box::new(FutexDriver::default()))
}

/// One worker, one unpark, and a value that must arrive with it.
fn unpark_races_with_park(seam: Seam) {
    let shared = Arc::new((Parker::new(), seam, AtomicUsize::new(0)));
    let there = shared.clone();
    let worker = thread::spawn(move || {
        let (parker, seam, value) = &*there;
        parker.park(seam, || Limit::NONE);
        assert_eq!(value.load(Ordering::Relaxed), 1, "what was written before unpark");
        assert_eq!(parker.state(), WorkerState::Busy);
    });
    let (parker, seam, value) = &*shared;
    value.store(1, Ordering::Relaxed);
    parker.unpark(seam);
    worker.join().unwrap();
}

// mutation: sticky-token-dropped
// - in crates/ropewalk/src/sched/park.rs: `let announced = self.0.compare_exchange(EMPTY, place, Ordering::Relaxed, Ordering::Relaxed).is_ok();`
// + `let announced = { self.0.swap(place, Ordering::Relaxed); true };`
// mutation: parked-owner-not-woken
// - in crates/ropewalk/src/sched/park.rs: `PARKED => self.token.0.0.wake(1),`
// + `PARKED => {}`
// mutation: give-does-not-release
// - in crates/ropewalk/src/sched/park.rs: `self.0.swap(NOTIFIED, Ordering::Release)`
// + `self.0.swap(NOTIFIED, Ordering::Relaxed)`
// mutation: consuming-does-not-acquire
// - in crates/ropewalk/src/sched/park.rs: `self.0.swap(EMPTY, Ordering::Acquire) == NOTIFIED`
// + `self.0.swap(EMPTY, Ordering::Relaxed) == NOTIFIED`
#[test]
fn model_unpark_races_with_park_on_the_word() {
    prim::model(|| {
        let seam = seam();
        core::mem::forget((seam.polling.take(), seam.standing_by.take())); // others have them
        unpark_races_with_park(seam);
    });
}

// mutation: polling-owner-not-woken
// - in crates/ropewalk/src/sched/park.rs: `POLLING => seam.polling.driver.unpark(),`
// + `POLLING => {}`
// mutation: polling-not-announced
// - in crates/ropewalk/src/sched/park.rs: `self.token.lie_down(place) {`
// + `self.token.lie_down(PARKED) {`
#[test]
fn model_unpark_races_with_park_in_the_driver() {
    prim::model(|| unpark_races_with_park(seam()));
}

/// A poller whose events are all for another one calls that one, and leaves the driver to it. The other comes to it, whether it
/// slept or was just about to: the next event is seen.
// mutation: who-is-called-does-not-see-the-driver-free
// - in crates/ropewalk/src/sched/park.rs: `self.0.swap(NOTIFIED, Ordering::Release)`
// + `self.0.swap(NOTIFIED, Ordering::Relaxed)`
// mutation: beside-the-driver-a-call-is-not-heard
// - in crates/ropewalk/src/sched/park.rs: `STANDING_BY => seam.standing_by.driver.unpark(),`
// + `STANDING_BY => {}`
#[test]
fn model_the_driver_goes_to_whom_its_events_are_for() {
    prim::model(|| {
        let flags = [AtomicBool::new(false), AtomicBool::new(false)];
        let shared = Arc::new(([Parker::new(), Parker::new()], seam(), flags));
        let polling = shared.1.polling.take(); // the first worker is in the driver when the other looks
        let there = shared.clone();
        let called = thread::spawn(move || {
            let ([relay, own], seam, [event, over]) = &*there;
            while !event.load(Ordering::Relaxed) {
                own.park(seam, || Limit::NONE); // a model that sleeps for ever has failed
            }
            over.store(true, Ordering::Relaxed);
            relay.unpark(seam);
        });
        let ([own, home], seam, [event, over]) = &*shared;
        drop(polling);
        home.unpark(seam);
        event.store(true, Ordering::Relaxed);
        seam.polling.driver.unpark();
        while !over.load(Ordering::Relaxed) {
            own.park_beside(seam, || Limit::NONE);
        }
        called.join().unwrap();
    });
}

/// Two workers go to sleep, one of them in the driver, and leave it to each other as they come and go. The wake-up
/// meant for one never stays with the other.
// mutation: driver-not-given-back
// - in crates/ropewalk/src/sched/park.rs: `self.0.taken.store(false, Ordering::Release);`
// + `let _ = self.0;`
// mutation: second-poller-loses-its-place
// - in crates/ropewalk/src/sched/park.rs: `POLLING => seam.polling.driver.unpark(),`
// + `POLLING => self.token.0.0.wake(1),`
#[test]
fn model_each_of_two_sleepers_is_woken() {
    prim::model(|| {
        let shared = Arc::new((
            [Parker::new(), Parker::new()],
            seam(),
            [AtomicBool::new(false), AtomicBool::new(false)],
        ));
        let sleepers = [0, 1].map(|me| {
            let there = shared.clone();
            thread::spawn(move || {
                let (parkers, seam, woken) = &*there;
                while !woken[me].load(Ordering::Relaxed) {
                    parkers[me].park(seam, || Limit::NONE);
                }
            })
        });
        let (parkers, seam, woken) = &*shared;
        for me in [0, 1] {
            woken[me].store(true, Ordering::Relaxed);
            parkers[me].unpark(seam);
        }
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
        assert!(seam.is_free(), "whoever leaves the driver gives it back");
    });
}

/// A driver that keeps something in plain memory, as contract 1 lets it.
#[derive(Debug)]
struct Counting(UnsafeCell<usize>);

// SAFETY: `park` and `poll` are called by one thread at a time, each call before the next (contract 1 of `Driver`);
// that is what the test below checks, with loom watching the cell. `unpark` does not touch it.
unsafe impl Sync for Counting {}

impl Driver for Counting {
    fn park(&self, _timeout: Option<Duration>) {
        self.poll();
    }
    fn poll(&self) {
        self.0.with_mut(|events| {
            // SAFETY: as above, nobody else is in `park` or `poll`.
            unsafe { *events += 1 }
        });
    }
    fn unpark(&self) {}
}

// mutation: driver-given-back-without-release
// - in crates/ropewalk/src/sched/park.rs: `self.0.taken.store(false, Ordering::Release);`
// + `self.0.taken.store(false, Ordering::Relaxed);`
// mutation: driver-taken-without-acquire
// - in crates/ropewalk/src/sched/park.rs: `self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();`
// + `self.taken.compare_exchange(false, true, Ordering::Relaxed, Ordering::Relaxed).is_ok();`
// mutation: driver-taken-twice
// - in crates/ropewalk/src/sched/park.rs: `self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();`
// + `!self.taken.load(Ordering::Acquire) && { self.taken.store(true, Ordering::Relaxed); true };`
#[test]
fn model_one_thread_at_a_time_is_in_the_driver() {
    prim::model(|| {
        let seam = Arc::new(Seam::new(Box::new(Counting(UnsafeCell::new(0)))));
        let there = seam.clone();
        let parker = Parker::new();
        parker.unpark(&seam);
        let worker = thread::spawn(move || {
            there.poll();
        });
        seam.poll();
        parker.park(&seam, || Limit::NONE); // has a token, so it cannot sleep wherever it would
        worker.join().unwrap();
        assert!(seam.poll());
    });
}

/// A futex driver that takes any timeout for one that is over: what a deadline in the past comes to.
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

/// A deadline is published while a worker goes to sleep, in the driver or standing by: it reads the deadline, or it is got
/// out.
fn a_new_deadline_races_with(seam: Seam<impl Driver + 'static>) {
    let shared = Arc::new((seam, AtomicU64::new(NEVER)));
    let there = shared.clone();
    let sleeper = thread::spawn(move || {
        let (seam, next) = &*there;
        Parker::new().park(seam, || {
            let wake_at = next.load(Ordering::Relaxed);
            Limit { wake_at, timeout: (wake_at != NEVER).then_some(Duration::ZERO) }
        });
    });
    let (seam, next) = &*shared;
    next.store(5, Ordering::Release);
    seam.deadline_moved(5);
    sleeper.join().unwrap();
}

// mutation: sleeper-without-barrier
// - in crates/ropewalk/src/sched/park.rs: `fence(Ordering::SeqCst); // barrier of the sleeper: it is announced, then the deadlines are read`
// + `fence(Ordering::Acquire);`
// mutation: publisher-without-barrier
// - in crates/ropewalk/src/sched/park.rs: `fence(Ordering::SeqCst); // barrier of the publisher: the deadline is out, then the sleepers are looked at`
// + `fence(Ordering::Release);`
// mutation: sleeper-not-announced
// - in crates/ropewalk/src/sched/park.rs: `self.wake_at.store(NEVER, Ordering::Relaxed);`
// + ``
#[test]
fn model_a_new_deadline_races_with_the_poller() {
    prim::model(|| a_new_deadline_races_with(Seam::new(Box::new(Impatient::default()))));
}

// mutation: the-one-standing-by-is-not-told
// - in crates/ropewalk/src/sched/park.rs: `self.standing_by.cut_short(deadline);`
// + ``
// mutation: the-one-standing-by-has-no-name
// - in crates/ropewalk/src/sched/park.rs: `STANDING_BY => seam.standing_by.driver.unpark(),`
// + `STANDING_BY => {}`
#[test]
fn model_a_new_deadline_and_an_unpark_race_with_the_one_standing_by() {
    prim::model(|| {
        let seam = Seam::with_second(Box::new(FutexDriver::default()), Impatient::default());
        core::mem::forget(seam.polling.take());
        a_new_deadline_races_with(seam);
        let seam = self::seam();
        core::mem::forget(seam.polling.take());
        unpark_races_with_park(seam);
    });
}

/// The poller sleeps until one deadline while an earlier one and a later one are published: it never sleeps past the
/// earliest, and is not disturbed for the later one.
// mutation: poller-does-not-say-until-when
// - in crates/ropewalk/src/sched/park.rs: `self.wake_at.store(limit.wake_at, Ordering::Relaxed);`
// + `self.wake_at.store(0, Ordering::Relaxed);`
// mutation: poller-is-told-of-later-deadlines-only
// - in crates/ropewalk/src/sched/park.rs: `if deadline.saturating_add(self.put_off) < self.wake_at.load(Ordering::Relaxed) {`
// + `if deadline.saturating_add(self.put_off) > self.wake_at.load(Ordering::Relaxed) {`
#[test]
fn model_an_earlier_deadline_gets_the_poller_out() {
    /// Takes only deadline 1 for one that is over.
    fn limit(next: &AtomicU64) -> Limit {
        let wake_at = next.load(Ordering::Relaxed);
        Limit { wake_at, timeout: (wake_at == 1).then_some(Duration::ZERO) }
    }
    prim::model(|| {
        let shared = Arc::new((Seam::new(Box::new(Impatient::default())), AtomicU64::new(10)));
        let there = shared.clone();
        let sleeper = thread::spawn(move || {
            let (seam, next) = &*there;
            while next.load(Ordering::Relaxed) != 1 {
                Parker::new().park(seam, || limit(next));
            }
        });
        let (seam, next) = &*shared;
        seam.deadline_moved(20);
        next.store(1, Ordering::Release);
        seam.deadline_moved(1);
        sleeper.join().unwrap();
    });
}

/// Two wakers, each with something to say, and a thread that must hear both before it goes on.
// mutation: second-waker-sees-the-token-and-leaves
// - in crates/ropewalk/src/sched/park.rs: `self.0.swap(NOTIFIED, Ordering::Release)`
// + `match self.0.load(Ordering::Relaxed) { NOTIFIED => NOTIFIED, _ => self.0.swap(NOTIFIED, Ordering::Release) }`
// mutation: thread-not-woken
// - in crates/ropewalk/src/sched/park.rs: `if self.token.give() == PARKED {`
// + `if self.token.give() == POLLING {`
#[test]
fn model_two_wakers_of_one_thread_are_both_heard() {
    prim::model(|| {
        let parker = Arc::new(ThreadParker::new());
        let said = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let wakers = [0, 1].map(|me| {
            let (waker, said) = (Waker::from(parker.clone()), said.clone());
            thread::spawn(move || {
                said[me].store(true, Ordering::Relaxed);
                waker.wake();
            })
        });
        while !said.iter().all(|said| said.load(Ordering::Relaxed)) {
            parker.park(None);
        }
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}

#[cfg(not(any(loom, shuttle)))]
mod on_this_machine {
    use super::*;

    /// Waits until `parker` is seen in `state`; a hang here is the failure.
    fn until(parker: &Parker, state: WorkerState) {
        while parker.state() != state {
            thread::yield_now();
        }
    }

    #[test]
    fn the_first_to_sleep_polls_and_the_others_are_idle() {
        let (parkers, seam) = ([Parker::new(), Parker::new(), Parker::new()], seam());
        thread::scope(|scope| {
            scope.spawn(|| parkers[0].park(&seam, || Limit::NONE));
            until(&parkers[0], WorkerState::Polling);
            scope.spawn(|| parkers[1].park(&seam, || Limit::NONE));
            until(&parkers[1], WorkerState::Idle);
            scope.spawn(|| parkers[2].park(&seam, || unreachable!("both berths are taken")));
            until(&parkers[2], WorkerState::Idle);
            parkers[2].unpark(&seam);
            assert!(!seam.poll(), "the driver is seen to");
            parkers[1].unpark(&seam);
            until(&parkers[1], WorkerState::Busy);
            assert_eq!(parkers[0].state(), WorkerState::Polling);
            parkers[0].unpark(&seam);
        });
        assert_eq!(parkers[0].state(), WorkerState::Busy);
        assert!(seam.is_free() && seam.poll());
    }

    /// It does not rely for long on whom it left the driver to: that one may be held up, and may have been the one standing by.
    #[test]
    fn who_leaves_the_driver_to_others_stands_by_or_is_soon_back() {
        let (parkers, seam) = ([Parker::new(), Parker::new()], seam());
        thread::scope(|scope| {
            scope.spawn(|| parkers[0].park_beside(&seam, || Limit::NONE));
            until(&parkers[0], WorkerState::Idle);
            assert!(seam.is_free());
            parkers[1].park_beside(&seam, || unreachable!("somebody stands by")); // nobody wakes it
            parkers[0].unpark(&seam);
        });
    }

    #[test]
    fn a_deadline_ends_the_sleep_in_the_driver() {
        let limit = || Limit { wake_at: 1, timeout: Some(Duration::from_millis(1)) };
        Parker::new().park(&seam(), limit);
    }

    #[test]
    fn a_thread_tells_a_wake_up_from_a_timeout() {
        let parker = Arc::new(ThreadParker::default());
        assert!(!parker.park(Some(Duration::from_micros(100))));
        Waker::from(parker.clone()).wake_by_ref();
        assert!(parker.park(None));
        assert!(!parker.park(Some(Duration::ZERO)));
    }
}
