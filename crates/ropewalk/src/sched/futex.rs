//! A word that a thread can sleep on: the only way in which a thread of the runtime blocks outside its driver.
//!
//! [`Futex`] is the contract; there is one file per mechanism, and the choice is made here, once:
//!
//! | where | mechanism |
//! |---|---|
//! | Linux | `futex/linux.rs`: the system call, on the word itself |
//! | elsewhere, and under a model checker | `futex/condvar.rs`: a lock and a condition variable beside the word |
//!
//! The fall-back is compiled into the tests on Linux too, and both must pass the same ones.

use core::fmt::Debug;
use core::ops::Deref;
use core::time::Duration;
use ropewalk_core::prim::AtomicU32;

#[cfg(any(test, loom, shuttle, not(target_os = "linux")))]
mod condvar;
#[cfg(all(target_os = "linux", not(any(loom, shuttle))))]
mod linux;

#[cfg(any(loom, shuttle, not(target_os = "linux")))]
pub(crate) use condvar::Word;
#[cfg(all(target_os = "linux", not(any(loom, shuttle))))]
pub(crate) use linux::Word;

/// An atomic word (through `Deref`) with a wait and a wake.
///
/// 1. **Nothing is slept through.** If a thread changes the word away from `expected` and then calls `wake`, a `wait`
///    for `expected` that began before returns, and one that begins after does not sleep. The comparison in `wait` and
///    the falling asleep are one step in the eyes of `wake`.
/// 2. **Early is allowed.** `wait` may return with the word unchanged and the timeout not over. Callers look again.
/// 3. **No memory order.** Neither call orders other memory: callers synchronise by their accesses to the word.
pub(crate) trait Futex: Deref<Target = AtomicU32> + Debug + Send + Sync {
    /// A word holding `value`, with nobody asleep on it.
    fn new(value: u32) -> Self;

    /// Sleeps while the word holds `expected`: until `wake`, for at most `timeout` (`None`, or more than the clock
    /// can count: no limit).
    fn wait(&self, expected: u32, timeout: Option<Duration>);

    /// Wakes at least `count` of the threads asleep in `wait`, or all if there are fewer.
    fn wake(&self, count: u32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_core::prim::{self, Ordering, thread};
    use std::sync::Arc;

    fn change_then_wake_is_not_slept_through<F: Futex + 'static>() {
        let word = Arc::new(F::new(0));
        let there = word.clone();
        let sleeper = thread::spawn(move || {
            while there.load(Ordering::Acquire) == 0 {
                there.wait(0, None);
            }
        });
        word.store(1, Ordering::Release);
        word.wake(1);
        sleeper.join().unwrap();
    }

    // mutation: wake-beside-the-comparison
    // - in crates/ropewalk/src/sched/futex/condvar.rs: `drop(self.asleep.lock());`
    // + `let _ = &self.asleep;`
    #[test]
    fn model_change_then_wake_is_not_slept_through() {
        prim::model(change_then_wake_is_not_slept_through::<condvar::Word>);
        #[cfg(all(target_os = "linux", not(any(loom, shuttle))))]
        prim::model(change_then_wake_is_not_slept_through::<linux::Word>);
    }

    #[cfg(not(any(loom, shuttle)))]
    mod on_this_machine {
        use super::*;
        use std::time::Instant;

        fn honours<F: Futex + 'static>() {
            another_value_returns_at_once::<F>();
            a_timeout_ends_the_wait::<F>();
            a_huge_timeout_is_no_limit::<F>();
            wake_reaches_as_many_as_asked::<F>();
        }

        fn another_value_returns_at_once<F: Futex>() {
            F::new(7).wait(8, None);
        }

        fn a_timeout_ends_the_wait<F: Futex>() {
            let (word, start) = (F::new(3), Instant::now());
            let limit = Duration::from_micros(1500);
            while start.elapsed() < limit {
                word.wait(3, Some(limit.saturating_sub(start.elapsed())));
            }
            word.wait(3, Some(Duration::ZERO));
        }

        fn a_huge_timeout_is_no_limit<F: Futex + 'static>() {
            let word = Arc::new(F::new(0));
            let there = word.clone();
            let sleeper = thread::spawn(move || {
                while there.load(Ordering::Acquire) == 0 {
                    there.wait(0, Some(Duration::MAX));
                }
            });
            thread::sleep(Duration::from_millis(2));
            assert!(!sleeper.is_finished());
            word.store(1, Ordering::Release);
            word.wake(1);
            sleeper.join().unwrap();
        }

        fn wake_reaches_as_many_as_asked<F: Futex + 'static>() {
            let word = Arc::new(F::new(0));
            let sleepers: Vec<_> = (0..3)
                .map(|_| {
                    let there = word.clone();
                    thread::spawn(move || {
                        while there.load(Ordering::Acquire) == 0 {
                            there.wait(0, None);
                        }
                    })
                })
                .collect();
            thread::sleep(Duration::from_millis(2));
            word.store(1, Ordering::Release);
            word.wake(1);
            word.wake(2);
            for sleeper in sleepers {
                sleeper.join().unwrap();
            }
        }

        #[test]
        #[cfg(target_os = "linux")]
        fn the_system_call_honours_the_contract() {
            honours::<linux::Word>();
        }

        #[test]
        fn the_fall_back_honours_the_contract() {
            honours::<condvar::Word>();
        }
    }
}
