//! A task's waker: the pointer to its header, with one vtable for all tasks. Nothing here allocates.

use super::TaskRef;
use super::raw::Header;
use super::state::Woken;
use super::{owed, told};
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::task::{RawWaker, RawWakerVTable, Waker};

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// A waker that owns one reference to the task.
///
/// # Safety
/// The caller owns a reference and moves it into the waker.
pub(super) unsafe fn from_task(task: NonNull<Header>) -> Waker {
    // SAFETY: the vtable's functions take the pointer for what it is, a header with a reference.
    unsafe { Waker::new(task.as_ptr() as *const (), &VTABLE) }
}

/// A waker that borrows the task for the duration of a poll; clones of it own references.
///
/// # Safety
/// The task outlives the answer.
pub(super) unsafe fn borrowed(task: NonNull<Header>) -> ManuallyDrop<Waker> {
    // SAFETY: never dropped, so it owns no reference; the caller keeps the task alive.
    ManuallyDrop::new(unsafe { from_task(task) })
}

/// The task that `waker` wakes, if it is a waker of ours.
pub(super) fn task_of(waker: &Waker) -> Option<NonNull<Header>> {
    if core::ptr::eq(waker.vtable(), &VTABLE) { NonNull::new(waker.data() as *mut Header) } else { None }
}

unsafe fn header<'a>(data: *const ()) -> &'a Header {
    // SAFETY: every waker with our vtable points to a header that its reference keeps alive; or, while that is only owed, that
    // the poll under way does (OW2).
    unsafe { &*data.cast::<Header>() }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: see `header`.
    let header = unsafe { header(data) };
    if !owed::owe(data) {
        header.state.ref_inc();
    }
    header.wakers.add_one();
    told::cloned(header);
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the waker's reference is given up to `wake_by_val`.
    let task = unsafe { header(data) };
    told::wakes(task);
    task.wakers.take_one();
    // SAFETY: as above.
    unsafe { (header(data).vtable.wake_by_val)(NonNull::new_unchecked(data as *mut Header)) }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: see `header`; the reference stays with the waker.
    unsafe {
        told::wakes_by_ref(header(data));
        if header(data).state.wake() == Woken::Submit {
            (header(data).vtable.schedule)(super::Runnable(NonNull::new_unchecked(data as *mut Header)));
        }
    }
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: see `header`.
    let task = unsafe { header(data) };
    told::dropped(task);
    task.wakers.take_one();
    if owed::remit(data) {
        return;
    }
    // SAFETY: the waker's reference becomes the `TaskRef`'s.
    drop(TaskRef(unsafe { NonNull::new_unchecked(data as *mut Header) }));
}
