//! Where another thread is: a signal makes it write down what is on its stack.
//!
//! Only a thread that computes is asked: one that is blocked would find its system call interrupted. The signal is SIGURG, which means nothing
//! to a program that does not handle it; one that does keeps its handler, and there is no trace.
//!
//! The handler allocates nothing and takes no lock (with a C library that is not older than glibc 2.35; before that, the loader's): it walks
//! the stack by the tables of the program, and writes addresses on a slate. It runs on the thread's stack for signals, because a strand's
//! may have no room.

use super::super::station::Station;
use super::slate::Slate;
use super::thread;
use crate::dump::frames;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How many frames are looked at, those of the handler and of the runtime included, and how many are shown.
const FRAMES: usize = 64;
const SHOWN: usize = 12;
/// For so long the answer is waited for.
const PATIENCE: Duration = Duration::from_millis(20);

static SLATE: Slate<FRAMES> = Slate::new();

/// The addresses on the stack of the thread at `station`, innermost first; none if it does not say.
pub(crate) fn of(station: &Station) -> Vec<usize> {
    let Some(asked) = station.thread() else { return Vec::new() };
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let is_there = || station.thread() == Some(asked) && thread::is_runnable(asked) == Some(true);
    if !is_there() || !listens() || !SLATE.ask(asked) {
        return Vec::new();
    }
    // SAFETY: it takes numbers; if the thread has ended, nobody hears it.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), asked, libc::SIGURG) };
    let until = Instant::now() + PATIENCE;
    while !SLATE.is_written() && Instant::now() < until {
        std::thread::sleep(Duration::from_micros(50));
    }
    SLATE.read().unwrap_or_default()
}

/// The functions at these addresses, a line each, as far as they are the user's.
pub(super) fn named(addresses: &[usize]) -> String {
    let frames = frames::of_task(addresses.iter().flat_map(|address| frames::at(*address)).collect());
    frames.iter().take(SHOWN).map(|frame| format!("\n    {frame}")).collect()
}

/// Whether SIGURG is ours: nobody else may have wanted it.
fn listens() -> bool {
    static OURS: OnceLock<()> = OnceLock::new();
    let handler = on_signal as *const () as usize;
    OURS.get_or_init(|| {
        backtrace::trace(|_| false); // whatever is set up on first use is set up now
        if action().is_some_and(|now| now == libc::SIG_DFL) {
            // SAFETY: all zeroes is an empty one.
            let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
            (ours.sa_sigaction, ours.sa_flags) =
                (handler, libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART);
            // SAFETY: the handler does only what a handler may.
            unsafe { libc::sigaction(libc::SIGURG, &raw const ours, std::ptr::null_mut()) };
        }
    });
    action() == Some(handler)
}

fn action() -> Option<usize> {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: it writes one action, for which all zeroes would do, too.
    unsafe {
        let said = libc::sigaction(libc::SIGURG, std::ptr::null(), now.as_mut_ptr()) == 0;
        said.then(|| now.assume_init().sa_sigaction)
    }
}

extern "C" fn on_signal(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: it takes nothing, and `errno` is this thread's own, which the interrupted code goes on with.
    let (this, errno) = unsafe { (libc::syscall(libc::SYS_gettid) as u32, *libc::__errno_location()) };
    SLATE.answer(this, |line| write_down(interrupted_at(context), line));
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Everything from the interrupted function outwards.
fn write_down(interrupted: Option<usize>, line: &mut dyn FnMut(usize) -> bool) {
    let (mut is_first, mut begun) = (true, interrupted.is_none());
    // SAFETY: nobody else traces in a handler (one is asked at a time), and no frame is resolved here.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            let address = frame.ip().addr();
            begun |= interrupted == Some(address);
            if !begun || address == 0 {
                return true;
            }
            // All others are where a call returns to, and are taken for the byte before that.
            let first = std::mem::replace(&mut is_first, false);
            line(address.wrapping_add(usize::from(first)))
        });
    }
}

/// Where the signal came.
fn interrupted_at(context: *mut c_void) -> Option<usize> {
    // SAFETY: the kernel's own, for a handler with SA_SIGINFO.
    let context = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    return Some(context.gregs[libc::REG_RIP as usize] as usize);
    #[cfg(target_arch = "aarch64")]
    return Some(context.pc as usize);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return None;
}
