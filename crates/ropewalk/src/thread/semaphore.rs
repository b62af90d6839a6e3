//! A counting semaphore that blocks the thread.
//!
//! Invariants, all under one lock:
//!
//! 1. Who cannot be served at once takes a ticket and joins the queue. Tickets are served in order: a ticket below `served`
//!    has its permits, any other is in the queue. So nobody overtakes, and one who wants many is not starved by those who
//!    want one.
//! 2. Whenever permits come back or the queue's first changes, everybody at its front whose wish fits is served (`serve`).
//!    So while somebody waits, the first one's wish does not fit.
//! 3. Who was served is notified on a condition variable of its own, after it was served; it looks at `served` before it
//!    sleeps and after.

use super::about_to_block;
use super::held::Mark;
use ropewalk_core::prim::{Arc, Condvar, Lock};
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

/// A number of permits; whoever finds too few blocks the thread until they come back. First come, first served.
///
/// ```
/// use ropewalk::thread::Semaphore;
/// static SEATS: Semaphore = Semaphore::new(2);
/// let one = SEATS.acquire();
/// let two = SEATS.try_acquire().unwrap();
/// assert!(SEATS.try_acquire().is_none());
/// drop(one); // releases it
/// assert_eq!(SEATS.available(), 1);
/// drop(two);
/// drop(SEATS.acquire_many(2));
/// ```
pub struct Semaphore(Lock<State>);

struct State {
    permits: usize,
    queue: VecDeque<Waiter>,
    /// How many tickets were given out, and how many served.
    tickets: u64,
    served: u64,
}

struct Waiter {
    wish: usize,
    served: Arc<Condvar>,
}

/// Permits of a [`Semaphore`], released when it is dropped. Not `Send`; permits change hands by
/// [`forget`](Self::forget) here and [`add_permits`](Semaphore::add_permits) there.
#[must_use = "a dropped permit is released at once"]
#[clippy::has_significant_drop]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
    count: usize,
    _mark: Mark,
    /// Not `Send`, but `Sync`.
    not_send: PhantomData<std::sync::MutexGuard<'static, ()>>,
}

impl Semaphore {
    /// With so many permits.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new(permits: usize) -> Self {
        Self(Lock::new(State { permits, queue: VecDeque::new(), tickets: 0, served: 0 }))
    }
    /// With so many permits.
    #[cfg(any(loom, shuttle))]
    pub fn new(permits: usize) -> Self {
        Self(Lock::new(State { permits, queue: VecDeque::new(), tickets: 0, served: 0 }))
    }

    /// Takes a permit; blocks the thread until there is one.
    pub fn acquire(&self) -> Permit<'_> {
        self.acquire_many(1)
    }

    /// Takes `count` permits at once; blocks the thread until there are as many. If there never are, it does not end.
    pub fn acquire_many(&self, count: usize) -> Permit<'_> {
        if !self.take_now(count) {
            about_to_block();
            self.wait_for(count);
        }
        self.permit(count)
    }

    /// Takes a permit if there is one and nobody waits.
    pub fn try_acquire(&self) -> Option<Permit<'_>> {
        self.try_acquire_many(1)
    }

    /// Takes `count` permits if there are as many and nobody waits.
    pub fn try_acquire_many(&self, count: usize) -> Option<Permit<'_>> {
        self.take_now(count).then(|| self.permit(count))
    }

    /// Adds permits.
    ///
    /// # Panics
    /// If there would be more than a `usize` counts.
    pub fn add_permits(&self, count: usize) {
        assert!(self.put(count), "ropewalk: a semaphore counts at most {} permits", usize::MAX);
    }

    /// Adds permits and serves who waits for them. False: they are too many.
    fn put(&self, count: usize) -> bool {
        let mut state = self.0.lock();
        let Some(total) = state.permits.checked_add(count) else { return false };
        state.permits = total;
        let served = state.serve();
        drop(state);
        served.into_iter().for_each(|waiter| waiter.notify_one());
        true
    }

    /// Permits that nobody has: out of date as soon as it is read.
    pub fn available(&self) -> usize {
        self.0.lock().permits
    }

    fn take_now(&self, count: usize) -> bool {
        let mut state = self.0.lock();
        let free = state.queue.is_empty() && state.permits >= count;
        if free {
            state.permits -= count;
        }
        free
    }

    fn wait_for(&self, wish: usize) {
        let served = Arc::new(Condvar::new());
        let mut state = self.0.lock();
        let ticket = state.tickets;
        state.tickets += 1;
        state.queue.push_back(Waiter { wish, served: served.clone() });
        let others = state.serve(); // permits may have come back since the first look
        debug_assert!(others.iter().all(|other| Arc::ptr_eq(other, &served)));
        while state.served <= ticket {
            state = served.wait(state);
        }
    }

    fn permit(&self, count: usize) -> Permit<'_> {
        Permit { semaphore: self, count, _mark: Mark::taken(), not_send: PhantomData }
    }
}

impl State {
    /// Serves those at the front whose wishes fit (2); they are to be notified.
    fn serve(&mut self) -> Vec<Arc<Condvar>> {
        let mut served = Vec::new();
        while let Some(first) = self.queue.pop_front_if(|first| first.wish <= self.permits) {
            self.permits -= first.wish;
            self.served += 1;
            served.push(first.served);
        }
        served
    }
}

impl Permit<'_> {
    /// How many permits it stands for.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Does not give them back.
    pub fn forget(mut self) {
        self.count = 0;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            // Too many only if somebody added as many meanwhile as there can be; then these are not missed.
            let _full = self.semaphore.put(self.count);
        }
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permit({})", self.count)
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (permits, waiting) = {
            let state = self.0.lock();
            (state.permits, state.queue.len())
        };
        f.debug_struct("Semaphore").field("available", &permits).field("waiting", &waiting).finish()
    }
}

#[cfg(test)]
mod tests;
