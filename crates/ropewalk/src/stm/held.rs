//! A value as one word: numbers in place, everything else as an `Arc`.
//!
//! A word is written and read atomically, so a number needs no memory of its own and nothing to free; counters, flags and balances are
//! numbers. Of what type a word is, the variable knows that it belongs to.

use std::any::TypeId;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;
use std::sync::Arc;

/// A value of some type, as a word. Not dropped by itself.
pub(super) type Held = *mut ();

/// Whether values of this type are kept in the word itself: those without padding that fit. The compiler knows the answer.
#[inline(always)]
pub(super) fn in_place<T: 'static>() -> bool {
    macro_rules! one_of {
        ($($number:ty),*) => { $(TypeId::of::<T>() == TypeId::of::<$number>())||* };
    }
    size_of::<T>() <= size_of::<Held>()
        && one_of!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64, bool, char, ())
}

#[inline(always)]
pub(super) fn pack<T: 'static>(value: T) -> Held {
    if !in_place::<T>() {
        return Arc::into_raw(Arc::new(value)).cast_mut().cast();
    }
    let (value, mut word) = (ManuallyDrop::new(value), 0_usize);
    // SAFETY: it fits, and all of its bytes are initialised: a number has no padding.
    unsafe {
        ptr::copy_nonoverlapping(
            (&raw const value).cast::<u8>(),
            (&raw mut word).cast::<u8>(),
            size_of::<T>(),
        )
    };
    ptr::without_provenance_mut(word)
}

/// Shows the value.
///
/// # Safety
/// `held` was packed from a `T`, and is not released before this returns.
#[inline(always)]
pub(super) unsafe fn show<T: 'static, R>(held: Held, f: impl FnOnce(&T) -> R) -> R {
    if !in_place::<T>() {
        // SAFETY: passed on to the caller.
        return f(unsafe { &*held.cast_const().cast::<T>() });
    }
    let (word, mut value) = (held.addr(), MaybeUninit::<T>::uninit());
    // SAFETY: these are the bytes of a `T`.
    unsafe {
        ptr::copy_nonoverlapping(
            (&raw const word).cast::<u8>(),
            value.as_mut_ptr().cast::<u8>(),
            size_of::<T>(),
        );
        f(value.assume_init_ref())
    }
}

/// One more owner of the value.
///
/// # Safety
/// As for [`show`].
pub(super) unsafe fn share<T: 'static>(held: Held) -> Arc<T> {
    if in_place::<T>() {
        // SAFETY: passed on to the caller; a number may be copied.
        return unsafe { show(held, |value: &T| Arc::new(ptr::read(value))) };
    }
    let value = held.cast_const().cast::<T>();
    // SAFETY: `pack` made it from an `Arc`, of which an owner is left.
    unsafe {
        Arc::increment_strong_count(value);
        Arc::from_raw(value)
    }
}

/// Drops the value (or one of its owners).
///
/// # Safety
/// `held` was packed from a `T`, and is released once.
pub(super) unsafe fn release<T: 'static>(held: Held) {
    if !in_place::<T>() {
        // SAFETY: passed on to the caller.
        drop(unsafe { Arc::from_raw(held.cast_const().cast::<T>()) });
    }
}
