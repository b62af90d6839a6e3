//! A waiter as the queue sees it: the node and its state word. The invariants are numbered in `wait_queue.rs`.

use crate::list::Links;
use crate::prim::{AtomicU32, Ordering, UnsafeCell};
use core::ptr::NonNull;
use core::task::Waker;

/// The values of a waiter's state word.
///
/// ```text
///   IDLE --poll--> WAITING --wake_one--> CHOSEN ---.
///     |               | \---wake_all--> RELEASED ---+--poll, cancel, drop--> DONE
///     |               |  \---close----> CLOSED -----'                         ^  ^
///     |               '----------------------cancel, drop---------------------'  |
///     '------------------poll that need not or cannot wait, cancel, drop----------'
/// ```
pub(super) mod state {
    pub const IDLE: u32 = 0;
    pub const WAITING: u32 = 1;
    pub const CHOSEN: u32 = 2;
    pub const RELEASED: u32 = 3;
    pub const CLOSED: u32 = 4;
    pub const DONE: u32 = 5;
}

/// The node inside a [`Wait`](super::Wait).
pub(super) struct Waiter {
    links: Links<Waiter>,
    /// Whom to wake: there while the node is linked (W2).
    pub(super) waker: UnsafeCell<Option<Waker>>,
    /// The queue's epoch when this node was linked: tells which list it is in (W2).
    pub(super) epoch: UnsafeCell<u64>,
    pub(super) state: AtomicU32,
}

crate::linked!(Waiter, links);
// SAFETY: what is not atomic in it is shared by the rules W1 and W3; wakers may be sent.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl Waiter {
    pub(super) fn new() -> Self {
        Self {
            links: Links::new(),
            waker: UnsafeCell::new(None),
            epoch: UnsafeCell::new(0),
            state: AtomicU32::new(state::IDLE),
        }
    }

    /// Tells a node that was just taken out of its list what became of it; the caller wakes the waker after unlocking.
    ///
    /// # Safety
    ///
    /// The caller took `node` out under the lock, which it still holds. The node may be gone when this returns (W3).
    pub(super) unsafe fn settle(node: NonNull<Self>, outcome: u32) -> Waker {
        // SAFETY: it was linked until now, so it is valid (W4) until the store below, and the lock is held (W1).
        let (waker, state) = unsafe {
            let node = node.as_ref();
            (node.waker.with_mut(|waker| (*waker).take()), &node.state)
        };
        state.store(outcome, Ordering::Release);
        waker.expect("a linked waiter has a waker")
    }
}
