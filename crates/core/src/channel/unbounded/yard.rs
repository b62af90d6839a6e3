//! Where blocks are between two uses. Its invariants are numbered in `unbounded.rs`.
//!
//! A short lock, taken twice per block and not per value.

use super::{Block, FREE, TAKEN};
use crate::prim::{BriefLock, Ordering::*};
use alloc::boxed::Box;
use core::ptr;

/// How many blocks are kept for the next use; more are freed.
const KEPT: usize = 8;

pub(super) struct Yard<T>(BriefLock<Stock<T>>);

/// Both are chains through `next`.
struct Stock<T> {
    /// Ready for use.
    clean: *mut Block<T>,
    kept: usize,
    /// Both ends have moved on, but somebody may still be reading.
    left: *mut Block<T>,
}

// SAFETY: the blocks in it belong to it (U3), and values in them to nobody or to their readers.
unsafe impl<T: core::marker::Send> core::marker::Send for Stock<T> {}

impl<T> Yard<T> {
    pub(super) fn new() -> Self {
        Self(BriefLock::new(Stock { clean: ptr::null_mut(), kept: 0, left: ptr::null_mut() }))
    }

    /// A block with free slots and no next one.
    pub(super) fn block(&self) -> *mut Block<T> {
        let mut stock = self.0.lock();
        let block = stock.clean;
        if block.is_null() {
            drop(stock);
            return Box::into_raw(Box::new(Block::new()));
        }
        // SAFETY: it is the yard's (U3), and now ours.
        stock.clean = unsafe { (*block).next.load(Relaxed) };
        stock.kept -= 1;
        drop(stock);
        // SAFETY: ours.
        unsafe { (*block).next.store(ptr::null_mut(), Relaxed) };
        block
    }

    /// Takes a block back that was not used after all, if it is one.
    #[cold]
    pub(super) fn take_back(&self, block: *mut Block<T>) {
        if !block.is_null() {
            // SAFETY: it came from `block`, and nobody else has seen it.
            unsafe { self.0.lock().keep(block) }.free();
        }
    }

    /// Takes a block in which the last slot was taken, and with it those whose readers have finished meanwhile.
    pub(super) fn bring(&self, block: *mut Block<T>) {
        let mut stock = self.0.lock();
        // SAFETY: both ends have moved on (U2): only readers are in it, who do not touch `next`.
        unsafe { (*block).next.store(stock.left, Relaxed) };
        stock.left = block;
        let surplus = stock.sort();
        drop(stock);
        surplus.free();
    }
}

impl<T> Stock<T> {
    /// Makes those that were read to the end clean again. Returns those that are too many.
    fn sort(&mut self) -> Chain<T> {
        let mut surplus = Chain(ptr::null_mut());
        let mut at = core::mem::replace(&mut self.left, ptr::null_mut());
        while !at.is_null() {
            let block = at;
            // SAFETY: blocks in the yard are valid, and their links the yard's (U3); one that was read to the end is ours.
            unsafe {
                at = (*block).next.load(Relaxed);
                if !Self::was_read(block) {
                    (*block).next.store(self.left, Relaxed);
                    self.left = block;
                    continue;
                }
                (*block).slots.iter().for_each(|slot| slot.mark.store(FREE, Relaxed));
                surplus.append(self.keep(block));
            }
        }
        surplus
    }

    /// # Safety
    /// The block is in the yard.
    unsafe fn was_read(block: *mut Block<T>) -> bool {
        // SAFETY: the caller's promise. Readers release with their marks what they did.
        unsafe { (*block).slots.iter().all(|slot| slot.mark.load(Acquire) == TAKEN) }
    }

    /// # Safety
    /// Nobody else has the block, and its slots are free.
    unsafe fn keep(&mut self, block: *mut Block<T>) -> Chain<T> {
        let enough = self.kept == KEPT;
        let next = if enough { ptr::null_mut() } else { self.clean };
        // SAFETY: the caller's promise.
        unsafe { (*block).next.store(next, Relaxed) };
        if enough {
            return Chain(block);
        }
        (self.clean, self.kept) = (block, self.kept + 1);
        Chain(ptr::null_mut())
    }
}

/// Blocks that nobody needs.
#[must_use]
struct Chain<T>(*mut Block<T>);

impl<T> Chain<T> {
    /// `one` is a single block, or none.
    fn append(&mut self, one: Chain<T>) {
        if !one.0.is_null() {
            // SAFETY: the chain owns it.
            unsafe { (*one.0).next.store(self.0, Relaxed) };
            self.0 = one.0;
        }
    }

    fn free(self) {
        let mut at = self.0;
        while !at.is_null() {
            // SAFETY: the chain owns its blocks, which came from boxes.
            at = unsafe {
                let next = (*at).next.load(Relaxed);
                drop(Box::from_raw(at));
                next
            };
        }
    }
}

impl<T> Drop for Yard<T> {
    fn drop(&mut self) {
        let stock = self.0.lock();
        let (clean, left) = (Chain(stock.clean), Chain(stock.left));
        drop(stock);
        clean.free();
        left.free();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
impl<T> Yard<T> {
    /// How many blocks are clean, and how many are not yet.
    pub(super) fn count(&self) -> (usize, usize) {
        let stock = self.0.lock();
        let length = |first: *mut Block<T>| {
            let mut count = 0;
            let mut at = first;
            while !at.is_null() {
                // SAFETY: the chains are the yard's, which is locked.
                (at, count) = (unsafe { (*at).next.load(Relaxed) }, count + 1);
            }
            count
        };
        (length(stock.clean), length(stock.left))
    }
}
