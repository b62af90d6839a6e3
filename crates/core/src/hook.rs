//! A function that a runtime installs for the whole process, so that this crate can ask it without knowing it.

use crate::prim::real::{AtomicPtr, Ordering};
use core::marker::PhantomData;

/// A place for one function of type `F`; empty until somebody installs one.
pub(crate) struct Hook<F> {
    /// Null, or a function of type `F`.
    function: AtomicPtr<()>,
    kind: PhantomData<F>,
}

impl<F: Copy> Hook<F> {
    /// # Safety
    ///
    /// `F` is the type of a function pointer.
    pub(crate) const unsafe fn new() -> Self {
        const { assert!(size_of::<F>() == size_of::<*mut ()>()) };
        Self { function: AtomicPtr::new(core::ptr::null_mut()), kind: PhantomData }
    }

    /// What is installed already is not written again, so that its line stays shared.
    pub(crate) fn install(&self, function: F) {
        // SAFETY: a function pointer (`new`), and as large as this one.
        let function = unsafe { core::mem::transmute_copy::<F, *mut ()>(&function) };
        if self.function.load(Ordering::Relaxed) != function {
            self.function.store(function, Ordering::Release);
        }
    }

    /// Whether there is a function. It orders nothing.
    #[inline(always)]
    pub(crate) fn is_set(&self) -> bool {
        !self.function.load(Ordering::Relaxed).is_null()
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> Option<F> {
        let function = self.function.load(Ordering::Acquire);
        // SAFETY: only `install` writes it, and it writes an `F`, which a function pointer is (`new`).
        (!function.is_null()).then(|| unsafe { core::mem::transmute_copy::<*mut (), F>(&function) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_empty_until_a_function_is_installed_and_the_last_one_counts() {
        // SAFETY: a function pointer.
        static HOOK: Hook<fn(u32) -> u32> = unsafe { Hook::new() };
        assert!(HOOK.get().is_none());
        HOOK.install(|n| n + 1);
        HOOK.install(|n| n + 1);
        assert_eq!(HOOK.get().map(|hook| hook(1)), Some(2));
        HOOK.install(|n| n * 10);
        assert_eq!(HOOK.get().map(|hook| hook(1)), Some(10));
    }
}
