//! What the kernel answers to this process: as in containers, or as an old one.

/// System calls with this number fail with `error` from now on, in all threads there are and those that come.
pub fn forbid(call: libc::c_long, error: i32) {
    let step = |code: u32, k, jt, jf| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0), // the number of the call
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, 0, 1),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | error as u32, 0, 0),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    let all_threads = libc::SECCOMP_FILTER_FLAG_TSYNC;
    // SAFETY: the filter and its steps are there during the calls; they concern later system calls only.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, all_threads, &raw const filter)
    };
    assert_eq!(set, 0, "the filter is set: {}", std::io::Error::last_os_error());
}
