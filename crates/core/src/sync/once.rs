//! A value that is made once, by whoever needs it first.
//!
//! ```text
//!            claim                 finish, set
//!   EMPTY ──────────▶ RUNNING ──────────────────▶ READY
//!     ▲                  │
//!     └──────────────────┘ the initialiser failed, panicked or was dropped
//! ```
//!
//! # Invariants
//!
//! - **OC1** Whoever moved the state from EMPTY to RUNNING is the only one to touch the value, until it moves the state on.
//! - **OC2** READY is final, and stored (release) after the value: who reads READY (acquire) may read the value.
//! - **OC3** Each way out of RUNNING wakes: READY wakes all, EMPTY wakes one, who then claims. That one passes its turn on if
//!   it is dropped before it noticed; if another claimed before it, it waits again, for that one's way out.

use crate::blocked::{self, Reason};
use crate::prim::{AtomicU32, Ordering, UnsafeCell};
use crate::wait_queue::WaitQueue;
use core::convert::Infallible;
use core::fmt;
use core::future::Future;
use core::mem::{self, MaybeUninit};

const EMPTY: u32 = 0;
const RUNNING: u32 = 1;
const READY: u32 = 2;

/// A cell that is filled once and read many times; who fills it may wait while doing so.
///
/// ```
/// use ropewalk_core::{block_on_simple, sync::OnceCell};
///
/// static ADDRESS: OnceCell<String> = OnceCell::new();
///
/// async fn address() -> &'static str {
///     ADDRESS.get_or_init(|| async { "looked up, once".to_string() }).await
/// }
/// assert_eq!(block_on_simple(address()), "looked up, once");
/// assert!(ADDRESS.get().is_some());
/// ```
///
/// `const`-constructible, except under a model checker; no allocation.
pub struct OnceCell<T> {
    state: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
    queue: WaitQueue,
}

// SAFETY: the value travels with the cell; who drops the cell drops it.
unsafe impl<T: Send> Send for OnceCell<T> {}
// SAFETY: many read the value (`Sync`), and one on any thread writes it, or takes it by `&mut` (`Send`) (OC1, OC2).
unsafe impl<T: Send + Sync> Sync for OnceCell<T> {}

impl<T> OnceCell<T> {
    /// An empty cell.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self {
            state: AtomicU32::new(EMPTY),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            queue: WaitQueue::new(),
        }
    }
    /// An empty cell.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self {
            state: AtomicU32::new(EMPTY),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            queue: WaitQueue::new(),
        }
    }

    /// A cell that is filled.
    pub fn from_value(value: T) -> Self {
        let cell = Self::new();
        let Ok(()) = cell.set(value) else { unreachable!("a new cell is empty") };
        cell
    }

    /// The value, if there is one.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: READY was read by acquire, and nobody writes the value any more (OC2).
        (self.state.load(Ordering::Acquire) == READY) // READY, then the value
            .then(|| self.value.with(|value| unsafe { (*value).assume_init_ref() }))
    }

    /// The value, if there is one, to be changed.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: as in `get`; `&mut self` shows that nobody else has it.
        (self.state.load(Ordering::Acquire) == READY)
            .then(|| self.value.with_mut(|value| unsafe { (*value).assume_init_mut() }))
    }

    /// Takes the value out; the cell is empty then.
    pub fn take(&mut self) -> Option<T> {
        self.get_mut()?;
        self.state.store(EMPTY, Ordering::Relaxed); // `&mut self`: nobody else looks
        // SAFETY: it was READY, and `&mut self` shows that nobody else has the value.
        Some(self.value.with_mut(|value| unsafe { (*value).assume_init_read() }))
    }

    /// The value, if there is one.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Fills the cell.
    ///
    /// # Errors
    ///
    /// The value comes back if there is one already ([`SetError::Ready`]) or if somebody is making one
    /// ([`SetError::Running`]).
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        match self.claim() {
            Ok(claim) => {
                claim.finish(value);
                Ok(())
            }
            Err(READY) => Err(SetError::Ready(value)),
            Err(_) => Err(SetError::Running(value)),
        }
    }

    /// The value; if there is none, makes it by `init`. While one caller does that, the others wait for it.
    ///
    /// Cancel safety: if the future is dropped while it runs its `init`, that is dropped too, and one of the others goes on
    /// with its own `init`; the same if `init` panics. So keep polling it (or drop it): a future that is set aside while
    /// its `init` is half done holds up all others. `init` must not ask for the value of this very cell: it would wait for
    /// itself. A value that is there is read like any other: that never suspends.
    pub async fn get_or_init<F: Future<Output = T>>(&self, init: impl FnOnce() -> F) -> &T {
        match self.get_or_try_init(|| async { Ok::<T, Infallible>(init().await) }).await {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// The value; if there is none, makes it by `init`, which may fail. Then the cell stays empty, and the next of those who
    /// wait runs its own `init`.
    ///
    /// Cancel safety: as for [`get_or_init`](Self::get_or_init).
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, sync::OnceCell};
    ///
    /// let cell = OnceCell::new();
    /// block_on_simple(async {
    ///     assert_eq!(cell.get_or_try_init(|| async { "x".parse::<u32>().map_err(|_| "no number") }).await, Err("no number"));
    ///     assert_eq!(cell.get_or_try_init(|| async { Ok::<_, ()>(5) }).await, Ok(&5));
    /// });
    /// ```
    ///
    /// # Errors
    ///
    /// What `init` says.
    pub async fn get_or_try_init<E, F: Future<Output = Result<T, E>>>(
        &self,
        init: impl FnOnce() -> F,
    ) -> Result<&T, E> {
        loop {
            if let Some(value) = self.get() {
                return Ok(value);
            }
            if let Ok(claim) = self.claim() {
                return Ok(claim.finish(init().await?));
            }
            self.while_running().await;
        }
    }

    /// Waits until the one who initialises is done, or failed and it may be our turn (OC3).
    async fn while_running(&self) {
        let running = || self.state.load(Ordering::Relaxed) == RUNNING;
        let _woken = self.queue.wait_because(Reason::Once, blocked::address_of(self), running).await;
    }

    /// EMPTY to RUNNING, or what the state is.
    fn claim(&self) -> Result<Claim<'_, T>, u32> {
        self.state.compare_exchange(EMPTY, RUNNING, Ordering::Acquire, Ordering::Acquire).map(|_| Claim(self))
    }
}

/// The right to fill the cell (OC1). Dropping it leaves the cell empty and gives somebody else the chance.
struct Claim<'a, T>(&'a OnceCell<T>);

impl<'a, T> Claim<'a, T> {
    fn finish(self, value: T) -> &'a T {
        let cell = self.0;
        mem::forget(self);
        // SAFETY: the claim was ours (OC1).
        cell.value.with_mut(|slot| unsafe { (*slot).write(value) });
        cell.state.store(READY, Ordering::Release);
        cell.queue.wake_all();
        // SAFETY: it is there for good (OC2).
        cell.value.with(|value| unsafe { (*value).assume_init_ref() })
    }
}

impl<T> Drop for Claim<'_, T> {
    fn drop(&mut self) {
        self.0.state.store(EMPTY, Ordering::Release);
        self.0.queue.wake_one(); // OC3
    }
}

impl<T> Drop for OnceCell<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}
impl<T> Default for OnceCell<T> {
    fn default() -> Self {
        Self::new()
    }
}
impl<T> From<T> for OnceCell<T> {
    fn from(value: T) -> Self {
        Self::from_value(value)
    }
}
impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnceCell").field(&self.get()).finish()
    }
}

/// A [`OnceCell`] could not be set. The value is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// There is a value already.
    Ready(T),
    /// Somebody is making the value now.
    Running(T),
}

impl<T> SetError<T> {
    /// The value that was not stored.
    pub fn into_inner(self) -> T {
        match self {
            Self::Ready(value) | Self::Running(value) => value,
        }
    }
}
impl<T> fmt::Display for SetError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready(_) => "the cell has a value already: read it with `get`",
            Self::Running(_) => "somebody is making the cell's value: wait for it with `get_or_init`",
        })
    }
}
impl<T: fmt::Debug> core::error::Error for SetError<T> {}

mod lazy;
pub use lazy::Lazy;
#[cfg(feature = "alloc")]
pub use lazy::LazyInit;

#[cfg(test)]
mod tests;
