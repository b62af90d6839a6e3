//! What hosts are told of wakers, before it is done. Nothing without the feature `waker_hooks`.

#[cfg(not(feature = "waker_hooks"))]
pub(super) use nobody::{cloned, dropped, wakes, wakes_by_ref};
#[cfg(feature = "waker_hooks")]
pub(super) use the_host::{cloned, dropped, wakes, wakes_by_ref};

#[cfg(feature = "waker_hooks")]
mod the_host {
    use crate::task::{Header, WakerOp};
    use core::ptr::NonNull;

    fn tell(task: &Header, what: WakerOp) {
        // SAFETY: the vtable belongs to this task, which is alive.
        unsafe { (task.vtable.waker)(NonNull::from(task), what) }
    }

    pub(in crate::task) fn cloned(task: &Header) {
        tell(task, WakerOp::Clone);
    }
    pub(in crate::task) fn dropped(task: &Header) {
        tell(task, WakerOp::Drop);
    }
    pub(in crate::task) fn wakes(task: &Header) {
        tell(task, WakerOp::Wake);
    }
    pub(in crate::task) fn wakes_by_ref(task: &Header) {
        tell(task, WakerOp::WakeByRef);
    }
}

#[cfg(not(feature = "waker_hooks"))]
mod nobody {
    use crate::task::Header;

    #[inline(always)]
    pub(in crate::task) fn cloned(_: &Header) {}
    #[inline(always)]
    pub(in crate::task) fn dropped(_: &Header) {}
    #[inline(always)]
    pub(in crate::task) fn wakes(_: &Header) {}
    #[inline(always)]
    pub(in crate::task) fn wakes_by_ref(_: &Header) {}
}
