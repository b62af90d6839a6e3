//! Asking for memory ahead of its use: what another core wrote last takes longer to come than a task takes to run.
//!
//! Hints only: any address will do, and where there is no such instruction nothing happens.

#[cfg(feature = "alloc")]
const LINE: usize = 64;

/// Asks for the header of a task that is about to run, or to be made, at `address`.
#[cfg(feature = "alloc")]
#[inline(always)]
pub fn task<T>(address: *const T) {
    bytes(address, size_of::<crate::task::Header>());
}

/// Asks for what a large task of `size` bytes at `address` touches first when it goes on: its ends. Its header is there already,
/// and what is between them is mostly buffers.
#[cfg(feature = "alloc")]
#[inline(always)]
pub(crate) fn ends<T>(address: *const T, size: usize) {
    if size > 2 * LINE {
        to_write(address.wrapping_byte_add(LINE));
        to_write(address.wrapping_byte_add(size - 1 - LINE));
        to_write(address.wrapping_byte_add(size - 1));
    }
}

/// Asks for `count` bytes at `address`, at most a cache line of them.
#[inline(always)]
pub(crate) fn bytes<T>(address: *const T, count: usize) {
    to_write(address);
    to_write(address.wrapping_byte_add(count - 1)); // it may reach into the next line
}

/// Asks for the cache line at `address`, to be written.
#[inline(always)]
pub fn to_write<T>(address: *const T) {
    // SAFETY: a prefetch never faults and changes nothing but the cache.
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom, shuttle))))]
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(all(target_arch = "aarch64", not(any(miri, loom, shuttle))))]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    let _ = address;
}
