//! A shard: a wheel under a short lock, with its next deadline in an atomic. The invariants are numbered in `../time.rs`.

use super::entry::{Node, state};
use crate::sched::park::NEVER;
use ropewalk_core::prefetch;
use ropewalk_core::prim::{AtomicU64, BriefLock, Lock, Ordering};
use ropewalk_core::task::drop_payload;
use ropewalk_core::wake_batch::WakeBatch;
use ropewalk_core::wheel::Wheel;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::{OnceLock, Weak};
use std::task::Waker;

/// How many entries are taken out under one lock: enough to make it cheap, few enough for a small stack and a short hold.
const BATCH: usize = if cfg!(loom) { 1 } else { 32 };

/// Who must hear of a deadline that is earlier than the others of its shard.
pub(crate) trait Bell: Send + Sync {
    /// See [`Seam::deadline_moved`](crate::sched::park::Seam::deadline_moved).
    fn deadline_moved(&self, deadline: u64);
}

/// Aligned so that what one worker does here does not disturb another.
#[repr(align(128))]
pub(crate) struct Shard {
    /// At most the deadline of each linked entry; NEVER if there is none. Written under the lock.
    next: AtomicU64,
    inner: BriefLock<Inner>,
}

pub(super) struct Inner {
    /// Made with the first timer.
    wheel: Option<Box<Wheel<Node>>>,
    /// Open while there is one.
    owner: Option<Owner>,
}

#[derive(Clone)]
struct Owner {
    bell: Weak<dyn Bell>,
    /// Of which clock the deadlines are.
    clock: u32,
}

// SAFETY: the nodes that the wheel points to are shared by S1 and S3, and wakers may be sent.
unsafe impl Send for Inner {}

impl Shard {
    pub(crate) fn new() -> Self {
        Self { next: AtomicU64::new(NEVER), inner: BriefLock::new(Inner { wheel: None, owner: None }) }
    }

    pub(crate) fn open(&self, bell: Weak<dyn Bell>, clock: u32) {
        self.inner.lock().owner = Some(Owner { bell, clock });
    }

    /// The next deadline, or a time before it.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// How many timers are pending.
    pub(crate) fn len(&self) -> usize {
        self.inner.lock().wheel.as_ref().map_or(0, |wheel| wheel.len())
    }

    /// Links an entry. True: its deadline is the earliest here, and the bell is to be rung.
    ///
    /// # Errors
    /// The shard is closed, or another runtime's by now (S5).
    ///
    /// # Safety
    /// The caller owns the node, which is not QUEUED, and cancels it here before it is gone (S4).
    #[inline]
    pub(super) unsafe fn register(
        &self,
        node: Pin<&Node>,
        deadline: u64,
        clock: u32,
        waker: Waker,
    ) -> Result<bool, Waker> {
        let mut inner = self.inner.lock();
        if inner.owner.as_ref().is_none_or(|owner| owner.clock != clock) {
            return Err(waker);
        }
        let wheel = inner.wheel.get_or_insert_with(Wheel::boxed);
        // SAFETY: the node is the caller's (S1), pinned, and stays valid until it is taken out (S4).
        unsafe {
            node.waker.with_mut(|slot| slot.write(Some(waker))); // it is None: nothing to drop
            wheel.register(NonNull::from(&*node), deadline);
        }
        node.state.store(state::QUEUED, Ordering::Relaxed);
        Ok(self.publish(deadline))
    }

    /// Moves a linked entry to another deadline. `None`: it is not linked any more. True: as in `register`.
    pub(super) fn reset(&self, node: Pin<&Node>, deadline: u64) -> Option<bool> {
        let mut inner = self.inner.lock();
        if !node.is_linked(&inner) {
            return None; // it is over: the owner begins anew
        }
        let wheel = inner.wheel.as_mut()?;
        // SAFETY: linked in this wheel (S2; it is QUEUED, so the shard is the one it remembers, S5), and the lock is held.
        unsafe {
            wheel.cancel(NonNull::from(&*node));
            wheel.register(NonNull::from(&*node), deadline);
        }
        Some(self.publish(deadline))
    }

    /// Under the lock.
    #[inline]
    fn publish(&self, deadline: u64) -> bool {
        let earliest = deadline < self.next.load(Ordering::Relaxed);
        if earliest {
            self.next.store(deadline, Ordering::Relaxed);
        }
        earliest
    }

    /// Tells whoever must know that `deadline` is the earliest here.
    pub(super) fn ring(&self, deadline: u64) {
        let owner = self.inner.lock().owner.clone();
        if let Some(bell) = owner.and_then(|owner| owner.bell.upgrade()) {
            bell.deadline_moved(deadline);
        }
    }

    /// Takes an entry out; what it would have woken is the caller's to drop. `None`: it was taken out before.
    #[inline]
    pub(super) fn cancel(&self, node: Pin<&Node>) -> Option<Waker> {
        let mut inner = self.inner.lock();
        if !node.is_linked(&inner) {
            return None; // it expired just before the lock was ours
        }
        // SAFETY: linked in this wheel (S2, S5), and the lock is held.
        unsafe { inner.wheel.as_mut()?.cancel(NonNull::from(&*node)) };
        node.state.store(state::IDLE, Ordering::Relaxed);
        // SAFETY: the lock is held (S1).
        node.waker.with_mut(|waker| unsafe { (*waker).take() })
    }

    /// Makes sure that the right waker is called. `Err`: it is not linked any more, or `waker` is to be cloned first.
    pub(super) fn renew(&self, node: Pin<&Node>, waker: &Waker) -> Result<(), Stale> {
        let inner = self.inner.lock();
        if !node.is_linked(&inner) {
            return Err(Stale::Over);
        }
        // SAFETY: the lock is held (S1).
        let same = node.waker.with(|known| unsafe { &*known }.as_ref().is_some_and(|w| w.will_wake(waker)));
        if same { Ok(()) } else { Err(Stale::Waker) }
    }

    /// Leaves another waker; the one that is not needed is given back to be dropped.
    pub(super) fn replace(&self, node: Pin<&Node>, waker: Waker) -> Result<Option<Waker>, Waker> {
        let inner = self.inner.lock();
        if !node.is_linked(&inner) {
            return Err(waker); // it expired while the waker was cloned
        }
        // SAFETY: the lock is held (S1).
        Ok(node.waker.with_mut(|known| unsafe { (*known).replace(waker) }))
    }

    /// Takes out what is due at `now`, in order, at most `most` and at most a batch, and wakes it. Answers how many.
    pub(crate) fn expire(&self, now: u64, most: usize) -> usize {
        let mut batch = WakeBatch::<BATCH>::new();
        {
            let mut inner = self.inner.lock();
            let Some(wheel) = inner.wheel.as_mut() else { return 0 };
            while !batch.is_full() && batch.len() < most {
                let Some(node) = wheel.advance(now) else { break };
                // SAFETY: taken out under the lock, which is still held (S3).
                let waker = unsafe { Node::settle(node, state::FIRED) };
                prefetch::task(waker.data()); // as a rule a task, which is touched when the whole batch is out
                batch.push(waker);
            }
            self.next.store(wheel.next_deadline().unwrap_or(NEVER), Ordering::Relaxed);
        }
        wake(batch)
    }

    /// Closes the shard: those who wait are told that nobody advances it any more.
    pub(crate) fn close(&self) {
        self.inner.lock().owner = None;
        loop {
            let mut batch = WakeBatch::<BATCH>::new();
            {
                let mut inner = self.inner.lock();
                let Some(wheel) = inner.wheel.as_mut() else { return };
                while !batch.is_full()
                    && let Some(node) = wheel.advance(u64::MAX)
                {
                    // SAFETY: taken out under the lock, which is still held (S3).
                    batch.push(unsafe { Node::settle(node, state::ORPHANED) });
                }
                if batch.is_empty() {
                    inner.wheel = None;
                    self.next.store(NEVER, Ordering::Relaxed);
                }
            }
            wake(batch);
        }
    }
}

/// Why a waker was not renewed.
pub(super) enum Stale {
    /// The entry is not linked any more.
    Over,
    /// The known waker is another one.
    Waker,
}

/// A waker of the user's may panic: the others are woken all the same, and the worker lives.
fn wake<const N: usize>(mut batch: WakeBatch<N>) -> usize {
    while let Err(payload) = catch_unwind(AssertUnwindSafe(|| batch.wake())) {
        drop_payload(payload);
    }
    batch.len()
}

/// The right to a shard, for the life of a pool; the memory stays (S5).
pub(crate) struct Lease(&'static Shard);

/// Shards without a pool.
fn spare() -> &'static Lock<Vec<&'static Shard>> {
    static SPARE: OnceLock<Lock<Vec<&'static Shard>>> = OnceLock::new();
    SPARE.get_or_init(|| Lock::new(Vec::new()))
}

impl Lease {
    pub(crate) fn new(bell: Weak<dyn Bell>, clock: u32) -> Self {
        let kept = spare().lock().pop();
        let shard = kept.unwrap_or_else(|| Box::leak(Box::new(Shard::new())));
        shard.open(bell, clock);
        Self(shard)
    }

    #[inline]
    pub(crate) fn shard(&self) -> &'static Shard {
        self.0
    }
}

impl Deref for Lease {
    type Target = Shard;
    #[inline]
    fn deref(&self) -> &Shard {
        self.0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.close();
        spare().lock().push(self.0);
    }
}
