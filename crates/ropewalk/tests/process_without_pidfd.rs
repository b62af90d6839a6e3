//! The suite of `system/process.rs` on a kernel that knows no pidfd: a filter answers `pidfd_open` as such a kernel does.
//! A program of its own: the filter is for the whole process, and so is the handler of SIGCHLD.
#![cfg(all(target_os = "linux", not(tsan)))] // SIGCHLD: see os_signals.rs

mod kit;
#[path = "kit/limits.rs"]
mod limits;

#[path = "system/process/suite.rs"]
mod suite;

use std::sync::Once;

/// Every thread of this process, and each that comes later, lives on an old kernel from now on.
fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(forget_pidfds);
    // SAFETY: a plain system call; it is answered by the filter.
    let answer = unsafe { libc::syscall(libc::SYS_pidfd_open, std::process::id(), 0) };
    assert_eq!((answer, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::ENOSYS)));
}

fn forget_pidfds() {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step(load, 0, 0, 0), // the number of the call
        step(equal, 0, 1, libc::SYS_pidfd_open as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter and its steps are there during the calls; they concern later system calls only.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &filter as *const libc::sock_fprog,
        )
    };
    assert_eq!(set, 0, "the filter is set: {}", std::io::Error::last_os_error());
}
