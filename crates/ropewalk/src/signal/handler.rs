//! What runs when a signal comes, and how it gets there.
//!
//! # Invariants
//!
//! - **SG1** The handler does nothing but what a signal handler may: it changes atomics, writes one byte to a pipe that
//!   does not block and is never closed, and calls the handler that was there before. It leaves `errno` alone. What it
//!   touches is in statics, or published there before it is installed, and never freed.
//! - **SG2** It counts first and writes second. Whoever reads the byte finds the count. A full pipe is no loss: there is a
//!   byte to be read, and it is read after the count.
//! - **SG3** The action of a signal is changed only under the lock of its slot (`desk.rs`). What ours calls (`PLAIN`,
//!   `WITH_INFO`) is written before ours is installed, and is a handler of the program, which lives for ever.
//! - **SG4** Nobody is woken for a signal while its handler runs, if that does not take long. It runs on the thread's stack for
//!   signals, and who is woken may call `std::process::exit`, which unmaps that of the main thread. (One SIGSEGV in
//!   a test that exits so is the reason for this; it did not come again in 2,550 runs, so the cause is inferred.)
//!
//! A child between `fork` and `exec` has this handler and this pipe, too. Its counts are its own, so a byte from there
//! wakes nobody here.

use super::slot::Slot;
use libc::{c_int, c_void, siginfo_t};
use ropewalk_core::prim::real::{AtomicPtr, AtomicU32, AtomicUsize, Ordering::*};
use std::io::{self, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::IntoRawFd;
use std::ptr;

/// One more than the highest signal number that is supported: Linux has 64 of them, others fewer.
pub(super) const LIMIT: usize = 65;

/// The first of [`LIMIT`] slots; null until there is a listener.
static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());
/// The handlers that were there before, as addresses; 0 is none.
static PLAIN: [AtomicUsize; LIMIT] = [const { AtomicUsize::new(0) }; LIMIT];
static WITH_INFO: [AtomicUsize; LIMIT] = [const { AtomicUsize::new(0) }; LIMIT];

static PIPE: AtomicU32 = AtomicU32::new(u32::MAX);
/// How many handlers run now (SG4).
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// How often to look whether they are over: one that was there before ours may take long, or never return.
const LOOKS: usize = 1000;

/// Waits until no handler runs (SG4), within reason.
pub(super) fn let_pass() {
    for _ in 0..LOOKS {
        if RUNNING.load(Acquire) == 0 {
            return;
        }
        std::thread::yield_now();
    }
}

/// From now on the handler counts and writes here. Called once, before it is installed (SG1).
pub(super) fn report_to(slots: &'static [Slot; LIMIT], pipe: PipeWriter) -> io::Result<()> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    SLOTS.store(ptr::from_ref(slots).cast_mut().cast(), Release);
    PIPE.store(pipe.into_raw_fd() as u32, Release);
    Ok(())
}

extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: it is this thread's own variable.
    let before = unsafe { *errno() };
    RUNNING.fetch_add(1, Relaxed);
    // SAFETY: there are that many slots; they were published before this was installed, and are never freed (SG1).
    unsafe { &*SLOTS.load(Acquire).add(signal as usize) }.deliver();
    let pipe = PIPE.load(Acquire) as c_int;
    // SAFETY: it reads one byte that is there; the pipe is never closed (SG1). If it is full, that is fine (SG2).
    let _full = unsafe { libc::write(pipe, [0u8].as_ptr().cast(), 1) };
    call_before(signal, info, context);
    // SAFETY: as above.
    unsafe { *errno() = before };
    RUNNING.fetch_sub(1, Release);
}

/// Calls the handler that ours took the place of, if there was one.
fn call_before(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let plain = PLAIN[signal as usize].load(Acquire);
    if plain != 0 {
        // SAFETY: the address was taken from an action without SA_SIGINFO, and stays valid (SG3).
        let call = unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(plain) };
        return call(signal);
    }
    let with_info = WITH_INFO[signal as usize].load(Acquire);
    if with_info != 0 {
        type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
        // SAFETY: the address was taken from an action with SA_SIGINFO, and stays valid (SG3).
        let call = unsafe { std::mem::transmute::<usize, Handler>(with_info) };
        call(signal, info, context);
    }
}

fn errno() -> *mut c_int {
    #[cfg(target_os = "linux")]
    // SAFETY: it only gives an address.
    return unsafe { libc::__errno_location() };
    #[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "dragonfly"))]
    // SAFETY: it only gives an address.
    return unsafe { libc::__error() };
    #[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
    // SAFETY: it only gives an address.
    return unsafe { libc::__errno() };
}

/// What a signal did before.
#[derive(Clone, Copy)]
pub(super) struct Action(libc::sigaction);

/// Makes ours the handler of `signal`: the action that was there before. Under the slot's lock (SG3).
pub(super) fn install(signal: c_int) -> io::Result<Action> {
    let before = current(signal)?;
    let address = before.sa_sigaction;
    let address = if matches!(address, libc::SIG_DFL | libc::SIG_IGN) { 0 } else { address };
    let has_info = before.sa_flags & libc::SA_SIGINFO != 0;
    PLAIN[signal as usize].store(if has_info { 0 } else { address }, Release);
    WITH_INFO[signal as usize].store(if has_info { address } else { 0 }, Release);

    let mut ours = before;
    ours.sa_sigaction = on_signal as *const () as usize;
    // Where the thread has a stack for signals it is used: a strand's own may be small.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the mask is ours to write.
    unsafe { libc::sigemptyset(&mut ours.sa_mask) };
    set(signal, &ours)?;
    Ok(Action(before))
}

/// Puts `before` back, unless somebody has put theirs over ours. Under the slot's lock (SG3).
pub(super) fn put_back(signal: c_int, before: &Action) -> bool {
    let is_ours = current(signal).is_ok_and(|now| now.sa_sigaction == on_signal as *const () as usize);
    is_ours && set(signal, &before.0).is_ok()
}

fn current(signal: c_int) -> io::Result<libc::sigaction> {
    let mut action = MaybeUninit::zeroed();
    // SAFETY: the call writes one action; all zeroes would be one, too.
    match unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } {
        // SAFETY: as above.
        0 => Ok(unsafe { action.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set(signal: c_int, action: &libc::sigaction) -> io::Result<()> {
    // SAFETY: the handler in it is ours, which keeps to SG1, or was the signal's before.
    match unsafe { libc::sigaction(signal, action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
