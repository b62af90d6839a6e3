//! Buffers of the driver's own: the kernel takes one for each piece that arrives, so a connection that waits needs none.
//!
//! * **BU1** A buffer is the kernel's, in the ring of free ones, or belongs to exactly one completion, from which one [`Filled`] is
//!   made. It goes back when that is dropped, or by whoever takes a completion that nobody wants.
//! * **BU2** Buffers are put back under the lock of the tail. The kernel sees the entry before the tail that covers it.
//! * **BU3** The memory is freed when the ring is closed and no flow is under way; else never.

use super::Uring;
use io_uring::types::BufRingEntry;
use io_uring::{IoUring, cqueue};
use ropewalk_core::prim::Lock;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

/// How large each is.
const SIZE: usize = 16 * 1024;
const COUNT: u16 = 128;
/// The number by which the kernel knows them.
pub(super) const GROUP: u16 = 1;
const PAGE: usize = 4096;

pub(super) struct Buffers {
    ring: NonNull<BufRingEntry>,
    memory: NonNull<u8>,
    tail: Lock<u16>,
}

// SAFETY: the ring is written under the lock of the tail (BU2), each buffer by whoever has it (BU1).
unsafe impl Send for Buffers {}
// SAFETY: as above.
unsafe impl Sync for Buffers {}

fn layouts() -> [Layout; 2] {
    let pages = |size| Layout::from_size_align(size, PAGE).expect("a size that is known");
    [pages(usize::from(COUNT) * size_of::<BufRingEntry>()), pages(usize::from(COUNT) * SIZE)]
}

fn allocated(memory: *mut u8, layout: Layout) -> NonNull<u8> {
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

impl Buffers {
    /// # Errors
    /// The kernel has no such thing (before Linux 5.19).
    pub(super) fn new(uring: &IoUring) -> io::Result<Self> {
        let [entries, bytes] = layouts();
        // SAFETY: neither is empty.
        let (ring, memory) = unsafe { (alloc_zeroed(entries), alloc(bytes)) };
        let (ring, memory) = (allocated(ring, entries).cast(), allocated(memory, bytes));
        let buffers = Self { ring, memory, tail: Lock::new(0) };
        let address = buffers.ring.as_ptr().addr() as u64;
        // SAFETY: it is there until the ring is closed (BU3), and has room for so many entries.
        unsafe { uring.submitter().register_buf_ring_with_flags(address, COUNT, GROUP, 0)? };
        (0..COUNT).for_each(|buffer| buffers.give_back(buffer));
        Ok(buffers)
    }

    fn address(&self, buffer: u16) -> NonNull<u8> {
        assert!(buffer < COUNT, "the kernel made up a buffer");
        // SAFETY: it is within the memory.
        unsafe { self.memory.add(usize::from(buffer) * SIZE) }
    }

    /// The kernel may fill it again.
    pub(super) fn give_back(&self, buffer: u16) {
        let address = self.address(buffer).as_ptr().addr() as u64;
        let mut tail = self.tail.lock();
        let at = usize::from(*tail % COUNT);
        *tail = tail.wrapping_add(1);
        // SAFETY: the entry is within the ring; under the lock nobody else writes there (BU2), and the kernel reads it only
        // when the tail covers it. Of the first entry the tail itself is left alone.
        unsafe {
            let entry = &mut *self.ring.as_ptr().add(at);
            entry.set_addr(address);
            entry.set_len(SIZE as u32);
            entry.set_bid(buffer);
            let shown = BufRingEntry::tail(self.ring.as_ptr()).cast_mut();
            AtomicU16::from_ptr(shown).store(*tail, Ordering::Release);
        }
    }

    /// Of a completion that nobody wants.
    pub(super) fn give_back_of(&self, flags: u32) {
        if let Some(buffer) = cqueue::buffer_select(flags) {
            self.give_back(buffer);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let [entries, bytes] = layouts();
        // SAFETY: they were allocated so, and the kernel has forgotten them (BU3).
        unsafe {
            dealloc(self.ring.as_ptr().cast(), entries);
            dealloc(self.memory.as_ptr(), bytes);
        }
    }
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers").field("tail", &*self.tail.lock()).finish_non_exhaustive()
    }
}

/// A buffer with what has arrived in it.
pub(crate) struct Filled {
    uring: Arc<Uring>,
    buffer: u16,
    len: usize,
}

impl Filled {
    /// Made once for each completion (BU1).
    pub(super) fn new(uring: Arc<Uring>, buffer: u16, len: usize) -> Self {
        assert!(len <= SIZE, "the kernel made up a size");
        Self { uring, buffer, len }
    }

    fn buffers(&self) -> &Buffers {
        self.uring.buffers.get().and_then(Option::as_ref).expect("it is one of them")
    }
}

impl Deref for Filled {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        let address = self.buffers().address(self.buffer);
        // SAFETY: the kernel has written so many bytes, and this is the buffer's only owner (BU1).
        unsafe { std::slice::from_raw_parts(address.as_ptr(), self.len) }
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        self.buffers().give_back(self.buffer);
    }
}
