//! What ThreadSanitizer is told of stacks that go from thread to thread: otherwise it would take a strand that goes on elsewhere for the
//! thread that it is on, with the calls of another one. (Those that stay are as good as calls of their thread: `sched/fibre.rs`.)

#[cfg(all(tsan, feature = "roaming"))]
pub(super) use fibers::Shown;
#[cfg(not(all(tsan, feature = "roaming")))]
pub(super) use none::Shown;

#[cfg(all(tsan, feature = "roaming"))]
mod fibers {
    use std::ffi::{c_uint, c_void};

    unsafe extern "C" {
        fn __tsan_get_current_fiber() -> *mut c_void;
        fn __tsan_create_fiber(flags: c_uint) -> *mut c_void;
        fn __tsan_destroy_fiber(fiber: *mut c_void);
        fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: c_uint);
    }

    /// What it knows of a stack.
    pub(in super::super) struct Shown(*mut c_void);

    impl Shown {
        pub(in super::super) fn new() -> Self {
            // SAFETY: it can be called anywhere.
            Self(unsafe { __tsan_create_fiber(0) })
        }

        /// `f` goes to that stack, and comes back when it is suspended, or is over.
        #[inline(always)]
        pub(in super::super) fn during<R>(&self, f: impl FnOnce() -> R) -> R {
            // SAFETY: it is there until it is dropped, and one thread at a time runs its stack (`stranded.rs`: that of its home, or RO1).
            // Flags 0: what was done here before comes before what is done there, and the other way round.
            unsafe {
                let here = __tsan_get_current_fiber();
                __tsan_switch_to_fiber(self.0, 0);
                let result = f();
                __tsan_switch_to_fiber(here, 0);
                result
            }
        }

        /// Its function has returned.
        #[inline(always)]
        pub(in super::super) fn has_ended(&self) {}
    }

    impl Drop for Shown {
        fn drop(&mut self) {
            // SAFETY: the stack is not run any more (`body.rs`, B2: one that is left behind is leaked with this).
            unsafe { __tsan_destroy_fiber(self.0) };
        }
    }
}

#[cfg(not(all(tsan, feature = "roaming")))]
mod none {
    pub(in super::super) struct Shown;

    impl Shown {
        #[inline(always)]
        pub(in super::super) fn new() -> Self {
            Self
        }

        #[inline(always)]
        pub(in super::super) fn during<R>(&self, f: impl FnOnce() -> R) -> R {
            f()
        }

        #[inline(always)]
        pub(in super::super) fn has_ended(&self) {
            crate::sched::fibre::forget_first_frame();
        }
    }
}
