//! The state word of a oneshot: who may touch which part of the cell, and who frees it.
//!
//! ```text
//!   bit 5       | 4         | 3    | 2      | 1         | 0
//!   TX_WAITS    | RX_WAITS  | GONE | CLOSED | ABANDONED | FILLED
//!
//!   the sender's end                                  the receiver's end
//!     open ──fill───▶ FILLED                            open ──close──▶ CLOSED ──leave──▶ GONE
//!       └──abandon──▶ ABANDONED
//!     and if it finds RX_WAITS: take the waker,
//!     let_go (clears RX_WAITS), wake
//! ```
//!
//! - **OS1** The value is the sender's until `fill`. After it the value is the receiver's, unless `fill` found CLOSED (OS3).
//! - **OS2** The slot `receiver` is the receiver's while RX_WAITS is not set. RX_WAITS is set by the receiver only, and only
//!   while the sender has not ended. If the sender's end finds it set, and CLOSED not, the slot is the sender's until
//!   `let_go`. After CLOSED nobody uses the slot.
//! - **OS3** CLOSED is set only while the sender has not ended. So both agree on which came first: `fill` that finds CLOSED
//!   was refused, the value stays the sender's, and the sender lets go by setting ABANDONED as well.
//! - **OS4** The slot `sender` is the sender's while neither TX_WAITS nor CLOSED is set. TX_WAITS is set by the sender only, and
//!   only while CLOSED is not set. The receiver whose `close` finds it set has the slot, until it leaves.
//! - **OS5** The sender has *let go* when it has ended, was not refused or has set ABANDONED too, and RX_WAITS is not set. It
//!   touches the cell no more. The receiver has left when GONE is set, or when it saw that the sender let go. Whoever
//!   comes second frees the cell. GONE comes after CLOSED or after the sender's end.
//!
//! Each side's last step and the other's look at it are release and acquire, so what was done to the cell before is seen
//! by who frees it.
//!
//! Read-modify-writes: `fill` 1 and the receiver 0 if the value is there first; 2 more for a receiver that waits.

use crate::prim::{AtomicU32, Ordering::*};

const FILLED: u32 = 1;
const ABANDONED: u32 = 1 << 1;
const CLOSED: u32 = 1 << 2;
const GONE: u32 = 1 << 3;
const RX_WAITS: u32 = 1 << 4;
const TX_WAITS: u32 = 1 << 5;
const ENDED: u32 = FILLED | ABANDONED;

/// The atomic. Only this file knows its bits.
pub(super) struct Word(AtomicU32);

/// What the word said at one moment.
#[derive(Clone, Copy)]
pub(super) struct Seen(u32);

/// What a sender's end found.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Nobody waits: the sender has let go.
    Quietly,
    /// The receiver waits: its waker is the sender's, who must `let_go` and wake.
    Awaited,
    /// The receiver had closed: the value is the sender's, who must `let_go_refused` (OS3).
    Refused,
    /// There is no value, and the receiver had left: the sender frees the cell.
    Last,
}

impl Word {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    #[inline]
    pub(super) fn look(&self) -> Seen {
        Seen(self.0.load(Acquire))
    }

    /// The sender's end, with a value in place.
    #[inline]
    pub(super) fn fill(&self) -> Ended {
        let before = self.0.fetch_add(FILLED, AcqRel);
        match before & (CLOSED | RX_WAITS) {
            0 => Ended::Quietly,
            RX_WAITS => Ended::Awaited, // with a value
            _ => Ended::Refused,        // and if GONE is set too, that is found when letting go
        }
    }

    /// The sender's end, without a value: nothing can be refused.
    pub(super) fn abandon(&self) -> Ended {
        let before = self.0.fetch_add(ABANDONED, AcqRel);
        match before & (GONE | CLOSED | RX_WAITS) {
            RX_WAITS => Ended::Awaited,
            found if found & GONE != 0 => Ended::Last,
            _ => Ended::Quietly,
        }
    }

    /// The sender has taken the receiver's waker and touches the cell no more. True: the receiver had left, so free it.
    #[must_use]
    pub(super) fn let_go(&self) -> bool {
        self.0.fetch_sub(RX_WAITS, AcqRel) & GONE != 0
    }

    /// The sender has taken its value back and touches the cell no more. True: the receiver had left, so free it.
    #[must_use]
    pub(super) fn let_go_refused(&self) -> bool {
        self.0.fetch_add(ABANDONED, AcqRel) & GONE != 0
    }

    /// The receiver's slot is the receiver's again. `Some`: the sender ended, or the channel is closed.
    pub(super) fn withdraw_receiver(&self) -> Option<Seen> {
        self.change(ENDED | CLOSED, |now| now & !RX_WAITS).err()
    }

    /// There is a waker in the receiver's slot. `Some`: not announced, because the sender ended.
    pub(super) fn announce_receiver(&self) -> Option<Seen> {
        self.change(ENDED | CLOSED, |now| now | RX_WAITS).err()
    }

    /// The sender's slot is the sender's again. False: the channel is closed.
    pub(super) fn withdraw_sender(&self) -> bool {
        self.change(CLOSED, |now| now & !TX_WAITS).is_ok()
    }

    /// There is a waker in the sender's slot. False: not announced, because the channel is closed.
    pub(super) fn announce_sender(&self) -> bool {
        self.change(CLOSED, |now| now | TX_WAITS).is_ok()
    }

    /// The receiver wants no value, unless the sender has ended. True: the sender waits for that, and its slot is the
    /// receiver's (OS4).
    #[must_use]
    pub(super) fn close(&self) -> bool {
        let closed = self.change(ENDED | CLOSED, |now| now | CLOSED);
        closed.is_ok_and(|before| before & TX_WAITS != 0)
    }

    /// The receiver, who has closed, touches the cell no more; unless the sender had let go: then the cell is the receiver's,
    /// as it was seen.
    pub(super) fn leave(&self) -> Seen {
        let now = self.look();
        if now.has_let_go() { now } else { Seen(self.0.fetch_add(GONE, AcqRel)) }
    }

    /// The one CAS loop. Gives up if a bit of `unless` is set; does nothing if `next` changes nothing.
    fn change(&self, unless: u32, next: impl Fn(u32) -> u32) -> Result<u32, Seen> {
        let mut now = self.0.load(Acquire);
        loop {
            if now & unless != 0 {
                return Err(Seen(now));
            }
            let next = next(now);
            if next == now {
                return Ok(now);
            }
            match self.0.compare_exchange_weak(now, next, AcqRel, Acquire) {
                Ok(_) => return Ok(now),
                Err(seen) => now = seen,
            }
        }
    }
}

impl Seen {
    fn has(self, bits: u32) -> bool {
        self.0 & bits != 0
    }

    /// OS5.
    fn has_let_go(self) -> bool {
        if self.has(CLOSED) { self.has(ABANDONED) } else { self.has(ENDED) && !self.has(RX_WAITS) }
    }

    /// The value is the receiver's, and the sender has let go.
    #[inline]
    pub(super) fn is_filled(self) -> bool {
        self.0 & (FILLED | ABANDONED | CLOSED | RX_WAITS) == FILLED
    }

    /// There is no value, and the sender has let go.
    pub(super) fn is_abandoned(self) -> bool {
        self.has_let_go() && !self.is_filled()
    }

    /// The receiver wanted no value before one was sent.
    pub(super) fn is_closed(self) -> bool {
        self.has(CLOSED)
    }

    /// The receiver has to wait.
    #[inline]
    pub(super) fn is_pending(self) -> bool {
        !self.is_filled() && !self.is_closed() && !self.has_let_go()
    }
}
