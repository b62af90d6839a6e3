//! References that are owed: who waits clones its waker in its own poll, and that poll ends by a change of the state word
//! anyway. So such a clone is only noted, by the thread that polls, and counted by the step that ends the poll.
//!
//! * **OW1** A thread's note names the task whose poll began last on it and has not ended, or nobody; while it names nobody,
//!   nothing is owed. Only that thread reads and writes it.
//! * **OW2** What is owed is paid (added to the word) when the poll ends, before the task ceases to be RUNNING, and before the
//!   note names another task. A poll ends on the thread on which it began, also if its stack is put away meanwhile. Hence
//!   the task in the note is there while something is owed.
//! * **OW3** No more than `MOST` are owed. Beyond that each one is counted, and it is noticed if there are too many.
//!
//! Meanwhile the word counts too few: others may give back references that are not counted yet, and its count goes below
//! zero. Nobody acts on it: who frees the cell sees COMPLETE (T3), who finds it unreachable sees it idle, and it is RUNNING.

#[cfg(feature = "std")]
mod note {
    use crate::task::Header;
    use core::cell::Cell;
    use core::ptr::{NonNull, null};

    struct Note {
        task: Cell<*const ()>,
        owed: Cell<usize>,
    }

    /// Leaves the count in the word room enough on machines of any size.
    pub(in crate::task) const MOST: usize = 1 << 12;

    crate::prim::per_thread!(static NOTE: Note = Note { task: Cell::new(null()), owed: Cell::new(0) });

    /// A poll of `task` begins.
    #[inline(always)]
    pub(in crate::task) fn begin(task: NonNull<Header>) {
        NOTE.with(|note| {
            if note.owed.get() > 0 {
                pay();
            }
            note.task.set(task.as_ptr().cast());
        });
    }

    /// The poll of `task` has ended. Returns what it owes: the caller pays.
    #[inline(always)]
    #[must_use]
    pub(in crate::task) fn end(task: NonNull<Header>) -> usize {
        NOTE.with(|note| {
            if note.task.get() != task.as_ptr() as *const () {
                return 0; // it was paid when something else began here
            }
            note.task.set(null());
            let owed = note.owed.get();
            if owed > 0 {
                note.owed.set(0);
            }
            owed
        })
    }

    /// One more is owed, if it is the waker of the task that is polled here (OW3). False: it must be counted.
    #[cfg_attr(feature = "roaming", inline(never))] // on a stack that may go on on another thread
    #[cfg_attr(not(feature = "roaming"), inline(always))]
    #[must_use]
    pub(in crate::task) fn owe(task: *const ()) -> bool {
        NOTE.with(|note| {
            let owed = note.owed.get();
            let owes = note.task.get() == task && owed < MOST;
            if owes {
                note.owed.set(owed + 1);
            }
            owes
        })
    }

    /// A reference is given back. True: there was one that is owed, and now is not.
    #[cfg_attr(feature = "roaming", inline(never))] // as above
    #[cfg_attr(not(feature = "roaming"), inline(always))]
    #[must_use]
    pub(in crate::task) fn remit(task: *const ()) -> bool {
        NOTE.with(|note| {
            let (own, owed) = (note.task.get() == task, note.owed.get());
            if own && owed > 0 {
                note.owed.set(owed - 1);
                return true;
            }
            false
        })
    }

    /// Another poll begins within the one under way, or while its stack is put away: pays what that one owes. From here on it
    /// counts each reference.
    #[cold]
    fn pay() {
        NOTE.with(|note| {
            let task = note.task.replace(null());
            let owed = note.owed.take();
            if owed > 0 {
                // SAFETY: OW2: something is owed, so the task is RUNNING, hence not COMPLETE: it is there (T3).
                unsafe { (*task.cast::<Header>()).state.pay(owed) };
            }
        });
    }
}

/// Without threads that can keep a note, every reference is counted at once.
#[cfg(not(feature = "std"))]
mod note {
    use crate::task::Header;
    use core::ptr::NonNull;

    pub(in crate::task) fn begin(_: NonNull<Header>) {}
    pub(in crate::task) fn end(_: NonNull<Header>) -> usize {
        0
    }
    pub(in crate::task) fn owe(_: *const ()) -> bool {
        false
    }
    pub(in crate::task) fn remit(_: *const ()) -> bool {
        false
    }
}

#[cfg(all(test, feature = "std", not(any(loom, shuttle))))]
pub(super) use note::MOST;
pub(super) use note::{begin, end, owe, remit};
