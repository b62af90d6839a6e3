//! Guards: what makes the low end of a slot fault.
//!
//! * *Guard regions* (`MADV_GUARD_INSTALL`, Linux 6.13): marks in the page tables. The mapping stays one.
//! * *Protection* (`mprotect`), everywhere else: the mapping is split, so each stack takes two of the mappings that a process may
//!   have. On Linux that is `vm.max_map_count`, 65,530 unless somebody has raised it: about 32,000 stacks.
//!
//! Which of them is found out by the first guard, and stays. (A kernel with guard regions may refuse them too: some do in a
//! process that has locked its memory. So a refusal counts at any time.)

use super::arena::Slot;
use ropewalk_core::prim::real::{AtomicBool, Ordering};
use rustix::io::Errno;
use rustix::mm::{MprotectFlags, mprotect};

/// How guards are made.
#[derive(Debug)]
pub(super) struct Guards {
    regions: AtomicBool,
}

/// How they are made here.
pub(super) static GUARDS: Guards = Guards { regions: AtomicBool::new(cfg!(target_os = "linux")) };

impl Guards {
    /// As where there are no guard regions.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) const fn by_protection() -> Self {
        Self { regions: AtomicBool::new(false) }
    }

    /// Whether a guard splits the mapping it is in.
    pub(super) fn split_mappings(&self) -> bool {
        !self.regions.load(Ordering::Relaxed)
    }

    /// Makes the guard of a slot that has none (K3).
    pub(super) fn install(&self, slot: Slot) -> Result<(), Errno> {
        let (at, length) = (slot.limit() as *mut std::ffi::c_void, slot.shape().guard);
        #[cfg(target_os = "linux")]
        if self.regions.load(Ordering::Relaxed) {
            match install_region(at, length) {
                Err(Errno::INVAL) => self.regions.store(false, Ordering::Relaxed),
                answer => return answer,
            }
        }
        // SAFETY: it is mapped (K1), and the guard of a slot is memory that nobody uses.
        unsafe { mprotect(at, length, MprotectFlags::empty()) }
    }
}

#[cfg(target_os = "linux")]
fn install_region(at: *mut std::ffi::c_void, length: usize) -> Result<(), Errno> {
    const MADV_GUARD_INSTALL: libc::c_int = 102;
    // SAFETY: as for `mprotect`; called with the guard of a slot only.
    match unsafe { libc::madvise(at, length, MADV_GUARD_INSTALL) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
    }
}
