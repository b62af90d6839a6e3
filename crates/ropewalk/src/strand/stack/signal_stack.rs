//! The stack that a thread handles signals on: a strand that has overflowed its own cannot.
//!
//! std gives each of its threads one if it was there at the start of the program. If `main` is not Rust's, it was not, and we do.

use super::Stack;
use corosensei::stack::Stack as _;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// Room for our handler and for whatever a program handles there; the registers of some machines alone take 11 KiB.
const SIZE: usize = 64 << 10;

/// A thread's right to its stack for signals; dropping it takes the stack away if it is one of ours. Dropped on its own thread
/// (it is not `Send`), after the last strand there.
pub(crate) struct SignalStack {
    ours: Option<Stack>,
    not_send: PhantomData<*const ()>,
}

/// Sees to it that this thread has a stack for signals. To be called before it runs strands; one system call if there is one.
/// (For traces std's is too small: walking a stack takes some kilobytes.)
/// Without memory for it, an overflow is a bare SIGSEGV.
#[must_use = "the stack is taken away again when this is dropped"]
pub(crate) fn prepare_thread() -> SignalStack {
    let suffices = is_there() && !cfg!(feature = "backtraces");
    let ours = if suffices { None } else { Stack::new(SIZE).ok().filter(use_for_signals) };
    SignalStack { ours, not_send: PhantomData }
}

fn is_there() -> bool {
    let mut now = MaybeUninit::<libc::stack_t>::zeroed();
    // SAFETY: it writes one description, for which all zeroes would do, too.
    let now = unsafe {
        libc::sigaltstack(null(), now.as_mut_ptr());
        now.assume_init()
    };
    now.ss_flags & libc::SS_DISABLE == 0
}

fn use_for_signals(stack: &Stack) -> bool {
    let usable = libc::stack_t {
        ss_sp: (stack.base().get() - stack.usable()) as *mut _,
        ss_flags: 0,
        ss_size: stack.usable(),
    };
    // SAFETY: nobody else runs on it, and it stays until `drop` has taken it away (K2).
    unsafe { libc::sigaltstack(&usable, null_mut()) == 0 }
}

impl Drop for SignalStack {
    fn drop(&mut self) {
        if let Some(stack) = self.ours.take() {
            let none = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: SIZE };
            // SAFETY: it only stops the use of ours.
            if unsafe { libc::sigaltstack(&none, null_mut()) } != 0 {
                std::mem::forget(stack); // a handler runs there: never
            }
        }
    }
}
