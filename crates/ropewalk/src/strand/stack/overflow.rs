//! What happens when a strand runs into its guard: a line on standard error that names it, and an abort.
//!
//! The fault is a SIGSEGV (on some systems a SIGBUS), handled on the thread's stack for signals (`signal_stack.rs`). It is an
//! overflow if the address is in the guard of a slot, and the thread was running on that very slot. A wild pointer that hits a
//! guard from elsewhere is none, and neither is any other fault: those go to the handler that was there before, which is std's in
//! most programs, and reports the overflows of threads.

use super::arena::{self, Slot};
use libc::{c_int, c_void, siginfo_t};
use ropewalk_core::prim::real::Ordering;
use std::fmt::{self, Write};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null, null_mut};
use std::sync::{Once, OnceLock};

/// Writes who the owner of a stack is, as `strand 17 "name" (spawned at src/x.rs:1:2)`. Called in a signal handler, on a small
/// stack: it must not allocate, lock or panic (K4). The owner is there (K5): the fault was its own.
pub(crate) static DESCRIBE: OnceLock<unsafe fn(NonNull<()>, &mut Line)> = OnceLock::new();

/// What to say, in a buffer of fixed size. What does not fit is left out.
pub(crate) struct Line {
    text: [u8; Line::ROOM],
    length: usize,
    /// How far may be written.
    end: usize,
}

impl Line {
    const ROOM: usize = 512;
    /// What the owner says of itself ends here, so that the rest has room.
    const OWNER_ENDS: usize = 320;

    fn new() -> Self {
        Self { text: [0; Self::ROOM], length: 0, end: Self::ROOM }
    }

    fn text(&self) -> &[u8] {
        &self.text[..self.length]
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = text.floor_char_boundary(self.end - self.length);
        self.text[self.length..][..fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.length += fits;
        if fits < text.len() {
            self.end = self.length; // nothing goes on after a gap
        }
        Ok(())
    }
}

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];
/// What they did before, written before our handler is installed.
static BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

/// Installs the handler, the first time. A signal whose action cannot be changed keeps it.
pub(super) fn install_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = BEFORE.get_or_init(|| SIGNALS.map(current));
        for (signal, before) in SIGNALS.into_iter().zip(before) {
            let mut ours = *before; // also what it blocked meanwhile
            ours.sa_sigaction = on_fault as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            set(signal, &ours);
        }
    });
}

fn current(signal: c_int) -> libc::sigaction {
    let mut action = MaybeUninit::zeroed();
    // SAFETY: it writes one action, or none: all zeroes are one, too, the default.
    unsafe {
        libc::sigaction(signal, null(), action.as_mut_ptr());
        action.assume_init()
    }
}

fn set(signal: c_int, action: &libc::sigaction) {
    // SAFETY: the handler in it is ours, which keeps to K4, or the default.
    unsafe { libc::sigaction(signal, action, null_mut()) };
}

extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives both, and they are there until we return.
    let (is_fault, address) = unsafe { (is_fault(&*info), (*info).si_addr() as usize) };
    if is_fault
        && let Some(slot) = arena::guard_at(address)
        && is_running_on(slot, context)
    {
        report(slot);
        std::process::abort();
    }
    pass_on(signal, info, context);
}

/// Whether it came of what the thread did; else somebody sent it.
fn is_fault(info: &siginfo_t) -> bool {
    // `libc` has no name for the first of those on macOS and FreeBSD that are sent.
    if cfg!(target_os = "linux") { info.si_code > 0 } else { info.si_code < 0x10001 }
}

/// Whether the thread that was interrupted ran on that slot; yes, if that cannot be known.
fn is_running_on(slot: Slot, context: *mut c_void) -> bool {
    stack_pointer(context).is_none_or(|at| (slot.limit()..=slot.base().get()).contains(&at))
}

fn stack_pointer(context: *mut c_void) -> Option<usize> {
    let context: *const libc::ucontext_t = context.cast();
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    // SAFETY: the kernel gave it, as a `ucontext_t`.
    return Some(unsafe { (*context).uc_mcontext.gregs[libc::REG_RSP as usize] } as usize);
    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    // SAFETY: as above.
    return Some(unsafe { (*context).uc_mcontext.sp } as usize);
    #[cfg(all(target_vendor = "apple", target_arch = "x86_64"))]
    // SAFETY: as above; the registers are there as long as it is.
    return Some(unsafe { (*(*context).uc_mcontext).__ss.__rsp } as usize);
    #[cfg(all(target_vendor = "apple", target_arch = "aarch64"))]
    // SAFETY: as above.
    return Some(unsafe { (*(*context).uc_mcontext).__ss.__sp } as usize);
    #[allow(unreachable_code)]
    {
        let _ = context;
        None
    }
}

fn report(slot: Slot) {
    let mut line = Line::new();
    describe(slot, &mut line);
    let text = line.text();
    // SAFETY: so many bytes are there. One call, so that no other thread's output is in between.
    let _nobody_reads = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

fn describe(slot: Slot, line: &mut Line) {
    let _always_fits = line.write_str("ropewalk: ");
    line.end = Line::OWNER_ENDS;
    match (NonNull::new(slot.owner().load(Ordering::Acquire)), DESCRIBE.get()) {
        // SAFETY: the owner is there, and it is what `set_owner` was told (K5).
        (Some(owner), Some(describe)) => unsafe { describe(owner, line) },
        _ => _ = line.write_str("a strand"),
    }
    line.end = Line::ROOM;
    let _always_fits = writeln!(
        line,
        " has overflowed its stack of {} bytes; Builder::stack_size or strand_stack_size gives it a larger one",
        slot.shape().usable
    );
}

/// Does what would have been done without us.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let index = SIGNALS.iter().position(|&known| known == signal);
    let Some(before) = index.and_then(|index| Some(&BEFORE.get()?[index])) else { return };
    let by_default = libc::sigaction { sa_sigaction: libc::SIG_DFL, sa_flags: 0, ..*before };
    // SAFETY: the kernel gave it, and it is there until we return.
    let is_fault = unsafe { is_fault(&*info) };
    match before.sa_sigaction {
        libc::SIG_IGN if !is_fault => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            set(signal, &by_default);
            if !is_fault {
                // SAFETY: it comes when we have returned. (A fault comes again by itself.)
                unsafe { libc::raise(signal) };
            }
        }
        handler => {
            if before.sa_flags & libc::SA_RESETHAND != 0 {
                set(signal, &by_default);
            }
            call(handler, before.sa_flags & libc::SA_SIGINFO != 0, signal, info, context);
        }
    }
}

fn call(handler: usize, has_info: bool, signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    if has_info {
        type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
        // SAFETY: the address is that of an action with SA_SIGINFO: such a handler of the program, there for ever.
        let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
        return handler(signal, info, context);
    }
    // SAFETY: as above, without SA_SIGINFO.
    let handler = unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(handler) };
    handler(signal);
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::Stack;
    use super::*;

    fn described(stack: &Stack) -> String {
        let mut line = Line::new();
        describe(stack.0, &mut line);
        String::from_utf8(line.text().to_vec()).unwrap()
    }

    #[test]
    fn a_stack_without_an_owner_is_a_strands() {
        let expected = "ropewalk: a strand has overflowed its stack of 65536 bytes; Builder::stack_size or strand_stack_size gives it a \
                        larger one\n";
        assert_eq!(described(&Stack::new(65_536).unwrap()), expected);
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_the_rest_is_there() {
        let mut line = Line::new();
        line.end = 10;
        line.write_str("123456789é").unwrap();
        line.write_str("x").unwrap();
        assert_eq!(line.text(), b"123456789");
        line.end = Line::ROOM;
        write!(line, "!").unwrap();
        assert_eq!(line.text(), b"123456789!");
    }

    #[test]
    fn a_guard_is_found_by_each_of_its_addresses_and_a_stack_by_none() {
        let stack = Stack::new(65_536).unwrap();
        let (limit, base, guard) = (stack.0.limit(), stack.0.base().get(), stack.0.shape().guard);
        let found = |address| arena::guard_at(address).map(Slot::limit);
        assert_eq!([limit, limit + 5_000, limit + guard - 1].map(found), [Some(limit); 3]);
        assert_eq!([limit + guard, base - 1, 0, 8, usize::MAX].map(found), [None; 5]);
    }
}
