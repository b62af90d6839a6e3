//! What belongs to a strand beside its stack, and the one way in which it waits.
//!
//! * **S1** A seat lies at the upper end of the strand's stack (`berth.rs`), is there as long as that is, and is used on the
//!   strand's home thread only; if it roams, on the thread that runs it.
//! * **S2** `waker` is that of the poll that resumed the stack; `yielder` is the stack's own. Both are there while it runs.
//! * **S3** A wait throws only where the strand does not unwind already: a second throw would end the process. Whether it does,
//!   `thread::panicking` knows, unless another stack of this thread is suspended in the middle of unwinding (`unwinding.rs`): then
//!   it says yes for all of them, and what counts is what was known of this one before, and which panics began on it since: our own
//!   throws, and those that the panic hook tells of. That some code has caught one since is not seen then: the strand is spared
//!   until nobody unwinds elsewhere.

use super::{Interrupted, Spans, nursery, unwinding};
use crate::context;
use crate::fork::{self, Fork};
use crate::local::Locals;
use crate::runtime::{Handle, complain};
use crate::sched::worker::Worker;
use crate::thread::Holds;
use crate::wait::HandlerStack;
use corosensei::Yielder;
use ropewalk_core::task::{Header, Orders};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;
use std::ptr::{NonNull, null};
use std::sync::Once;
use std::task::{Context, Poll, Waker};

/// What a stack of execution has on it that others on this thread must not see: in the strand, or in the worker's frame if
/// what runs is not a strand.
pub(crate) struct Belongings {
    pub(crate) handlers: HandlerStack,
    pub(crate) locals: Locals,
    pub(crate) holds: Holds,
    /// The nurseries around what runs, and how many shields.
    pub(crate) nurseries: nursery::Chain,
    pub(crate) shields: Cell<u32>,
    /// When it was spared last (`unwinding.rs`).
    spared: Cell<u64>,
}

impl Default for Belongings {
    fn default() -> Self {
        Self::new()
    }
}

impl Belongings {
    const fn new() -> Self {
        Self {
            handlers: HandlerStack::new(),
            locals: Locals::new(),
            holds: Holds::new(),
            nurseries: nursery::Chain::new(),
            shields: Cell::new(0),
            spared: Cell::new(0),
        }
    }

    /// Those of what runs here.
    pub(crate) fn here<R>(f: impl FnOnce(&Self) -> R) -> R {
        // Nothing to drop, so it is there until the thread has ended. (Guards are counted on workers only.)
        thread_local!(static OF_THREAD: ManuallyDrop<Belongings> = const { ManuallyDrop::new(Belongings::new()) });
        context::with_worker(|worker| match worker {
            Some(worker) => f(worker.frame.own()),
            None => OF_THREAD.with(|own| f(own)),
        })
    }

    /// Whether a nursery around what runs here has failed, and may interrupt it.
    fn has_failed(&self, waker: &Waker) -> bool {
        !self.nurseries.is_empty() && self.shields.get() == 0 && self.nurseries.poll_failed(waker)
    }

    pub(crate) fn take(&self) -> Self {
        Self {
            handlers: self.handlers.take(),
            locals: self.locals.take(),
            holds: self.holds.take(),
            nurseries: self.nurseries.take(),
            shields: Cell::new(self.shields.take()),
            spared: Cell::new(self.spared.take()),
        }
    }

    pub(crate) fn set(&self, other: Self) {
        self.handlers.set(other.handlers);
        self.locals.set(other.locals);
        self.holds.set(other.holds);
        self.nurseries.set(other.nurseries);
        self.shields.set(other.shields.get());
        self.spared.set(other.spared.get());
    }
}

/// See the head of this file.
pub(crate) struct Seat {
    pub(crate) own: Belongings,
    /// The runtimes it has entered, while it is suspended; mostly none.
    entered: Cell<Option<Box<[Handle]>>>,
    /// The spans it has entered, while it is suspended.
    spans: Cell<Spans>,
    yielder: Cell<*const Yielder<(), ()>>,
    waker: Cell<*const Waker>,
    /// What the poll that resumed the stack was told, as far as it has not heard that yet.
    orders: Cell<Orders>,
    /// Waits under way on its stack: one may be inside the poll of another.
    waits: Cell<u32>,
    /// It unwinds, as far as is known (S3).
    unwinding: Cell<bool>,
    /// What it forks with, since it first did.
    fork: Cell<Option<NonNull<Fork>>>,
    stack_size: usize,
    /// It may be on another thread after a wait.
    roams: bool,
}

/// How a wait meets an interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It unwinds.
    Open,
    /// It goes on: others rely on it.
    Shielded,
}

impl Seat {
    pub(super) fn new(stack_size: usize, roams: bool) -> Self {
        Self {
            own: Belongings::new(),
            entered: Cell::default(),
            spans: Cell::default(),
            yielder: Cell::new(null()),
            waker: Cell::new(null()),
            orders: Cell::new(Orders::NONE),
            waits: Cell::new(0),
            unwinding: Cell::new(false),
            fork: Cell::new(None),
            stack_size,
            roams,
        }
    }

    /// Whether it may be on another thread after a wait.
    #[inline(always)]
    pub(crate) fn roams(&self) -> bool {
        cfg!(feature = "roaming") && self.roams
    }

    /// How many bytes its stack has.
    pub(crate) fn stack_size(&self) -> usize {
        self.stack_size
    }

    #[inline(always)]
    pub(crate) fn fork(&self) -> Option<NonNull<Fork>> {
        self.fork.get()
    }

    pub(crate) fn set_fork(&self, fork: Option<NonNull<Fork>>) {
        self.fork.set(fork);
    }

    /// It will not fork for a while: others may have all that it could share.
    #[inline(always)]
    pub(crate) fn open_up(&self) {
        if self.fork.get().is_some() {
            self.open_deque();
        }
    }

    #[cold]
    fn open_deque(&self) {
        context::with_worker(|worker| fork::open_up(worker.expect("strands run on workers"), self));
    }

    pub(super) fn set_yielder(&self, yielder: &Yielder<(), ()>) {
        self.yielder.set(yielder);
    }

    /// Makes the worker's frame the strand's until the answer is dropped. (The poll that resumes it has entered no runtime.)
    #[inline(always)]
    pub(super) fn enter<'a>(
        &'a self,
        worker: &'a Worker,
        cx: &Context<'_>,
        orders: Orders,
    ) -> impl Drop + use<'a> {
        struct Leave<'a>(&'a Seat, &'a Worker, Option<NonNull<Seat>>);
        impl Drop for Leave<'_> {
            #[inline]
            fn drop(&mut self) {
                self.1.frame.strand.set(self.2);
                if context::has_entered_at_loop() {
                    self.0.take_along();
                }
                self.0.spans.set(Spans::leave());
            }
        }
        self.spans.take().enter(); // a subscriber is called, which might wait: before this is the strand, and after
        self.waker.set(cx.waker());
        self.orders.set(orders);
        let standing_by = worker.frame.strand.replace(Some(NonNull::from(self)));
        if let Some(entered) = self.entered.take() {
            context::come_back(entered.into_vec());
        }
        Leave(self, worker, standing_by)
    }

    #[cold]
    fn take_along(&self) {
        self.entered.set(Some(context::go_away().into_boxed_slice()));
    }

    /// The waker of the poll that is under way: a copy, because what is polled with it may itself wait, and then goes on in
    /// another poll. Never dropped, for the task is alive while its stack runs (T3).
    #[inline]
    fn waker(&self) -> ManuallyDrop<Waker> {
        // SAFETY: S2.
        ManuallyDrop::new(unsafe { self.waker.get().read() })
    }

    // ---- waiting: all of it in the caller's own frame ----------------------------------------------------------
    //
    // A processor predicts where a function returns to by the calls it has seen. Those of the strand were seen before others ran:
    // each function that is left between being resumed and the next call costs some 13 ns. So the switch is inlined.

    /// Suspends the strand until `attempt` is ready. If it is interrupted, it unwinds instead.
    #[inline(always)]
    pub(crate) fn wait<R>(&self, manner: Manner, mut attempt: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
        if self.roams() {
            return self.wait_roaming(manner, attempt);
        }
        let outer = self.waits.replace(self.waits.get() + 1);
        let mut suspended = false;
        loop {
            let waker = self.waker();
            if let Poll::Ready(value) = attempt(&mut Context::from_waker(&waker)) {
                self.waits.set(outer);
                if suspended && outer > 0 {
                    waker.wake_by_ref(); // it may have been the outer wait's wake-up that resumed this one
                }
                return value;
            }
            suspended = true;
            self.throw_if_interrupted(manner);
            self.suspend();
            self.heed(manner);
        }
    }

    /// The same for one that roams: what is polled is apart from what is suspended (TL1).
    #[inline(never)]
    fn wait_roaming<R>(&self, manner: Manner, mut attempt: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
        #[inline(never)]
        fn poll<R>(attempt: &mut impl FnMut(&mut Context<'_>) -> Poll<R>, waker: &Waker) -> Poll<R> {
            attempt(&mut Context::from_waker(waker))
        }
        let outer = self.waits.replace(self.waits.get() + 1);
        let mut suspended = false;
        loop {
            if let Poll::Ready(value) = poll(&mut attempt, &self.waker()) {
                self.waits.set(outer);
                if suspended && outer > 0 {
                    self.waker().wake_by_ref(); // as in `wait`
                }
                return value;
            }
            suspended = true;
            self.throw_if_interrupted(manner);
            self.suspend();
            self.heed(manner);
        }
    }

    /// Lets everything else that can run on this worker go first.
    #[inline(always)]
    pub(super) fn yield_now(&self, worker: &Worker) {
        self.throw_if_interrupted(Manner::Open);
        worker.frame.yielded.set(true);
        self.suspend();
        self.heed(Manner::Open);
    }

    #[inline(always)]
    fn suspend(&self) {
        if self.roams() {
            stay_if_panicking();
        }
        self.open_up();
        if self.is_unwinding() {
            return self.suspend_unwinding();
        }
        // SAFETY: S2.
        unsafe { (*self.yielder.get()).suspend(()) };
    }

    #[cold]
    #[inline(never)] // it counts by thread
    fn suspend_unwinding(&self) {
        // SAFETY: S2.
        unwinding::apart(true, || unsafe { (*self.yielder.get()).suspend(()) });
    }

    /// Unwinds, if it was cancelled or a nursery around it has failed, and it may (S3).
    #[inline(always)]
    fn throw_if_interrupted(&self, manner: Manner) {
        if self.orders.get().any() || !self.own.nurseries.is_empty() {
            self.throw(manner);
        }
    }

    /// The same after it was suspended. (Nurseries were asked before, and are asked again before the next time.)
    #[inline(always)]
    fn heed(&self, manner: Manner) {
        if self.orders.get().any() {
            self.heed_orders(manner);
        }
    }

    #[cold]
    fn heed_orders(&self, manner: Manner) {
        if self.is_cancelled() {
            self.throw(manner);
        } else {
            self.answer();
        }
    }

    /// Says where it is, because somebody wants to know: it does so wherever it could be interrupted.
    #[cold]
    fn answer(&self) {
        self.orders.set(self.orders.get().answered());
        context::with_worker(|worker| {
            let Some((worker, task)) = worker.and_then(|worker| Some((worker, worker.frame.current.get()?)))
            else {
                return;
            };
            // First it is heard, then answered (`dump/traces.rs`, DT1).
            // SAFETY: the current task is alive while it runs.
            let id = unsafe {
                Header::answer(task);
                Header::id(task)
            };
            worker.pool.runtime.traces.answer(id);
        });
    }

    #[cold]
    fn throw(&self, manner: Manner) {
        if self.orders.get().is_asked() {
            self.answer();
        }
        let is_interrupted = || self.is_cancelled() || self.own.nurseries.poll_failed(&self.waker());
        if manner == Manner::Shielded || !is_interrupted() || self.own.shields.get() > 0 {
            return;
        }
        if cfg!(panic = "abort") {
            return cannot_interrupt();
        }
        if !self.is_unwinding() {
            self.unwinding.set(true);
            resume_unwind(Box::new(Interrupted));
        }
        unwinding::wake_later(&self.waker(), &self.own.spared);
    }

    /// Whether an open wait of it, here and now, would unwind; if not, `waker` is called should a nursery fail.
    fn would_throw(&self, worker: &Worker, waker: &Waker) -> bool {
        // It may not have been polled since it was cancelled.
        // SAFETY: the current task is alive while it runs.
        let is_cancelled =
            || worker.frame.current.get().is_some_and(|task| unsafe { Header::is_cancelled(task) });
        let is_interrupted =
            || self.is_cancelled() || is_cancelled() || self.own.nurseries.poll_failed(waker);
        if self.own.shields.get() > 0 || !is_interrupted() {
            return false;
        }
        if self.is_unwinding() {
            unwinding::wake_later(waker, &self.own.spared);
            return false;
        }
        true
    }

    /// Whether it unwinds (S3).
    #[inline(always)]
    pub(super) fn is_unwinding(&self) -> bool {
        if let Some(certain) = unwinding::is_certain() {
            self.unwinding.set(certain);
        }
        self.unwinding.get()
    }

    /// A panic begins on it, or was caught by us.
    pub(super) fn set_unwinding(&self, unwinding: bool) {
        self.unwinding.set(unwinding);
    }

    /// It waits. Whether it may do so without being suspended, while another runs: not if it is to be interrupted, or to wait in
    /// another way, or if the other could not tell who unwinds.
    #[inline]
    pub(crate) fn may_stand_by(&self) -> bool {
        self.own.holds.refuse_to_wait();
        !self.orders.get().any() && self.own.handlers.is_empty() && !self.is_unwinding()
    }

    /// It does so while `f` runs the other. What is done for that one outside of its own stack (its function is dropped unrun, a waker
    /// of somebody else is called) is done on this one, which is not interrupted meanwhile.
    #[inline]
    pub(crate) fn stand_by<R>(&self, f: impl FnOnce() -> R) -> R {
        self.own.shields.set(self.own.shields.get() + 1);
        let spans = Spans::leave();
        let result = f();
        spans.enter();
        self.own.shields.set(self.own.shields.get() - 1);
        result
    }

    /// Whether it was cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.orders.get().is_cancelled()
    }
}

/// The strand that runs here, and roams, is about to be suspended: if it unwinds, it stays (RO2). If only another one does, on this thread,
/// it cannot tell, and stays, too.
#[inline(never)]
fn stay_if_panicking() {
    if std::thread::panicking() {
        context::with_worker(|worker| worker.into_iter().for_each(Worker::keep_strand));
    }
}

/// Says so, once.
fn cannot_interrupt() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        complain(format_args!(
            "this program was built with panic = \"abort\": a strand that is cancelled cannot be interrupted and goes on; \
             strand::is_cancelled tells it"
        ));
    });
}

/// What a plain thread, or a task's stack, waits with: the same rule for nurseries.
pub(crate) fn interrupt_if_failed(waker: &Waker) {
    let failed = Belongings::here(|own| own.has_failed(waker));
    if failed && cfg!(panic = "abort") {
        return cannot_interrupt();
    }
    if failed {
        match unwinding::is_certain() {
            Some(true) => {}
            Some(false) => resume_unwind(Box::new(Interrupted)),
            None => Belongings::here(|own| unwinding::wake_later(waker, &own.spared)),
        }
    }
}

/// Whether something could interrupt what waits here: it is a strand, or in a nursery.
pub(crate) fn may_be_interrupted() -> bool {
    super::with_seat(|_, _| ()).is_some() || Belongings::here(|own| !own.nurseries.is_empty())
}

/// Whether a wait that is begun here would unwind, whatever this is; if not, `waker` is called should a nursery fail. (A strand that is
/// cancelled is woken anyhow.)
pub(crate) fn is_interrupted(waker: &Waker) -> bool {
    if cfg!(panic = "abort") {
        return false;
    }
    let of_strand = super::with_seat(|worker, seat| seat.would_throw(worker, waker));
    of_strand.unwrap_or_else(|| {
        Belongings::here(|own| own.has_failed(waker)) && unwinding::is_certain() == Some(false)
    })
}
