//! A thread's function as a task cell, so that a thread is joined, awaited and blamed for a panic as a task is.
//!
//! The cell has one `Runnable`, which the new thread runs once: it calls the function. Nothing wakes or cancels the cell.

use super::scope::Members;
use crate::runtime::{Handle, complain, next_id};
use ropewalk_core::blocked::Reason;
use ropewalk_core::task::{
    Birth, Call, Header, Host, PanicInfo, Runnable, TaskHandle, drop_payload, emplace, layout,
};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

/// What is known of a thread beside its function.
pub(super) struct Origin {
    pub(super) name: Option<Box<str>>,
    /// The runtime it was started in.
    pub(super) runtime: Option<Handle>,
    /// The scope it belongs to.
    pub(super) scope: Option<Arc<Members>>,
}

struct Threads;

// SAFETY: nobody wakes a thread's cell, so `schedule` is not called; if it were, dropping would be right. Memory comes
// from and goes back to the global allocator.
unsafe impl Host for Threads {
    type Extra = Origin;
    const KIND: u8 = u8::MAX - 1;
    const FINDS_TASKS: bool = false;
    const NOUN: &'static str = "thread";
    const REASON: Reason = Reason::Thread;

    fn schedule(task: Runnable) {
        drop(task);
    }

    fn keeps_itself_alive(_task: NonNull<Header>) -> bool {
        true
    }

    unsafe fn dealloc(task: NonNull<Header>, layout: Layout) {
        // SAFETY: `make` allocated it with this layout.
        unsafe { dealloc(task.as_ptr().cast(), layout) }
    }

    fn name(origin: &Origin) -> Option<&str> {
        origin.name.as_deref()
    }

    fn unhandled(task: NonNull<Header>, panic: PanicInfo) {
        // SAFETY: a task of this host that is still alive.
        let origin = unsafe { Header::extra::<Self>(task).as_ref() };
        let left = match &origin.scope {
            Some(scope) => scope.keep(panic),
            None => Some(panic),
        };
        if let Some(panic) = left {
            report(origin.runtime.as_ref(), panic);
        }
    }
}

/// A panic that nobody takes: by the policy of the runtime that the thread was started in; without one it is printed.
pub(super) fn report(runtime: Option<&Handle>, panic: PanicInfo) {
    match runtime {
        Some(runtime) => runtime.shared.unhandled(panic),
        None => {
            complain(format_args!("detached {panic}"));
            drop_payload(panic.into_payload());
        }
    }
}

/// A cell for a thread that calls `f`.
///
/// # Safety
/// What `f` and its value borrow lives until the `Runnable` was run or dropped.
pub(super) unsafe fn make<F, T>(
    f: F,
    origin: Origin,
    spawned_at: &'static Location<'static>,
) -> (Runnable, TaskHandle<T>)
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let birth = Birth { id: next_id(), spawned_at, pinned: false, priority: 0 };
    let layout = layout::<Call<F>, Threads>();
    // SAFETY: a cell is never zero-sized. Function and value are Send; the caller answers for what they borrow: the
    // function is gone when the Runnable is, and whoever has the handle has a `T` that is still valid.
    unsafe {
        let memory = NonNull::new(alloc(layout)).unwrap_or_else(|| handle_alloc_error(layout));
        emplace::<_, Threads>(memory, Call::new(f), origin, birth)
    }
}
