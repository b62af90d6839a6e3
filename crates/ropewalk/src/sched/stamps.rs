//! When a few of the tasks that wait in queues were woken.
//!
//! A stamp is put down by who has the task's `Runnable`, before it is queued, and taken by who gets the `Runnable` and runs it: the task itself
//! says that it has one (`Runnable::await_run`), so nobody looks here for the others. A task that is never run leaves its stamp behind; after a
//! while its place is given to another one.
//!
//! ```text
//!   FREE --(put)--> WRITING --> id --(take)--> FREE
//!                      ^         |
//!                      +--(put)--+  it is old
//! ```
//!
//! # Invariants
//!
//! - **ST1** The time is written by who has made the word WRITING, and published by the id: who finds its own id reads the time that was written for it.
//! - **ST2** Who takes a stamp has read its time before it gives the place away: if the place went to another one meanwhile, it has none.

use ropewalk_core::prim::{AtomicU64, Ordering::*};

#[cfg(not(any(loom, shuttle)))]
const PLACES: usize = 64;
#[cfg(any(loom, shuttle))]
const PLACES: usize = 1;
/// So many nanoseconds later a stamp is forgotten, if its place is wanted.
const OLD: u64 = 1_000_000_000;

const FREE: u64 = 0;
const WRITING: u64 = u64::MAX;

/// The stamps of a pool.
#[derive(Debug)]
pub(crate) struct Stamps([Stamp; PLACES]);

#[derive(Debug)]
struct Stamp {
    /// Whose it is.
    word: AtomicU64,
    time: AtomicU64,
}

impl Stamps {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| Stamp { word: AtomicU64::new(FREE), time: AtomicU64::new(0) }))
    }

    fn place(&self, id: u64) -> &Stamp {
        &self.0[id as usize % PLACES]
    }

    /// The task with this id is woken `now`. False: there is no place for it.
    pub(crate) fn put(&self, id: u64, now: u64) -> bool {
        let Stamp { word, time } = self.place(id);
        let before = word.load(Acquire); // the time that is read is that one's, or a later one's
        if before == WRITING || before != FREE && now.saturating_sub(time.load(Relaxed)) < OLD {
            return false;
        }
        if word.compare_exchange(before, WRITING, Acquire, Relaxed).is_err() {
            return false;
        }
        time.store(now, Relaxed);
        word.store(id, Release); // ST1
        true
    }

    /// When the task with this id was woken. It is run by the caller.
    pub(crate) fn take(&self, id: u64) -> Option<u64> {
        let Stamp { word, time } = self.place(id);
        // Relaxed: what was written for this task came with its `Runnable`.
        if word.load(Relaxed) != id {
            return None;
        }
        let woken = time.load(Relaxed);
        word.compare_exchange(id, FREE, Release, Relaxed).is_ok().then_some(woken) // ST2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_core::prim::{self, Arc, thread};

    #[cfg(not(any(loom, shuttle)))]
    #[test]
    fn a_stamp_is_for_one_task_and_for_once() {
        let stamps = Stamps::new();
        assert!(stamps.put(7, 100));
        assert_eq!((stamps.take(8), stamps.take(7), stamps.take(7)), (None, Some(100), None));
        assert!(stamps.put(7, 200) && !stamps.put(7 + PLACES as u64, 300), "the place is taken");
        assert!(stamps.put(7 + PLACES as u64, 200 + OLD), "it was forgotten");
        assert_eq!((stamps.take(7), stamps.take(7 + PLACES as u64)), (None, Some(200 + OLD)));
    }

    /// One runs while another one, whose place is the same, is woken so much later that the first is forgotten.
    // mutation: a-stamp-is-published-before-its-time
    // - in crates/ropewalk/src/sched/stamps.rs: `word.store(id, Release); // ST1`
    // + `word.store(id, Relaxed);`
    // mutation: a-stamp-is-taken-though-it-went-to-another
    // - in crates/ropewalk/src/sched/stamps.rs: `word.compare_exchange(id, FREE, Release, Relaxed).is_ok().then_some(woken) // ST2`
    // + `word.store(FREE, Release); Some(woken)`
    // mutation: two-write-to-one-stamp
    // - in crates/ropewalk/src/sched/stamps.rs: `if word.compare_exchange(before, WRITING, Acquire, Relaxed).is_err() {`
    // + `word.store(WRITING, Relaxed); if false {`
    #[test]
    fn model_a_stamp_has_the_time_of_its_task() {
        prim::model(|| {
            let stamps = Arc::new(Stamps::new());
            assert!(stamps.put(64, 1));
            let wakes = |id: u64| {
                let stamps = stamps.clone();
                thread::spawn(move || {
                    let put = stamps.put(id, id * OLD);
                    assert!(stamps.take(id).is_none_or(|time| put && time == id * OLD), "not what was put");
                    put
                })
            };
            let (second, third) = (wakes(128), wakes(192));
            let first = stamps.take(64);
            assert!(matches!(first, None | Some(1)));
            let put = [second.join().unwrap(), third.join().unwrap()];
            assert!(first.is_some() || put.contains(&true), "it was forgotten for somebody");
            assert_eq!(stamps.take(64), None);
        });
    }
}
