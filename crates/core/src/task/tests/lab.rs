//! The laboratory: a host that counts everything, and parts of tasks that tell when they are used and dropped.
//!
//! * **L1** A [`Bench`] serves one task. Its memory is given back only when the bench goes, so that a use after the free
//!   is a failed check and not a crash.
//! * **L2** Whoever uses the cell reads the bench's [`Witness`], whoever frees it writes it: loom, shuttle and TSan then
//!   say whether the free comes after every use.
//! * **L3** Counts are [`real`] atomics: they order nothing, so they hide no missing order. They are compared when all
//!   threads were joined.

use super::watch::Witness;
use crate::prim::real::{AtomicUsize, Ordering::Relaxed};
use crate::prim::{self, Lock};
use crate::task::{
    Async, Birth, Body, Ended, Family, Header, Host, Membership, PanicInfo, Ran, Runnable, TaskError,
    TaskHandle, TaskId, TaskRef, emplace, layout,
};
use std::alloc::Layout;
use std::collections::VecDeque;
use std::mem::{ManuallyDrop, offset_of};
use std::num::NonZeroU64;
use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// What happened to the task so far.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) polls: AtomicUsize,
    pub(super) scheduled: AtomicUsize,
    pub(super) bodies: AtomicUsize,
    pub(super) outputs: AtomicUsize,
    pub(super) extras: AtomicUsize,
    pub(super) freed: AtomicUsize,
    pub(super) unhandled: AtomicUsize,
    /// What the last panic said that no handle took.
    pub(super) said: Mutex<Option<String>>,
}

/// Where one task lives (L1).
pub(super) struct Bench {
    pub(super) witness: Witness,
    pub(super) tally: Tally,
    queue: Lock<VecDeque<Runnable>>,
    /// If the task is a parent: its family, and a child that has no task.
    family: Mutex<Option<prim::Arc<Family>>>,
    #[cfg(all(feature = "std", not(any(loom, shuttle, tsan))))]
    child: Mutex<Option<Membership>>,
    /// If the task is a child.
    membership: Mutex<Option<Membership>>,
    buried: Mutex<Vec<(NonNull<u8>, Layout)>>,
}

// SAFETY: the pointers are memory that only `drop` touches.
unsafe impl Send for Bench {}
// SAFETY: as above; everything else is Sync.
unsafe impl Sync for Bench {}

impl Bench {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            witness: Witness::new(),
            tally: Tally::default(),
            queue: Lock::new(VecDeque::new()),
            family: Mutex::new(None),
            #[cfg(all(feature = "std", not(any(loom, shuttle, tsan))))]
            child: Mutex::new(None),
            membership: Mutex::new(None),
            buried: Mutex::new(Vec::new()),
        })
    }

    fn mark(self: &Arc<Self>, part: Part) -> Mark {
        Mark { bench: self.clone(), part }
    }

    /// A future that counts its polls and its drop.
    fn body<T, F: FnMut() -> Poll<T>>(self: &Arc<Self>, poll: F) -> Probe<F> {
        Probe { poll, mark: self.mark(Part::Body) }
    }

    /// A task in the host `H` that runs `poll`, not queued yet.
    #[track_caller]
    pub(super) fn task<H: Host<Extra = Mark>, T>(
        self: &Arc<Self>,
        poll: impl FnMut() -> Poll<T> + Unpin + Send + 'static,
    ) -> (Runnable, TaskHandle<T>) {
        self.emplace::<H, _>(Async(self.body(poll)))
    }

    /// An output that counts its drop.
    pub(super) fn value(self: &Arc<Self>, number: usize) -> Value {
        Value { number, _mark: self.mark(Part::Output) }
    }

    /// A task in the host `H` that is over after one poll, with a value of 5.
    #[track_caller]
    pub(super) fn short<H: Host<Extra = Mark>>(self: &Arc<Self>) -> (Runnable, TaskHandle<Value>) {
        let bench = self.clone();
        self.task::<H, _>(move || Poll::Ready(bench.value(5)))
    }

    /// As [`task`](Self::task), for any body.
    #[track_caller]
    pub(super) fn emplace<H: Host<Extra = Mark>, B: Body>(
        self: &Arc<Self>,
        body: B,
    ) -> (Runnable, TaskHandle<B::Output>) {
        let (whole, offset) = Plot::around(layout::<B, H>());
        let birth = Birth {
            id: TaskId::new(NonZeroU64::MIN),
            spawned_at: Location::caller(),
            pinned: false,
            priority: 0,
        };
        // SAFETY: the layout is not empty. The plot stands right before the cell, where `dealloc` looks for it. The
        // tests give only bodies and outputs that are Send + 'static.
        unsafe {
            let memory = NonNull::new(std::alloc::alloc(whole)).expect("memory").add(offset);
            memory.cast::<Plot>().sub(1).write(Plot { bench: self.clone() });
            emplace::<B, H>(memory, body, self.mark(Part::Extra), birth)
        }
    }

    /// A task by [`task::spawn`](crate::task::spawn), queued here. Its cell counts as freed when the queueing function,
    /// which lives in it, is dropped.
    #[track_caller]
    pub(super) fn spawn<T: Send + 'static, F>(self: &Arc<Self>, poll: F) -> TaskHandle<T>
    where
        F: FnMut() -> Poll<T> + Unpin + Send + 'static,
    {
        let cell = self.mark(Part::Cell);
        crate::task::spawn(self.body(poll), move |runnable| {
            cell.bench.queue(runnable);
            cell.bench.witness.used();
        })
    }

    /// The task, which runs now, gets a child that is no task.
    #[cfg(all(feature = "std", not(any(loom, shuttle, tsan))))]
    pub(super) fn bear(&self, parent: NonNull<Header>) {
        *self.child.lock().unwrap() = Some(self.enrol(parent));
    }

    /// That child ends.
    #[cfg(all(feature = "std", not(any(loom, shuttle, tsan))))]
    pub(super) fn bury_child(&self) {
        let child = self.child.lock().unwrap().take();
        child.expect("there is one").leave();
    }

    /// A seat in the family of the task, which runs now.
    pub(super) fn enrol(&self, parent: NonNull<Header>) -> Membership {
        let mut family = self.family.lock().unwrap();
        // SAFETY: it runs, and the bench, which serves one task, knows of no family yet.
        let found = || unsafe { Family::found(parent, None) }.expect("it is not over");
        Family::enrol(family.get_or_insert_with(found))
    }

    /// Another seat, for a test that stands in for the task, which is queued.
    pub(super) fn enrol_another(&self) -> Membership {
        Family::enrol(self.family.lock().unwrap().as_ref().expect("it has a family"))
    }

    /// Lets go of what refers to tasks.
    pub(super) fn forget_family(&self) {
        self.family.lock().unwrap().take();
        self.membership.lock().unwrap().take();
    }

    /// `future`, counted as the body of this bench's task.
    pub(super) fn watched<F: Future + Unpin>(
        self: &Arc<Self>,
        mut future: F,
    ) -> impl Future<Output = F::Output> {
        let mark = self.mark(Part::Body);
        std::future::poll_fn(move |cx| {
            mark.bench.witness.used();
            Pin::new(&mut future).poll(cx)
        })
    }

    /// The task is that child.
    pub(super) fn join_family(&self, child: TaskRef, membership: Membership) {
        membership.take_seat(child);
        *self.membership.lock().unwrap() = Some(membership);
    }

    pub(super) fn queue(&self, runnable: Runnable) {
        self.tally.scheduled.fetch_add(1, Relaxed);
        self.queue.lock().push_back(runnable);
    }

    pub(super) fn next(&self) -> Option<Runnable> {
        self.queue.lock().pop_front()
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.lock().len()
    }

    /// Runs what is queued until nothing is.
    pub(super) fn run_queue(&self) {
        while let Some(runnable) = self.next() {
            run(runnable);
        }
    }

    /// The task is over, nobody refers to it: every part of it was dropped once, and no panic got lost.
    #[track_caller]
    pub(super) fn assert_gone(&self) {
        let Tally { bodies, outputs: _, extras, freed, unhandled, .. } = &self.tally;
        let count = |what: &AtomicUsize| what.load(Relaxed);
        assert_eq!(count(bodies), 1, "drops of the body");
        assert_eq!(count(freed), 1, "the cell was freed");
        assert_eq!(count(extras), 1, "drops of what the host keeps");
        assert_eq!(count(unhandled), 0, "panics nobody took");
        assert_eq!(self.queued(), 0);
    }

    #[track_caller]
    pub(super) fn assert_outputs(&self, number: usize) {
        assert_eq!(self.tally.outputs.load(Relaxed), number, "drops of the output");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for (memory, layout) in self.buried.get_mut().expect("no panic under the lock").drain(..) {
            // SAFETY: L1: `emplace` allocated it with this layout, and `dealloc` buried it once.
            unsafe { std::alloc::dealloc(memory.as_ptr(), layout) };
        }
    }
}

/// What stands before a cell: whose it is.
#[repr(C, align(16))]
struct Plot {
    bench: Arc<Bench>,
}

impl Plot {
    /// The layout of a plot and a cell, and where the cell begins.
    fn around(cell: Layout) -> (Layout, usize) {
        assert!(cell.align() <= align_of::<Plot>(), "the plot stands right before the cell");
        Layout::new::<Plot>().extend(cell).expect("small")
    }
}

/// A host whose tasks live on benches: `FINDS` its idle tasks, `KEEPS` itself alive.
pub(super) struct Lab<const FINDS: bool, const KEEPS: bool>;

// SAFETY: `schedule` queues every Runnable, to be run or dropped by the test; `dealloc` takes what `Bench::emplace` gave.
unsafe impl<const FINDS: bool, const KEEPS: bool> Host for Lab<FINDS, KEEPS> {
    type Extra = Mark;
    const KIND: u8 = 7;
    const FINDS_TASKS: bool = FINDS;
    /// The models begin with a queued task, as after a wake-up; yields and `spawn` show the other way.
    const SHOWS_START: bool = true;

    fn schedule(task: Runnable) {
        // SAFETY: a scheduled task of this host is alive (T3).
        let bench = unsafe { Header::extra::<Self>(task.as_raw()).as_ref() }.bench.clone();
        bench.witness.used();
        bench.queue(task);
    }

    fn keeps_itself_alive(_task: NonNull<Header>) -> bool {
        KEEPS
    }

    unsafe fn dealloc(task: NonNull<Header>, layout: Layout) {
        let (whole, offset) = Plot::around(layout);
        // SAFETY: `Bench::emplace` wrote the plot. It is dropped below, unless this is the second free, which panics.
        let plot = ManuallyDrop::new(unsafe { task.cast::<Plot>().sub(1).read() });
        plot.bench.witness.ended();
        // SAFETY: the caller says that nobody uses it any more, and it stays allocated (L1). Walkers may read the state
        // word; everything else is spoilt, so that a late user notices.
        let memory = unsafe {
            assert!(task.as_ref().state.load().is_complete(), "freed before it was over");
            let spoilt = offset_of!(Header, vtable);
            task.cast::<u8>().add(spoilt).write_bytes(0xDD, layout.size() - spoilt);
            task.cast::<u8>().sub(offset)
        };
        plot.bench.buried.lock().expect("no panic under the lock").push((memory, whole));
        plot.bench.tally.freed.fetch_add(1, Relaxed);
        drop(ManuallyDrop::into_inner(plot));
    }

    fn name(_extra: &Mark) -> Option<&str> {
        Some("guinea pig")
    }

    fn unhandled(task: NonNull<Header>, panic: PanicInfo) {
        // SAFETY: the task is still alive.
        let bench = unsafe { &Header::extra::<Self>(task).as_ref().bench };
        bench.witness.used();
        bench.tally.unhandled.fetch_add(1, Relaxed);
        *bench.tally.said.lock().expect("no panic under the lock") = Some(panic.message().to_string());
    }

    const TELLS_OF_END: bool = true;

    fn ended(task: NonNull<Header>, _how: Ended) -> Option<NonNull<()>> {
        // SAFETY: the task is still alive.
        let bench = unsafe { &Header::extra::<Self>(task).as_ref().bench };
        let membership = bench.membership.lock().unwrap().take();
        membership.iter().for_each(Membership::leave);
        None
    }

    fn may_end(task: NonNull<Header>) -> bool {
        // SAFETY: the task is still alive.
        let bench = unsafe { &Header::extra::<Self>(task).as_ref().bench };
        bench.witness.used();
        let family = bench.family.lock().unwrap().clone();
        // SAFETY: its own family.
        family.is_none_or(|family| unsafe { family.may_end(task) })
    }
}

/// As [`Lab`], and it takes cancelled tasks out of its queue.
pub(super) struct Obliging;

// SAFETY: as for `Lab`; what is taken out of the queue is dropped.
unsafe impl Host for Obliging {
    type Extra = Mark;
    const KIND: u8 = 8;
    const FINDS_TASKS: bool = true;

    fn schedule(task: Runnable) {
        Lab::<true, true>::schedule(task);
    }

    fn withdraw(task: NonNull<Header>) {
        // SAFETY: the caller keeps the task alive.
        let bench = unsafe { Header::extra::<Self>(task).as_ref() }.bench.clone();
        bench.witness.used();
        let mut queue = bench.queue.lock();
        let at = queue.iter().position(|queued| queued.as_raw() == task);
        let withdrawn = at.and_then(|at| queue.remove(at));
        drop(queue);
        drop(withdrawn);
    }

    fn keeps_itself_alive(task: NonNull<Header>) -> bool {
        Lab::<true, true>::keeps_itself_alive(task)
    }

    unsafe fn dealloc(task: NonNull<Header>, layout: Layout) {
        // SAFETY: passed on to the caller.
        unsafe { Lab::<true, true>::dealloc(task, layout) }
    }

    fn name(extra: &Mark) -> Option<&str> {
        Lab::<true, true>::name(extra)
    }

    fn unhandled(task: NonNull<Header>, panic: PanicInfo) {
        Lab::<true, true>::unhandled(task, panic);
    }
}

#[derive(Clone, Copy)]
enum Part {
    Body,
    Output,
    Extra,
    Cell,
}

/// A part of a task: it counts its drop.
pub(super) struct Mark {
    bench: Arc<Bench>,
    part: Part,
}

impl Drop for Mark {
    fn drop(&mut self) {
        let tally = &self.bench.tally;
        let count = |what: &AtomicUsize| {
            what.fetch_add(1, Relaxed);
        };
        match self.part {
            Part::Body => {
                count(&tally.bodies);
                self.bench.witness.used();
            }
            // It may outlive the cell.
            Part::Output => count(&tally.outputs),
            Part::Extra => {
                count(&tally.extras);
                self.bench.witness.used();
            }
            Part::Cell => {
                self.bench.witness.ended();
                count(&tally.extras);
                count(&tally.freed);
            }
        }
    }
}

/// The body of a task under test.
pub(super) struct Probe<F> {
    poll: F,
    mark: Mark,
}

impl<T, F: FnMut() -> Poll<T> + Unpin> Future for Probe<F> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<T> {
        let bench = &self.mark.bench;
        bench.tally.polls.fetch_add(1, Relaxed);
        bench.witness.used();
        (self.poll)()
    }
}

/// The output of a task under test.
pub(super) struct Value {
    pub(super) number: usize,
    _mark: Mark,
}

/// Runs a task until it waits or is over. (That it may be run again at once is what `Ran::Woken` means.)
pub(super) fn run(mut runnable: Runnable) {
    for _ in 0..16 {
        match runnable.run() {
            Ran::Woken(again) | Ran::Yielded(again) => runnable = again,
            Ran::Idle | Ran::Done => return,
        }
    }
    panic!("the task is woken again and again");
}

/// Polls a handle once, for nobody.
pub(super) fn ask(handle: &mut TaskHandle<Value>) -> Poll<Result<usize, TaskError>> {
    ask_for(handle, Waker::noop())
}

/// Polls a handle once.
pub(super) fn ask_for(handle: &mut TaskHandle<Value>, waker: &Waker) -> Poll<Result<usize, TaskError>> {
    let answer = Pin::new(handle).poll(&mut Context::from_waker(waker));
    answer.map(|end| end.map(|value| value.number))
}
