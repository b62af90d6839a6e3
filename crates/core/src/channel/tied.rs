//! A receiver, and what borrows from the channel that it keeps, as one value: the self-reference in every stream.
//!
//! # Invariants
//!
//! - **TD1** What is borrowed is in the channel, not in the receiver: the receiver's `Arc` keeps it where it is, wherever the
//!   receiver is moved to, and as long as the receiver is there. The receiver is never replaced.
//! - **TD2** The borrower goes first. It is in a `ManuallyDrop`, for the order and because of what comes after: when the receiver
//!   goes, and the channel with it, what is left of the borrower dangles, and there it may. (Otherwise `drop(stream)` would
//!   be a function that frees what its argument refers to.)
//! - **TD3** The borrower is pinned with the whole, and dropped where it is. It may be linked in a queue of the channel (W4).

use crate::blocked::{self, Reason};
use crate::wait_queue::Wait;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll};

pub(super) struct Tied<B, R> {
    /// Pinned with it (TD3).
    borrower: ManuallyDrop<B>,
    receiver: R,
}

impl<B, R> Tied<B, R> {
    /// # Safety
    ///
    /// All that `borrower` borrows is in the channel that `receiver` keeps (TD1).
    pub(super) unsafe fn new(borrower: B, receiver: R) -> Self {
        Self { borrower: ManuallyDrop::new(borrower), receiver }
    }

    pub(super) fn receiver(&self) -> &R {
        &self.receiver
    }

    /// # Safety
    ///
    /// The receiver is changed at most: it is not replaced, nor swapped with another (TD1).
    #[inline(always)]
    pub(super) unsafe fn parts(self: Pin<&mut Self>) -> (Pin<&mut B>, &mut R) {
        // SAFETY: the borrower is pinned with the whole and moved by nobody (TD3); the receiver is not pinned.
        unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut *this.borrower), &mut this.receiver)
        }
    }
}

impl<B, R> Drop for Tied<B, R> {
    fn drop(&mut self) {
        // SAFETY: once, here, in its place (TD3), and before the receiver (TD2).
        unsafe { ManuallyDrop::drop(&mut self.borrower) }
    }
}

/// Waits to be woken, if `should_wait` says so. Ready: look again. `why` is noted.
pub(super) fn poll_woken(
    mut wait: Pin<&mut Wait<'_>>,
    cx: &mut Context<'_>,
    why: (Reason, usize),
    should_wait: impl FnOnce() -> bool,
) -> Poll<()> {
    if wait.as_mut().poll_wait_with(cx, should_wait).is_pending() {
        blocked::note(why.0, why.1);
        return Poll::Pending;
    }
    stop_waiting(wait); // woken or closed: who looks will see
    Poll::Ready(())
}

/// Leaves the queue. The next poll waits anew.
pub(super) fn stop_waiting(mut wait: Pin<&mut Wait<'_>>) {
    let queue = wait.queue();
    wait.set(queue.wait());
}
