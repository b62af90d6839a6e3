//! The rights over a task: [`Runnable`] may run it, [`TaskHandle`] may take its output, [`TaskRef`] may look at it, wake
//! it and cancel it.

use super::join::Registered;
use super::outcome::{Outcome, PanicInfo, TaskError};
use super::raw::{Header, Vtable};
use super::state::{Detached, Dropped, Woken};
use super::{Host, Ran, TaskId, told, waker};
use crate::deadlock::{self, Here, Needs, Waiting};
use core::cell::Cell;
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::panic::Location;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

/// The right to run a scheduled task once. Whoever queues tasks queues these.
///
/// Dropping it unrun cancels the task: its future is dropped and its handle gets
/// [`TaskError::Cancelled`] (or `Shutdown`, if that is why it was cancelled).
#[must_use = "a dropped Runnable cancels its task"]
pub struct Runnable(pub(super) NonNull<Header>);

// SAFETY: bodies are Send, or the task is pinned and its maker (`emplace`, unsafe) keeps it on its thread.
unsafe impl Send for Runnable {}
// SAFETY: `&Runnable` gives access to atomics and immutable fields only.
unsafe impl Sync for Runnable {}

impl Runnable {
    /// Polls the task once. A panic in it does not unwind from here.
    ///
    /// Who puts stacks away (unsafe code) in the middle of this call resumes them on the same thread.
    pub fn run(self) -> Ran {
        self.run_with(&Cell::new(false))
    }

    /// As [`run`](Self::run); if the body sets `yielded` before it returns `Pending`, the task stays scheduled without
    /// having been woken, and comes back as [`Ran::Yielded`].
    #[inline]
    pub fn run_with(self, yielded: &Cell<bool>) -> Ran {
        let this = ManuallyDrop::new(self);
        // SAFETY: T1: we own the Runnable and pass it on.
        unsafe { (this.header().vtable.run)(this.0, yielded) }
    }

    /// Hands the task to its host's queue.
    pub fn schedule(self) {
        let schedule = self.header().vtable.schedule;
        // SAFETY: the vtable belongs to this task.
        unsafe { schedule(self) }
    }

    /// Ends the task unrun, because there is no thread to run it on: its handle gets [`TaskError::NoThread`].
    pub fn refuse(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: T1: we own the Runnable and pass it on.
        unsafe { (this.header().vtable.refuse)(this.0) }
    }

    /// Another way to refer to the task.
    pub fn task(&self) -> TaskRef {
        self.header().state.ref_inc();
        TaskRef(self.0)
    }

    /// Asks for cancellation before it runs; `shutdown` says that the runtime is going away.
    pub fn cancel(&self, shutdown: bool) {
        let nothing = self.header().state.cancel(shutdown);
        debug_assert_eq!(nothing, Woken::Nothing, "a scheduled task needs no submitting");
    }

    /// Whether it [is pinned](Self::is_pinned), and whether somebody [wants to know](Self::await_run) when it runs: one look for both.
    #[inline]
    pub fn is_pinned_or_awaited(&self) -> (bool, bool) {
        let now = self.header().state.load();
        (now.is_pinned(), now.is_awaited())
    }

    /// Whoever runs it is told that somebody wants to know when.
    pub fn await_run(&self) {
        self.header().state.await_run();
    }

    /// Nobody wants to know it any more.
    pub fn unawait(&self) {
        self.header().state.unawait();
    }

    /// Whether the task must run on its home worker.
    #[inline]
    pub fn is_pinned(&self) -> bool {
        self.header().state.load().is_pinned()
    }

    /// The task's id.
    pub fn id(&self) -> TaskId {
        self.header().id
    }

    /// Where it was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.header().spawned_at
    }

    /// The raw pointer: what queues store.
    #[inline]
    pub fn into_raw(self) -> NonNull<Header> {
        ManuallyDrop::new(self).0
    }

    /// Takes back what [`into_raw`](Self::into_raw) gave.
    ///
    /// # Safety
    /// `raw` came from `into_raw`, and is taken back once.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<Header>) -> Self {
        Self(raw)
    }

    /// The header, to be passed to a [`Host`]'s own functions.
    #[inline]
    pub fn as_raw(&self) -> NonNull<Header> {
        self.0
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: T3: a scheduled task is not COMPLETE.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Runnable {
    fn drop(&mut self) {
        // SAFETY: T1: we own the Runnable and pass it on.
        unsafe { (self.header().vtable.discard)(self.0) }
    }
}

/// A counted reference to a task of any kind: it can be looked at, woken and cancelled.
pub struct TaskRef(pub(super) NonNull<Header>);

// SAFETY: everything reachable through it is atomic or immutable.
unsafe impl Send for TaskRef {}
// SAFETY: as above.
unsafe impl Sync for TaskRef {}

impl TaskRef {
    /// A reference to a task found by walking memory, unless it is over.
    ///
    /// # Safety
    /// `header` points to memory in which a task lives or was vacated ([`Header::vacate`]).
    pub unsafe fn find(header: NonNull<Header>) -> Option<Self> {
        // SAFETY: the state word is always an atomic there. The rest may be written to meanwhile: there is no reference to it.
        let state = unsafe { &(*header.as_ptr()).state };
        state.try_ref().then(|| Self(header))
    }

    /// Asks the task to stop: its future is dropped at its next suspension, at once if it is suspended.
    pub fn cancel(&self) {
        self.cancel_for(false);
    }

    /// As [`cancel`](Self::cancel); with `shutdown` the handle gets [`TaskError::Shutdown`].
    pub fn cancel_for(&self, shutdown: bool) {
        if self.header().state.cancel(shutdown) == Woken::Submit {
            told::wakes_by_ref(self.header());
            // SAFETY: `cancel` gave us the Runnable (T1).
            unsafe { (self.header().vtable.schedule)(Runnable(self.0)) }
        } else {
            // SAFETY: the vtable belongs to this task, which our reference keeps alive.
            unsafe { (self.header().vtable.withdraw)(self.0) }
        }
    }

    /// Wakes the task.
    pub fn wake(&self) {
        told::wakes_by_ref(self.header());
        self.wake_untold();
    }

    /// The same, when its host was told.
    #[inline]
    pub(super) fn wake_untold(&self) {
        if self.header().state.wake() == Woken::Submit {
            // SAFETY: `wake` gave us the Runnable (T1).
            unsafe { (self.header().vtable.schedule)(Runnable(self.0)) }
        }
    }

    /// Wakes the task, and tells its body that somebody wants to know where it is ([`Orders::is_asked`](super::Orders)). It is
    /// a wake-up like any other, which has no reason: whoever waits tolerates those.
    pub fn ask(&self) {
        if self.header().state.ask() == Woken::Submit {
            told::wakes_by_ref(self.header());
            // SAFETY: `ask` gave us the Runnable (T1).
            unsafe { (self.header().vtable.schedule)(Runnable(self.0)) }
        }
    }

    /// Whether it is asked, and has not heard that yet.
    pub fn is_asked(&self) -> bool {
        self.header().state.load().is_asked()
    }

    /// The task's waker.
    pub fn waker(&self) -> core::task::Waker {
        // SAFETY: the new reference moves into the waker.
        let waker = unsafe { waker::from_task(self.clone().into_raw()) };
        self.header().wakers.add_one();
        told::cloned(self.header());
        waker
    }

    /// Whether the task is over.
    pub fn is_finished(&self) -> bool {
        self.header().state.load().is_complete()
    }

    /// Whether its handle knows how it ended, which comes a moment before it [is over](Self::is_finished).
    pub fn has_ended(&self) -> bool {
        self.header().join.done().is_some() || self.is_finished()
    }

    /// Whether somebody asked the task to stop.
    pub fn is_cancelled(&self) -> bool {
        self.header().state.load().is_cancelled()
    }

    /// Whether the task is bound to its home worker.
    pub fn is_pinned(&self) -> bool {
        self.header().state.load().is_pinned()
    }

    /// Queued, running, waiting, or ending (its body is over, and it waits for its children), in a word. A task that is
    /// queued is mostly `running` here already: whoever needs to know better asks its executor.
    pub fn state_name(&self) -> &'static str {
        match self.header().state.load() {
            now if now.is_complete() => "done",
            now if now.held().is_some() => "ending",
            now if now.is_running() && now.is_parked() => "waiting",
            now if now.is_running() => "running",
            now if now.is_scheduled() => "queued",
            _ => "waiting",
        }
    }

    /// Whether it waits, and was not asked to stop.
    #[cfg(all(feature = "deadlock_detection", not(any(loom, shuttle))))]
    pub fn waits_unasked(&self) -> bool {
        self.state_name() == "waiting" && !self.header().state.load().is_cancelled()
    }

    /// The same, and there are this many wakers of it.
    #[cfg(all(feature = "deadlock_detection", not(any(loom, shuttle))))]
    pub fn waits_with(&self, wakers: usize) -> bool {
        self.waits_unasked() && self.header().wakers.get() == wakers
    }

    /// The task's id.
    pub fn id(&self) -> TaskId {
        self.header().id
    }

    /// The task's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        // SAFETY: our reference keeps the cell, and with it the name, alive.
        unsafe { (self.header().vtable.name)(self.0).map(|name| &*name.as_ptr()) }
    }

    /// Whether it is the task at this address.
    pub fn is_at(&self, header: *const Header) -> bool {
        core::ptr::eq(self.0.as_ptr(), header)
    }

    /// Where it was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.header().spawned_at
    }

    /// [`Host::KIND`] of the host it lives in.
    pub fn kind(&self) -> u8 {
        self.header().vtable.kind
    }

    /// What the host keeps beside each of its tasks.
    ///
    /// # Safety
    /// The task lives in `H`.
    pub unsafe fn extra<H: Host>(&self) -> &H::Extra {
        // SAFETY: passed on to the caller.
        unsafe { Header::extra::<H>(self.0).as_ref() }
    }

    fn into_raw(self) -> NonNull<Header> {
        ManuallyDrop::new(self).0
    }

    fn header(&self) -> &Header {
        // SAFETY: T3: our reference keeps the cell alive.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        self.header().state.ref_inc();
        Self(self.0)
    }
}

impl Drop for TaskRef {
    #[inline]
    fn drop(&mut self) {
        // Read before the reference goes: the cell may be freed by another thread right after.
        let vtable = self.header().vtable;
        match self.header().state.ref_dec() {
            Dropped::Alive => {}
            // SAFETY: the answer to our own operation; the cell is not touched afterwards.
            what => unsafe { (vtable.dropped)(self.0, what) },
        }
    }
}

impl fmt::Debug for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} ({}, spawned at {})", self.id(), self.state_name(), self.spawned_at())
    }
}

/// Waits for a task and takes its output: a future of `Result<T, TaskError>`.
///
/// Dropping it detaches the task, which goes on running; a panic of a detached task is reported by its runtime.
///
/// **Cancel safety**: polling it and dropping it later loses nothing but the output. **Panics** when polled again after
/// it gave the output.
#[must_use = "a dropped handle detaches its task"]
pub struct TaskHandle<T> {
    /// The handle's reference; `None` once the output was taken.
    task: Option<NonNull<Header>>,
    waiting: bool,
    needs: Waiting,
    output: PhantomData<T>,
}

// SAFETY: the handle moves a `T` to whoever polls it; the rest is atomic or immutable.
unsafe impl<T: Send> Send for TaskHandle<T> {}
// SAFETY: `&TaskHandle` gives no access to the output.
unsafe impl<T: Send> Sync for TaskHandle<T> {}

impl<T> TaskHandle<T> {
    /// # Safety
    /// The caller passes on the handle's reference of a task whose output is `T`.
    pub(super) unsafe fn new(task: NonNull<Header>) -> Self {
        Self { task: Some(task), waiting: false, needs: Waiting::new(), output: PhantomData }
    }

    /// Asks the task to stop: its future is dropped at its next suspension (at once if it is suspended) and the handle
    /// gives [`TaskError::Cancelled`], unless the task finishes first. Cancelling twice is the same as once.
    pub fn cancel(&self) {
        if let Some(task) = self.as_ref() {
            task.cancel();
        }
    }

    /// A detached right to cancel the task; it does nothing if the output was taken already.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(self.as_ref().map(|task| TaskRef::clone(&task)))
    }

    /// Whether the output is there (or was taken).
    pub fn is_finished(&self) -> bool {
        self.as_ref().is_none_or(|task| task.header().join.done().is_some())
    }

    /// The task's id; `None` once the output was taken.
    pub fn id(&self) -> Option<TaskId> {
        self.as_ref().map(|task| task.id())
    }

    /// The header, to be passed to a [`Host`]'s own functions; `None` once the output was taken.
    #[inline]
    pub fn as_raw(&self) -> Option<NonNull<Header>> {
        self.task
    }

    /// The output, if it is there; spends nothing of the current task's budget and registers no waker.
    pub fn try_take(&mut self) -> Option<Result<T, TaskError>> {
        let task = self.task?;
        // SAFETY: the handle's reference keeps the cell alive.
        let outcome = unsafe { task.as_ref() }.join.done()?;
        Some(self.take(task, outcome))
    }

    /// It waits for this task.
    #[cold]
    fn tell_why(&self, header: &Header, cx: &Context<'_>) {
        let (reason, id) = (header.vtable.reason, header.id.get());
        crate::blocked::note(reason, id as usize);
        self.needs.begin(Needs::End(id), reason, cx.waker(), Here::unknown());
    }

    /// The task as a [`TaskRef`], borrowed.
    fn as_ref(&self) -> Option<ManuallyDrop<TaskRef>> {
        self.task.map(|task| ManuallyDrop::new(TaskRef(task)))
    }

    /// Takes the output that the join word says is there, and drops the handle's reference.
    fn take(&mut self, task: NonNull<Header>, outcome: Outcome) -> Result<T, TaskError> {
        self.task = None;
        // SAFETY: the handle's reference keeps the cell alive until it is dropped below.
        let header = unsafe { task.as_ref() };
        let result = match outcome {
            Outcome::Cancelled => Err(TaskError::Cancelled),
            Outcome::Shutdown => Err(TaskError::Shutdown),
            Outcome::NoThread => Err(TaskError::NoThread),
            Outcome::Value => {
                let mut value = MaybeUninit::<T>::uninit();
                // SAFETY: J2, T4: the value is there, it is a `T`, and `task` was cleared so it is taken once.
                Ok(unsafe {
                    (header.vtable.take)(task, value.as_mut_ptr().cast());
                    value.assume_init()
                })
            }
            Outcome::Panicked => {
                let mut info = MaybeUninit::<PanicInfo>::uninit();
                // SAFETY: as above, for the panic.
                Err(TaskError::Panicked(unsafe {
                    (header.vtable.take)(task, info.as_mut_ptr().cast());
                    info.assume_init()
                }))
            }
        };
        let dropped = header.vtable.dropped;
        match header.state.ref_dec_last() {
            Dropped::Alive => {}
            // SAFETY: the answer to our own operation; the cell is not touched afterwards.
            what => unsafe { dropped(task, what) },
        }
        result
    }
}

impl<T> Future for TaskHandle<T> {
    type Output = Result<T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let task = self.task.expect("a TaskHandle was polled after it gave its output");
        // SAFETY: the handle's reference keeps the cell alive.
        let header = unsafe { task.as_ref() };
        if let Some(outcome) = header.join.done() {
            core::task::ready!(crate::budget::poll_proceed(cx));
            return Poll::Ready(self.take(task, outcome));
        }
        match header.join.register(cx.waker()) {
            Registered::Done(outcome) => {
                self.needs.end();
                return Poll::Ready(self.take(task, outcome));
            }
            Registered::Waiting => self.waiting = true,
        }
        // SAFETY: as above.
        if unsafe { may_be_ancestor(task, cx.waker()) && (header.vtable.refuses_wait)(task) } {
            self.needs.end();
            drop(Self { task: self.task.take(), waiting: true, needs: Waiting::new(), output: PhantomData });
            return Poll::Ready(Err(TaskError::Ancestor));
        }
        if crate::blocked::is_heard() || deadlock::IS_ON {
            self.tell_why(header, cx);
        }
        Poll::Pending
    }
}

/// Whether the task that waits may be `task` itself or stem from it: it has children, or runs now and nothing shows that
/// it is another one that polls. (A free task polls with its own waker; a pinned one may stand for a parked stack.)
///
/// # Safety
/// `task` is alive.
unsafe fn may_be_ancestor(task: NonNull<Header>, waker: &core::task::Waker) -> bool {
    // SAFETY: passed on to the caller; a waker keeps its task alive.
    let (now, waiter) =
        unsafe { (task.as_ref().state.load(), waker::task_of(waker).map(|task| task.as_ref())) };
    let is_other =
        |waiter: &Header| !core::ptr::eq(waiter, task.as_ptr()) && !waiter.state.load().is_pinned();
    now.is_parent() || now.is_running() && !waiter.is_some_and(is_other)
}

impl<T> Unpin for TaskHandle<T> {}

impl<T> Drop for TaskHandle<T> {
    #[inline]
    fn drop(&mut self) {
        let Some(task) = self.task else { return };
        // SAFETY: the handle's reference keeps the cell alive.
        let header = unsafe { task.as_ref() };
        if self.waiting {
            header.join.withdraw();
        }
        // Read before the reference goes: the cell may be freed by another thread right after.
        let vtable = header.vtable;
        // The output goes with the handle once it can be seen, even while the task's thread has yet to mark its end.
        let detached = if header.join.done().is_some() { Detached::Output } else { header.state.detach() };
        match detached {
            Detached::Gone(Dropped::Alive) => {}
            // SAFETY: the answer to our own operation on a cell with that vtable.
            detached => unsafe { settle_detached(task, vtable, detached) },
        }
    }
}

/// What is left to do when a handle went.
///
/// # Safety
/// `detached` is what the state word of `task` said, or `Output` as its join word says `Done`, and the caller does not touch the cell again. Its vtable is `vtable`.
#[cold]
unsafe fn settle_detached(task: NonNull<Header>, vtable: &'static Vtable, detached: Detached) {
    let left = match detached {
        Detached::Gone(left) => left,
        Detached::Held => return TaskRef(task).wake(),
        Detached::Output => {
            // SAFETY: T4: `Done` with HANDLE set: the output is ours, nobody took it, and our reference is still there.
            unsafe {
                let header = task.as_ref();
                (vtable.drop_output)(task, header.join.done().expect("it was done before"));
                header.state.ref_dec_last()
            }
        }
    };
    if left != Dropped::Alive {
        // SAFETY: passed on to the caller; the cell is not touched afterwards.
        unsafe { (vtable.dropped)(task, left) }
    }
}

impl<T> fmt::Debug for TaskHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_ref() {
            Some(task) => write!(f, "TaskHandle({:?})", *task),
            None => f.write_str("TaskHandle(taken)"),
        }
    }
}

/// A right to cancel a task that outlives its handle.
#[derive(Clone, Debug)]
pub struct AbortHandle(Option<TaskRef>);

impl AbortHandle {
    /// As [`TaskHandle::cancel`]. Nothing happens if the task is over.
    pub fn cancel(&self) {
        if let Some(task) = &self.0 {
            task.cancel();
        }
    }

    /// Whether the task is over.
    pub fn is_finished(&self) -> bool {
        self.0.as_ref().is_none_or(TaskRef::is_finished)
    }

    /// The task's id, if its output had not been taken when this was made.
    pub fn id(&self) -> Option<TaskId> {
        self.0.as_ref().map(TaskRef::id)
    }
}
