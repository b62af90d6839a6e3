//! The task cell: header, vtable and layout, and the one function that runs a task.
//!
//! ```text
//!  ┌ Header (40 bytes) ───────────────────────────────┬ extra ─────────┬ stage ──────────────────────┐
//!  │ state │ vtable │ spawn place │ join word │ id    │ Host::Extra    │ body, then output or panic  │
//!  └───────┴────────┴─────────────┴───────────┴───────┴────────────────┴─────────────────────────────┘
//! ```
//!
//! The stage holds no tag: before the end it is the body (T2), afterwards what the outcome says: in the state word while
//! the task waits for its children (T6), in the join word when it is published.

use super::join::JoinWord;
use super::outcome::{Outcome, PanicInfo, drop_payload};
use super::state::{Dropped, HandleGone, Snapshot, State, Woken};
use super::{Body, Ended, Host, Orders, Ran, Runnable, TaskId, TaskRef, owed, waker};
use crate::blocked::Reason;
use crate::deadlock::WakerCount;
use crate::prefetch;
use crate::prim::UnsafeCell;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::any::Any;
use core::cell::Cell as LocalCell;
use core::mem::ManuallyDrop;
use core::panic::Location;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

/// What every task has, whatever it runs. Opaque outside of this module. (Aligned for the tags of the join word.)
#[repr(C, align(8))]
pub struct Header {
    pub(super) state: State,
    pub(super) vtable: &'static Vtable,
    pub(super) spawned_at: &'static Location<'static>,
    pub(super) join: JoinWord,
    pub(super) id: TaskId,
    /// Has no size without the feature `deadlock_detection`.
    pub(super) wakers: WakerCount,
}

/// What differs between bodies and hosts.
pub(super) struct Vtable {
    /// Runs the `Runnable`. The flag: the body asked to go to the back of the queue.
    pub(super) run: unsafe fn(NonNull<Header>, &LocalCell<bool>) -> Ran,
    /// Drops the body unrun; the `Runnable` was given up.
    pub(super) discard: unsafe fn(NonNull<Header>),
    /// The same, because there is no thread to run it on.
    pub(super) refuse: unsafe fn(NonNull<Header>),
    /// It was cancelled and may be in a queue.
    pub(super) withdraw: unsafe fn(NonNull<Header>),
    pub(super) schedule: unsafe fn(Runnable),
    pub(super) wake_by_val: unsafe fn(NonNull<Header>),
    /// Moves the output, or the panic, to the pointer's target.
    pub(super) take: unsafe fn(NonNull<Header>, *mut ()),
    /// Drops an output that nobody takes.
    pub(super) drop_output: unsafe fn(NonNull<Header>, Outcome),
    pub(super) dropped: unsafe fn(NonNull<Header>, Dropped),
    /// Whether the task that runs on this thread must not wait for this one; see [`Host::refuses_wait`].
    pub(super) refuses_wait: unsafe fn(NonNull<Header>) -> bool,
    pub(super) name: unsafe fn(NonNull<Header>) -> Option<NonNull<str>>,
    #[cfg(feature = "waker_hooks")]
    pub(super) waker: unsafe fn(NonNull<Header>, super::WakerOp),
    /// Bytes of the cell.
    pub(super) size: usize,
    pub(super) extra: usize,
    pub(super) kind: u8,
    pub(super) reason: Reason,
}

#[repr(C)]
pub(super) struct Cell<B: Body, H: Host> {
    header: Header,
    extra: H::Extra,
    stage: UnsafeCell<Stage<B>>,
}

/// The body until it ends, then what it left. Which one is known from state and join word.
union Stage<B: Body> {
    body: ManuallyDrop<B>,
    output: ManuallyDrop<B::Output>,
    panic: ManuallyDrop<PanicInfo>,
}

/// How a poll ended, panics included.
enum Polled<T> {
    Pending,
    Ready(T),
    Panicked(Box<dyn Any + Send>),
}

impl<B: Body, H: Host> Cell<B, H> {
    pub(super) const LAYOUT: Layout = Layout::new::<Self>();

    const VTABLE: Vtable = Vtable {
        run: run::<B, H>,
        discard: discard::<B, H>,
        refuse: refuse::<B, H>,
        withdraw: |task| H::withdraw(task),
        schedule: |task| H::schedule(task),
        wake_by_val: wake_by_val::<H>,
        take: take::<B, H>,
        drop_output: drop_output::<B, H>,
        dropped: dropped::<B, H>,
        refuses_wait: |task| H::refuses_wait(task),
        name: name::<B, H>,
        #[cfg(feature = "waker_hooks")]
        waker: |task, what| H::waker(task, what),
        size: size_of::<Self>(),
        extra: core::mem::offset_of!(Self, extra),
        kind: H::KIND,
        reason: H::REASON,
    };

    /// Writes a new task into `memory`.
    ///
    /// # Safety
    /// `memory` is valid for `LAYOUT` and nobody else reads it, except walkers that read the state word after finding
    /// the cell by the host's own means (the state word is written last).
    pub(super) unsafe fn emplace(
        memory: NonNull<u8>,
        body: B,
        extra: H::Extra,
        id: TaskId,
        spawned_at: &'static Location<'static>,
        (pinned, priority): (bool, u8),
    ) -> NonNull<Header> {
        let cell = memory.cast::<Self>().as_ptr();
        // SAFETY: the caller gives us the memory. Fields are written in place so that the body is moved once.
        unsafe {
            let vtable: &'static Vtable = &const { Self::VTABLE };
            (&raw mut (*cell).stage).write(UnsafeCell::new(Stage { body: ManuallyDrop::new(body) }));
            (&raw mut (*cell).extra).write(extra);
            (&raw mut (*cell).header.vtable).write(vtable);
            (&raw mut (*cell).header.spawned_at).write(spawned_at);
            (&raw mut (*cell).header.join).write(JoinWord::new());
            (&raw mut (*cell).header.id).write(id);
            (&raw mut (*cell).header.wakers).write(WakerCount::new());
            State::publish(&raw mut (*cell).header.state, H::SHOWS_START, pinned, priority);
        }
        memory.cast()
    }

    /// # Safety
    /// `header` belongs to a live `Cell<B, H>`.
    unsafe fn of<'a>(header: NonNull<Header>) -> &'a Self {
        // SAFETY: the header is the cell's first field (repr(C)).
        unsafe { header.cast::<Self>().as_ref() }
    }

    /// Polls the body, and drops it if it is done. The caller holds RUNNING (T2).
    fn poll(&self, this: NonNull<Header>, orders: Orders) -> Polled<B::Output> {
        // SAFETY: T3: the task is not COMPLETE while it runs, so the pointer outlives this borrowed waker.
        let waker = unsafe { waker::borrowed(this) };
        let mut cx = Context::from_waker(&waker);
        let mut ready = None;
        let caught = catch(|| {
            self.stage.with_mut(|stage| {
                // SAFETY: T2: the body is ours; it never moves (the cell is its pinned home until it is dropped).
                let body = unsafe { Pin::new_unchecked(&mut *(*stage).body) };
                if let Poll::Ready(value) = body.poll(&mut cx, orders) {
                    ready = Some(value);
                    // SAFETY: T2, and it is not touched again: `ready` says so if its destructor unwinds.
                    unsafe { ManuallyDrop::drop(&mut (*stage).body) };
                }
            })
        });
        // The first panic is the one that counts (an interruption is none); a second must not unwind into the worker.
        match (caught, ready) {
            (Ok(()), None) => Polled::Pending,
            (Ok(()), Some(value)) => Polled::Ready(value),
            (Err(payload), Some(value)) => {
                if let Err(second) = catch(|| drop(value)) {
                    drop_payload(second);
                }
                Polled::Panicked(payload)
            }
            (Err(payload), None) => match self.drop_body() {
                Err(second) if B::is_interruption(&*payload) => Polled::Panicked(second),
                Err(second) => {
                    drop_payload(second);
                    Polled::Panicked(payload)
                }
                Ok(()) => Polled::Panicked(payload),
            },
        }
    }

    /// Whether the body was polled before. The caller holds RUNNING (T2).
    fn is_started(&self) -> bool {
        // SAFETY: T2: the body is ours, and there until it ends.
        self.stage.with(|stage| unsafe { &*(*stage).body }.is_started())
    }

    /// Drops the body; a panic of its destructor is the answer. The caller holds RUNNING (T2).
    fn drop_body(&self) -> Result<(), Box<dyn Any + Send>> {
        // SAFETY: T2, and the caller goes on to `finish`, which never touches the body again.
        catch(|| self.stage.with_mut(|stage| unsafe { ManuallyDrop::drop(&mut (*stage).body) }))
    }

    /// Cancels it: drops the body and ends the task. The caller holds RUNNING.
    fn stop(&self, this: NonNull<Header>, why: Snapshot) -> Ran {
        let end = self.drop_body().map_or_else(End::Panicked, |()| End::Cancelled(why));
        self.finish(this, Err(end))
    }

    /// The body is over and dropped: stores what is left of it and ends the task. The caller holds RUNNING.
    fn finish(&self, this: NonNull<Header>, end: Result<B::Output, End>) -> Ran {
        let header = &self.header;
        let outcome = match &end {
            Ok(_) => Outcome::Value,
            Err(End::Cancelled(why)) if why.is_shutdown() => Outcome::Shutdown,
            Err(End::Cancelled(_)) => Outcome::Cancelled,
            Err(End::Panicked(_)) => Outcome::Panicked,
            Err(End::NoThread) => Outcome::NoThread,
        };
        self.stage.with_mut(|stage| match end {
            // SAFETY: T2: the stage is ours, and the body in it is gone.
            Ok(value) => unsafe { (*stage).output = ManuallyDrop::new(value) },
            Err(End::Panicked(payload)) => {
                let info =
                    PanicInfo::new(payload, (H::NOUN, header.id), H::name(&self.extra), header.spawned_at);
                // SAFETY: as above.
                unsafe { (*stage).panic = ManuallyDrop::new(info) }
            }
            Err(End::Cancelled(_) | End::NoThread) => {}
        });
        self.settle(this, outcome)
    }

    /// Ends a task whose stage holds `outcome`, or holds it back while it has children. The caller holds RUNNING.
    fn settle(&self, this: NonNull<Header>, mut outcome: Outcome) -> Ran {
        let mut now = self.header.state.load();
        if !now.has_handle() && self.leaves_something(outcome) {
            // SAFETY: T4: there is no handle that could take the output, so it is ours to drop. It may have children yet.
            unsafe { drop_output::<B, H>(this, outcome) };
            outcome = Outcome::Cancelled;
            now = self.header.state.load();
        }
        if now.is_parent() && !H::may_end(this) {
            let again = self.header.state.hold(outcome, now.has_handle());
            return if again { Ran::Woken(Runnable(this)) } else { Ran::Idle };
        }
        self.publish(this, outcome, now.has_handle());
        Ran::Done
    }

    /// Whether dropping what is in the stage does anything.
    fn leaves_something(&self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Value => core::mem::needs_drop::<B::Output>(),
            Outcome::Panicked => true,
            Outcome::Cancelled | Outcome::Shutdown | Outcome::NoThread => false,
        }
    }

    /// Tells the joiner and frees the cell if nobody else holds it. Until the task is COMPLETE it is the current one, also
    /// for what the waiter's waker does.
    fn publish(&self, this: NonNull<Header>, outcome: Outcome, handle: bool) {
        let header = &self.header;
        let said = if H::TELLS_OF_END { self.panic_text(outcome) } else { None };
        let waiter = if handle { header.join.finish(outcome) } else { None };
        let leaves = if H::TELLS_OF_END {
            let leaves_nothing = !self.leaves_something(outcome);
            H::ended(this, Ended { failed: outcome != Outcome::Value, panic: said, leaves_nothing })
        } else {
            None
        };
        if let Some(waiter) = waiter {
            H::will_wake(this);
            // A foreign waker may panic; the worker that runs us must not pay for it.
            if let Err(payload) = catch(|| waiter.wake()) {
                drop_payload(payload);
            }
        }
        let last = match header.state.finish_if(handle) {
            Ok(last) => last,
            Err(HandleGone) => {
                // SAFETY: T4: there is no handle that could take the output, so it is ours to drop.
                unsafe { drop_output::<B, H>(this, outcome) };
                header.state.finish()
            }
        };
        if last != Dropped::Alive {
            // SAFETY: T3: `last` is what the state word said about this cell; it is not touched afterwards.
            unsafe { dropped::<B, H>(this, last) };
        }
        if let Some(whom) = leaves {
            // SAFETY: once, with that answer.
            unsafe { H::left(whom) };
        }
    }

    /// What is said of a panic in the stage, which is not published yet.
    fn panic_text(&self, outcome: Outcome) -> Option<alloc::string::String> {
        // SAFETY: the caller holds RUNNING, and the outcome says what the stage holds.
        let text =
            || self.stage.with(|stage| alloc::string::ToString::to_string(unsafe { &*(*stage).panic }));
        (outcome == Outcome::Panicked).then(text)
    }
}

/// An end without a value.
enum End {
    Cancelled(Snapshot),
    Panicked(Box<dyn Any + Send>),
    NoThread,
}

/// Runs a task once: the only way its body is polled.
///
/// # Safety
/// The caller owns the `Runnable` of `header` (T1) and passes it on to us.
unsafe fn run<B: Body, H: Host>(header: NonNull<Header>, yielded: &LocalCell<bool>) -> Ran {
    // SAFETY: T3: a scheduled task is not COMPLETE, so the cell is alive.
    let cell = unsafe { Cell::<B, H>::of(header) };
    let state = &cell.header.state;
    let before = state.start();
    if before.is_stopped() {
        if let Some(outcome) = before.held() {
            return cell.settle(header, outcome);
        }
        if !B::CANCELLED_BY_POLL || !cell.is_started() {
            return cell.stop(header, before);
        }
    }
    H::poll_begins(header);
    owed::begin(header);
    let polled = cell.poll(header, before.orders());
    let owed = owed::end(header);
    H::poll_ends(header, yielded.get());
    // However the poll ended: the flag must not reach the next task.
    let yielded = yielded.replace(false);
    match polled {
        Polled::Pending => {}
        Polled::Ready(value) => {
            state.pay(owed);
            return cell.finish(header, Ok(value));
        }
        Polled::Panicked(payload) => {
            state.pay(owed);
            let end = if B::is_interruption(&*payload) {
                End::Cancelled(state.load())
            } else {
                End::Panicked(payload)
            };
            return cell.finish(header, Err(end));
        }
    }
    let now = state.load();
    if now.is_cancelled() && !B::CANCELLED_BY_POLL {
        state.pay(owed);
        return cell.stop(header, now);
    }
    if yielded {
        state.pay(owed);
        return Ran::Yielded(Runnable(header));
    }
    let before = state.suspend(owed);
    if before.is_scheduled() {
        return Ran::Woken(Runnable(header));
    }
    if !H::FINDS_TASKS && before.refs() == 0 {
        // SAFETY: idle without references: nobody else can reach the cell.
        unsafe { dropped::<B, H>(header, Dropped::Unreachable) };
    }
    Ran::Idle
}

/// # Safety
/// As for [`run`].
unsafe fn discard<B: Body, H: Host>(header: NonNull<Header>) {
    // SAFETY: as in `run`.
    let cell = unsafe { Cell::<B, H>::of(header) };
    let before = cell.header.state.start();
    let ran = match before.held() {
        Some(outcome) => cell.settle(header, outcome),
        None => cell.stop(header, before),
    };
    reschedule(ran);
}

/// A task that was dropped unrun waits for its children, and was woken meanwhile.
fn reschedule(ran: Ran) {
    if let Ran::Woken(again) = ran {
        again.schedule();
    }
}

/// # Safety
/// As for [`run`].
unsafe fn refuse<B: Body, H: Host>(header: NonNull<Header>) {
    // SAFETY: as in `run`.
    let cell = unsafe { Cell::<B, H>::of(header) };
    let before = cell.header.state.start();
    let ran = match before.held() {
        Some(outcome) => cell.settle(header, outcome),
        None => cell.finish(header, Err(cell.drop_body().map_or_else(End::Panicked, |()| End::NoThread))),
    };
    reschedule(ran);
}

/// # Safety
/// The caller owns one reference to the task and gives it up.
unsafe fn wake_by_val<H: Host>(header: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the cell alive.
    let state = unsafe { &header.as_ref().state };
    if !H::keeps_itself_alive(header) {
        // The host is only sure to live as long as the reference does: drop it last.
        let task = TaskRef(header);
        task.wake_untold();
        return;
    }
    match state.wake_and_drop() {
        Woken::Submit => {
            let woken = Runnable(header);
            // SAFETY: the `Runnable` is ours and not run, so the task is not complete, and the cell stays (T1, T3).
            prefetch::ends(header.as_ptr(), unsafe { header.as_ref() }.vtable.size);
            H::schedule(woken);
        }
        Woken::Nothing => {}
        // SAFETY: T3: ours was the last reference.
        Woken::Free => unsafe { (header.as_ref().vtable.dropped)(header, Dropped::Free) },
    }
}

/// # Safety
/// The join word says `Done(Value)` (the target takes a `B::Output`) or `Done(Panicked)` (a `PanicInfo`), the caller is
/// the handle (T4), and it does this once.
unsafe fn take<B: Body, H: Host>(header: NonNull<Header>, target: *mut ()) {
    // SAFETY: the handle's reference keeps the cell alive.
    let cell = unsafe { Cell::<B, H>::of(header) };
    cell.stage.with(|stage| match cell.header.join.done() {
        // SAFETY: J2, T4: the output was published to the handle, which is the caller.
        Some(Outcome::Panicked) => unsafe {
            target.cast::<PanicInfo>().write(core::ptr::read(&*(*stage).panic))
        },
        // SAFETY: as above.
        _ => unsafe { target.cast::<B::Output>().write(core::ptr::read(&*(*stage).output)) },
    });
}

/// # Safety
/// The caller owns the output (T4) and never touches it again.
unsafe fn drop_output<B: Body, H: Host>(header: NonNull<Header>, outcome: Outcome) {
    // SAFETY: the caller keeps the cell alive.
    let cell = unsafe { Cell::<B, H>::of(header) };
    cell.stage.with_mut(|stage| match outcome {
        Outcome::Value if !core::mem::needs_drop::<B::Output>() => {}
        Outcome::Value => {
            // SAFETY: the caller owns the output.
            if let Err(payload) = catch(|| unsafe { ManuallyDrop::drop(&mut (*stage).output) }) {
                H::unhandled(
                    header,
                    PanicInfo::new(
                        payload,
                        (H::NOUN, cell.header.id),
                        H::name(&cell.extra),
                        cell.header.spawned_at,
                    ),
                );
            }
        }
        // SAFETY: the caller owns the output. A panic nobody took is never silent.
        Outcome::Panicked => H::unhandled(header, unsafe { ManuallyDrop::take(&mut (*stage).panic) }),
        Outcome::Cancelled | Outcome::Shutdown | Outcome::NoThread => {}
    });
}

/// Acts on what the state word said when a reference was dropped.
///
/// # Safety
/// `what` is the answer to the caller's own operation on this cell, and the caller does not touch the cell again.
unsafe fn dropped<B: Body, H: Host>(header: NonNull<Header>, what: Dropped) {
    match what {
        Dropped::Alive => {}
        // SAFETY: T3: we are the one to free it. Body and output are gone.
        Dropped::Free => unsafe {
            let cell = header.cast::<Cell<B, H>>();
            core::ptr::drop_in_place(&raw mut (*cell.as_ptr()).extra);
            H::dealloc(header, Cell::<B, H>::LAYOUT);
        },
        Dropped::Unreachable if H::FINDS_TASKS => {}
        Dropped::Unreachable => {
            // SAFETY: idle and without references, so nobody else can reach the cell.
            unsafe { header.as_ref() }.state.claim_unreachable();
            H::schedule(Runnable(header));
        }
    }
}

/// # Safety
/// The caller keeps the cell alive.
unsafe fn name<B: Body, H: Host>(header: NonNull<Header>) -> Option<NonNull<str>> {
    // SAFETY: passed on to the caller.
    H::name(&unsafe { Cell::<B, H>::of(header) }.extra).map(NonNull::from)
}

/// Runs user code; with `std`, a panic is an answer. Without, it unwinds (or aborts) as the platform does.
pub(super) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    #[cfg(feature = "std")]
    return std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
    #[cfg(not(feature = "std"))]
    Ok(f())
}
