//! What the queues of the scheduler carry: a thing that fits a pointer.

use std::ptr::NonNull;

#[cfg(test)]
pub(crate) mod ledger;

/// A thing that fits a pointer and is owned by whoever holds that pointer.
///
/// The queues that are read racily ([`ring`](super::ring), [`lifo`](super::lifo)) keep the pointer in an atomic slot and
/// give it back as the thing exactly once. Both functions are casts: they run no user code and do not panic.
pub(crate) trait Entry: Sized {
    /// Gives up the thing and keeps the pointer that stands for it.
    fn into_raw(self) -> NonNull<()>;

    /// The thing that `raw` stands for.
    ///
    /// # Safety
    ///
    /// `raw` came from [`into_raw`](Self::into_raw) of this type, and this is the only call for it. On another thread
    /// than that of `into_raw` the type is `Send` and `into_raw` happens before this call.
    unsafe fn from_raw(raw: NonNull<()>) -> Self;
}
