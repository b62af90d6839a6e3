//! Whether a thread that does not get on computes, is blocked, or only waits for a core: the last is nobody's fault.

use std::time::Duration;

/// What a thread spent of the processor's time. `None`: the system does not say.
#[cfg(target_os = "linux")]
pub(super) fn cpu_time(thread: u32) -> Option<Duration> {
    // As the C library's `pthread_getcpuclockid` makes it: of one thread, by what it ran.
    let clock = !(thread as libc::clockid_t) << 3 | 0b110;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to what it is given.
    let said = unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
    said.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn cpu_time(_thread: u32) -> Option<Duration> {
    None
}

/// Whether a thread of this process runs, or would if there were a core for it. `None`: the system does not say.
pub(super) fn is_runnable(thread: u32) -> Option<bool> {
    let line = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).ok()?;
    parse_state(&line).map(|state| state == 'R')
}

/// The letter after the name, which is in parentheses and may contain some.
fn parse_state(line: &str) -> Option<char> {
    line.rsplit_once(") ")?.1.chars().next()
}

/// A thread that keeps its core for so long at most gets one soon, when it wakes up, from others that keep theirs for longer.
pub(super) const SLICE: Duration = Duration::from_micros(100);

/// The calling thread, and those that it starts, get a core soon when they wake up.
pub(super) fn be_prompt() {
    set_slice(0, SLICE);
}

/// How long a thread (0: the calling one) may have a core before another one that wakes up gets it: zero for what the system thinks right. It may refuse.
#[cfg(target_os = "linux")]
pub(super) fn set_slice(thread: u32, slice: Duration) {
    // SAFETY: all zeroes is a description; it is filled in by the kernel, and goes back with one thing changed.
    unsafe {
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        let size = std::mem::size_of::<libc::sched_attr>() as u32;
        if libc::syscall(libc::SYS_sched_getattr, thread, &raw mut attributes, size, 0) == 0 {
            if attributes.sched_policy == libc::SCHED_DEADLINE as u32 {
                return; // there it means something else
            }
            attributes.sched_flags |= libc::SCHED_FLAG_KEEP_POLICY as u64; // its own thread may change that meanwhile
            attributes.sched_runtime = slice.as_nanos() as u64;
            libc::syscall(libc::SYS_sched_setattr, thread, &raw const attributes, 0);
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn set_slice(_thread: u32, _slice: Duration) {}

/// The system call that a thread of this process sleeps in, by name if it is a well-known one. `None`: in none, or the system does not say.
pub(super) fn system_call(thread: u32) -> Option<String> {
    let line = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?;
    parse_call(&line).map(call_name)
}

/// The first word, if it is a number: `running` says that there is none, and -1 that it sleeps outside of one.
fn parse_call(line: &str) -> Option<i64> {
    line.split_whitespace().next()?.parse().ok().filter(|call| *call >= 0)
}

#[cfg(target_os = "linux")]
fn call_name(call: i64) -> String {
    let known = [
        (libc::SYS_read, "read"),
        (libc::SYS_write, "write"),
        (libc::SYS_readv, "readv"),
        (libc::SYS_writev, "writev"),
        (libc::SYS_pread64, "pread64"),
        (libc::SYS_pwrite64, "pwrite64"),
        (libc::SYS_recvfrom, "recvfrom"),
        (libc::SYS_sendto, "sendto"),
        (libc::SYS_recvmsg, "recvmsg"),
        (libc::SYS_sendmsg, "sendmsg"),
        (libc::SYS_connect, "connect"),
        (libc::SYS_accept4, "accept4"),
        (libc::SYS_ppoll, "ppoll"),
        (libc::SYS_epoll_pwait, "epoll_pwait"),
        (libc::SYS_futex, "futex (a lock or a condition of another thread)"),
        (libc::SYS_nanosleep, "nanosleep"),
        (libc::SYS_clock_nanosleep, "clock_nanosleep"),
        (libc::SYS_wait4, "wait4"),
        (libc::SYS_waitid, "waitid"),
        (libc::SYS_flock, "flock"),
        (libc::SYS_fsync, "fsync"),
        (libc::SYS_openat, "openat"),
    ];
    let found = known.iter().find(|(number, _)| *number == call as libc::c_long);
    found.map_or_else(|| format!("number {call}"), |(_, name)| (*name).to_owned())
}

#[cfg(not(target_os = "linux"))]
fn call_name(call: i64) -> String {
    format!("number {call}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letter_after_the_name_is_the_state() {
        assert_eq!(parse_state("12 (a name) with) S 1 2 3"), Some('S'));
        assert_eq!(parse_state("12 name S"), None);
    }

    #[test]
    fn a_number_is_a_system_call() {
        assert_eq!(parse_call("0 0x3 0x7ffd 0x1"), Some(0));
        assert_eq!(parse_call("running"), None);
        assert_eq!(parse_call("-1 0x7ffd 0x1"), None);
        assert_eq!(parse_call(""), None);
    }

    #[cfg(all(target_os = "linux", not(any(loom, shuttle))))]
    #[test]
    fn a_slice_changes_nothing_else() {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let attributes = || {
            let size = std::mem::size_of::<libc::sched_attr>();
            // SAFETY: all zeroes is a description, which is filled in by the kernel.
            let now: libc::sched_attr = unsafe {
                let mut now = std::mem::zeroed();
                assert_eq!(libc::syscall(libc::SYS_sched_getattr, own, &raw mut now, size, 0), 0);
                now
            };
            (now.sched_policy, now.sched_nice, now.sched_flags)
        };
        let before = attributes();
        set_slice(own, Duration::from_micros(100));
        assert_eq!(attributes(), before);
        set_slice(own, Duration::ZERO);
        assert_eq!(attributes(), before);
    }

    #[cfg(all(target_os = "linux", not(any(loom, shuttle))))]
    #[test]
    fn who_computes_spends_time_and_who_is_blocked_does_not() {
        let (tell, told) = std::sync::mpsc::channel();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let before = cpu_time(own).unwrap();
        while cpu_time(own).unwrap() < before + Duration::from_millis(5) {}
        assert_eq!(is_runnable(own), Some(true));
        let blocked = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            held.recv().unwrap_err();
        });
        let other = told.recv().unwrap();
        while is_runnable(other) != Some(false) {
            std::thread::yield_now();
        }
        drop(release);
        blocked.join().unwrap();
    }
}
