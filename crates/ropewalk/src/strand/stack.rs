//! Stand-in until the arenas land.
use corosensei::stack::{DefaultStack, StackPointer};
use std::cell::RefCell;
use std::io;
use std::ptr::NonNull;

pub(crate) struct Stack(DefaultStack);

// SAFETY: passed on.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        self.0.base()
    }
    fn limit(&self) -> StackPointer {
        self.0.limit()
    }
}

impl Stack {
    pub(crate) fn set_owner(&self, _owner: Option<NonNull<()>>) {}
}

#[derive(Default)]
pub(crate) struct StackCache(RefCell<Vec<(usize, Stack)>>);

impl StackCache {
    pub(crate) fn take(&self, size: usize) -> io::Result<Stack> {
        match self.0.borrow_mut().pop() {
            Some((had, stack)) if had == size => Ok(stack),
            _ => DefaultStack::new(size).map(Stack),
        }
    }
    pub(crate) fn put(&self, stack: Stack) {
        use corosensei::stack::Stack as _;
        let size = stack.0.base().get() - stack.0.limit().get() - 4096;
        if self.0.borrow().len() < 16 {
            self.0.borrow_mut().push((size, stack));
        }
    }
}
