//! A value that changes, and those who want to know: each receiver sees the latest value, not every one.
//!
//! # Invariants
//!
//! - **WA1** `version` is raised (by `STEP`) only by a sender that may change the value (`Lent`, WL1), after it did. So who
//!   borrows the value reads the version that belongs to it.
//! - **WA2** The bit CLOSED of the version is set once, by the last sender that goes. No version comes after it.
//! - **WA3** Whoever raises the version or closes wakes all in `changed` afterwards; who waits there looks at the version after
//!   it announced itself. The same for `receivers` reaching zero and `left`.
//! - **WA4** An old value is dropped after the value was let go and the receivers were woken.

mod lent;
mod receiver;

pub use receiver::{IntoStream, Receiver, RecvError};

use crate::blocked::{self, Reason};
use crate::budget::poll_proceed;
use crate::prim::{Arc, AtomicUsize, Ordering};
use crate::wait_queue::WaitQueue;
use core::fmt;
use core::future::poll_fn;
use core::mem;
use core::ops::Deref;
use lent::{Lent, Reading};

const CLOSED: usize = 1;
const STEP: usize = 2;

/// A channel that holds one value, `init` at first. Receivers learn that it changed and look at it.
///
/// ```
/// use ropewalk_core::{block_on_simple, channel::watch};
///
/// let (level, mut seen) = watch::channel(1);
/// level.send(2).unwrap();
/// level.send(3).unwrap();
/// block_on_simple(async {
///     seen.changed().await.unwrap();
///     assert_eq!(*seen.borrow_and_update(), 3, "only the latest counts");
///     drop(level);
///     assert!(seen.changed().await.is_err());
/// });
/// ```
///
/// # Looking
///
/// [`borrow`](Receiver::borrow) lends the value itself: no clone. As long as a [`Ref`] lives, a sender that wants to change
/// the value blocks its thread; and while a sender changes it (in the closure of [`Sender::send_modify`]), who borrows
/// blocks. So keep a `Ref` no longer than a glance: clone out of it what is needed for longer. It is not `Send`, so the
/// compiler refuses it over an `.await` in a spawned task; do not keep it over a `.wait()` either. Borrowing twice on one
/// thread is fine, also while a sender waits. Borrowing inside the closure that changes the value waits for ever.
///
/// A value's `drop` is never called while it is lent or changed. Its `clone` is called by [`IntoStream`] only, while it is lent.
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        value: Lent::new(init),
        version: AtomicUsize::new(0),
        senders: AtomicUsize::new(1),
        receivers: AtomicUsize::new(1),
        changed: WaitQueue::new(),
        left: WaitQueue::new(),
    });
    (Sender { shared: shared.clone() }, Receiver::new(shared, 0))
}

struct Shared<T> {
    value: Lent<T>,
    /// Counts changes (WA1); odd when there are no senders (WA2).
    version: AtomicUsize,
    senders: AtomicUsize,
    receivers: AtomicUsize,
    /// Receivers that wait for a change.
    changed: WaitQueue,
    /// Senders that wait for the last receiver to go.
    left: WaitQueue,
}

impl<T> Shared<T> {
    /// Lends the value; it has changed for whoever saw the version `seen` last.
    fn borrow(&self, seen: usize) -> (Ref<'_, T>, usize) {
        let value = self.value.read();
        let version = self.version.load(Ordering::Acquire) & !CLOSED; // WA1
        (Ref { value, changed: version != seen }, version)
    }

    /// Changes the value; if `change` says that it did, raises the version and wakes. A panic of `change` leaves the value
    /// as it then is, and tells nobody.
    fn change(&self, change: impl FnOnce(&mut T) -> bool) -> bool {
        let mut value = self.value.write();
        let changed = change(&mut value);
        if changed {
            self.version.fetch_add(STEP, Ordering::Release); // WA1
        }
        drop(value);
        if changed {
            self.changed.wake_all(); // a change (WA3)
        }
        changed
    }
}

/// The value of a watch, lent. Keep it only for a glance: see [`channel`].
#[must_use = "a value that is lent holds up senders"]
pub struct Ref<'a, T> {
    value: Reading<'a, T>,
    changed: bool,
}

impl<T> Ref<'_, T> {
    /// Whether the value had changed since the receiver last saw it. Always false for what a sender borrowed.
    pub fn has_changed(&self) -> bool {
        self.changed
    }
}
impl<T> Deref for Ref<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}
impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// The sending end. When the last one goes, the channel is closed; the last value can still be looked at.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// Puts a new value in place of the old one and tells the receivers.
    ///
    /// # Errors
    ///
    /// There is no receiver: the value comes back, and the old one stays. [`send_replace`](Self::send_replace) stores it all
    /// the same.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.is_closed() {
            return Err(SendError(value));
        }
        drop(self.send_replace(value)); // WA4
        Ok(())
    }

    /// Puts a new value in place of the old one, which it returns, whether or not there are receivers.
    ///
    /// ```
    /// use ropewalk_core::channel::watch;
    /// let (sender, _) = watch::channel("first");
    /// assert_eq!(sender.send_replace("second"), "first");
    /// assert_eq!(*sender.borrow(), "second");
    /// ```
    pub fn send_replace(&self, mut value: T) -> T {
        self.shared.change(|slot| {
            mem::swap(slot, &mut value);
            true
        });
        value
    }

    /// Changes the value in its place and tells the receivers. Everybody who borrows waits meanwhile: see [`channel`].
    ///
    /// # Panics
    ///
    /// If `change` does; the value stays as it then is, and the receivers are not told.
    pub fn send_modify(&self, change: impl FnOnce(&mut T)) {
        self.shared.change(|value| {
            change(value);
            true
        });
    }

    /// Changes the value in its place; tells the receivers only if `change` returns true, and returns that.
    ///
    /// ```
    /// use ropewalk_core::channel::watch;
    /// let (sender, receiver) = watch::channel(1);
    /// let raise = |to| sender.send_if_modified(|level| *level < to && { *level = to; true });
    /// assert!(!raise(1));
    /// assert!(raise(2));
    /// assert!(receiver.has_changed().unwrap());
    /// ```
    ///
    /// # Panics
    ///
    /// If `change` does; the value stays as it then is, and the receivers are not told.
    pub fn send_if_modified(&self, change: impl FnOnce(&mut T) -> bool) -> bool {
        self.shared.change(change)
    }

    /// The value, lent: see [`channel`].
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref { value: self.shared.value.read(), changed: false }
    }

    /// Another receiver, which has seen the present value.
    pub fn subscribe(&self) -> Receiver<T> {
        self.shared.receivers.fetch_add(1, Ordering::Relaxed);
        let version = self.shared.version.load(Ordering::Acquire) & !CLOSED;
        Receiver::new(self.shared.clone(), version)
    }

    /// Whether there is no receiver.
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// Waits until there is no receiver.
    ///
    /// Cancel safety: nothing is lost.
    pub async fn closed(&self) {
        let shared = &*self.shared;
        if self.is_closed() {
            poll_fn(poll_proceed).await;
        }
        while !self.is_closed() {
            let some = || shared.receivers.load(Ordering::Relaxed) != 0;
            let _woken = shared.left.wait_because(Reason::Watch, blocked::address_of(shared), some).await;
        }
    }

    /// How many receivers there are.
    pub fn receiver_count(&self) -> usize {
        self.shared.receivers.load(Ordering::Acquire)
    }

    /// How many senders there are.
    pub fn sender_count(&self) -> usize {
        self.shared.senders.load(Ordering::Acquire)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.senders.fetch_add(1, Ordering::Relaxed);
        Self { shared: self.shared.clone() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.shared.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.version.fetch_add(CLOSED, Ordering::Release); // WA2
            self.shared.changed.wake_all(); // closed (WA3)
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("receivers", &self.receiver_count())
            .field("senders", &self.sender_count())
            .finish_non_exhaustive()
    }
}

/// Nobody watches. The value is inside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").finish_non_exhaustive()
    }
}
impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the watch has no receiver: the value was not stored (`send_replace` stores it all the same)",
        )
    }
}
impl<T> core::error::Error for SendError<T> {}

#[cfg(test)]
mod tests;
