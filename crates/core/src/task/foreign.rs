//! `spawn` for foreign executors: one allocation from the global allocator, and a function that queues.

use super::outcome::drop_payload;
use super::{Async, Birth, Header, Host, PanicInfo, Runnable, TaskHandle, TaskId, TaskRef, emplace, layout};
use crate::prim::real::{AtomicUsize, Ordering::Relaxed};
use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use core::alloc::Layout;
use core::future::Future;
use core::marker::PhantomData;
use core::num::NonZeroU64;
use core::panic::Location;
use core::ptr::NonNull;

/// Tasks in the global allocator, each with its own queueing function.
struct Foreign<S>(PhantomData<S>);

// SAFETY: the function is given every Runnable; memory comes from and goes back to the global allocator.
unsafe impl<S: Fn(Runnable) + Send + Sync + 'static> Host for Foreign<S> {
    type Extra = S;
    const KIND: u8 = u8::MAX;
    const FINDS_TASKS: bool = false;

    fn schedule(task: Runnable) {
        // The function lives in the cell, and the task may be over before it returns: keep the cell.
        let keep: TaskRef = task.task();
        // SAFETY: a task of this host.
        let schedule = unsafe { keep.extra::<Self>() };
        schedule(task);
    }

    fn keeps_itself_alive(_task: NonNull<Header>) -> bool {
        true
    }

    unsafe fn dealloc(task: NonNull<Header>, layout: Layout) {
        // SAFETY: `spawn` allocated it with this layout.
        unsafe { dealloc(task.as_ptr().cast(), layout) }
    }

    fn name(_function: &S) -> Option<&str> {
        None
    }

    fn unhandled(_task: NonNull<Header>, panic: PanicInfo) {
        #[cfg(feature = "std")]
        let _nobody_listens =
            std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("ropewalk: detached {panic}\n"));
        drop_payload(panic.into_payload());
    }
}

/// Makes a task for an executor of your own. `schedule` is called with the [`Runnable`] now and after each wake-up, from
/// whichever thread wakes it; run it or drop it wherever you like.
///
/// A task that nothing can wake any more (no handle, no waker) is scheduled once more to be dropped.
///
/// ```
/// use std::{collections::VecDeque, sync::{Arc, Mutex}};
/// use ropewalk_core::task;
///
/// let queue = Arc::new(Mutex::new(VecDeque::new()));
/// let push = { let queue = queue.clone(); move |r| queue.lock().unwrap().push_back(r) };
/// let mut handle = task::spawn(async { 6 * 7 }, push);
///
/// loop {
///     let next = queue.lock().unwrap().pop_front();
///     let Some(runnable) = next else { break };
///     if let task::Ran::Woken(again) = runnable.run() { again.schedule() }
/// }
/// assert_eq!(ropewalk_core::block_on_simple(&mut handle).unwrap(), 42);
/// ```
///
/// # Panics
/// Not by itself; what `schedule` panics with reaches the caller of `spawn`, or of `wake`.
#[track_caller]
pub fn spawn<F, S>(future: F, schedule: S) -> TaskHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Fn(Runnable) + Send + Sync + 'static,
{
    // A word wide: where that is 32 bits, ids come round after four thousand million tasks.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Relaxed) as u64;
    let id = TaskId::new(NonZeroU64::MIN.saturating_add(number));
    let birth = Birth { id, spawned_at: Location::caller(), pinned: false, priority: 0 };
    let layout = layout::<Async<F>, Foreign<S>>();
    // SAFETY: a cell is never zero-sized; body and output are Send + 'static.
    let (runnable, handle) = unsafe {
        let memory = NonNull::new(alloc(layout)).unwrap_or_else(|| handle_alloc_error(layout));
        emplace::<_, Foreign<S>>(memory, Async(future), schedule, birth)
    };
    runnable.schedule();
    handle
}
