//! The operations under way: each is here from before the kernel hears of it until its completion was taken (`op.rs`, O1).
//!
//! * **F1** An operation leaves its place (`places.rs`) when its completion was taken: there is exactly one for each submission.
//! * **F2** Whoever takes a completion only notes that it came. Wakers run in `deliver`, under no lock and without the right to
//!   poll, and what nobody waits for is dropped there.
//! * **F3** When the runtime goes down nothing new is begun, and what is under way is cancelled and waited for. What the kernel
//!   does not give back in time is never freed.
//! * **F4** If the ring is out of use (`ring.rs`, R4), those whom the kernel has not taken are told. Their places stay theirs:
//!   somebody may just have submitted them.

use super::Uring;
use super::op::{Landing, Op, Work};
use super::places::Places;
use super::ring::{Kind, Ring};
use crate::runtime::wake_safely;
use ropewalk_core::blocked::{self, Reason};
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicU64, Ordering};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

#[derive(Debug)]
pub(crate) struct Flights {
    places: Lock<Places<Op>>,
    landed: Lock<Vec<Arc<Op>>>,
    count: AtomicU64,
}

fn mark(place: u32) -> u64 {
    Kind::Op.mark(u64::from(place) << 32)
}

impl Flights {
    pub(super) fn new() -> Self {
        Self { places: Lock::new(Places::default()), landed: Lock::new(Vec::new()), count: AtomicU64::new(0) }
    }

    /// Begins an operation. It fails if the runtime goes down.
    pub(super) fn start(&self, uring: &Arc<Uring>, work: Work) -> Flight {
        let op = Op::new(work);
        let place = self.places.lock().take(&op);
        match place {
            Some(place) => {
                self.count.fetch_add(1, Ordering::Relaxed);
                self.submit(&uring.ring, place, &op);
            }
            None => op.lose(),
        }
        Flight { uring: uring.clone(), op, place }
    }

    fn submit(&self, ring: &Ring, place: u32, op: &Op) {
        // SAFETY: it is new, or has come back; what it points to is in `op`, which is in the table until its completion (O1, O3).
        // If the kernel does not take it now, it is in the queue and goes with the next.
        op.note_taken(unsafe { ring.submit(&op.entry().user_data(mark(place))) }.is_ok());
    }

    /// The ring is out of use: those whom the kernel has not taken are told (F4), in `deliver`.
    pub(super) fn refuse(&self, error: i32) {
        let ops = self.places.lock().all();
        let refused = ops.into_iter().filter(|op| op.refuse(error));
        self.landed.lock().extend(refused.collect::<Vec<_>>());
    }

    /// A completion was taken.
    pub(super) fn landed(&self, ring: &Ring, mark: u64, result: i32) {
        let place = (mark >> 32) as u32;
        let mut places = self.places.lock();
        let Some(op) = places.at(place).cloned() else { return };
        if op.land(result) {
            places.leave(place);
            drop(places);
            self.landed.lock().push(op); // F2
        } else {
            drop(places);
            self.submit(ring, place, &op);
        }
    }

    /// Wakes those whose operations are done (F2).
    pub(super) fn deliver(&self) {
        let landed = std::mem::take(&mut *self.landed.lock());
        landed.iter().filter_map(|op| op.take_waker()).for_each(wake_safely);
    }

    /// Whether there ever was one.
    #[inline]
    pub(super) fn were_used(&self) -> bool {
        self.count() > 0
    }

    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The runtime goes down: who waits is told, and the kernel is asked to end all (F3).
    pub(super) fn end(&self, ring: &Ring) {
        let left = self.places.lock().close();
        left.iter().for_each(|(place, _)| ring.cancel(mark(*place)));
        left.iter().for_each(|(_, op)| op.lose());
        left.iter().filter_map(|(_, op)| op.take_waker()).for_each(wake_safely);
    }

    /// Whether the kernel has none.
    pub(super) fn are_over(&self) -> bool {
        self.places.lock().are_empty()
    }

    /// The ring goes, whatever the kernel still has (F3).
    pub(super) fn lose(&self) {
        self.places.lock().lose();
    }
}

/// An operation under way: a future of what becomes of it. Dropping it asks the kernel to end the operation.
#[derive(Debug)]
pub(crate) struct Flight {
    uring: Arc<Uring>,
    op: Arc<Op>,
    /// `None`: it was not begun, or is done.
    place: Option<u32>,
}

impl Future for Flight {
    type Output = io::Result<Landing>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let landing = self.op.poll(cx);
        if landing.is_ready() {
            self.place = None;
        } else {
            blocked::note(Reason::Blocking, 0);
        }
        landing
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        if !self.op.give_up() {
            return;
        }
        let places = self.uring.flights.places.lock(); // PL1
        if places.is_of(place, &self.op) {
            self.uring.ring.cancel(mark(place));
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// The kernel keeps an operation for longer than anybody waits: what it may still write to is not freed (F3).
    #[test]
    fn what_the_kernel_does_not_give_back_is_never_freed() {
        let uring = match Uring::new() {
            Ok(uring) => uring,
            Err(error) => return eprintln!("skipped: no io_uring here ({error})"),
        };
        let op = Op::new(Work::Open { path: c"none".to_owned(), flags: 0, mode: 0 });
        uring.flights.places.lock().take(&op); // as if it were submitted
        drop(uring);
        assert_eq!(Arc::strong_count(&op), 2);
    }
}
