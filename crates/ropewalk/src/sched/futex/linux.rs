//! The futex system call. The word is private to the process, which lets the kernel skip the look-up of its mapping.

use super::Futex;
use core::ops::Deref;
use core::time::Duration;
use ropewalk_core::prim::AtomicU32;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Timespec};

/// A word that threads sleep on through the kernel.
#[derive(Debug)]
pub(crate) struct Word(AtomicU32);

impl Deref for Word {
    type Target = AtomicU32;
    #[inline]
    fn deref(&self) -> &AtomicU32 {
        &self.0
    }
}

impl Futex for Word {
    fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }

    /// The kernel compares and enqueues under the lock of the word's hash bucket, which `wake` takes as well: that is
    /// the one step of the contract.
    fn wait(&self, expected: u32, timeout: Option<Duration>) {
        // Relative, on the monotonic clock. More seconds than the kernel can count is no limit.
        let timeout = timeout.and_then(|limit| Timespec::try_from(limit).ok());
        match futex::wait(&self.0, Flags::PRIVATE, expected, timeout.as_ref()) {
            // Woken; another value; time over; a signal handler ran. All are left to the caller, who looks again.
            Ok(()) | Err(Errno::AGAIN | Errno::TIMEDOUT | Errno::INTR) => {}
            Err(error) => unreachable!("futex wait on a valid word failed: {error}"),
        }
    }

    fn wake(&self, count: u32) {
        // The kernel reads the count as signed, and wakes a single thread for a negative one.
        let count = count.min(i32::MAX as u32);
        if let Err(error) = futex::wake(&self.0, Flags::PRIVATE, count) {
            unreachable!("futex wake on a valid word failed: {error}");
        }
    }
}
