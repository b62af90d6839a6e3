//! Where there are no arenas (`stack.rs` is for Unix): each stack is mapped for itself, with a guard.

use corosensei::stack::{DefaultStack, Stack as RunOn, StackPointer};
use std::fmt;
use std::io;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// A stack.
pub(crate) struct Stack {
    inner: DefaultStack,
    usable: usize,
}

// SAFETY: it is that of the crate.
unsafe impl RunOn for Stack {
    fn base(&self) -> StackPointer {
        self.inner.base()
    }

    fn limit(&self) -> StackPointer {
        self.inner.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.inner.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.inner.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}

impl Stack {
    /// How many bytes whoever runs on it has.
    pub(crate) fn usable(&self) -> usize {
        self.usable
    }

    pub(crate) fn set_owner(&self, _owner: Option<NonNull<()>>) {}
}

/// Keeps nothing.
#[derive(Default)]
pub(crate) struct StackCache;

impl StackCache {
    pub(crate) fn take(&self, usable: usize) -> io::Result<Stack> {
        let named =
            |error| io::Error::new(io::Error::kind(&error), format!("no stack of {usable} bytes: {error}"));
        DefaultStack::new(usable).map(|inner| Stack { inner, usable }).map_err(named)
    }

    pub(crate) fn put(&self, stack: Stack) {
        drop(stack);
    }

    pub(crate) fn rest(&self) {}
}

/// Nobody reports overflows here.
pub(crate) static DESCRIBE: OnceLock<unsafe fn(NonNull<()>, &mut Line)> = OnceLock::new();

pub(crate) struct Line;

impl fmt::Write for Line {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}

pub(crate) struct SignalStack;

pub(crate) fn prepare_thread() -> SignalStack {
    SignalStack
}
