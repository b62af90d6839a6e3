//! The floor: the right to be the only one that commits, for one attempt.
//!
//! Who has met others too often asks for it, and gets a number. When it is free all who wait are woken, and the first number takes it.
//! Nobody hands it over: one that is not polled any more (in a `select!` that went another way) would keep it from all others. So who finds
//! it free, and somebody who asked earlier, lets that one go first, but not for ever: who was waited for in vain is waited for again only
//! when it has come back.
//!
//! # Invariants
//!
//! - **F1** It is had for one attempt, never while somebody sleeps.
//! - **F2** Who waits for it owns nothing but a number, so it does not matter whether it is polled.
//! - **F3** Of those who are polled as soon as they are woken, the one that asked first is the next. One that is not costs the others one
//!   [`COURTESY`].

use super::space;
use crate::strand;
use ropewalk_core::blocked::Reason;
use ropewalk_core::prim::{BriefLock, thread};
use ropewalk_core::task::drop_payload;
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Given back when it is dropped.
pub(super) struct Floor {
    /// The time on the clock when it was taken.
    pub(super) start: u64,
}

impl Floor {
    pub(super) fn take() -> Option<Self> {
        space().clock.take().map(|start| Self { start })
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        space().clock.give_back();
        // A waker may panic, which is not our transaction's fault; the others are woken all the same.
        if let Err(payload) = strand::catch(|| space().waiting_for_floor.wake_all()) {
            drop_payload(payload);
        }
    }
}

/// Those who have asked for the floor, and wait.
pub(super) struct Claims(BriefLock<Asked>);

struct Asked {
    next: u64,
    waiting: BTreeSet<u64>,
}

impl Claims {
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new() -> Self {
        Self(BriefLock::new(Asked { next: 0, waiting: BTreeSet::new() }))
    }
    #[cfg(any(loom, shuttle))]
    pub(super) fn new() -> Self {
        Self(BriefLock::new(Asked { next: 0, waiting: BTreeSet::new() }))
    }

    fn ask(&self) -> Claim {
        let mut asked = self.0.lock();
        asked.next += 1;
        let number = asked.next;
        asked.waiting.insert(number);
        Claim { number, polite_until: None }
    }

    /// Whether nobody who asked earlier waits. Who asks is there, whatever others may have thought.
    fn is_first(&self, number: u64) -> bool {
        let mut asked = self.0.lock();
        asked.waiting.insert(number);
        asked.waiting.first() == Some(&number)
    }

    /// Those who asked earlier have not come.
    fn pass(&self, number: u64) {
        let mut asked = self.0.lock();
        asked.waiting = asked.waiting.split_off(&number);
    }
}

struct Claim {
    number: u64,
    /// Until then it lets others go first, since it has found the floor free.
    polite_until: Option<Instant>,
}

/// So long who asked earlier may take to come.
const COURTESY: Duration = Duration::from_millis(1);

impl Claim {
    fn may_go(&mut self) -> bool {
        if cfg!(any(loom, shuttle)) || space().claims.is_first(self.number) {
            return true; // (models know no time)
        }
        let now = Instant::now();
        let is_over = now >= *self.polite_until.get_or_insert(now + COURTESY);
        if is_over {
            space().claims.pass(self.number);
        } else {
            thread::yield_now(); // perhaps it needs this core
        }
        is_over
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        space().claims.0.lock().waiting.remove(&self.number);
    }
}

/// Waits until nobody has the floor; with a claim, until it has it.
pub(super) struct WaitsForFloor {
    free: Pin<Box<dyn Future<Output = ()> + Send>>,
    claim: Option<Claim>,
}

impl WaitsForFloor {
    pub(super) fn new(to_have_it: bool) -> Self {
        Self { free: until_free(), claim: to_have_it.then(|| space().claims.ask()) }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Floor>> {
        loop {
            if self.free.as_mut().poll(cx).is_pending() {
                if let Some(claim) = &mut self.claim {
                    claim.polite_until = None; // somebody has it: what comes then is another occasion
                }
                return Poll::Pending;
            }
            let Some(claim) = &mut self.claim else { return Poll::Ready(None) };
            self.free = until_free();
            if !claim.may_go() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if let Some(floor) = Floor::take() {
                return Poll::Ready(Some(floor));
            } // another one was faster
        }
    }
}

fn until_free() -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async {
        let queue = &space().waiting_for_floor;
        // Woken, or free by now; the queue is never closed.
        let _again = queue.wait_because(Reason::Transaction, 0, || space().clock.is_taken()).await;
    })
}
