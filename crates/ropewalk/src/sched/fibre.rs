//! The stacks a worker runs its loop on.
//!
//! The thread's own stack only switches between fibres (`trampoline`). A fibre runs the worker's loop; when something
//! polled there waits, the fibre is *parked* in the middle of that poll, and the loop goes on on another one. What wakes
//! it is its *ticket*: a pinned task whose poll asks for the switch.
//!
//! ```text
//!   thread's stack   trampoline ──resume──▶ fibre 1: loop → poll → wait ──Parked──▶ trampoline
//!                               ──resume──▶ fibre 2: loop → … → ticket 1: "switch to 1" ──Top──▶ trampoline
//!                               ──resume──▶ fibre 1: … wait returns → poll ends → loop
//! ```
//!
//! * **F1** All fibres of a worker run on one thread, one at a time; a fibre with anything but the loop's own frame on it
//!   is never resumed on another thread.
//! * **F2** A fibre's stack is freed only after its function returned. Fibres still parked when a worker must leave are
//!   leaked with what they hold.

use super::host::{Order, Ticket, make};
use super::reasons;
#[cfg(feature = "tokio-console")]
use super::span::TaskSpan;
use super::worker::Worker;
use crate::strand::unwinding::apart;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use ropewalk_core::task::{Async, Header, TaskRef};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::ptr::NonNull;
use std::task::Poll;

pub(crate) type Stack = DefaultStack;
type Routine = Coroutine<(), Left, (), Stack>;

/// How many fibres a worker keeps for waits to come.
const SPARE_FIBRES: usize = 16;

/// Why a fibre gave the thread back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// In the middle of a poll; its ticket will bring it back.
    Parked,
    /// At the top of its loop.
    Top,
}

#[derive(Default)]
pub(crate) struct Fibres {
    all: RefCell<Vec<Fibre>>,
    /// Fibres at the top of their loop.
    spare: RefCell<Vec<usize>>,
    /// Indexes without a fibre.
    vacant: RefCell<Vec<usize>>,
    current: Cell<usize>,
    /// A woken fibre that waits to be switched to.
    switch: Cell<Option<usize>>,
    closing: Cell<bool>,
    /// Stacks kept for the next fibre.
    stacks: RefCell<Vec<Stack>>,
}

#[derive(Default)]
struct Fibre {
    routine: Option<Routine>,
    yielder: Cell<*const Yielder<(), Left>>,
    ticket: Option<TaskRef>,
    parked: bool,
    /// Waits under way on this stack: one may be inside the poll of another.
    waits: Cell<u32>,
}

/// A stack's first function never returns, it switches away for the last time. ThreadSanitizer counts calls and returns,
/// in one list of limited length for each thread: it is told here, where such a stack has ended.
#[inline(always)]
pub(crate) fn forget_first_frame() {
    #[cfg(tsan)]
    {
        unsafe extern "C" {
            fn __tsan_func_exit();
        }
        // SAFETY: takes one frame off that list; the one that was put on it when the stack started is among them.
        unsafe { __tsan_func_exit() };
    }
}

impl Fibres {
    /// A worker cannot start without one stack: gets it now, so that running out of memory is an error of `build`.
    pub(crate) fn first_stack(stack_size: usize) -> io::Result<Stack> {
        Stack::new(stack_size)
    }

    /// Keeps a stack for the next fibre.
    pub(crate) fn keep(&self, stack: Stack) {
        self.stacks.borrow_mut().push(stack);
    }

    /// How many there are, parked and spare.
    pub(crate) fn count(&self) -> usize {
        self.all.borrow().len()
    }

    /// Counts the waits on a fibre, and says how many there were. (A wait that unwinds is never taken off; that costs
    /// later ones a needless poll.)
    fn waits(&self, fibre: usize, by: i32) -> u32 {
        let waits = &self.all.borrow()[fibre].waits;
        waits.replace(waits.get().saturating_add_signed(by))
    }

    /// Whether a switch to a woken fibre is asked for.
    #[inline(always)]
    pub(crate) fn wants_switch(&self) -> bool {
        self.switch.get().is_some()
    }
}

impl Worker {
    /// Runs the loop on fibres until it leaves at its top; with `once`, also after a poll parked its stack.
    pub(crate) fn trampoline(&self, once: bool) {
        let fibres = &self.fibres;
        loop {
            let next = fibres.switch.take().unwrap_or_else(|| self.spare_fibre());
            match self.resume(next) {
                Some(Left::Parked) if once => return,
                Some(Left::Parked) => {}
                Some(Left::Top) => {
                    fibres.spare.borrow_mut().push(next);
                    if !fibres.wants_switch() {
                        return;
                    }
                    self.shed_spare_fibres();
                }
                None => unreachable!("a fibre returns only when the worker closes it"),
            }
        }
    }

    /// Resumes a fibre; `None`: its function returned.
    fn resume(&self, index: usize) -> Option<Left> {
        let fibres = &self.fibres;
        let mut routine = {
            let fibre = &mut fibres.all.borrow_mut()[index];
            if std::mem::take(&mut fibre.parked) {
                self.note_parked(-1);
            }
            fibre.routine.take().expect("a fibre runs in one place")
        };
        fibres.current.set(index);
        self.leave.set(self.single.get());
        match routine.resume(()) {
            CoroutineResult::Yield(left) => {
                fibres.all.borrow_mut()[index].routine = Some(routine);
                Some(left)
            }
            CoroutineResult::Return(()) => {
                forget_first_frame();
                fibres.keep(routine.into_stack());
                None
            }
        }
    }

    fn spare_fibre(&self) -> usize {
        let spare = self.fibres.spare.borrow_mut().pop();
        spare.unwrap_or_else(|| self.new_fibre())
    }

    /// # Panics
    /// If there is no memory for another stack.
    fn new_fibre(&self) -> usize {
        let fibres = &self.fibres;
        let kept = fibres.stacks.borrow_mut().pop();
        let stack = kept.unwrap_or_else(|| self.new_stack());
        let index = fibres.vacant.borrow_mut().pop().unwrap_or_else(|| {
            fibres.all.borrow_mut().push(Fibre::default());
            fibres.all.borrow().len() - 1
        });
        let worker: *const Worker = self;
        let routine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), Left>, ()| {
            // SAFETY: F1: fibres are resumed by `trampoline` and `close_fibres` of this worker only.
            let worker = unsafe { &*worker };
            worker.fibres.all.borrow()[index].yielder.set(yielder);
            while !worker.fibres.closing.get() {
                worker.work();
                yielder.suspend(Left::Top);
            }
        });
        fibres.all.borrow_mut()[index].routine = Some(routine);
        index
    }

    /// Polls `attempt` with the waker of this fibre until it is ready; while it is not, the fibre is parked.
    pub(crate) fn wait_here<R>(&self, mut attempt: impl FnMut(&mut std::task::Context<'_>) -> Poll<R>) -> R {
        let waker = self.ticket().waker();
        let mut cx = std::task::Context::from_waker(&waker);
        let fibre = self.fibres.current.get();
        let outer = self.fibres.waits(fibre, 1);
        let mut parked = false;
        let value = loop {
            if let Poll::Ready(value) = attempt(&mut cx) {
                break value;
            }
            self.park_fibre();
            parked = true;
        };
        self.fibres.waits(fibre, -1);
        if parked && outer > 0 {
            waker.wake_by_ref(); // it may have been the outer wait's wake-up that ended the parking of this one
        }
        value
    }

    /// Gives the thread to another fibre until this one's ticket was woken.
    fn park_fibre(&self) {
        self.see_to_a_stack();
        self.station.counters.waits_in_poll.bump();
        self.note_parked(1);
        let index = self.fibres.current.get();
        let yielder = {
            let fibre = &mut self.fibres.all.borrow_mut()[index];
            fibre.parked = true;
            fibre.yielder.get()
        };
        let (running, spent) = (self.put_poll_away(), self.pause_timing());
        reasons::park(true);
        let frame = self.frame.put_away();
        let task = frame.current.get();
        self.show_parked(task, true);
        #[cfg(feature = "tokio-console")]
        tell_span(task, TaskSpan::park);
        // SAFETY: F1: the yielder is the current fibre's own, alive while its function runs.
        apart(std::thread::panicking(), || unsafe { (*yielder).suspend(Left::Parked) });
        #[cfg(feature = "tokio-console")]
        tell_span(task, TaskSpan::go_on);
        self.frame.bring_back(frame);
        self.show_parked(task, false);
        reasons::park(false);
        self.resume_timing(spent);
        self.resume_poll(running);
    }

    /// Those who look see that `task`, whose stack this is, waits, or goes on here.
    fn show_parked(&self, task: Option<NonNull<Header>>, parked: bool) {
        self.set_current(if parked { None } else { task });
        if let Some(task) = task {
            // SAFETY: its poll is on this stack, so it is alive.
            unsafe { Header::set_parked(task, parked) };
        }
    }

    /// The loop goes on on another stack: gets it while there is a task that can be told if there is none.
    ///
    /// # Panics
    /// If there is no memory for it.
    fn see_to_a_stack(&self) {
        let fibres = &self.fibres;
        if fibres.spare.borrow().is_empty() && fibres.stacks.borrow().is_empty() {
            fibres.keep(self.new_stack());
        }
    }

    fn new_stack(&self) -> Stack {
        let size = self.pool.config.thread_stack_size;
        Stack::new(size)
            .unwrap_or_else(|error| panic!("ropewalk: no memory for a stack of {size} bytes: {error}"))
    }

    /// Whether this is the ticket of the current fibre.
    #[cfg(feature = "deadlock_detection")]
    pub(crate) fn is_ticket_here(&self, task: NonNull<Header>) -> bool {
        let fibre = &self.fibres.all.borrow()[self.fibres.current.get()];
        fibre.ticket.as_ref().is_some_and(|ticket| ticket.is_at(task.as_ptr()))
    }

    /// The task that stands for the current fibre; made at its first wait.
    fn ticket(&self) -> TaskRef {
        let index = self.fibres.current.get();
        if let Some(ticket) = &self.fibres.all.borrow()[index].ticket {
            return ticket.clone();
        }
        let worker: *const Worker = self;
        let body = Async(poll_fn(move |_| {
            // SAFETY: a pinned task: it runs on its home worker only, which cancels it before it leaves.
            let worker = unsafe { &*worker };
            if worker.fibres.all.borrow()[index].parked {
                worker.fibres.switch.set(Some(index));
                worker.leave.set(true);
            }
            Poll::<()>::Pending
        }));
        let order = Order::here(Ticket { home: self.index() as u16, root: false });
        // SAFETY: pinned, and dropped on this worker (`close_fibres`) at the latest.
        let (runnable, handle) = unsafe { make(&self.pool, Some(self), body, order) };
        self.reserve_pinned();
        let ticket = runnable.task();
        drop(handle);
        let _it_waits = runnable.run();
        self.fibres.all.borrow_mut()[index].ticket = Some(ticket.clone());
        ticket
    }

    /// Lets every fibre's function return. False: some are parked and stay (F2). The worker has no pinned task left.
    pub(crate) fn close_fibres(&self) -> bool {
        let fibres = &self.fibres;
        loop {
            let Some(index) = fibres.spare.borrow_mut().pop() else { break };
            let ticket = self.close_fibre(index);
            fibres.all.borrow_mut()[index].ticket = ticket;
            fibres.vacant.borrow_mut().push(index);
        }
        // Also those of fibres that were shed before.
        let over = |fibre: &mut Fibre| if fibre.parked { None } else { fibre.ticket.take() };
        let tickets: Vec<_> = fibres.all.borrow_mut().iter_mut().filter_map(over).collect();
        tickets.into_iter().for_each(|ticket| self.retract(ticket));
        fibres.all.borrow().iter().all(|fibre| !fibre.parked)
    }

    /// Lets the function of a spare fibre return.
    fn close_fibre(&self, index: usize) -> Option<TaskRef> {
        self.fibres.closing.set(true);
        assert!(self.resume(index).is_none(), "a closing fibre returns");
        self.fibres.closing.set(false);
        let fibre = &mut self.fibres.all.borrow_mut()[index];
        fibre.waits.set(0);
        fibre.ticket.take()
    }

    /// After a burst of waits: gives up stacks beyond a few. Their tickets stay, for the next fibre of that index.
    fn shed_spare_fibres(&self) {
        let fibres = &self.fibres;
        while fibres.spare.borrow().len() > SPARE_FIBRES {
            let Some(index) = fibres.spare.borrow_mut().pop() else { return };
            let ticket = self.close_fibre(index);
            fibres.all.borrow_mut()[index].ticket = ticket;
            fibres.vacant.borrow_mut().push(index);
            let _freed = fibres.stacks.borrow_mut().pop();
        }
    }

    /// Ends a ticket that nobody waits with. The waker of a wait that is over may be called just now: then the ticket is
    /// on its way to the inbox, and would stay there for ever.
    fn retract(&self, ticket: TaskRef) {
        ticket.cancel();
        loop {
            // Nothing else is pinned here: these are tickets.
            while let Some(task) = self.pop_pinned().or_else(|| self.station.inbox.pop()) {
                drop(task);
            }
            if ticket.is_finished() {
                return;
            }
            std::thread::yield_now();
        }
    }
}

/// Tells tokio's console of `task`, whose stack is put away or brought back here.
#[cfg(feature = "tokio-console")]
fn tell_span(task: Option<NonNull<Header>>, what: impl FnOnce(&TaskSpan)) {
    if let Some(task) = task {
        // SAFETY: its poll is on this stack, so it is alive; what runs on a worker lives in its pool.
        unsafe { super::host::with_span(task, what) };
    }
}
