//! What the senders and receivers of one channel share: its queue, of one of three kinds, those who wait, and how many
//! handles there are.
//!
//! # Waiting without losing a wake-up
//!
//! The ring and the blocks have a word at each end; whoever sends moves the tail, whoever receives moves the head. A
//! receiver waits for the tail to move, a sender for the head.
//!
//! ```text
//! waiter                                          mover
//!   1. lock the wait queue                          1. move the word, taking WAITING out     <- same word
//!   2. set WAITING in the word     <- same word     2. fill, or take out
//!   3. has it moved? then leave                     3. if WAITING was there:
//!   4. link, unlock                                      lock the wait queue, choose the first;
//!                                                        if others are left: set WAITING, and
//!                                                        choose on if there is more than was given
//!                                                        unlock, wake the chosen
//! ```
//!
//! The two changes of the word are in some order. If the mover's is first, step 3 of the waiter sees it. If the waiter's is
//! first, the mover gets the mark; and it gets the lock after the waiter, which linked itself or left.
//!
//! - **C1** While somebody is linked and not chosen, WAITING is set, or somebody who took it out has yet to take the lock.
//! - **C2** When that one has unlocked, there are no more values (or room) than it chose waiters, or nobody is left. So
//!   nobody who waits is overlooked; whoever is chosen in vain, because another one was faster, waits again.
//! - **C3** A chosen waiter that is dropped before it noticed calls the next one.
//! - **C4** The mark is taken out by the first mover: the values after it call nobody. A receiver is woken once for all that
//!   comes until it looks.
//!
//! Closing: CLOSED is set in the tail, then both wait queues are closed, which wakes everybody; nobody waits again.
//!
//! A channel without room ([`rendezvous`](super::rendezvous)) keeps its state under a lock.

use super::bounded::{Refusal, Ring, Unseen};
use super::receiver::Receiver;
use super::rendezvous::{Meeting, Number};
use super::sender::Sender;
use super::unbounded::Blocks;
use super::word::Guess;
use super::{SendError, TryRecvError, TrySendError};
use crate::prim::{Arc, AtomicUsize, Ordering::*, Padded};
use crate::wait_queue::WaitQueue;
use alloc::vec::Vec;
use core::fmt;

/// The largest capacity that [`bounded`] accepts.
pub const MAX_CAPACITY: usize = 1 << 28;

/// A channel with room for `capacity` values. Without room (0), a value goes from hand to hand: a sender waits until a
/// receiver takes it.
///
/// ```
/// use ropewalk_core::{block_on_simple, channel};
///
/// let (sender, receiver) = channel::bounded(2);
/// block_on_simple(async {
///     sender.send("one").await.unwrap();
///     sender.send("two").await.unwrap();
///     assert!(sender.try_send("three").is_err(), "full");
///     assert_eq!(receiver.recv().await, Ok("one"));
///     drop(sender);
///     assert_eq!(receiver.recv().await, Ok("two"));
///     assert!(receiver.recv().await.is_err(), "nobody is left who could send");
/// });
/// ```
///
/// Values of one sender arrive in the order in which it sent them. The memory for all of them is taken here.
///
/// # Panics
///
/// If `capacity` is more than [`MAX_CAPACITY`].
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity <= MAX_CAPACITY, "channel::bounded: capacity {capacity} is not in 0..={MAX_CAPACITY}");
    Shared::handles(match capacity {
        0 => Kind::Meeting(Meeting::new()),
        places => Kind::Ring(Ring::new(places)),
    })
}

/// A channel that always has room: sending never waits. Nothing keeps a fast sender from filling the memory; where that
/// may happen use [`bounded`].
///
/// ```
/// use ropewalk_core::{block_on_simple, channel};
///
/// let (sender, receiver) = channel::unbounded();
/// (0..1000).for_each(|n| sender.try_send(n).unwrap());
/// drop(sender);
/// let received = block_on_simple(async {
///     let mut all = Vec::new();
///     while receiver.recv_many(&mut all, 64).await.is_ok() {}
///     all
/// });
/// assert!(received.into_iter().eq(0..1000));
/// ```
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    Shared::handles(Kind::Blocks(Blocks::new()))
}

pub(super) struct Shared<T> {
    pub(super) kind: Kind<T>,
    /// Senders that wait for room.
    pub(super) room: Padded<WaitQueue>,
    /// Receivers that wait for values.
    pub(super) values: Padded<WaitQueue>,
    pub(super) senders: AtomicUsize,
    pub(super) receivers: AtomicUsize,
}

#[expect(clippy::large_enum_variant, reason = "one for each channel, on the heap")]
pub(super) enum Kind<T> {
    Ring(Ring<T>),
    Blocks(Blocks<T>),
    Meeting(Meeting<T>),
}

impl<T> Shared<T> {
    fn handles(kind: Kind<T>) -> (Sender<T>, Receiver<T>) {
        let shared = Arc::new(Self {
            kind,
            room: Padded(WaitQueue::new()),
            values: Padded(WaitQueue::new()),
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(1),
        });
        (Sender::first(shared.clone()), Receiver::first(shared))
    }

    pub(super) fn try_send(&self, value: T, guess: &Guess) -> Result<(), TrySendError<T>> {
        match &self.kind {
            Kind::Ring(ring) => match ring.claim() {
                Ok(claim) => {
                    ring.fill(&claim, value);
                    self.call_receiver_if(claim.owes);
                    Ok(())
                }
                Err(Refusal::Full) => Err(TrySendError::Full(value)),
                Err(Refusal::Closed) => Err(TrySendError::Closed(value)),
            },
            Kind::Blocks(blocks) => Ok(self.push(blocks, value, guess)?),
            Kind::Meeting(meeting) => {
                meeting.give(value)?;
                self.values.wake_one();
                Ok(())
            }
        }
    }

    /// Puts a value where there is always room.
    pub(super) fn push(&self, blocks: &Blocks<T>, value: T, guess: &Guess) -> Result<(), SendError<T>> {
        match blocks.claim(guess) {
            Ok(claim) => {
                blocks.fill(&claim, value);
                self.call_receiver_if(claim.owes);
                Ok(())
            }
            Err(_) => Err(SendError(value)),
        }
    }

    /// Receives, if that takes no more than an exchange.
    #[inline(always)]
    pub(super) fn recv_at_sight(&self, guess: &Guess) -> Result<T, Unseen> {
        match &self.kind {
            Kind::Ring(ring) => {
                let (value, owes) = ring.take_at_sight(guess)?;
                self.call_sender_if(owes);
                Ok(value)
            }
            Kind::Blocks(blocks) => blocks.take_at_sight(guess),
            Kind::Meeting(_) => Err(Unseen::Unclear),
        }
    }

    /// Sends, if that takes no more than an exchange. Otherwise the value is still there.
    #[inline(always)]
    pub(super) fn send_at_sight(&self, value: &mut Option<T>, guess: &Guess) -> bool {
        let owes = match &self.kind {
            Kind::Ring(ring) if value.is_some() => {
                let Some(claim) = ring.claim_at_sight(guess) else { return false };
                // SAFETY: it was there, and nobody has taken it since.
                let value = unsafe { value.take().unwrap_unchecked() };
                ring.fill(&claim, value);
                claim.owes
            }
            Kind::Blocks(blocks) if value.is_some() => {
                let Some(claim) = blocks.claim_at_sight(guess) else { return false };
                // SAFETY: as above.
                let value = unsafe { value.take().unwrap_unchecked() };
                blocks.fill(&claim, value);
                claim.owes
            }
            _ => return false,
        };
        self.call_receiver_if(owes); // the mark was there
        true
    }

    pub(super) fn try_recv(&self, guess: &Guess) -> Result<T, TryRecvError> {
        match &self.kind {
            Kind::Ring(ring) => ring.take().map(|(value, owes)| {
                self.call_sender_if(owes);
                value
            }),
            Kind::Blocks(blocks) => blocks.take(guess),
            Kind::Meeting(meeting) => self.take_offer(meeting),
        }
    }

    /// Takes some values at once, at least one and up to `max`; `into` has room for that many.
    pub(super) fn try_recv_some(
        &self,
        into: &mut Vec<T>,
        max: usize,
        guess: &Guess,
    ) -> Result<(), TryRecvError> {
        match &self.kind {
            Kind::Ring(ring) => {
                let owes = ring.take_many(max, |value| into.push(value))?;
                self.call_sender_if(owes);
                Ok(())
            }
            Kind::Blocks(blocks) => blocks.take_many(guess, max, |value| into.push(value)),
            Kind::Meeting(meeting) => self.take_offer(meeting).map(|value| into.push(value)),
        }
    }

    fn take_offer(&self, meeting: &Meeting<T>) -> Result<T, TryRecvError> {
        let taken = meeting.take();
        self.call_sender_if(meeting.has_taker());
        taken
    }

    /// An offer is taken back, if it still lies there.
    pub(super) fn withdraw_offer(&self, offer: Number) -> Option<T> {
        let Kind::Meeting(meeting) = &self.kind else { unreachable!("only there offers are made") };
        let value = meeting.withdraw(offer);
        self.call_sender_if(meeting.has_taker()); // the receiver that it was for is there for others
        value
    }

    pub(super) fn is_closed(&self) -> bool {
        match &self.kind {
            Kind::Ring(ring) => ring.is_closed(),
            Kind::Blocks(blocks) => blocks.is_closed(),
            Kind::Meeting(meeting) => meeting.is_closed(),
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.kind {
            Kind::Ring(ring) => ring.len(),
            Kind::Blocks(blocks) => blocks.len(),
            Kind::Meeting(meeting) => meeting.len(),
        }
    }

    pub(super) fn describe(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        f.debug_struct(name)
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }

    pub(super) fn capacity(&self) -> Option<usize> {
        match &self.kind {
            Kind::Ring(ring) => Some(ring.places()),
            Kind::Blocks(_) => None,
            Kind::Meeting(_) => Some(0),
        }
    }

    /// Nothing goes in any more; what is in can be taken out. Returns whether this call closed it.
    pub(super) fn close(&self) -> bool {
        let closed_now = match &self.kind {
            Kind::Ring(ring) => ring.close(),
            Kind::Blocks(blocks) => blocks.close(),
            Kind::Meeting(meeting) => meeting.close(),
        };
        let _others = Closing(&self.values); // also if a waker panics
        self.room.close();
        closed_now
    }

    /// The last receiver goes: nothing goes in any more, and what is in is dropped. If a destructor panics, the others
    /// run all the same.
    pub(super) fn abandon(&self) {
        let _rest = Emptying(self);
        self.close();
    }
}

struct Closing<'a>(&'a WaitQueue);
impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct Emptying<'a, T>(&'a Shared<T>);
impl<T> Drop for Emptying<'_, T> {
    fn drop(&mut self) {
        let guess = Guess::new();
        while let Ok(value) = self.0.try_recv(&guess) {
            let _on_panic = Emptying(self.0);
            drop(value);
            core::mem::forget(_on_panic);
        }
    }
}

/// One handle more on one side.
pub(super) fn count_up(handles: &AtomicUsize) {
    handles.fetch_add(1, Relaxed);
}

/// One handle less; whether it was the last.
pub(super) fn count_down(handles: &AtomicUsize) -> bool {
    handles.fetch_sub(1, AcqRel) == 1
}

#[cfg(test)]
mod tests;
