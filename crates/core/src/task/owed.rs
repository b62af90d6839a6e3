//! References that are owed: who waits clones its waker in its own poll, and that poll ends by a change of the state word
//! anyway. So such a clone is only noted, by the thread that polls, and counted by the step that ends the poll.
//!
//! * **O1** A thread's note names the task whose poll began last on it and has not ended, or nobody; while it names nobody,
//!   nothing is owed. Only that thread reads and writes it.
//! * **O2** What is owed is paid (added to the word) before the task ceases to be RUNNING, and before another poll begins on
//!   this stack or another stack goes on on this thread. Hence the pointer in the note is valid while something is owed.
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

    /// One more is owed, if it is the waker of the task that is polled here. False: it must be counted.
    #[inline(always)]
    #[must_use]
    pub(in crate::task) fn owe(task: *const ()) -> bool {
        NOTE.with(|note| {
            let own = note.task.get() == task;
            if own {
                note.owed.set(note.owed.get() + 1);
            }
            own
        })
    }

    /// A reference is given back. True: there was one that is owed, and now is not.
    #[inline(always)]
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

    /// Counts the wakers that the poll under way on this stack cloned. For hosts that run tasks on several stacks: to be
    /// called before another stack goes on on this thread.
    ///
    /// ```
    /// // The stack of the poll under way is put away; something else runs on this thread now.
    /// ropewalk_core::task::pay_owed_references();
    /// ```
    #[inline(never)]
    pub fn pay() {
        NOTE.with(|note| {
            let task = note.task.replace(null());
            let owed = note.owed.take();
            if owed > 0 {
                // SAFETY: O2: something is owed, so the task is RUNNING, hence not COMPLETE: it is there (T3).
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
    /// Nothing is owed.
    pub fn pay() {}
}

pub use note::pay;
pub(super) use note::{begin, end, owe, remit};
