//! Why somebody waits: each operation that is about to suspend says so, and whoever runs it may remember.
//!
//! Like the [budget](crate::budget) it is a hook: a runtime that shows reasons installs one; without it, [`note`] is a
//! load and a branch, and only on the way to `Pending`. An exhausted budget is no reason: it is not noted.
//!
//! Whom they wait for is told by the same means, with the feature `deadlock_detection`: who has a lock alone (a `Mutex`, an `RwLock`
//! to write) says so when it takes it, and when it gives it back.

use crate::hook::Hook;
use core::fmt;

/// What somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Reason {
    /// A future that says nothing, or one of another library.
    Other = 0,
    /// A moment.
    Sleep,
    /// The end of a task.
    Join,
    /// The tasks of a group.
    Group,
    /// A `Mutex` that another holds.
    Mutex,
    /// An `RwLock`, to read.
    RwLockRead,
    /// An `RwLock`, to write.
    RwLockWrite,
    /// Permits of a `Semaphore`.
    Semaphore,
    /// A `Notify`.
    Notify,
    /// The others at a `Barrier`.
    Barrier,
    /// A `Condvar`.
    Condvar,
    /// The initialisation of a `OnceCell` or a `Lazy`, by another.
    Once,
    /// A `CancellationToken`.
    Cancellation,
    /// The next turn of a rate limiter.
    RateLimit,
    /// Room in a channel, or a receiver.
    Send,
    /// A message.
    Recv,
    /// The one message of a `oneshot`.
    Oneshot,
    /// A message of a `broadcast`.
    Broadcast,
    /// A change of a `watch`.
    Watch,
    /// The end of a job of the blocking pool.
    Blocking,
    /// The end of a thread.
    Thread,
    /// Something to read from a socket or file, by its descriptor.
    Input,
    /// Room to write to a socket or file, by its descriptor.
    Output,
    /// A change of what a transaction has read.
    Transaction,
}

impl Reason {
    /// Every reason; `ALL[reason as usize] == reason`.
    pub const ALL: [Reason; 24] = [
        Self::Other,
        Self::Sleep,
        Self::Join,
        Self::Group,
        Self::Mutex,
        Self::RwLockRead,
        Self::RwLockWrite,
        Self::Semaphore,
        Self::Notify,
        Self::Barrier,
        Self::Condvar,
        Self::Once,
        Self::Cancellation,
        Self::RateLimit,
        Self::Send,
        Self::Recv,
        Self::Oneshot,
        Self::Broadcast,
        Self::Watch,
        Self::Blocking,
        Self::Thread,
        Self::Input,
        Self::Output,
        Self::Transaction,
    ];
}

/// As it reads after "waits for".
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Other => "something",
            Self::Sleep => "a moment",
            Self::Join => "a task",
            Self::Group => "a group",
            Self::Mutex => "a mutex",
            Self::RwLockRead => "an rwlock, to read",
            Self::RwLockWrite => "an rwlock, to write",
            Self::Semaphore => "a semaphore",
            Self::Notify => "a notification",
            Self::Barrier => "a barrier",
            Self::Condvar => "a condition",
            Self::Once => "an initialisation",
            Self::Cancellation => "a cancellation",
            Self::RateLimit => "a rate limit",
            Self::Send => "room in a channel",
            Self::Recv => "a message",
            Self::Oneshot => "a oneshot message",
            Self::Broadcast => "a broadcast message",
            Self::Watch => "a watched change",
            Self::Blocking => "a blocking job",
            Self::Thread => "a thread",
            Self::Input => "input",
            Self::Output => "room for output",
            Self::Transaction => "a change of what a transaction has read",
        })
    }
}

// SAFETY: a function pointer.
static NOTE: Hook<fn(Reason, usize)> = unsafe { Hook::new() };

/// Installs whom [`note`] tells.
pub fn install(hear: fn(Reason, usize)) {
    NOTE.install(hear);
}

/// Whether anybody listens.
#[inline]
pub fn is_heard() -> bool {
    NOTE.get().is_some()
}

/// The caller is about to return `Pending` because it really waits, for the thing at the address `what` (see
/// [`address_of`]; for a task, job or thread its id). Several notes in one poll are fine: the last one counts, and who
/// waits for many things at once is told so.
///
/// ```
/// use ropewalk_core::blocked::{Reason, address_of, note};
/// struct Gate;
/// note(Reason::Other, address_of(&Gate));
/// ```
#[inline]
pub fn note(reason: Reason, what: usize) {
    if let Some(hear) = NOTE.get() {
        hear(reason, what);
    }
}

// SAFETY: as above.
static HOLD: Hook<fn(usize, bool)> = unsafe { Hook::new() };

/// Installs who is told of each lock that is taken by one alone (true), and given back (false), by its address. With the feature
/// `deadlock_detection` only.
pub fn install_holds(hear: fn(usize, bool)) {
    HOLD.install(hear);
}

/// Whether anybody listens to [`took`] and [`gave_back`]: with the feature `deadlock_detection` only. To ask that each time a lock
/// is taken and given back took 8 instructions, beside the 22 of a free `Mutex` (though no time that could be measured).
#[inline(always)]
fn hears_of_holds() -> bool {
    crate::deadlock::IS_ON && HOLD.is_set()
}

/// What runs here has the lock at this address from now on, alone.
#[inline(always)]
pub(crate) fn took(what: usize) {
    if hears_of_holds() {
        tell_of_hold(what, true);
    }
}

/// What runs here is about to give that lock back; it may be another one that took it.
#[inline(always)]
pub(crate) fn gave_back(what: usize) {
    if hears_of_holds() {
        tell_of_hold(what, false);
    }
}

#[cold]
#[inline(never)]
fn tell_of_hold(what: usize, taken: bool) {
    if let Some(hear) = HOLD.get() {
        hear(what, taken);
    }
}

/// What was noted in this poll does not hold any more: for whoever polled several things, of which one is ready and the
/// others are dropped. It is a note of [`Reason::Other`] at no address.
#[inline]
pub fn forget() {
    note(Reason::Other, 0);
}

/// What [`note`] wants to know of the thing that is waited for: where it is. Nobody follows the address.
#[inline]
pub fn address_of<T: ?Sized>(thing: &T) -> usize {
    core::ptr::from_ref(thing).addr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_reason_is_found_again_by_its_number_and_reads_as_no_other() {
        let mut seen = std::collections::HashSet::new();
        for (number, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(number, reason as usize);
            assert!(seen.insert(reason.to_string()), "{reason} twice");
        }
    }
}
