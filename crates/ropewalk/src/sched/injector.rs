//! The queue into which everybody may push: the injection queue of a pool and the inbox of a worker.
//!
//! A FIFO under a short lock, with its length beside it, so that "is there anything?" is one load. Entries live in
//! blocks of a fixed size that are used again.
//!
//! # Invariants
//!
//! 1. `len` is the number of entries in the queue. It is stored with Release while the lock is held, so who finds a
//!    length also finds, under the lock, the entries or their absence; and who has a push happen before its load of
//!    `len` sees that push, unless the entry was taken.
//! 2. The entries stand in `foremost`, if there is one, and then in `chain`, in the order of their pushes: `first..` of the
//!    front block to `..last` of the back block, without a gap. A single entry that comes to an empty queue is the foremost:
//!    one at a time, as in a pool that is mostly asleep, they touch no block. The chain of an empty queue is at most one block, and every other block without entries is
//!    in `spare`.
//! 3. There are `blocks` of them, and once `reserve` has returned there are at least as many as `reserved` entries can
//!    occupy, however they lie. Both lists have room for all of them. Hence a push that keeps within the reserve finds a
//!    spare block, and neither push nor pop allocates.
//! 4. No entry is dropped, and no code of a user runs, under the lock.
//!
//! A push is never refused: that a pool which ends gets nothing more is seen to before the push (`pool.rs`, P2). Each
//! task is queued at most once and each slab page reserves for its tasks, so in the runtime (3) always applies. Who
//! pushes beyond the reserve pays with an allocation; nothing is lost.

use super::entry::Entry;
use super::ring::Producer;
use ropewalk_core::prim::Ordering::{Acquire, Release};
use ropewalk_core::prim::{AtomicUsize, BriefGuard, BriefLock, Padded};
use std::collections::VecDeque;

#[cfg(test)]
mod tests;

/// Entries in a block: of one word each they make 512 bytes.
const BLOCK: usize = if cfg!(loom) { 2 } else { 64 };

type Block<T> = Box<[Option<T>; BLOCK]>;

/// A FIFO into which every thread may push and from which every thread may pop.
pub(crate) struct Injector<T> {
    len: Padded<AtomicUsize>,
    queue: Padded<BriefLock<Queue<T>>>,
}

/// What a single entry needs comes first: one cache line, together with the lock.
#[repr(C)]
struct Queue<T> {
    foremost: Option<T>,
    len: usize,
    /// Where in the front block the oldest entry is.
    first: usize,
    /// Where in the back block the next entry goes; `BLOCK` if that takes another block.
    last: usize,
    chain: VecDeque<Block<T>>,
    spare: Vec<Block<T>>,
    reserved: usize,
    blocks: usize,
}

impl<T> Injector<T> {
    /// An empty queue with no reserve.
    pub(crate) fn new() -> Self {
        let (chain, spare) = (VecDeque::new(), Vec::new());
        let (first, last, len, reserved, blocks) = (0, BLOCK, 0, 0, 0);
        let queue = Queue { foremost: None, chain, spare, first, last, len, reserved, blocks };
        Injector { len: Padded(AtomicUsize::new(0)), queue: Padded(BriefLock::new(queue)) }
    }

    /// Sets room aside for `count` more entries that may be queued at the same time.
    pub(crate) fn reserve(&self, count: usize) {
        let missing = {
            let mut queue = self.queue.lock();
            queue.reserved += count;
            occupied_at_most(queue.reserved).saturating_sub(queue.blocks)
        };
        if missing == 0 {
            return;
        }
        // Outside the lock. Two that reserve at the same time may both make what one could: neither relies on blocks that
        // the other has not brought yet, and later reserves find what is left over.
        let fresh: Vec<Block<T>> = (0..missing).map(|_| empty_block()).collect();
        let mut queue = self.queue.lock();
        queue.grow(missing);
        queue.spare.extend(fresh);
    }

    /// Sees to it that room is set aside for `count` entries in all.
    pub(crate) fn reserve_in_all(&self, count: usize) {
        let reserved = self.queue.lock().reserved;
        if reserved < count {
            self.reserve(count - reserved);
        }
    }

    /// Adds an entry behind all others.
    pub(crate) fn push(&self, entry: T) {
        let mut queue = self.queue.lock();
        queue.put(entry);
        self.unlock(queue);
    }

    /// Moves all `entries` to the end of the queue, in their order and with nothing between them.
    pub(crate) fn push_batch(&self, entries: &mut Vec<T>) {
        let mut queue = self.queue.lock();
        queue.put_all(entries);
        self.unlock(queue);
    }

    /// Takes the oldest entry.
    pub(crate) fn pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock();
        let entry = queue.take();
        self.unlock(queue);
        entry
    }

    /// Takes the `most` oldest entries: the first is returned, the others are appended to `ring` as far as it has room.
    pub(crate) fn pop_into(&self, most: usize, ring: &Producer<T>) -> Option<T>
    where
        T: Entry,
    {
        if most == 0 || self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock();
        let first = queue.take();
        debug_assert!(queue.foremost.is_none(), "it was the first");
        queue.take_runs(most - 1, |run| ring.fill(&mut run.iter_mut().filter_map(Option::take)));
        self.unlock(queue);
        first
    }

    /// Moves the `most` oldest entries to `ring`, in their order and as far as it has room, and says how many.
    pub(crate) fn move_into(&self, most: usize, ring: &Producer<T>) -> usize
    where
        T: Entry,
    {
        let most = most.min(ring.room());
        if most == 0 || self.is_empty() {
            return 0;
        }
        let mut queue = self.queue.lock();
        let before = queue.len;
        ring.fill(&mut queue.take().into_iter()); // there may be a foremost one
        queue.take_runs(most - 1, |run| ring.fill(&mut run.iter_mut().filter_map(Option::take)));
        let moved = before - queue.len;
        self.unlock(queue);
        moved
    }

    /// How many entries there are, about. Zero means that each push which happens before this call has found its taker:
    /// also for a load after a `SeqCst` fence and a push before an earlier such fence.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Acquire)
    }

    /// The same as `len() == 0`: one load.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends a change of the queue: the length is shown before the lock is released (1).
    #[inline]
    fn unlock(&self, queue: BriefGuard<'_, Queue<T>>) {
        self.len.store(queue.len, Release);
        drop(queue);
    }
}

impl<T> Queue<T> {
    fn put(&mut self, entry: T) {
        if self.len == 0 {
            self.len = 1;
            return self.foremost = Some(entry);
        }
        if self.last == BLOCK {
            self.extend();
        }
        let block = self.chain.back_mut().expect("a chain that ends inside a block has one");
        block[self.last] = Some(entry);
        self.last += 1;
        self.len += 1;
    }

    fn put_all(&mut self, entries: &mut Vec<T>) {
        self.len += entries.len();
        let mut entries = entries.drain(..);
        while entries.len() > 0 {
            if self.last == BLOCK {
                self.extend();
            }
            let block = self.chain.back_mut().expect("a chain that ends inside a block has one");
            let before = entries.len();
            block[self.last..].iter_mut().zip(&mut entries).for_each(|(slot, entry)| *slot = Some(entry));
            self.last += before - entries.len();
        }
    }

    /// Appends an empty block.
    fn extend(&mut self) {
        let block = self.spare.pop().unwrap_or_else(|| {
            // Beyond the reserve.
            self.grow(1);
            empty_block()
        });
        self.chain.push_back(block);
        self.last = 0;
    }

    fn take(&mut self) -> Option<T> {
        if self.foremost.is_some() {
            self.len -= 1;
            return self.foremost.take();
        }
        let entry = self.oldest(1).first_mut()?.take();
        self.took(1);
        entry
    }

    /// Takes up to `most` entries, the oldest first: `deliver` gets them block by block, moves out as many of the first as
    /// it can, and says how many that were. It ends when `deliver` moves none.
    fn take_runs(&mut self, mut most: usize, mut deliver: impl FnMut(&mut [Option<T>]) -> usize) {
        loop {
            let run = self.oldest(most);
            let count = if run.is_empty() { 0 } else { deliver(run) };
            if count == 0 {
                return;
            }
            self.took(count);
            most -= count;
        }
    }

    /// The oldest entries that stand in one block, at most `most`. What is taken out of them is told to `took`.
    fn oldest(&mut self, most: usize) -> &mut [Option<T>] {
        let count = most.min(self.len).min(BLOCK - self.first);
        match self.chain.front_mut() {
            Some(block) => &mut block[self.first..self.first + count],
            None => &mut [],
        }
    }

    /// The `count` oldest entries are gone.
    fn took(&mut self, count: usize) {
        self.first += count;
        self.len -= count;
        if self.len == 0 {
            // The front block is the back block: it starts afresh.
            (self.first, self.last) = (0, 0);
        } else if self.first == BLOCK {
            self.first = 0;
            self.spare.extend(self.chain.pop_front());
        }
    }

    /// Counts `fresh` blocks and sees to it that both lists can hold all there are (3).
    fn grow(&mut self, fresh: usize) {
        self.blocks += fresh;
        self.spare.reserve(self.blocks - self.spare.len());
        self.chain.reserve(self.blocks - self.chain.len());
    }
}

/// How many blocks `entries` occupy at most: the oldest may be the last of its block.
fn occupied_at_most(entries: usize) -> usize {
    if entries == 0 { 0 } else { (BLOCK - 1 + entries).div_ceil(BLOCK) }
}

fn empty_block<T>() -> Block<T> {
    Box::new([const { None }; BLOCK])
}
