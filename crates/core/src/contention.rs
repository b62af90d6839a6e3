//! Telling who runs the current task that it meets others at a word.
//!
//! An exchange that is lost means that somebody on another core changes the same word within the same nanoseconds. Once in
//! a while that is nothing. If it goes on, the word travels for every operation, and all who use it together get less done
//! than one of them would alone: then whoever runs them should run them in one place. Only it can do something about that,
//! so it is told. A runtime installs its ear once; without one, and on plain threads, nobody listens.

use crate::hook::Hook;

// SAFETY: a function pointer.
static LOST: Hook<fn()> = unsafe { Hook::new() };

/// Installs the process's answer to [`lost`].
pub fn install(hear: fn()) {
    LOST.install(hear);
}

/// An exchange was lost to another core.
#[cold]
pub fn lost() {
    if let Some(hear) = LOST.get() {
        hear();
    }
}
