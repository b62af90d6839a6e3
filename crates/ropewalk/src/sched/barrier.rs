//! A fence of which one side costs nothing: whoever passes it often passes [`light`], whoever seldom does passes [`heavy`].
//!
//! `heavy` makes each thread of this process that runs at the time pass a full barrier, wherever it is; so of a `light` and a `heavy`, as
//! of two SeqCst fences, one comes first, and who passed the second sees what was written before it. Where the kernel cannot do that, there
//! is none of it ([`is_to_be_had`]), and nobody relies on it.

use ropewalk_core::prim::{Ordering::SeqCst, fence};
use std::sync::OnceLock;

/// Whether `heavy` works here.
pub(crate) fn is_to_be_had() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| cfg!(any(loom, shuttle)) || membarrier(REGISTER))
}

/// The side that costs nothing. Only if it is to be had.
#[inline(always)]
pub(crate) fn light() {
    if cfg!(any(loom, shuttle, tsan)) {
        fence(SeqCst); // light
    } else {
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }
}

/// The other side. False: it does not work after all.
#[must_use]
pub(crate) fn heavy() -> bool {
    fence(SeqCst); // heavy
    cfg!(any(loom, shuttle)) || membarrier(NOW)
}

const NOW: i32 = 1 << 3; // MEMBARRIER_CMD_PRIVATE_EXPEDITED
const REGISTER: i32 = 1 << 4; // MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED

#[cfg(target_os = "linux")]
fn membarrier(command: i32) -> bool {
    // SAFETY: it takes numbers only.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn membarrier(_command: i32) -> bool {
    false
}
