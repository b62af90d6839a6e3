//! A channel without room: a value goes from a sender to a receiver that is there at the same time.
//!
//! A sender that waits lays its value on the table, as an *offer* with its waker; a receiver takes the oldest offer and
//! calls who made it. A receiver that waits is counted as *present*. Who cannot wait (`try_send`) or waits for a receiver
//! before it has a value (`reserve`) needs one that is present and not yet spoken for; its value lies on the table too,
//! and cannot be withdrawn.
//!
//! # Invariants
//!
//! - **Z1** Everything is under one lock; no code of the user runs under it.
//! - **Z2** An offer is on the table from when it is made until a receiver takes it or its maker withdraws it, whatever
//!   comes first; its number finds it. So a value is received or given back, never both.
//! - **Z3** `lying` and `takers` are copies, written under the lock, for those who decide whether to wait. Whoever changes
//!   them calls the wait queue afterwards, whose barriers do the rest.
//! - **Z4** A receiver that was spoken for may leave. Then the value stays on the table for the next one, and nobody else
//!   can give before it was taken.

use super::{SendError, TryRecvError, TrySendError};
use crate::prim::{AtomicBool, AtomicUsize, Lock, Ordering::*};
use alloc::collections::VecDeque;
use core::num::NonZeroU64;
use core::task::{Poll, Waker};

pub(super) struct Meeting<T> {
    table: Lock<Table<T>>,
    /// How many offers there are (Z3).
    lying: AtomicUsize,
    /// How many receivers wait that are not spoken for (Z3).
    takers: AtomicUsize,
    /// Written under the lock.
    closed: AtomicBool,
}

struct Table<T> {
    offers: VecDeque<Offer<T>>,
    /// The number of the next offer.
    next: NonZeroU64,
    /// Receivers that wait.
    present: usize,
    /// Receivers that a permit speaks for.
    promised: usize,
}

struct Offer<T> {
    number: NonZeroU64,
    value: T,
    /// It was given for good: nobody will look for it.
    for_good: bool,
    /// Whom to tell when it is taken, or when nobody will take it.
    maker: Option<Waker>,
}

/// Finds an offer again.
#[derive(Clone, Copy)]
pub(super) struct Number(NonZeroU64);

impl<T> Table<T> {
    /// How many receivers wait that are not spoken for.
    fn takers(&self) -> usize {
        self.present.saturating_sub(self.offers.len() + self.promised)
    }

    fn lay(&mut self, value: T, maker: Option<Waker>) -> Number {
        let number = self.next;
        self.next = number.checked_add(1).expect("64 bits outlast any machine");
        self.offers.push_back(Offer { number, value, for_good: maker.is_none(), maker });
        Number(number)
    }

    fn find(&self, Number(number): Number) -> Option<usize> {
        self.offers.binary_search_by_key(&number, |offer| offer.number).ok()
    }
}

impl<T> Meeting<T> {
    pub(super) fn new() -> Self {
        let table = Table { offers: VecDeque::new(), next: NonZeroU64::MIN, present: 0, promised: 0 };
        Self {
            table: Lock::new(table),
            lying: AtomicUsize::new(0),
            takers: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Changes the table, and says how many offers there are.
    fn with<R>(&self, f: impl FnOnce(&mut Table<T>) -> R) -> R {
        let mut table = self.table.lock();
        let result = f(&mut table);
        self.lying.store(table.offers.len(), Relaxed);
        self.takers.store(table.takers(), Relaxed);
        result
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Acquire)
    }

    pub(super) fn len(&self) -> usize {
        self.lying.load(Acquire)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Closes, and tells those who offer; `false` if it was closed.
    pub(super) fn close(&self) -> bool {
        let first = self.with(|_| !self.closed.swap(true, AcqRel));
        let _all = TellingMakers(self);
        first
    }

    // ---- sending ----------------------------------------------------------------------------------------------

    /// Gives a value to a receiver that waits.
    pub(super) fn give(&self, value: T) -> Result<(), TrySendError<T>> {
        self.with(|table| {
            if self.is_closed() {
                return Err(TrySendError::Closed(value));
            }
            if table.takers() == 0 {
                return Err(TrySendError::Full(value));
            }
            let _for_good = table.lay(value, None);
            Ok(())
        })
    }

    /// Offers a value; `maker` is told when it is taken.
    pub(super) fn offer(&self, value: T, maker: Waker) -> Result<Number, SendError<T>> {
        let mut maker = Some(maker); // dropped after the lock if it is not used
        self.with(
            |table| {
                if self.is_closed() { Err(SendError(value)) } else { Ok(table.lay(value, maker.take())) }
            },
        )
    }

    /// Whether the offer was taken; if not, `waker` is told when it is. `Err`: nobody will take it, here it is.
    pub(super) fn poll_taken(&self, offer: Number, waker: &Waker) -> Poll<Result<(), SendError<T>>> {
        let same = self.with(|table| {
            let at = table.find(offer)?;
            if self.is_closed() {
                return table.offers.remove(at).map(Err);
            }
            Some(Ok(table.offers[at].maker.as_ref().is_some_and(|maker| maker.will_wake(waker))))
        });
        match same {
            None => Poll::Ready(Ok(())),
            Some(Err(Offer { value, .. })) => Poll::Ready(Err(SendError(value))),
            Some(Ok(true)) => Poll::Pending,
            Some(Ok(false)) => self.tell_instead(offer, waker.clone()),
        }
    }

    /// The waker was cloned without the lock: the offer may have been taken, or the channel closed, meanwhile.
    fn tell_instead(&self, offer: Number, waker: Waker) -> Poll<Result<(), SendError<T>>> {
        let mut waker = Some(waker); // dropped after the lock, as is the old one (Z1)
        let replaced = self.with(|table| {
            let at = table.find(offer)?;
            if self.is_closed() {
                return table.offers.remove(at).map(Err);
            }
            core::mem::swap(&mut table.offers[at].maker, &mut waker);
            Some(Ok(()))
        });
        match replaced {
            None => Poll::Ready(Ok(())),
            Some(Err(Offer { value, .. })) => Poll::Ready(Err(SendError(value))),
            Some(Ok(())) => Poll::Pending,
        }
    }

    /// Takes an offer back; `None` if a receiver has it.
    pub(super) fn withdraw(&self, offer: Number) -> Option<T> {
        let offer = self.with(|table| table.find(offer).and_then(|at| table.offers.remove(at)));
        offer.map(|offer| offer.value)
    }

    /// Speaks for a receiver that waits.
    pub(super) fn reserve(&self) -> Result<(), TrySendError<()>> {
        self.with(|table| {
            if self.is_closed() {
                return Err(TrySendError::Closed(()));
            }
            if table.takers() == 0 {
                return Err(TrySendError::Full(()));
            }
            table.promised += 1;
            Ok(())
        })
    }

    /// Gives the value that a receiver was spoken for with.
    pub(super) fn redeem(&self, value: T) -> Result<(), SendError<T>> {
        self.with(|table| {
            table.promised -= 1;
            if self.is_closed() {
                return Err(SendError(value));
            }
            let _for_good = table.lay(value, None);
            Ok(())
        })
    }

    /// Does not speak for a receiver any more.
    pub(super) fn give_back(&self) {
        self.with(|table| table.promised -= 1);
    }

    /// Somebody is there to take a value that nobody has yet.
    pub(super) fn has_taker(&self) -> bool {
        self.takers.load(Relaxed) > 0
    }

    // ---- receiving --------------------------------------------------------------------------------------------

    /// Takes the oldest offer and tells its maker.
    pub(super) fn take(&self) -> Result<T, TryRecvError> {
        let taken = self.with(|table| {
            // After closing, what was given for good is still there; offers are their makers'.
            let at = match self.is_closed() {
                true => table.offers.iter().position(|offer| offer.for_good),
                false => (!table.offers.is_empty()).then_some(0),
            };
            at.and_then(|at| table.offers.remove(at)).ok_or_else(|| self.is_closed())
        });
        match taken {
            Ok(Offer { value, maker, .. }) => {
                if let Some(maker) = maker {
                    maker.wake(); // it was taken
                }
                Ok(value)
            }
            Err(true) => Err(TryRecvError::Closed),
            Err(false) => Err(TryRecvError::Empty),
        }
    }

    /// A receiver waits from now on.
    pub(super) fn come(&self) {
        self.with(|table| table.present += 1);
    }

    /// A receiver does not wait any more.
    pub(super) fn go(&self) {
        self.with(|table| table.present -= 1);
    }
}

/// Tells everybody with an offer that the channel is closed, also if a waker panics.
struct TellingMakers<'a, T>(&'a Meeting<T>);

impl<T> TellingMakers<'_, T> {
    fn next(&self) -> Option<Waker> {
        // Closed, so there are no new ones; an offer without a waker is its maker's all the same, who looks for it.
        self.0.with(|table| table.offers.iter_mut().find_map(|offer| offer.maker.take()))
    }
}
impl<T> Drop for TellingMakers<'_, T> {
    fn drop(&mut self) {
        while let Some(maker) = self.next() {
            let on_panic = TellingMakers(self.0);
            maker.wake();
            core::mem::forget(on_panic);
        }
    }
}

#[cfg(test)]
mod tests;
