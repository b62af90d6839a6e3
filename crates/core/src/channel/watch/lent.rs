//! A value that many look at and one changes: the lock under a watch. It is held by user code (a borrowed value, a closure
//! that changes it), so it is the user's as much as ours, and blocks the thread of who has to wait for it.
//!
//! ```text
//!   word:  readers | WANTED | WRITING
//! ```
//!
//! - **WL1** WRITING is set only when there are no readers; whoever set it may change the value until it clears it.
//! - **WL2** Readers are counted only while WRITING is not set; each may look until it takes itself off.
//! - **WL3** Whoever waits has announced itself in `gate` and looked at the word after that. The last reader, if WANTED is set,
//!   and each writer wake all of them. A writer sets WANTED before it waits; who goes in clears it, and wakes the other
//!   writers when it goes out: they set it again.
//!
//! A writer that waits is let through: readers hold back while WANTED is set. But not for ever, only for some looks: a
//! thread that borrows twice would otherwise wait for a writer that waits for it.

use crate::block_on_simple;
use crate::prim::{self, AtomicUsize, Ordering, UnsafeCell};
use crate::wait_queue::WaitQueue;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

const WRITING: usize = 1;
const WANTED: usize = 1 << 1;
const READER: usize = 1 << 2;

/// How often a reader looks again because a writer waits. A model checker tries both orders anyway.
const PATIENCE: u32 = if cfg!(any(loom, shuttle)) { 0 } else { 100 };

pub(super) struct Lent<T> {
    word: AtomicUsize,
    gate: WaitQueue,
    value: UnsafeCell<T>,
}

// SAFETY: the value travels with the cell.
unsafe impl<T: Send> Send for Lent<T> {}
// SAFETY: many look at the value at a time (`Sync`), or one changes and replaces it (`Send`) (WL1, WL2).
unsafe impl<T: Send + Sync> Sync for Lent<T> {}

impl<T> Lent<T> {
    pub(super) fn new(value: T) -> Self {
        Self { word: AtomicUsize::new(0), gate: WaitQueue::new(), value: UnsafeCell::new(value) }
    }

    pub(super) fn read(&self) -> Reading<'_, T> {
        let mut patience = PATIENCE;
        loop {
            let now = self.word.load(Ordering::Relaxed);
            if now & WRITING != 0 {
                self.wait(|now| now & WRITING != 0);
            } else if now & WANTED != 0 && patience > 0 {
                hold_back(patience);
                patience -= 1;
            } else if self.try_move(now, now + READER) {
                return Reading { lent: self, _of_this_thread: PhantomData };
            }
        }
    }

    pub(super) fn write(&self) -> Writing<'_, T> {
        loop {
            let now = self.word.load(Ordering::Relaxed);
            if now & !WANTED == 0 {
                if self.try_move(now, WRITING) {
                    return Writing { lent: self, _of_this_thread: PhantomData };
                }
            } else if now & WANTED != 0 || self.try_move(now, now | WANTED) {
                self.wait(|now| now & !WANTED != 0);
            }
        }
    }

    fn try_move(&self, from: usize, to: usize) -> bool {
        self.word.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Blocks the thread until it is woken, unless the word says that there is no need (WL3).
    #[cold]
    fn wait(&self, busy: impl Fn(usize) -> bool) {
        // It is never closed, and "woken" means no more than "look again".
        let _ = block_on_simple(self.gate.wait_if(|| busy(self.word.load(Ordering::Relaxed))));
    }
}

/// A writer waits: leave it the time to get in.
#[cold]
fn hold_back(patience: u32) {
    prim::spin_loop();
    #[cfg(any(feature = "std", test))]
    if patience < PATIENCE / 4 {
        prim::thread::yield_now();
    }
    let _only_with_threads = patience;
}

/// The right to look (WL2). It stays on its thread, which others may have to wait for.
pub(super) struct Reading<'a, T> {
    lent: &'a Lent<T>,
    _of_this_thread: PhantomData<*const ()>,
}

// SAFETY: sharing it shares no more than `&T`.
unsafe impl<T: Sync> Sync for Reading<'_, T> {}

impl<T> Deref for Reading<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this reader is counted (WL2).
        self.lent.value.with(|value| unsafe { &*value })
    }
}

impl<T> Drop for Reading<'_, T> {
    fn drop(&mut self) {
        let before = self.lent.word.fetch_sub(READER, Ordering::Release);
        if before & WANTED != 0 && before < 2 * READER {
            self.lent.gate.wake_all(); // the last reader goes (WL3)
        }
    }
}

/// The right to change (WL1).
pub(super) struct Writing<'a, T> {
    lent: &'a Lent<T>,
    _of_this_thread: PhantomData<*const ()>,
}

impl<T> Deref for Writing<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: WRITING is ours (WL1).
        self.lent.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: WRITING is ours (WL1), and `&mut self` is unique.
        self.lent.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for Writing<'_, T> {
    fn drop(&mut self) {
        self.lent.word.fetch_sub(WRITING, Ordering::Release);
        self.lent.gate.wake_all(); // the writer goes (WL3)
    }
}
