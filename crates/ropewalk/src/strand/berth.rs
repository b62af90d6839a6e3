//! A stack with the seat of its strand at its upper end: there it needs no memory of its own, for that page is in use anyway.

use super::seat::Seat;
use super::stack::Stack;
use corosensei::stack::{STACK_ALIGNMENT, Stack as RunOn, StackPointer};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// What the seat takes.
const ROOM: usize = size_of::<Seat>().next_multiple_of(STACK_ALIGNMENT);
const _: () = assert!(align_of::<Seat>() <= STACK_ALIGNMENT && ROOM <= 256);

/// See the head of this file.
pub(crate) struct Berth(ManuallyDrop<Stack>);

impl Berth {
    /// The seat is there until the berth is dropped or taken apart.
    #[inline]
    pub(super) fn new(stack: Stack, roams: bool) -> (Self, NonNull<Seat>) {
        let size = stack.usable();
        let this = Self(ManuallyDrop::new(stack));
        let seat = this.seat();
        // SAFETY: that memory belongs to the stack, which is ours (K2), and who runs on it stays below (`base`).
        unsafe { seat.write(Seat::new(size, roams)) };
        (this, seat)
    }

    fn seat(&self) -> NonNull<Seat> {
        let place = std::ptr::with_exposed_provenance_mut(self.base().get());
        NonNull::new(place).expect("nothing is mapped at address zero")
    }

    /// Nobody runs on it any more: the stack without the seat.
    #[inline]
    pub(super) fn into_stack(self) -> Stack {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `new` wrote the seat, and both are taken this once.
        unsafe {
            this.seat().drop_in_place();
            ManuallyDrop::take(&mut this.0)
        }
    }
}

impl Drop for Berth {
    fn drop(&mut self) {
        // SAFETY: as in `into_stack`.
        unsafe {
            self.seat().drop_in_place();
            ManuallyDrop::drop(&mut self.0);
        }
    }
}

// SAFETY: it is that of the stack, but for the seat; no stack is so small that what is left is too little.
unsafe impl RunOn for Berth {
    #[inline]
    fn base(&self) -> StackPointer {
        StackPointer::new(self.0.base().get() - ROOM).expect("no stack is so small")
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        self.0.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.0.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.0.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}
