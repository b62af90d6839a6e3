//! Every receiver gets every value: a ring of the last n, in which slow receivers miss what was overwritten and are told so.
//!
//! # How no `clone` or `drop` of a value runs under the lock
//!
//! A slot holds the value behind an `Arc`. A receiver takes a reference under the lock and clones the value after it; the
//! last one who still has to see the value takes the slot's own reference, and so, as a rule, the value itself without
//! cloning. What is overwritten, or seen by all, is carried out of the lock and dropped there.
//!
//! # Invariants
//!
//! - **BC1** The value at position `p` is in slot `p % n` until it is overwritten by that at `p + n`, or all have seen it.
//! - **BC2** The slot's `unseen` counts the receivers that were there when the value was sent and have not yet seen or passed
//!   it. The value is there exactly while that is not zero.
//! - **BC3** Positions are given under the lock; `tail` (the next one) is written there too, and read without it only as a
//!   hint and by those who are about to wait. Whoever moves it, or closes, wakes all afterwards; who waits looks after it
//!   announced itself.

mod receiver;
mod ring;

pub use receiver::{IntoStream, Receiver, RecvError, TryRecvError};

use crate::prim::{Arc, AtomicUsize, BriefLock, Ordering};
use crate::wait_queue::WaitQueue;
use core::fmt;
use ring::Ring;

/// The largest capacity.
const MOST: usize = usize::MAX / 4;

/// A channel in which every receiver gets every value, as long as it is no more than `capacity` values behind.
///
/// ```
/// use ropewalk_core::{block_on_simple, channel::broadcast};
///
/// let (sender, mut first) = broadcast::channel(2);
/// let mut second = sender.subscribe();
/// sender.send("a").unwrap();
/// block_on_simple(async {
///     assert_eq!(first.recv().await, Ok("a"));
///     sender.send("b").unwrap();
///     sender.send("c").unwrap(); // overwrites "a", which the second has not seen
///     assert_eq!(second.recv().await, Err(broadcast::RecvError::Lagged(1)));
///     assert_eq!(second.recv().await, Ok("b"));
/// });
/// ```
///
/// A value is dropped as soon as all receivers have it, or when it is overwritten. The last receiver gets it without
/// cloning, if the others have finished theirs.
///
/// # Panics
///
/// If `capacity` is 0 or more than a quarter of `usize::MAX`. The room for it is allocated at once.
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(
        (1..=MOST).contains(&capacity),
        "broadcast::channel: `capacity` is {capacity}, but must be from 1 to {MOST}"
    );
    let shared = Arc::new(Shared {
        ring: BriefLock::new(Ring::new(capacity)),
        tail: AtomicUsize::new(0),
        senders: AtomicUsize::new(1),
        queue: WaitQueue::new(),
    });
    (Sender { shared: shared.clone() }, Receiver::new(shared, 0))
}

struct Shared<T> {
    ring: BriefLock<Ring<T>>,
    /// The low bits of the next position (BC3). A receiver that would be misled by a wrap would have to miss all of them.
    tail: AtomicUsize,
    senders: AtomicUsize,
    /// Those who wait for `tail` to move. Closed when there are no senders.
    queue: WaitQueue,
}

/// The sending end.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// Sends `value` to all receivers there are, and returns their number. Never waits: the oldest value makes room.
    ///
    /// # Errors
    ///
    /// There is no receiver: the value comes back. One may come later ([`subscribe`](Self::subscribe)).
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let mut value = Some(Arc::new(value));
        let mut ring = self.shared.ring.lock();
        let receivers = ring.receivers();
        let overwritten = if receivers > 0 { ring.push(&mut value) } else { None };
        self.shared.tail.store(ring.tail() as usize, Ordering::Relaxed); // BC3
        drop(ring);
        if let Some(value) = value {
            let Ok(value) = Arc::try_unwrap(value) else { unreachable!("nobody has seen it") };
            return Err(SendError(value));
        }
        self.shared.queue.wake_all(); // BC3
        drop(overwritten);
        Ok(receivers)
    }

    /// Another receiver, for the values that are sent from now on.
    pub fn subscribe(&self) -> Receiver<T> {
        let next = self.shared.ring.lock().join();
        Receiver::new(self.shared.clone(), next)
    }

    /// How many values are kept because some receiver has not seen them.
    pub fn len(&self) -> usize {
        self.shared.ring.lock().kept()
    }

    /// Whether all receivers have seen everything.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many values are kept at most.
    pub fn capacity(&self) -> usize {
        self.shared.ring.lock().capacity()
    }

    /// How many receivers there are.
    pub fn receiver_count(&self) -> usize {
        self.shared.ring.lock().receivers()
    }

    /// Whether both send to the same receivers.
    pub fn same_channel(&self, other: &Self) -> bool {
        core::ptr::eq(&*self.shared, &*other.shared)
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
            self.shared.queue.close();
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("len", &self.len()).field("capacity", &self.capacity()).finish()
    }
}

/// Nobody receives. The value is inside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").finish_non_exhaustive()
    }
}
impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the broadcast has no receiver: the value was not sent")
    }
}
impl<T> core::error::Error for SendError<T> {}

#[cfg(test)]
mod tests;
