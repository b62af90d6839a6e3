//! The only file that names an atomic type. Everything lock-free in Ropewalk takes its atomics, cells, fences and short
//! locks from here, so that loom (`--cfg loom`) and shuttle (`--cfg shuttle`) check the code that ships, not a copy.
//!
//! Under a model checker `new` is not `const`; what must live in a `static` uses [`real`], which is never modelled.

#[cfg(loom)]
mod imp {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
    pub use loom::thread;
}
#[cfg(all(shuttle, not(loom)))]
mod imp {
    pub use shuttle::hint::spin_loop;
    pub use shuttle::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    pub use shuttle::thread;
}
#[cfg(not(any(loom, shuttle)))]
mod imp {
    pub use core::hint::spin_loop;
    #[cfg(target_has_atomic = "64")]
    pub use core::sync::atomic::AtomicU64;
    pub use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
    #[cfg(any(feature = "std", test))]
    pub use std::thread;
}
pub use imp::*;

/// Atomics that no model checker sees: for statics and for counters nobody synchronises through.
pub mod real {
    #[cfg(target_has_atomic = "64")]
    pub use core::sync::atomic::AtomicU64;
    pub use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering};
}

/// A value that each thread has for itself. Read by `with`.
#[cfg(feature = "std")]
macro_rules! per_thread {
    (static $name:ident: $type:ty = $value:expr) => {
        #[cfg(loom)]
        loom::thread_local!(static $name: $type = $value);
        #[cfg(all(shuttle, not(loom)))]
        shuttle::thread_local!(static $name: $type = $value);
        #[cfg(not(any(loom, shuttle)))]
        std::thread_local!(static $name: $type = const { $value });
    };
}
#[cfg(feature = "std")]
pub(crate) use per_thread;

#[cfg(loom)]
pub use loom::lazy_static;
#[cfg(all(shuttle, not(loom)))]
pub use shuttle::lazy_static;

/// What all of the process share, under a model checker made anew for each run of a model:
/// `shared!(fn name() -> Type = value)`.
#[doc(hidden)]
#[macro_export]
macro_rules! shared {
    ($(#[$meta:meta])* $vis:vis fn $name:ident() -> $type:ty = $value:expr) => {
        $(#[$meta])*
        #[inline(always)]
        $vis fn $name() -> &'static $type {
            #[cfg(any(loom, shuttle))]
            {
                $crate::prim::lazy_static! { static ref SHARED: $type = $value; }
                &*SHARED
            }
            #[cfg(not(any(loom, shuttle)))]
            {
                static SHARED: $type = $value;
                &SHARED
            }
        }
    };
}
pub use crate::shared;

/// Stores, and lets no later load of this thread happen before: as a store and a SeqCst fence after it.
#[inline(always)]
pub fn store_before_loads(word: &AtomicU64, value: u64) {
    if cfg!(all(target_arch = "x86_64", not(any(loom, shuttle)))) {
        word.swap(value, Ordering::SeqCst); // a full barrier there, in half the time of a fence
    } else {
        word.store(value, Ordering::Release);
        fence(Ordering::SeqCst);
    }
}

/// An `UnsafeCell` whose accesses loom can check for races.
#[cfg(loom)]
#[derive(Debug)]
pub struct UnsafeCell<T: ?Sized>(loom::cell::UnsafeCell<T>);
/// An `UnsafeCell` whose accesses loom can check for races.
#[cfg(not(loom))]
#[derive(Debug)]
#[repr(transparent)]
pub struct UnsafeCell<T: ?Sized>(core::cell::UnsafeCell<T>);

#[cfg(loom)]
impl<T> UnsafeCell<T> {
    pub fn new(value: T) -> Self {
        Self(loom::cell::UnsafeCell::new(value))
    }
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
#[cfg(loom)]
impl<T: ?Sized> UnsafeCell<T> {
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.0.with(f)
    }
    #[inline]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.0.with_mut(f)
    }
}
#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
#[cfg(not(loom))]
impl<T: ?Sized> UnsafeCell<T> {
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }
    #[inline(always)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

#[cfg(not(any(target_has_atomic = "64", loom, shuttle)))]
pub use wide::AtomicU64;

/// A 64-bit word where the machine has no such atomic: under a lock.
#[cfg(not(any(target_has_atomic = "64", loom, shuttle)))]
mod wide {
    use super::{BriefLock, Ordering};

    #[derive(Debug)]
    pub struct AtomicU64(BriefLock<u64>);

    impl AtomicU64 {
        pub const fn new(value: u64) -> Self {
            Self(BriefLock::new(value))
        }
        pub fn load(&self, _: Ordering) -> u64 {
            *self.0.lock()
        }
        pub fn store(&self, value: u64, _: Ordering) {
            *self.0.lock() = value;
        }
        pub fn fetch_or(&self, bits: u64, _: Ordering) -> u64 {
            let mut value = self.0.lock();
            let before = *value;
            *value |= bits;
            before
        }
        pub fn fetch_and(&self, bits: u64, _: Ordering) -> u64 {
            let mut value = self.0.lock();
            let before = *value;
            *value &= bits;
            before
        }
        pub fn swap(&self, new: u64, _: Ordering) -> u64 {
            core::mem::replace(&mut *self.0.lock(), new)
        }
        pub fn fetch_add(&self, by: u64, _: Ordering) -> u64 {
            let mut value = self.0.lock();
            let before = *value;
            *value = before.wrapping_add(by);
            before
        }
        pub fn compare_exchange(&self, old: u64, new: u64, _: Ordering, _: Ordering) -> Result<u64, u64> {
            let mut value = self.0.lock();
            if *value == old { Ok(core::mem::replace(&mut *value, new)) } else { Err(*value) }
        }
    }
}

pub use lock::{Lock, LockGuard};

/// A short lock for cold paths: a std mutex where there are threads, a spin lock where there are none. It is never
/// poisoned (no user code runs under it) and never held across a suspension.
mod lock {
    #[cfg(loom)]
    pub use loom::sync::MutexGuard as LockGuard;
    #[cfg(all(shuttle, not(loom)))]
    pub use shuttle::sync::MutexGuard as LockGuard;
    #[cfg(all(any(feature = "std", test), not(any(loom, shuttle))))]
    pub use std::sync::MutexGuard as LockGuard;

    #[cfg(loom)]
    type Inner<T> = loom::sync::Mutex<T>;
    #[cfg(all(shuttle, not(loom)))]
    type Inner<T> = shuttle::sync::Mutex<T>;
    #[cfg(all(any(feature = "std", test), not(any(loom, shuttle))))]
    type Inner<T> = std::sync::Mutex<T>;

    #[cfg(any(feature = "std", test, loom, shuttle))]
    #[derive(Debug)]
    pub struct Lock<T>(Inner<T>);

    #[cfg(any(feature = "std", test, loom, shuttle))]
    impl<T> Lock<T> {
        #[cfg(not(any(loom, shuttle)))]
        pub const fn new(value: T) -> Self {
            Self(Inner::new(value))
        }
        #[cfg(any(loom, shuttle))]
        pub fn new(value: T) -> Self {
            Self(Inner::new(value))
        }
        #[inline]
        pub fn lock(&self) -> LockGuard<'_, T> {
            match self.0.lock() {
                Ok(guard) => guard,
                #[cfg(not(loom))]
                Err(poisoned) => poisoned.into_inner(),
                #[cfg(loom)]
                Err(_) => unreachable!("loom locks are not poisoned"),
            }
        }
        /// The value without locking: `&mut` proves that nobody else holds it.
        #[cfg(not(any(loom, shuttle)))]
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }

    #[cfg(not(any(feature = "std", test, loom, shuttle)))]
    pub use spin::{Lock, LockGuard};
    #[cfg(not(any(feature = "std", test, loom, shuttle)))]
    mod spin {
        use core::cell::UnsafeCell;
        use core::ops::{Deref, DerefMut};
        use core::sync::atomic::{AtomicBool, Ordering};

        #[derive(Debug)]
        pub struct Lock<T> {
            held: AtomicBool,
            value: UnsafeCell<T>,
        }
        // SAFETY: `held` gives one thread at a time access to `value`.
        unsafe impl<T: Send> Sync for Lock<T> {}

        impl<T> Lock<T> {
            pub const fn new(value: T) -> Self {
                Self { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
            }
            pub fn lock(&self) -> LockGuard<'_, T> {
                while self
                    .held
                    .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
                    .is_err()
                {
                    core::hint::spin_loop();
                }
                LockGuard(self)
            }
            pub fn get_mut(&mut self) -> &mut T {
                self.value.get_mut()
            }
        }

        #[derive(Debug)]
        pub struct LockGuard<'a, T>(&'a Lock<T>);
        impl<T> Deref for LockGuard<'_, T> {
            type Target = T;
            fn deref(&self) -> &T {
                // SAFETY: the guard holds the lock.
                unsafe { &*self.0.value.get() }
            }
        }
        impl<T> DerefMut for LockGuard<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: the guard holds the lock, and `&mut self` is unique.
                unsafe { &mut *self.0.value.get() }
            }
        }
        impl<T> Drop for LockGuard<'_, T> {
            fn drop(&mut self) {
                self.0.held.store(false, Ordering::Release);
            }
        }
    }
}

pub use brief::{BriefGuard, BriefLock};

/// A lock for a few instructions on a hot path: one exchange to lock and a plain store to unlock, half of what a [`Lock`]
/// costs. Whoever finds it held spins, then lets other threads run, and at last naps, so that a holder of lower priority
/// gets on as well; nobody is woken. It is never poisoned: no user code runs under it.
mod brief {
    #[cfg(any(loom, shuttle))]
    pub use super::lock::LockGuard as BriefGuard;
    #[cfg(not(any(loom, shuttle)))]
    pub use held::{BriefGuard, BriefLock};

    /// A model checker sees a plain lock.
    #[cfg(any(loom, shuttle))]
    #[derive(Debug)]
    pub struct BriefLock<T>(super::lock::Lock<T>);

    #[cfg(any(loom, shuttle))]
    impl<T> BriefLock<T> {
        pub fn new(value: T) -> Self {
            Self(super::lock::Lock::new(value))
        }
        pub fn lock(&self) -> BriefGuard<'_, T> {
            self.0.lock()
        }
    }

    #[cfg(not(any(loom, shuttle)))]
    mod held {
        use core::cell::UnsafeCell;
        use core::ops::{Deref, DerefMut};
        use core::sync::atomic::{AtomicBool, Ordering};

        /// Lies before what it guards, so that it shares a cache line with the beginning of that.
        #[derive(Debug)]
        #[repr(C)]
        pub struct BriefLock<T> {
            held: AtomicBool,
            value: UnsafeCell<T>,
        }
        // SAFETY: `held` gives one thread at a time access to `value`.
        unsafe impl<T: Send> Sync for BriefLock<T> {}

        impl<T> BriefLock<T> {
            pub const fn new(value: T) -> Self {
                Self { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
            }
            #[inline]
            pub fn lock(&self) -> BriefGuard<'_, T> {
                if self.held.swap(true, Ordering::Acquire) {
                    self.wait();
                }
                BriefGuard(self)
            }
            #[cold]
            fn wait(&self) {
                let mut looks = 0u32;
                while self.held.load(Ordering::Relaxed) || self.held.swap(true, Ordering::Acquire) {
                    looks = looks.saturating_add(1);
                    crate::prim::pause(looks);
                }
            }
        }

        #[derive(Debug)]
        pub struct BriefGuard<'a, T>(&'a BriefLock<T>);
        // SAFETY: sharing the guard shares no more than `&T`.
        unsafe impl<T: Sync> Sync for BriefGuard<'_, T> {}

        impl<T> Deref for BriefGuard<'_, T> {
            type Target = T;
            #[inline(always)]
            fn deref(&self) -> &T {
                // SAFETY: the guard holds the lock.
                unsafe { &*self.0.value.get() }
            }
        }
        impl<T> DerefMut for BriefGuard<'_, T> {
            #[inline(always)]
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: the guard holds the lock, and `&mut self` is unique.
                unsafe { &mut *self.0.value.get() }
            }
        }
        impl<T> Drop for BriefGuard<'_, T> {
            #[inline(always)]
            fn drop(&mut self) {
                self.0.held.store(false, Ordering::Release);
            }
        }
    }
}

/// Waits for another thread that is between two steps of a few instructions each; the `looks`-th look found it there.
/// Spins, then lets other threads run, and at last naps.
#[cold]
pub fn pause(looks: u32) {
    #[cfg(any(loom, shuttle))]
    {
        let _models_know_no_time = looks;
        thread::yield_now();
    }
    #[cfg(all(any(feature = "std", test), not(any(loom, shuttle))))]
    match looks {
        0..100 => spin_loop(),
        100..120 => thread::yield_now(),
        _ => thread::sleep(core::time::Duration::from_micros(50)),
    }
    #[cfg(not(any(feature = "std", test, loom, shuttle)))]
    {
        let _there_is_no_other_way = looks;
        spin_loop();
    }
}

#[cfg(any(feature = "std", test, loom, shuttle))]
pub use condvar::Condvar;

/// A thread waiting for what a [`Lock`] guards to change. Like the lock it is never poisoned; a wait may end early.
#[cfg(any(feature = "std", test, loom, shuttle))]
mod condvar {
    use super::LockGuard;
    use core::time::Duration;

    #[cfg(loom)]
    type Inner = loom::sync::Condvar;
    #[cfg(all(shuttle, not(loom)))]
    type Inner = shuttle::sync::Condvar;
    #[cfg(not(any(loom, shuttle)))]
    type Inner = std::sync::Condvar;

    #[derive(Debug, Default)]
    pub struct Condvar(Inner);

    impl Condvar {
        #[cfg(not(any(loom, shuttle)))]
        pub const fn new() -> Self {
            Self(Inner::new())
        }
        #[cfg(any(loom, shuttle))]
        pub fn new() -> Self {
            Self(Inner::new())
        }
        pub fn wait<'a, T>(&self, guard: LockGuard<'a, T>) -> LockGuard<'a, T> {
            self.0.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
        }
        /// Waits for at most `timeout`; a model checker knows no clock and waits for ever.
        pub fn wait_timeout<'a, T>(&self, guard: LockGuard<'a, T>, timeout: Duration) -> LockGuard<'a, T> {
            self.0.wait_timeout(guard, timeout).unwrap_or_else(std::sync::PoisonError::into_inner).0
        }
        pub fn notify_one(&self) {
            self.0.notify_one();
        }
        pub fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

/// Initialises an atomic in raw memory that others may already be reading as an atomic.
///
/// # Safety
/// `at` is valid for writes and aligned, and whoever reads it concurrently does so atomically.
#[inline(always)]
pub unsafe fn init_usize(at: *mut AtomicUsize, value: usize) {
    #[cfg(any(loom, shuttle))]
    // SAFETY: passed on to the caller; models create the atomic afresh.
    unsafe {
        at.write(AtomicUsize::new(value))
    };
    #[cfg(not(any(loom, shuttle)))]
    // SAFETY: passed on to the caller.
    unsafe { AtomicUsize::from_ptr(at.cast()) }.store(value, Ordering::Release);
}

/// A shared owner. Loom must see its drops, or the last one would not come after what the others did.
#[cfg(all(feature = "alloc", not(loom)))]
pub use alloc::sync::Arc;
#[cfg(loom)]
pub use loom::sync::Arc;

/// Keeps two hot words off one cache line (and off the pair of lines that adjacent-line prefetch pulls together).
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);
impl<T> core::ops::Deref for Padded<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Runs a model test: every interleaving under loom, many random ones under shuttle, a few real ones otherwise.
///
/// Test names of models contain `model_`, which is how `ci/loom` and `ci/shuttle` pick them.
#[cfg(any(loom, shuttle, test, feature = "std"))]
pub fn model(f: impl Fn() + Sync + Send + 'static) {
    deep_model(0, f);
}

/// The same, with so many preemptions at least under loom: with few it also misses interleavings that have no more than that, if it would
/// come to them only by way of one that has.
#[cfg(any(loom, shuttle, test, feature = "std"))]
pub fn deep_model(_preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    #[cfg(loom)]
    {
        let mut loom = loom::model::Builder::new();
        loom.preemption_bound = loom.preemption_bound.map(|bound| bound.max(_preemptions));
        loom.check(f);
    }
    #[cfg(all(shuttle, not(loom)))]
    shuttle::check_random(f, 2_000);
    #[cfg(not(any(loom, shuttle)))]
    for _ in 0..200 {
        f();
    }
}
