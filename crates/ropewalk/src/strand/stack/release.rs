//! How the memory of stacks goes back to the system. Never that of a guard (K3).
//!
//! Doing that costs the most where several threads run: each processor is told to forget the pages. So many stacks are given back
//! at a time where the kernel can (`process_madvise` on one's own process: recent ones). Measured on Linux 6.18, a page of each: a
//! third to a fifth of what one by one costs.
//!
//! Failure is no error: the memory stays where it is (it is locked, for example), and the next user of the stack has it.

use super::arena::Slot;
use std::ffi::c_void;

/// Gives back the memory of stacks that nobody has: at once on Linux, elsewhere when the system needs some.
pub(super) fn all(slots: &[Slot]) {
    #[cfg(target_os = "linux")]
    if slots.len() > 1 && slots.chunks(batch::MOST).all(batch::release) {
        return;
    }
    slots.iter().copied().for_each(one);
}

/// The same for one.
pub(super) fn one(slot: Slot) {
    let (at, length) = memory(slot);
    #[cfg(target_os = "linux")]
    // SAFETY: it is mapped (K1), and the caller has it from whoever ran on it (K2): its contents are nobody's.
    let _stays = unsafe { rustix::mm::madvise(at, length, rustix::mm::Advice::LinuxDontNeed) };
    #[cfg(not(target_os = "linux"))]
    // SAFETY: as above.
    let _stays = unsafe { libc::madvise(at, length, libc::MADV_FREE) };
}

fn memory(slot: Slot) -> (*mut c_void, usize) {
    let usable = slot.shape().usable;
    ((slot.base().get() - usable) as *mut c_void, usable)
}

#[cfg(target_os = "linux")]
mod batch {
    use super::{Slot, memory};
    use ropewalk_core::prim::real::{AtomicBool, Ordering};
    use std::ptr::null_mut;

    pub(super) const MOST: usize = 32;
    /// Stands for the calling thread's process where a file descriptor of one is asked for.
    const PIDFD_SELF: libc::c_int = -10_000;
    static WORKS: AtomicBool = AtomicBool::new(true);

    /// False: it does not work here, and some of them may still have their memory.
    pub(super) fn release(slots: &[Slot]) -> bool {
        if !WORKS.load(Ordering::Relaxed) {
            return false;
        }
        let mut parts = [libc::iovec { iov_base: null_mut(), iov_len: 0 }; MOST];
        for (part, slot) in parts.iter_mut().zip(slots) {
            (part.iov_base, part.iov_len) = memory(*slot);
        }
        let whole: usize = parts.iter().map(|part| part.iov_len).sum();
        let (first, count) = (parts.as_ptr(), slots.len());
        // SAFETY: all parts are mapped (K1), and the caller has them from whoever ran on them (K2).
        let done = unsafe {
            libc::syscall(libc::SYS_process_madvise, PIDFD_SELF, first, count, libc::MADV_DONTNEED, 0)
        };
        let worked = done == whole as libc::c_long;
        if !worked {
            WORKS.store(false, Ordering::Relaxed);
        }
        worked
    }
}
