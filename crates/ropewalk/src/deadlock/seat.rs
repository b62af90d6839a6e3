//! Who runs here, and where it waits.

use crate::context;
use crate::sched::blocking::current_job;
use crate::sched::park::ThreadParker;
use crate::sched::worker::Worker;
use ropewalk_core::deadlock::{Actor, Seat, Who};
use ropewalk_core::prim::real::{AtomicU64, Ordering::Relaxed};
use ropewalk_core::task::{Header, TaskRef};
use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::thread;

thread_local! {
    /// The id of the cell of a thread that this crate started.
    static CELL: Cell<Option<u64>> = const { Cell::new(None) };
    /// What this thread parks with, in the innermost wait without a limit.
    static PARKER: RefCell<Weak<ThreadParker>> = const { RefCell::new(Weak::new()) };
}

/// Runs the function of a thread whose cell has this id.
pub(crate) fn as_thread_of<R>(id: u64, f: impl FnOnce() -> R) -> R {
    CELL.set(Some(id));
    f()
}

/// This thread waits with `parker`, until the answer is dropped; `None`: not in a way that counts.
pub(crate) fn known_as(parker: Option<&Arc<ThreadParker>>) -> impl Drop + use<> {
    struct Restore(Weak<ThreadParker>);
    impl Drop for Restore {
        fn drop(&mut self) {
            drop(replace(std::mem::take(&mut self.0)));
        }
    }
    #[cfg_attr(feature = "roaming", inline(never))] // TL1
    fn replace(parker: Weak<ThreadParker>) -> Weak<ThreadParker> {
        PARKER.try_with(|known| known.replace(parker)).unwrap_or_default()
    }
    Restore(replace(parker.map(Arc::downgrade).unwrap_or_default()))
}

/// Who runs here; nobody in a hook between two tasks.
pub(super) fn runs() -> Option<Actor> {
    // SAFETY: the current task is alive while it runs.
    let id = |task| Actor::Task(unsafe { Header::id(task) }.get());
    context::with_worker(|worker| match worker {
        Some(worker) => worker.frame.current.get().map(id),
        None => current_job().map(id).or_else(of_thread),
    })
}

/// A thread that runs no job.
fn of_thread() -> Option<Actor> {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    thread_local!(static NUMBER: u64 = NUMBERS.fetch_add(1, Relaxed));
    let cell = CELL.try_with(Cell::get).ok()?.map(Actor::Task);
    cell.or_else(|| NUMBER.try_with(|number| Actor::Thread(*number)).ok())
}

/// Who waits here with this waker, unless it is somebody else's: then there is something in between that we do not know.
pub(super) fn waits(waker: &Waker) -> Option<Who> {
    let actor = runs()?;
    context::with_worker(|worker| match worker {
        Some(worker) => TaskSeat::of(worker, waker).map(|seat| Who { actor, seat: Box::new(seat) }),
        None => ThreadSeat::of(waker).map(|seat| Who { actor, seat: Box::new(seat) }),
    })
}

/// A task, or a strand.
struct TaskSeat {
    task: TaskRef,
    /// The one that is woken: the task, or the ticket of the fibre that waits in its poll.
    woken: TaskRef,
    /// How many wakers there are if there is one that can be called: a fibre that waits keeps one itself.
    wakers: usize,
}

impl TaskSeat {
    fn of(worker: &Worker, waker: &Waker) -> Option<Self> {
        let (current, woken) = (worker.frame.current.get()?, Header::of_waker(waker)?);
        // SAFETY: the current task is alive while it runs, and the waker keeps the other alive.
        let (task, woken_task) = unsafe { (Header::reference(current), Header::reference(woken)) };
        match current == woken {
            true => Some(Self { task, woken: woken_task, wakers: 1 }),
            false if worker.is_ticket_here(woken) => Some(Self { task, woken: woken_task, wakers: 2 }),
            false => None,
        }
    }
}

impl Seat for TaskSeat {
    fn waits_plainly(&self) -> bool {
        self.task.waits_unasked() && self.woken.waits_with(self.wakers)
    }

    fn describe(&self) -> String {
        let mut text = format!("task {}", self.task.id());
        if let Some(name) = self.task.name() {
            let _never_fails = write!(text, " {name:?}");
        }
        let _never_fails = write!(text, " (spawned at {})", self.task.spawned_at());
        text
    }
}

/// A thread, also one that runs a job.
struct ThreadSeat {
    parker: Weak<ThreadParker>,
    text: String,
}

impl ThreadSeat {
    fn of(waker: &Waker) -> Option<Self> {
        let parker = PARKER.try_with(|parker| parker.borrow().clone()).ok()?;
        if !std::ptr::eq(parker.as_ptr().cast(), waker.data()) {
            return None;
        }
        let thread = thread::current();
        let mut text = match thread.name() {
            Some(name) => format!("thread {name:?}"),
            None => format!("{:?}", thread.id()),
        };
        if let Some(job) = current_job() {
            // SAFETY: the job that runs here is alive.
            let job = unsafe { Header::reference(job) };
            text = match job.name() {
                Some(name) => format!("job {} {name:?} (spawned at {})", job.id(), job.spawned_at()),
                None => format!("job {} (spawned at {})", job.id(), job.spawned_at()),
            };
        }
        Some(Self { parker, text })
    }
}

impl Seat for ThreadSeat {
    /// The wait itself has the parker and a waker of it; whoever wakes has another.
    fn waits_plainly(&self) -> bool {
        self.parker.strong_count() == 3 && self.parker.upgrade().is_some_and(|parker| parker.is_parked())
    }

    fn describe(&self) -> String {
        self.text.clone()
    }
}
