//! The suite of `system/process.rs` on a kernel that knows no pidfd: a filter answers `pidfd_open` as such a kernel does.
//! A program of its own: the filter is for the whole process, and so is the handler of SIGCHLD.
#![cfg(all(target_os = "linux", not(tsan)))] // SIGCHLD: see os_signals.rs

#[path = "kit/answers.rs"]
mod answers;
mod kit;
#[path = "kit/limits.rs"]
mod limits;

#[path = "system/process/suite.rs"]
mod suite;

use std::sync::Once;

/// Every thread of this process, and each that comes later, lives on an old kernel from now on.
fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| answers::forbid(libc::SYS_pidfd_open, libc::ENOSYS));
    // SAFETY: a plain system call; it is answered by the filter.
    let answer = unsafe { libc::syscall(libc::SYS_pidfd_open, std::process::id(), 0) };
    assert_eq!((answer, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::ENOSYS)));
}
