//! The stacks of strands: guarded, pooled, and found by address when one overflows.
//!
//! ```text
//!   StackCache (a worker's)  ⇄  depot of a class (all workers')  ⇄  slots of arenas
//!   warm: take and put are      a short lock; the memory has gone    mapped, never used:
//!   a few loads and stores      back to the system                   no guard yet
//! ```
//!
//! A *class* is all stacks of one size. Its *arenas* are large mappings cut into slots, each of them a guard with the stack
//! above it:
//!
//! ```text
//!   │ guard │ usable             │ guard │ usable             │ …
//!   limit()            ◀── grows base()
//!                              = the next one's limit()
//! ```
//!
//! A page of a stack costs memory from when it is touched until the stack goes back to its depot; what was never touched costs
//! address space. A guard is a guard region of the kernel where there are such, which leave the mapping in one piece
//! (`guard.rs`): then the number of stacks is bounded by memory only.
//!
//! # Invariants
//!
//! * **K1** An arena is mapped readable and writable, and neither unmapped nor moved as long as the process lives. So a slot is
//!   just an address, and the handler of faults needs no lock to look at arenas.
//! * **K2** A slot is in one place: among the bare ones or the free ones of its class's depot, or in one [`Stack`]. The memory
//!   of a slot belongs to whoever took it from there; only a `Stack` is ever run on.
//! * **K3** The guard of a slot faults on every access from before its first `Stack` is made, for ever: giving memory back
//!   spares it.
//! * **K4** The handler of faults does nothing but what a signal handler may: it reads atomics, arenas (K1) and what the owner
//!   of the stack says about itself (K5), writes to a buffer of its own, and calls `write`, `abort`, `sigaction`, `raise` and
//!   the handler that was there before.
//! * **K5** The owner of a stack that [`Stack::set_owner`] names is there until another one or none is named, or the stack is
//!   given back.

mod arena;
mod cache;
mod depot;
mod guard;
mod overflow;
mod release;
mod signal_stack;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use arena::Slot;
use corosensei::stack::{Stack as RunOn, StackPointer};
use depot::Class;
use ropewalk_core::prim::real::Ordering;
use std::io;
use std::ptr::{NonNull, null_mut};

pub(crate) use cache::StackCache;
pub(crate) use overflow::{DESCRIBE, Line};
pub(crate) use signal_stack::{SignalStack, prepare_thread};

/// The right to run on one slot (K2). Dropping it gives the slot back to its depot, and its memory to the system.
#[derive(Debug)]
pub(crate) struct Stack(Slot);

impl Stack {
    /// A stack with at least so many bytes to use: rounded up to whole pages, and never less than 8 KiB.
    ///
    /// # Errors
    /// There is no memory, or the mappings of the process have run out: the text says which.
    pub(crate) fn new(usable: usize) -> io::Result<Self> {
        Class::of(usable)?.take()
    }

    /// How many bytes can be used.
    pub(crate) fn usable(&self) -> usize {
        self.0.shape().usable
    }

    /// Whom a report of an overflow names: it is handed to [`DESCRIBE`]. It must be there until another one or none is set, or
    /// this stack is dropped or put into a cache (K5).
    #[inline]
    pub(crate) fn set_owner(&self, owner: Option<NonNull<()>>) {
        self.0.owner().store(owner.map_or(null_mut(), NonNull::as_ptr), Ordering::Release);
    }

    fn class(&self) -> &'static Class {
        self.0.class()
    }

    /// For one that is given back along with others.
    fn into_slot(self) -> Slot {
        self.set_owner(None);
        std::mem::ManuallyDrop::new(self).0
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.set_owner(None);
        self.class().give_back(self.0);
    }
}

// SAFETY: the slot is ours alone (K2), mapped (K1) and guarded at its low end (K3), and no shape has less than the 4 KiB that
// are asked for here (`LEAST`). Both ends are at a page's boundary.
unsafe impl RunOn for Stack {
    #[inline]
    fn base(&self) -> StackPointer {
        self.0.base()
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        StackPointer::new(self.0.limit()).expect("nothing is mapped at address zero")
    }
}
