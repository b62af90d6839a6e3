//! Where am I: on a worker, on a plain thread inside `block_on`, or nowhere.
//!
//! A worker's only thread-locals are one pointer, and what the core keeps for each thread (the budget that is left, wakers not
//! counted yet: `task/owed.rs` there); the others here serve threads that enter a runtime. Everything else that belongs to a
//! task or a strand (id, handlers) lives in the worker's [`Frame`](crate::sched::worker::Frame), which is put away and
//! brought back with the stack; so is what the stack has entered.
//!
//! * **TL1** What runs on a strand's stack asks for a thread-local anew, by a function that is never inlined and gives the value, not the
//!   place: a strand that roams may be on another thread after a wait, and a compiler that sees both sides of the wait in one function may
//!   have kept the address. What runs on a worker's own stack (`..._at_loop`), or on a strand's by a call through a task's table, is over
//!   before that stack is suspended. (So a yield takes 10 ns more: with the feature `roaming` only.)

use crate::runtime::Handle;
use crate::sched::worker::Worker;
use crate::strand::unwinding;
use ropewalk_core::budget;
use std::cell::{Cell, RefCell};

thread_local! {
    static WORKER: Cell<*const Worker> = const { Cell::new(std::ptr::null()) };
    /// How many runtimes this thread has entered: a plain word, because every spawn asks.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Runtimes entered by a plain thread (`Runtime::block_on`, `Handle::enter`), innermost last.
    static ENTERED: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// The worker this thread is now, if it is one. On a strand that roams that is so until the next wait.
#[inline(always)]
pub(crate) fn with_worker<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
    // SAFETY: `as_worker` sets the pointer for as long as the worker is borrowed there, on this thread only.
    f(unsafe { worker().as_ref() })
}

/// TL1.
#[cfg_attr(feature = "roaming", inline(never))]
#[cfg_attr(not(feature = "roaming"), inline(always))]
fn worker() -> *const Worker {
    WORKER.try_with(Cell::get).unwrap_or(std::ptr::null())
}

/// The same for what is on no strand's stack (TL1): in the functions of tasks that only the scheduler calls, or a waker.
#[inline(always)]
pub(crate) fn with_worker_at_loop<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
    let worker = WORKER.try_with(Cell::get).unwrap_or(std::ptr::null());
    // SAFETY: as above.
    f(unsafe { worker.as_ref() })
}

/// Runs `f` with this thread being `worker`. What the thread had entered before does not concern the worker's tasks;
/// if it is in the poll of a task, that one's budget is not theirs; and if it unwinds, they do not.
pub(crate) fn as_worker<R>(worker: &Worker, f: impl FnOnce() -> R) -> R {
    struct Restore {
        worker: *const Worker,
        depth: u32,
        budget: u32,
    }
    impl Drop for Restore {
        fn drop(&mut self) {
            WORKER.set(self.worker);
            DEPTH.set(self.depth);
            budget::grant(self.budget);
        }
    }
    let _unwinding = unwinding::drive();
    let _restore =
        Restore { worker: WORKER.replace(worker), depth: DEPTH.replace(0), budget: budget::grant(0) };
    f()
}

/// The runtime that `spawn` without further words means, if there is one.
#[inline(never)] // TL1
pub(crate) fn runtime() -> Option<Handle> {
    let entered = if has_entered() { ENTERED.with_borrow(|entered| entered.last().cloned()) } else { None };
    entered.or_else(|| with_worker(|worker| worker.map(|worker| Handle::of_worker(&worker.pool))))
}

/// The runtime that this thread entered last, if it is inside one.
pub(crate) fn with_entered<R>(f: impl FnOnce(&Handle) -> R) -> Option<R> {
    if has_entered() { with_last_entered(f) } else { None }
}

#[inline(never)] // TL1
fn with_last_entered<R>(f: impl FnOnce(&Handle) -> R) -> Option<R> {
    ENTERED.try_with(|entered| entered.borrow().last().map(f)).ok().flatten()
}

/// Whether this thread entered a runtime explicitly, which then comes before the worker's own.
#[cfg_attr(feature = "roaming", inline(never))] // TL1
#[cfg_attr(not(feature = "roaming"), inline(always))]
pub(crate) fn has_entered() -> bool {
    DEPTH.get() > 0
}

/// The same for what is on no strand's stack (TL1).
#[inline(always)]
pub(crate) fn has_entered_at_loop() -> bool {
    DEPTH.get() > 0
}

/// Marks this thread as being inside `runtime` while the answer lives.
#[inline(never)] // TL1
pub(crate) fn enter(runtime: Handle) -> Entered {
    ENTERED.with_borrow_mut(|entered| entered.push(runtime));
    DEPTH.set(DEPTH.get() + 1);
    Entered(std::marker::PhantomData)
}

/// The runtimes without threads that this stack is inside of as a root that is polled apart, outermost first. (A thread of the blocking pool is inside
/// its runtime, but no root.)
#[inline(never)] // TL1
pub(crate) fn roots_here() -> Vec<Handle> {
    let depth = DEPTH.get() as usize;
    if depth == 0 {
        return Vec::new();
    }
    let is_job = crate::sched::blocking::is_on_any() && with_worker(|worker| worker.is_none());
    let skip = usize::from(is_job);
    ENTERED.with_borrow(|entered| {
        let roots = entered[entered.len() - depth..].iter().skip(skip);
        roots.filter(|runtime| runtime.shared.is_threadless()).cloned().collect()
    })
}

/// What this stack has entered leaves with it: others that run here meanwhile are not inside. See [`come_back`].
#[inline]
pub(crate) fn go_away() -> Vec<Handle> {
    match DEPTH.replace(0) {
        0 => Vec::new(),
        depth => ENTERED.with_borrow_mut(|entered| entered.split_off(entered.len() - depth as usize)),
    }
}

/// The stack that had entered these goes on here, where nothing else is entered now.
#[inline]
pub(crate) fn come_back(mut entered: Vec<Handle>) {
    if !entered.is_empty() {
        DEPTH.set(entered.len() as u32);
        ENTERED.with_borrow_mut(|all| all.append(&mut entered));
    }
}

/// See [`enter`].
pub(crate) struct Entered(std::marker::PhantomData<*const ()>);

impl Drop for Entered {
    #[inline(never)] // TL1
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        // The last reference may end the runtime, so it is dropped outside of the borrow.
        let _left = ENTERED.try_with(|entered| entered.borrow_mut().pop());
    }
}
