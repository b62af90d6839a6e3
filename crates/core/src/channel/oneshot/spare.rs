//! The memory of oneshot channels: what a thread has freed it keeps for its next ones, up to [`KEPT`] of them.
//!
//! Most of what a oneshot costs, whose value is there before it is awaited, is the allocator: two calls, beside which one
//! read-modify-write and some stores are little. Cells that fit into a [`Block`] come from the thread's list and go back to it,
//! whichever thread they came from.
//!
//! - **SP1** Each block of a list is memory for one [`Block`] from the global allocator, which nobody uses. It is the list of
//!   one thread, so nobody else sees it.
//! - **SP2** A cell is in a block exactly if [`fits`] says so, which depends on its type alone.
//!
//! In debug builds nothing is kept, so that sanitizers see the memory of each channel come and go. Without `std` there are
//! no threads to keep it for.

use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use core::alloc::Layout;
use core::ptr::NonNull;

/// How many blocks a thread keeps at most.
#[cfg(feature = "std")]
const KEPT: u32 = 32;

/// What a cell has to fit into: one line of a cache.
#[cfg(feature = "std")]
#[repr(C, align(16))]
struct Block([u8; 64]);

/// Whether values of this layout are kept in blocks (SP2).
#[cfg(feature = "std")]
#[inline(always)]
const fn fits(cell: Layout) -> bool {
    cfg!(all(not(debug_assertions), not(loom), not(shuttle)))
        && cell.size() <= size_of::<Block>()
        && cell.align() <= align_of::<Block>()
}

/// Memory for a value of type `C`, which has a size.
#[inline]
pub(super) fn take<C>() -> NonNull<C> {
    #[cfg(feature = "std")]
    if const { fits(Layout::new::<C>()) } {
        return list::take().unwrap_or_else(|| fresh(Layout::new::<Block>())).cast();
    }
    fresh(Layout::new::<C>()).cast()
}

/// Gives it back.
///
/// # Safety
///
/// `memory` is what [`take`] returned for the same type, and nobody uses it any more.
#[inline]
pub(super) unsafe fn give_back<C>(memory: NonNull<C>) {
    #[cfg(feature = "std")]
    if const { fits(Layout::new::<C>()) } {
        // SAFETY: the caller's promise; it is a block (SP2).
        return unsafe { list::keep(memory.cast()) };
    }
    // SAFETY: the caller's promise; it is not a block, and was made for this layout (SP2).
    unsafe { dealloc(memory.as_ptr().cast(), Layout::new::<C>()) };
}

#[inline(never)]
fn fresh(layout: Layout) -> NonNull<u8> {
    // SAFETY: a block and a cell have a size.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

#[cfg(feature = "std")]
mod list {
    use super::{Block, KEPT};
    use alloc::alloc::dealloc;
    use core::alloc::Layout;
    use core::cell::Cell;
    use core::ptr::NonNull;

    /// At the beginning of a block in a list.
    struct Node {
        next: Option<NonNull<Node>>,
        /// Blocks up to the end of the list, with this one.
        count: u32,
    }

    /// The blocks of this thread (SP1).
    pub(super) struct List(Cell<Option<NonNull<Node>>>);

    std::thread_local!(static SPARE: List = const { List::new() });

    #[cfg_attr(feature = "roaming", inline(never))] // its caller may be on another thread after the next wait
    #[cfg_attr(not(feature = "roaming"), inline)]
    pub(super) fn take() -> Option<NonNull<u8>> {
        SPARE.try_with(List::pop).ok().flatten()
    }

    /// # Safety
    ///
    /// `block` is memory of a [`Block`] that nobody uses.
    #[cfg_attr(feature = "roaming", inline(never))] // as above
    #[cfg_attr(not(feature = "roaming"), inline)]
    pub(super) unsafe fn keep(block: NonNull<u8>) {
        // SAFETY: passed on to the caller.
        let kept = SPARE.try_with(|list| unsafe { list.push(block) });
        if kept != Ok(true) {
            // SAFETY: the caller's promise; the list did not take it, or is gone because the thread ends.
            unsafe { free(block) };
        }
    }

    #[cold]
    unsafe fn free(block: NonNull<u8>) {
        // SAFETY: the caller says that it is memory of a block (SP1).
        unsafe { dealloc(block.as_ptr(), Layout::new::<Block>()) };
    }

    impl List {
        pub(super) const fn new() -> Self {
            Self(Cell::new(None))
        }

        #[inline]
        pub(super) fn pop(&self) -> Option<NonNull<u8>> {
            let first = self.0.get()?;
            // SAFETY: a block of the list starts with a node (SP1).
            self.0.set(unsafe { first.as_ref() }.next);
            Some(first.cast())
        }

        /// False: the list is full, and the block is still the caller's.
        ///
        /// # Safety
        ///
        /// `block` is memory of a [`Block`] that nobody uses.
        #[inline]
        pub(super) unsafe fn push(&self, block: NonNull<u8>) -> bool {
            let next = self.0.get();
            // SAFETY: a block of the list starts with a node (SP1).
            let count = next.map_or(0, |next| unsafe { next.as_ref() }.count);
            if count < KEPT {
                let node = block.cast::<Node>();
                // SAFETY: the caller's promise; a node fits into a block.
                unsafe { node.write(Node { next, count: count + 1 }) };
                self.0.set(Some(node));
            }
            count < KEPT
        }
    }

    impl Drop for List {
        fn drop(&mut self) {
            while let Some(block) = self.pop() {
                // SAFETY: it was in the list (SP1).
                unsafe { free(block) };
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::super::fresh;
        use super::*;

        #[test]
        fn a_list_keeps_so_many_and_gives_back_the_last_first() {
            let list = List::new();
            assert_eq!(list.pop(), None);
            let blocks: Vec<_> = (0..KEPT).map(|_| fresh(Layout::new::<Block>())).collect();
            for block in &blocks {
                // SAFETY: fresh.
                assert!(unsafe { list.push(*block) });
            }
            let one_more = fresh(Layout::new::<Block>());
            // SAFETY: fresh.
            assert!(!unsafe { list.push(one_more) }, "full");
            // SAFETY: the list did not take it.
            unsafe { free(one_more) };
            let (last, others) = blocks.split_last().unwrap();
            assert_eq!(list.pop(), Some(*last));
            // SAFETY: just taken out.
            assert!(unsafe { list.push(*last) }, "there is room for one");
            assert_eq!((list.pop(), list.pop()), (Some(*last), Some(others[others.len() - 1])));
            for block in [*last, others[others.len() - 1]] {
                // SAFETY: taken out of the list.
                unsafe { free(block) };
            }
            // The rest goes with the list: the leak checker would tell.
        }

        #[test]
        fn a_thread_frees_what_it_kept_when_it_ends() {
            let kept = std::thread::spawn(|| {
                let block = fresh(Layout::new::<Block>());
                // SAFETY: fresh.
                unsafe { keep(block) };
                block.addr()
            });
            let address = kept.join().unwrap();
            assert!(take().is_none_or(|block| block.addr() != address), "it is in nobody else's list");
        }
    }
}
