//! A timer as its future holds it. The invariants are numbered in `../time.rs`.

use super::shard::{Bell, Inner, Shard, Stale};
use crate::runtime::{Runtime, Timebase, nanos_of};
use crate::sched::park::NEVER;
use crate::sched::pool::Pool;
use crate::{Handle, context};
use ropewalk_core::list::Links;
use ropewalk_core::prim::{AtomicU32, Ordering, UnsafeCell};
use ropewalk_core::wheel::{Deadline, Timed};
use std::cell::Cell;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The values of a node's state word.
///
/// ```text
///   IDLE, UNSURE --poll--> QUEUED --expire--> FIRED
///     ^                     |  \\---close--> ORPHANED --poll--> QUEUED elsewhere, or FIRED
///     '------cancel---------'
///   any --reset--> UNSURE, or QUEUED still
/// ```
pub(super) mod state {
    /// Not registered; the deadline had not come when it was made.
    pub const IDLE: u32 = 0;
    /// Not registered; nobody has looked at the clock yet.
    pub const UNSURE: u32 = 1;
    pub const QUEUED: u32 = 2;
    pub const FIRED: u32 = 3;
    /// Its runtime is over.
    pub const ORPHANED: u32 = 4;
}

/// What the wheel knows of a timer.
pub(super) struct Node {
    links: Links<Node>,
    deadline: Deadline,
    pub(super) waker: UnsafeCell<Option<Waker>>,
    pub(super) state: AtomicU32,
    /// Of which clock the deadline is.
    clock: u32,
}

ropewalk_core::linked!(Node, links);
// SAFETY: the field is the wheel's alone.
unsafe impl Timed for Node {
    unsafe fn deadline(node: NonNull<Self>) -> NonNull<Deadline> {
        // SAFETY: the caller passes a valid node.
        unsafe { NonNull::new_unchecked((&raw const (*node.as_ptr()).deadline).cast_mut()) }
    }
}

impl Node {
    pub(super) fn new(deadline: u64, clock: u32, state: u32) -> Self {
        let at = Deadline::new();
        // SAFETY: it is in no wheel.
        unsafe { at.set(deadline) };
        Self {
            links: Links::new(),
            deadline: at,
            waker: UnsafeCell::new(None),
            state: AtomicU32::new(state),
            clock,
        }
    }

    /// Whether it is in the wheel of its shard (S2), of whose lock `_held` is the proof.
    #[inline]
    pub(super) fn is_linked(&self, _held: &Inner) -> bool {
        self.state.load(Ordering::Relaxed) == state::QUEUED
    }

    /// Tells a node that was just taken out of the wheel what became of it; the caller wakes the waker after unlocking.
    ///
    /// # Safety
    /// The caller took `node` out under the lock, which it still holds. The node may be gone when this returns (S3).
    #[inline]
    pub(super) unsafe fn settle(node: NonNull<Self>, outcome: u32) -> Waker {
        // SAFETY: it was linked until now, so it is valid (S4) until the store below, and the lock is held (S1).
        let (waker, state) = unsafe {
            let node = node.as_ref();
            (node.waker.with_mut(|waker| (*waker).take()), &node.state)
        };
        state.store(outcome, Ordering::Release);
        waker.expect("a linked timer has a waker")
    }
}

/// Where a timer that is made or polled now belongs.
pub(crate) struct Here<'a> {
    pub(crate) shard: &'static Shard,
    pub(crate) pool: &'a Pool,
}

impl Here<'_> {
    /// On a worker its own shard; elsewhere that of the runtime the thread is in, or of the default one.
    #[inline]
    pub(crate) fn with<R>(f: impl FnOnce(Here<'_>) -> R) -> R {
        context::with_worker(|worker| match worker {
            Some(worker) if !context::has_entered() => {
                f(Here { shard: worker.station.timers.shard(), pool: &worker.pool })
            }
            _ => {
                let pool = Handle::current().main();
                f(Here { shard: pool.timers.shard(), pool: &pool })
            }
        })
    }

    #[inline]
    pub(crate) fn clock(&self) -> &Timebase {
        &self.pool.config.clock
    }
}

/// A timer. Dropping it cancels it.
pub(crate) struct Entry {
    node: Node,
    /// Where it is registered, or belongs if it is polled where another clock is used.
    shard: Cell<&'static Shard>,
}

// SAFETY: what is not atomic in it is shared by S1; wakers may be sent.
unsafe impl Send for Entry {}
// SAFETY: nothing that changes it can be reached through a shared reference.
unsafe impl Sync for Entry {}

impl Entry {
    /// Expires when `span` has passed from now.
    #[inline]
    pub(crate) fn after(span: Duration) -> Self {
        Here::with(|here| {
            let deadline = here.clock().nanos().saturating_add(nanos_of(span));
            let state = if span.is_zero() { state::FIRED } else { state::IDLE };
            Self::new(here.shard, deadline, here.clock().id(), state)
        })
    }

    /// Expires at `deadline`.
    pub(crate) fn at(deadline: u64) -> Self {
        Here::with(|here| Self::new(here.shard, deadline, here.clock().id(), state::UNSURE))
    }

    #[inline]
    pub(super) fn new(shard: &'static Shard, deadline: u64, clock: u32, state: u32) -> Self {
        Self { node: Node::new(deadline, clock, state), shard: Cell::new(shard) }
    }

    pub(crate) fn deadline(&self) -> u64 {
        // SAFETY: only the owner changes it, through `Pin<&mut Self>` (S1).
        unsafe { self.node.deadline.get() }
    }

    pub(crate) fn has_fired(&self) -> bool {
        self.node.state.load(Ordering::Acquire) == state::FIRED
    }

    /// Ready when the deadline has come; and again after that.
    #[inline]
    pub(crate) fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.into_ref();
        match this.node.state.load(Ordering::Acquire) {
            state::FIRED => Poll::Ready(()),
            state::QUEUED => this.renew(cx),
            state => this.enter(cx, state == state::UNSURE),
        }
    }

    /// Another deadline. What was waiting goes on waiting, for that.
    pub(crate) fn reset(self: Pin<&mut Self>, deadline: u64) {
        let this = self.into_ref();
        if this.node.state.load(Ordering::Acquire) == state::QUEUED {
            match this.shard.get().reset(this.node(), deadline) {
                Some(true) => return this.shard.get().ring(deadline),
                Some(false) => return,
                None => {}
            }
        }
        // SAFETY: it is not linked, so it is ours (S1): no longer (S3), or not yet.
        unsafe { this.node.deadline.set(deadline) };
        this.node.state.store(state::UNSURE, Ordering::Relaxed);
    }

    /// Registers the timer: here, unless here is another clock than it was made by.
    fn enter(self: Pin<&Self>, cx: &mut Context<'_>, unsure: bool) -> Poll<()> {
        let deadline = self.deadline();
        if deadline == NEVER {
            return Poll::Pending; // nobody will ever wake it
        }
        let waker = cx.waker().clone(); // S6
        let refused = Here::with(|here| {
            let here_too = here.clock().id() == self.node.clock;
            if unsure && here_too && here.clock().nanos() >= deadline {
                self.node.state.store(state::FIRED, Ordering::Relaxed);
                return Ok(Poll::Ready(()));
            }
            let shard = if here_too { here.shard } else { self.shard.get() };
            match self.link(shard, waker)? {
                true if here_too => here.pool.deadline_moved(deadline),
                true => self.shard.get().ring(deadline),
                false => {}
            }
            Ok(Poll::Pending)
        });
        refused.unwrap_or_else(|waker: Waker| self.enter_default(deadline, waker))
    }

    /// Puts it into the wheel of `shard`. True: its deadline is the earliest there.
    #[inline]
    pub(super) fn link(self: Pin<&Self>, shard: &'static Shard, waker: Waker) -> Result<bool, Waker> {
        self.shard.set(shard);
        // SAFETY: not linked, so ours; dropping it cancels it at the shard it remembers (S4).
        unsafe { shard.register(self.node(), self.deadline(), self.node.clock, waker) }
    }

    /// Its runtime is over. By the system's clock it goes on in the default runtime; a clock of its own has stopped with the
    /// runtime, and the timer is over too.
    #[cold]
    fn enter_default(self: Pin<&Self>, deadline: u64, waker: Waker) -> Poll<()> {
        if self.node.clock == Timebase::SYSTEM {
            let pool = Runtime::default_handle().main();
            if let Ok(earliest) = self.link(pool.timers.shard(), waker) {
                if earliest {
                    pool.deadline_moved(deadline);
                }
                return Poll::Pending;
            }
        }
        self.node.state.store(state::FIRED, Ordering::Relaxed);
        Poll::Ready(())
    }

    /// A later poll that did not find an outcome.
    fn renew(self: Pin<&Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.shard.get().renew(self.node(), cx.waker()) {
            Ok(()) => return Poll::Pending,
            Err(Stale::Over) => {}
            // Cloned without the lock (S6), so it may expire meanwhile: then the clone is not needed.
            Err(Stale::Waker) => match self.shard.get().replace(self.node(), cx.waker().clone()) {
                Ok(_old) => return Poll::Pending,
                Err(_unused) => {}
            },
        }
        match self.node.state.load(Ordering::Acquire) {
            state::FIRED => Poll::Ready(()),
            _ => self.enter(cx, false), // orphaned
        }
    }

    fn node(self: Pin<&Self>) -> Pin<&Node> {
        // SAFETY: the node is pinned with the entry.
        unsafe { self.map_unchecked(|this| &this.node) }
    }
}

impl Drop for Entry {
    #[inline]
    fn drop(&mut self) {
        if self.node.state.load(Ordering::Acquire) == state::QUEUED {
            // SAFETY: it was linked, so it is pinned, until it is gone.
            let node = unsafe { Pin::new_unchecked(&self.node) };
            drop(self.shard.get().cancel(node));
        }
        // SAFETY: ours now (S3). Looking here lets loom check that it is.
        debug_assert!(self.node.waker.with(|waker| unsafe { (*waker).is_none() }));
    }
}
