//! Who waits for whom: finds those who wait for each other for ever (feature `deadlock_detection`).
//!
//! Without the feature nothing of this exists: the marks that primitives carry have no size and their functions are empty.
//! With it, every wait for a lock or a task takes a lock of the whole process: for tests and for hunting, not for service.
//!
//! # What counts
//!
//! *Actors* are tasks, strands, blocking jobs and threads. An actor owns what it has a **borrowed** guard of: `MutexGuard`,
//! `RwLockReadGuard`, `RwLockWriteGuard`, and the permit of a `Semaphore` that has only one. It waits for a lock, or for the
//! end of another actor (`TaskHandle`, `JoinHandle`).
//!
//! | who waits | needs |
//! |---|---|
//! | for a `Mutex`, or a `Semaphore` of one permit | its owner |
//! | to write in an `RwLock` | all who read, or the one who writes |
//! | to read in an `RwLock` | the one who writes; if there are only readers, all who wait to write and came before |
//! | for a task, job or thread | that one |
//!
//! Everybody in the right column is needed, so whoever is on a cycle of needs cannot go on, nor can the others on it.
//!
//! # No false report
//!
//! A wait counts if it is *plain*: the actor is suspended, nobody asked it to stop, and there is exactly one waker by which
//! it could be woken: the one that this wait has. With a timeout, in a `select!` or `join!`, under another library's
//! combinator, there are more, or another's: who may still give up or go on otherwise is never reported.
//!
//! The check holds the graph's lock. Let all actors of a cycle be found plain, one after the other. An actor that is
//! suspended neither takes nor gives back anything, so from the first of these looks on, each owner was what the graph
//! says until it was looked at. And it stays suspended: it can only be woken by what it waits for, and the next on the
//! cycle, which would have to give that back, is suspended as well. So none of them will ever go on by itself.
//!
//! What can help them is somebody else: who cancels one of the tasks, adds permits or closes the semaphore.
//!
//! Two things the graph cannot see, and so does not count: owned guards (`lock_owned` and the like) are made for being
//! passed on, and have no owner here. A borrowed guard that was passed to another actor counts for the one who took it,
//! until it is dropped by somebody else; from then on its lock is left out.

#[cfg(all(feature = "deadlock_detection", not(any(loom, shuttle))))]
mod graph;
#[cfg(not(all(feature = "deadlock_detection", not(any(loom, shuttle)))))]
mod off;
#[cfg(all(feature = "deadlock_detection", not(any(loom, shuttle))))]
mod report;

#[cfg(all(feature = "deadlock_detection", not(any(loom, shuttle))))]
pub use graph::{Actor, Checked, Seat, Who, check, found, install};
#[cfg(all(feature = "deadlock_detection", not(any(loom, shuttle))))]
pub(crate) use graph::{Here, Key, Waiting, WakerCount, acquired, counts_no_more, released};
#[cfg(all(feature = "alloc", not(all(feature = "deadlock_detection", not(any(loom, shuttle))))))]
pub(crate) use off::WakerCount;
#[cfg(not(all(feature = "deadlock_detection", not(any(loom, shuttle)))))]
pub(crate) use off::{Here, Key, Waiting, acquired, counts_no_more, released};
#[cfg(all(feature = "deadlock_detection", not(any(loom, shuttle))))]
pub use report::{Deadlock, Member};

/// Whether there is anything of it.
pub(crate) const IS_ON: bool = cfg!(all(feature = "deadlock_detection", not(any(loom, shuttle))));

/// What somebody waits for.
#[cfg_attr(not(feature = "deadlock_detection"), allow(dead_code))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Needs<'a> {
    /// What a lock's owners have.
    Lock(&'a Key),
    /// The end of the task with this id.
    End(u64),
}
