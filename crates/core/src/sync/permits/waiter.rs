//! A waiter as the line sees it. The invariants are numbered in `permits.rs`.

use crate::deadlock::Waiting;
use crate::list::Links;
use crate::prim::{AtomicU32, Ordering, UnsafeCell};
use core::ptr::NonNull;
use core::task::Waker;

/// The values of a waiter's state word.
///
/// ```text
///   WAITING --grant, or a poll after a call--> GRANTED
///      \----close--> CLOSED
/// ```
pub(super) mod state {
    pub const WAITING: u32 = 0;
    pub const GRANTED: u32 = 1;
    pub const CLOSED: u32 = 2;
}

/// The node inside a [`Claim`](super::Claim).
pub(super) struct Waiter {
    links: Links<Waiter>,
    /// Touched under the line's lock, or by the owner while the node is not linked (A3).
    seat: UnsafeCell<Seat>,
    pub(super) state: AtomicU32,
    /// The owner's alone.
    pub(super) needs: Waiting,
}

/// What the line knows about a linked node.
pub(super) struct Seat {
    /// Whom to wake: there while the node is linked, except between being called and coming.
    pub(super) waker: Option<Waker>,
    pub(super) want: usize,
    /// It was woken and may come for its permits; they are not its own yet.
    pub(super) called: bool,
}

crate::linked!(Waiter, links);
// SAFETY: what is not atomic in it is shared by the rules A3 and A4; wakers may be sent.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl Waiter {
    pub(super) fn new(waker: Waker, want: usize) -> Self {
        let seat = Seat { waker: Some(waker), want, called: false };
        let (seat, state) = (UnsafeCell::new(seat), AtomicU32::new(state::WAITING));
        Self { links: Links::new(), seat, state, needs: Waiting::new() }
    }

    /// Looks at the seat, or changes it.
    ///
    /// # Safety
    ///
    /// The caller holds the line's lock, or owns the node, which is not linked (A3). `f` does not come back here.
    pub(super) unsafe fn seat<R>(&self, f: impl FnOnce(&mut Seat) -> R) -> R {
        // SAFETY: the caller's promise.
        self.seat.with_mut(|seat| f(unsafe { &mut *seat }))
    }

    /// Tells a node that was just taken out of the line what became of it; the caller wakes the waker after unlocking.
    ///
    /// # Safety
    ///
    /// The caller took `node` out under the lock, which it still holds. The node may be gone when this returns (A4).
    pub(super) unsafe fn settle(node: NonNull<Self>, outcome: u32) -> Option<Waker> {
        // SAFETY: it was linked until now, so it is valid (A5) until the store below, and the lock is held (A3).
        let node = unsafe { node.as_ref() };
        // SAFETY: as above.
        let waker = unsafe { node.seat(|seat| seat.waker.take()) };
        node.state.store(outcome, Ordering::Release); // the last access (A4)
        waker
    }
}

impl Seat {
    /// Whether it would wake the same as `waker`.
    pub(super) fn is_of(&self, waker: &Waker) -> bool {
        self.waker.as_ref().is_some_and(|own| own.will_wake(waker))
    }

    /// Goes on waiting, with this waker; if it had been called, it is not any more. Returns the old waker.
    pub(super) fn go_on_with(&mut self, waker: Waker) -> Option<Waker> {
        self.called = false;
        self.waker.replace(waker)
    }
}
