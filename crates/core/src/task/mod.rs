//! The task cell: one allocation that holds a future, its state, its output and the place of whoever waits for it.
//!
//! [`spawn`] is the safe door for foreign executors: give it a future and a function that queues, run what gets queued.
//! A runtime that wants its own memory and its own queues implements [`Host`].
//!
//! Code map: `state` (the state word), `join` (the join word), `raw` (header, layout, the one function that runs a
//! task), `waker`, `told` (hosts hear of wakers), `owed` (wakers that are counted when the poll ends), `handle` (the rights over a task), `outcome` (how it
//! ended), `family` (a task and its children), `foreign` (the safe `spawn`).

mod family;
mod foreign;
mod handle;
mod join;
mod outcome;
mod owed;
mod raw;
mod state;
#[cfg(test)]
mod tests;
mod told;
mod waker;

pub use family::{Family, Membership};
pub use foreign::spawn;
pub use handle::{AbortHandle, Runnable, TaskHandle, TaskRef};
pub use outcome::{PanicInfo, TaskError, drop_payload};
pub use raw::Header;

use alloc::string::String;
use core::alloc::Layout;
use core::any::Any;
use core::fmt;
use core::future::Future;
use core::num::NonZeroU64;
use core::panic::Location;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

/// Identifies a task within its process (or, for tasks of [`spawn`], among those). Not used twice, as far as a word counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(NonZeroU64);

impl TaskId {
    /// The id with this number.
    pub const fn new(number: NonZeroU64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a cell runs: a future, or something that must be resumed to be cancelled because it owns a stack.
pub trait Body {
    /// What it gives in the end.
    type Output;
    /// `false`: cancelled by dropping it. `true`: cancelled by polling it with that order until it ends.
    const CANCELLED_BY_POLL: bool;
    /// Whether it was polled before. If not, it is dropped when it is cancelled, whatever `CANCELLED_BY_POLL` says.
    fn is_started(&self) -> bool {
        true
    }
    /// Goes on with it.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, orders: Orders) -> Poll<Self::Output>;
    /// Whether a panic of it is its way of being cancelled.
    fn is_interruption(_payload: &(dyn Any + Send)) -> bool {
        false
    }
}

/// What a [`Body`] is told when it is polled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orders(u8);

impl Orders {
    /// Nothing.
    pub const NONE: Self = Self(0);
    const CANCELLED: u8 = 1;
    const ASKED: u8 = 2;

    /// Whether there is anything.
    #[inline(always)]
    pub fn any(self) -> bool {
        self.0 != 0
    }

    /// It is to end: whoever has been told so once is told again.
    #[inline(always)]
    pub fn is_cancelled(self) -> bool {
        self.0 & Self::CANCELLED != 0
    }

    /// Somebody wants to know where it is ([`TaskRef::ask`]). It is told again until it says that it has heard
    /// ([`Header::answer`]).
    #[inline(always)]
    pub fn is_asked(self) -> bool {
        self.0 & Self::ASKED != 0
    }

    /// The same, once it has heard that it is asked.
    #[must_use]
    pub fn answered(self) -> Self {
        Self(self.0 & !Self::ASKED)
    }
}

/// A future as a [`Body`].
#[derive(Debug)]
#[repr(transparent)]
pub struct Async<F>(pub F);

impl<F: Future> Body for Async<F> {
    type Output = F::Output;
    const CANCELLED_BY_POLL: bool = false;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, _orders: Orders) -> Poll<F::Output> {
        // SAFETY: structural pinning of the only field.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }.poll(cx)
    }
}

/// A function as a [`Body`]: the first poll calls it and is the last.
#[derive(Debug)]
pub struct Call<F>(Option<F>);

impl<F> Call<F> {
    /// The function to be called.
    pub fn new(function: F) -> Self {
        Self(Some(function))
    }
}

impl<F: FnOnce() -> T, T> Body for Call<F> {
    type Output = T;
    const CANCELLED_BY_POLL: bool = false;

    fn poll(mut self: Pin<&mut Self>, _cx: &mut Context<'_>, _orders: Orders) -> Poll<T> {
        let function = self.0.take().expect("a body is not polled after its end");
        Poll::Ready(function())
    }
}

impl<F> Unpin for Call<F> {}

/// How a task has ended, as its [`Host`] is told.
#[derive(Debug)]
pub struct Ended {
    /// It gave no value.
    pub failed: bool,
    /// What it panicked with, in words.
    pub panic: Option<String>,
    /// Nothing is left of it that has a destructor: no output that might yet be dropped.
    pub leaves_nothing: bool,
}

/// Where tasks live and where they go when they are woken.
///
/// # Safety
/// `schedule` passes each `Runnable` on to be run or dropped, a pinned one only on its home thread. `dealloc` frees what
/// the implementor gave to [`emplace`]. If `FINDS_TASKS`, the implementor drops idle tasks when it ends.
pub unsafe trait Host: 'static {
    /// What each of its tasks carries beside the header.
    type Extra: Send + Sync;
    /// Tells the hosts of one runtime apart ([`TaskRef::kind`]).
    const KIND: u8;
    /// Whether the host finds idle tasks again, to drop them in the end. If not, a task that nothing can wake any more
    /// is cancelled when its last reference goes.
    const FINDS_TASKS: bool;
    /// Whether the state of a new task says that it is queued, not running. Its first run costs a read-modify-write more.
    const SHOWS_START: bool = false;
    /// What its tasks are called in reports.
    const NOUN: &'static str = "task";
    /// What those wait for who wait for its tasks.
    const REASON: crate::blocked::Reason = crate::blocked::Reason::Join;
    /// Queues a task.
    fn schedule(task: Runnable);
    /// `task`, whose cell the caller keeps alive, was asked to stop and is not idle: it is queued, or runs, or is over. A
    /// host that can take it out of its queue may do so and drop the `Runnable`.
    fn withdraw(_task: NonNull<Header>) {}
    /// `task` is over, the current thread having run or dropped it, and who waits for it is woken next. The cell may be
    /// gone already.
    #[inline(always)]
    fn will_wake(_task: NonNull<Header>) {}
    /// Whether the current thread keeps the host of this task alive, so that a waker may give up its reference before
    /// the task is queued.
    fn keeps_itself_alive(task: NonNull<Header>) -> bool;
    /// Frees the memory of a task that is over.
    ///
    /// # Safety
    /// `task` was made in this host's memory by [`emplace`] with a cell of this layout, and nobody uses it any more.
    unsafe fn dealloc(task: NonNull<Header>, layout: Layout);
    /// The task's name.
    fn name(extra: &Self::Extra) -> Option<&str>;
    /// A panic of `task`, which is still alive, that no handle took.
    fn unhandled(task: NonNull<Header>, panic: PanicInfo);
    /// Whether [`ended`](Self::ended) is called.
    const TELLS_OF_END: bool = false;
    /// The task is over: its body is gone and its output, if it has a handle, is there. Called once, before anybody is woken.
    /// The answer: whom [`left`](Self::left) is to be called for, when all of the task is over.
    #[inline(always)]
    fn ended(_task: NonNull<Header>, _how: Ended) -> Option<NonNull<()>> {
        None
    }
    /// A task is over, and nothing of it is left but what its handle may still have: also an output that nobody took is
    /// dropped. The cell may be gone.
    ///
    /// # Safety
    /// It is called once, with the answer of [`ended`](Self::ended).
    unsafe fn left(_whom: NonNull<()>) {}
    /// The body of a task that has or had children ([`Family`]) is over: may it end? If not, it is asked again after it was
    /// woken.
    fn may_end(_task: NonNull<Header>) -> bool {
        true
    }
    /// Whether the task that runs on this thread must not wait for `task`, because it is that task or stems from it.
    fn refuses_wait(_task: NonNull<Header>) -> bool {
        false
    }
    /// The body of `task` is polled next, on this thread.
    #[inline(always)]
    fn poll_begins(_task: NonNull<Header>) {}
    /// That poll is over, and the task still counts as running: nobody else polls it yet. `yielded`: it asked to go behind
    /// everything else.
    #[inline(always)]
    fn poll_ends(_task: NonNull<Header>, _yielded: bool) {}
    /// This is about to be done with a waker of `task`, whose cell the caller keeps alive, or with the task itself. Nothing of
    /// ours is locked.
    #[cfg(feature = "waker_hooks")]
    fn waker(_task: NonNull<Header>, _what: WakerOp) {}
}

/// What is done with a waker of a task ([`Host::waker`]).
#[cfg(feature = "waker_hooks")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakerOp {
    /// There is one more.
    Clone,
    /// There is one less.
    Drop,
    /// It is woken, and there is one less.
    Wake,
    /// It is woken by one that stays, or without any: its last child has ended, it is cancelled or asked.
    WakeByRef,
}

impl Header {
    /// What the host keeps beside the task.
    ///
    /// # Safety
    /// `header` is a live task of host `H`.
    pub unsafe fn extra<H: Host>(header: NonNull<Header>) -> NonNull<H::Extra> {
        // SAFETY: passed on to the caller; the vtable knows the field's offset.
        unsafe { header.byte_add(header.as_ref().vtable.extra).cast() }
    }

    /// Marks memory in which no task lives, so that [`TaskRef::find`] passes over it.
    ///
    /// # Safety
    /// `header` is valid for writes and no task lives there.
    pub unsafe fn vacate(header: NonNull<Header>) {
        // SAFETY: passed on to the caller.
        unsafe { state::State::vacate(&raw mut (*header.as_ptr()).state) }
    }

    /// [`Host::KIND`] of the host it lives in.
    ///
    /// # Safety
    /// `header` is a live task.
    pub unsafe fn kind(header: NonNull<Header>) -> u8 {
        // SAFETY: passed on to the caller.
        unsafe { header.as_ref().vtable.kind }
    }

    /// The task's id.
    ///
    /// # Safety
    /// `header` is a live task.
    pub unsafe fn id(header: NonNull<Header>) -> TaskId {
        // SAFETY: passed on to the caller.
        unsafe { header.as_ref().id }
    }

    /// Whether the task was asked to stop.
    ///
    /// # Safety
    /// `header` is a live task.
    pub unsafe fn is_cancelled(header: NonNull<Header>) -> bool {
        // SAFETY: passed on to the caller.
        unsafe { header.as_ref() }.state.load().is_cancelled()
    }

    /// The body, which runs, has heard that it is asked ([`Orders::is_asked`]).
    ///
    /// # Safety
    /// `header` is a live task.
    pub unsafe fn answer(header: NonNull<Header>) {
        // SAFETY: passed on to the caller.
        unsafe { header.as_ref() }.state.answer();
    }

    /// Tells those who look at the task that its poll waits on a stack that was put away, or goes on.
    ///
    /// # Safety
    /// `header` is a live task.
    pub unsafe fn set_parked(header: NonNull<Header>, parked: bool) {
        // SAFETY: passed on to the caller.
        unsafe { header.as_ref() }.state.set_parked(parked);
    }

    /// The task that `waker` wakes, if it is a waker of one of our tasks.
    pub fn of_waker(waker: &core::task::Waker) -> Option<NonNull<Header>> {
        waker::task_of(waker)
    }

    /// A reference to a live task.
    ///
    /// # Safety
    /// `header` is a live task.
    pub unsafe fn reference(header: NonNull<Header>) -> TaskRef {
        let borrowed = core::mem::ManuallyDrop::new(TaskRef(header));
        TaskRef::clone(&borrowed)
    }
}

/// How a task is made; see [`emplace`].
#[derive(Clone, Copy, Debug)]
pub struct Birth {
    /// Its id.
    pub id: TaskId,
    /// Where it was spawned.
    pub spawned_at: &'static Location<'static>,
    /// Whether it stays on its home worker.
    pub pinned: bool,
    /// Two bits that the scheduler may use.
    pub priority: u8,
}

/// The layout of a task that runs `B` in host `H`.
pub const fn layout<B: Body, H: Host>() -> Layout {
    raw::Cell::<B, H>::LAYOUT
}

/// Makes a task in `memory`, to be queued by the caller.
///
/// # Safety
/// `memory` is valid for [`layout::<B, H>()`](layout) and comes from `H`. The body and its output are `Send + 'static`,
/// or the task is `pinned` and runs, is dropped, and has its output taken only while what it borrows is alive and on the
/// thread it belongs to.
#[inline]
pub unsafe fn emplace<B: Body, H: Host>(
    memory: NonNull<u8>,
    body: B,
    extra: H::Extra,
    birth: Birth,
) -> (Runnable, TaskHandle<B::Output>) {
    let Birth { id, spawned_at, pinned, priority } = birth;
    // SAFETY: passed on to the caller. The new task has one Runnable (T1) and counts one handle.
    unsafe {
        let header = raw::Cell::<B, H>::emplace(memory, body, extra, id, spawned_at, (pinned, priority));
        (Runnable(header), TaskHandle::new(header))
    }
}

/// What became of a task that was run.
#[must_use]
pub enum Ran {
    /// It waits; a wake-up will queue it.
    Idle,
    /// It was woken while it ran: queue it.
    Woken(Runnable),
    /// It asked to go behind everything else: queue it last.
    Yielded(Runnable),
    /// It is over.
    Done,
}
