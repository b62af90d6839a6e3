//! Waiting until something under a [`Mutex`](super::Mutex) has changed.
//!
//! A waiter is in the queue before it unlocks the mutex. So whoever changes the value under the lock and notifies then, or
//! later, finds it there.

use super::MutexGuard;
use crate::blocked::{self, Reason};
use crate::deadlock::Here;
use crate::wait_queue::WaitQueue;
use core::fmt;
use core::future::{Future, poll_fn};
use core::mem;
use core::pin::pin;

/// A condition variable for a [`Mutex`](super::Mutex).
///
/// ```
/// use ropewalk_core::{block_on_simple, sync::{Condvar, Mutex}};
///
/// static QUEUE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// static FILLED: Condvar = Condvar::new();
///
/// let taker = std::thread::spawn(|| {
///     block_on_simple(async {
///         let guard = QUEUE.lock().await;
///         FILLED.wait_while(guard, |queue| queue.is_empty()).await.pop()
///     })
/// });
/// block_on_simple(async { QUEUE.lock().await.push(7) });
/// FILLED.notify_one();
/// assert_eq!(taker.join().unwrap(), Some(7));
/// ```
///
/// Waiters are notified in the order in which they came. A wait may end without need (the notification of a waiter that
/// was cancelled goes to another, who may find nothing to do): look at the value, or use [`wait_while`](Self::wait_while).
/// It may be used with several mutexes. It allocates nothing and is `const`-constructible (except under a model checker).
pub struct Condvar {
    queue: WaitQueue,
}

impl Condvar {
    /// A condition that nobody waits for.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self { queue: WaitQueue::new() }
    }
    /// A condition that nobody waits for.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self { queue: WaitQueue::new() }
    }

    /// Unlocks the mutex, waits to be notified, and locks it again. The mutex is unlocked by the first poll.
    ///
    /// Cancel safety: the guard was given away, so the mutex is not locked (any more) on behalf of a future that is
    /// dropped, and what the lock protects may have changed. A notification that it had received goes to the next
    /// waiter.
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub fn wait<'m, T: ?Sized>(&self, guard: MutexGuard<'m, T>) -> impl Future<Output = MutexGuard<'m, T>> {
        self.wait_at(guard, Here::caller())
    }

    /// Waits for as long as `condition` says so. It is asked with the mutex locked, first before waiting at all.
    ///
    /// Cancel safety: as for [`wait`](Self::wait).
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub fn wait_while<'m, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'m, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> impl Future<Output = MutexGuard<'m, T>> {
        let here = Here::caller();
        async move {
            while condition(&mut *guard) {
                guard = self.wait_at(guard, here).await;
            }
            guard
        }
    }

    /// Notifies the one that waits longest. Returns `false` if nobody waits: nothing is remembered.
    ///
    /// The mutex need not be locked, but the change must have been made under it. Without the lock the one that is woken
    /// does not have to wait for it.
    pub fn notify_one(&self) -> bool {
        self.queue.wake_one()
    }

    /// Notifies all who wait now, and returns how many.
    pub fn notify_all(&self) -> usize {
        self.queue.wake_all()
    }

    /// Asked for `here`, which is where a deadlock over the mutex is reported to be.
    async fn wait_at<'m, T: ?Sized>(&self, guard: MutexGuard<'m, T>, here: Here) -> MutexGuard<'m, T> {
        let mutex = MutexGuard::mutex(&guard);
        self.notified(guard).await;
        let turn = Turn(&self.queue);
        let guard = mutex.lock_at(here).await;
        mem::forget(turn);
        guard
    }

    /// Queues, then unlocks.
    async fn notified<T: ?Sized>(&self, guard: MutexGuard<'_, T>) {
        let mut wait = pin!(self.queue.wait());
        let mut guard = Some(guard);
        let woken = poll_fn(|cx| {
            let polled = wait.as_mut().poll(cx);
            if polled.is_pending() {
                drop(guard.take());
                blocked::note(Reason::Condvar, blocked::address_of(self));
            }
            polled
        });
        woken.await.expect("a condition is never closed");
    }
}

/// A notification that was received, by somebody who does not hold the mutex yet.
struct Turn<'c>(&'c WaitQueue);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.wake_one();
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}
impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").field("queue", &self.queue).finish()
    }
}

#[cfg(test)]
mod tests;
