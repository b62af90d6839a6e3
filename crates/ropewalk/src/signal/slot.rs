//! The deliveries of one signal, and those who wait for them.
//!
//! # Invariants
//!
//! - **SD1** A listener asks for its place at the bell first and looks at the count second. Who delivers raises the count
//!   first; the bell rings afterwards. So a listener sees the count, or hears the bell.

use ropewalk_core::prim::{AtomicUsize, Ordering::*};
use ropewalk_core::sync::Notify;

/// One signal of the process.
pub(super) struct Slot {
    delivered: AtomicUsize,
    bell: Notify,
}

impl Slot {
    pub(super) fn new() -> Self {
        Self { delivered: AtomicUsize::new(0), bell: Notify::new() }
    }

    /// One more delivery. Called by the handler: one atomic operation and nothing else.
    pub(super) fn deliver(&self) {
        self.delivered.fetch_add(1, Release);
    }

    /// How many there were.
    pub(super) fn delivered(&self) -> usize {
        self.delivered.load(Acquire)
    }

    /// Wakes all who wait. Called after [`deliver`](Self::deliver), on a thread.
    pub(super) fn ring(&self) {
        self.bell.notify_waiters();
    }

    /// Waits until there were more or fewer deliveries than `seen`, which is told.
    pub(super) async fn beyond(&self, seen: &mut usize) {
        loop {
            let rung = self.bell.notified();
            if self.advance(seen) {
                return;
            }
            rung.await;
        }
    }

    /// Whether there were more than `seen`, which is told.
    pub(super) fn advance(&self, seen: &mut usize) -> bool {
        let now = self.delivered();
        std::mem::replace(seen, now) != now
    }
}

#[cfg(test)]
mod tests;
