//! The operations under way: each is here from before the kernel hears of it until its completion was taken (`op.rs`, O1).
//!
//! * **F1** The mark of an operation is its place here. A place is free again when the completion was taken: there is exactly one
//!   for each submission.
//! * **F2** Whoever takes a completion only notes that it came. Wakers run in `deliver`, under no lock and without the right to
//!   poll, and what nobody waits for is dropped there.
//! * **F3** When the runtime goes down nothing new is begun, and what is under way is cancelled and waited for. What the kernel
//!   does not give back in time is never freed.

use super::Uring;
use super::op::{Landing, Op, Work};
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
use std::time::{Duration, Instant};

/// How long the end of a runtime waits for the kernel.
pub(super) const LAST_CALL: Duration = Duration::from_secs(2);
pub(super) const LOOK: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(crate) struct Flights {
    table: Lock<Table>,
    landed: Lock<Vec<Arc<Op>>>,
    count: AtomicU64,
}

#[derive(Debug, Default)]
struct Table {
    places: Vec<Option<Arc<Op>>>,
    free: Vec<u32>,
    over: bool,
}

impl Table {
    fn take_off(&mut self, op: Arc<Op>) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(op);
        place
    }

    fn at(&self, place: u32) -> Option<&Arc<Op>> {
        self.places.get(place as usize)?.as_ref()
    }

    fn land(&mut self, place: u32) -> Option<Arc<Op>> {
        let op = self.places.get_mut(place as usize)?.take();
        self.free.push(place);
        op
    }

    fn under_way(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

fn mark(place: u32) -> u64 {
    Kind::Op.mark(u64::from(place) << 32)
}

impl Flights {
    pub(super) fn new() -> Self {
        Self { table: Lock::new(Table::default()), landed: Lock::new(Vec::new()), count: AtomicU64::new(0) }
    }

    /// Begins an operation. It fails if the runtime goes down.
    pub(super) fn start(&self, uring: &Arc<Uring>, work: Work) -> Flight {
        let op = Op::new(work);
        let place = {
            let mut table = self.table.lock();
            (!table.over).then(|| table.take_off(op.clone()))
        };
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
        let _later = unsafe { ring.submit(&op.entry().user_data(mark(place))) };
    }

    /// A completion was taken.
    pub(super) fn landed(&self, ring: &Ring, mark: u64, result: i32) {
        let place = (mark >> 32) as u32;
        let mut table = self.table.lock();
        let Some(op) = table.at(place).cloned() else { return };
        if op.land(result) {
            table.land(place);
            drop(table);
            self.landed.lock().push(op); // F2
        } else {
            drop(table);
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

    /// The runtime goes down: who waits is told (F3).
    pub(super) fn end(&self, ring: &Ring) {
        let left = self.call_back(ring);
        left.iter().for_each(|op| op.lose());
        left.iter().filter_map(|op| op.take_waker()).for_each(wake_safely);
    }

    /// Nothing new is begun, and the kernel is asked to end what is under way.
    fn call_back(&self, ring: &Ring) -> Vec<Arc<Op>> {
        let mut table = self.table.lock();
        table.over = true;
        let places = table.places.iter().zip(0..).filter_map(|(op, place)| Some((op.clone()?, place)));
        let (left, places): (Vec<_>, Vec<_>) = places.unzip();
        drop(table);
        places.into_iter().for_each(|place| ring.cancel(mark(place)));
        left
    }

    /// The ring goes: waits for what the kernel has (F3). `reap` takes completions.
    pub(super) fn last_call(&self, ring: &Ring, reap: impl Fn() -> bool) {
        if self.table.lock().under_way() == 0 {
            return;
        }
        let left = self.call_back(ring);
        let until = Instant::now() + LAST_CALL;
        while self.table.lock().under_way() > 0 && Instant::now() < until {
            let _again = ring.wait(Some(LOOK));
            while reap() {}
        }
        let lost = self.table.lock().places.drain(..).flatten().collect::<Vec<_>>();
        lost.into_iter().for_each(std::mem::forget);
        drop(left);
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
        // Under the lock, or the place might be another one's when the kernel looks (F1).
        let table = self.uring.flights.table.lock();
        if table.at(place).is_some_and(|op| Arc::ptr_eq(op, &self.op)) {
            self.uring.ring.cancel(mark(place));
        }
    }
}
