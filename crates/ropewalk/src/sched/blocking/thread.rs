//! The life of a thread of the blocking pool.

use super::desk::{Next, Seat, Slip};
use super::job::{Job, tell_of_end};
use crate::context;
use crate::runtime::{Handle, Shared};
use crate::sched::recorder::{Act, End, Mark, Noun};
use crate::sched::spin::SpinCredit;
use crate::wait::Abort;
use ropewalk_core::prim::real::Ordering::SeqCst;
use ropewalk_core::task::{Header, Ran, Runnable, TaskRef};
use std::cell::Cell;
use std::panic::Location;
use std::ptr::{NonNull, null};
use std::sync::Arc;

use std::time::Instant;

/// What a thread of the pool is doing.
struct Post<'a> {
    runtime: &'a Handle,
    seat: Arc<Seat<Job>>,
    /// The job that it runs.
    current: Cell<Option<NonNull<Header>>>,
    /// What it does after that job, if it asked already.
    next: Cell<Option<Next<Job>>>,
    credit: SpinCredit,
}

thread_local! {
    /// The post of this thread. Set while `serve` runs.
    static POST: Cell<*const Post<'static>> = const { Cell::new(null()) };
}

fn with_post<R>(f: impl FnOnce(&Post<'_>) -> Option<R>) -> Option<R> {
    #[cfg_attr(feature = "roaming", inline(never))] // TL1
    fn here() -> *const Post<'static> {
        POST.try_with(Cell::get).unwrap_or(null())
    }
    // SAFETY: `serve` sets the pointer for as long as the post lives, on this thread only.
    unsafe { here().as_ref() }.and_then(f)
}

/// The job that runs on this thread.
pub(crate) fn current_job() -> Option<NonNull<Header>> {
    with_post(|post| post.current.get())
}

/// Whether this is a thread of that runtime's blocking pool.
pub(crate) fn is_on_thread_of(runtime: &Shared) -> bool {
    with_post(|post| std::ptr::eq(Arc::as_ptr(&post.runtime.shared), runtime).then_some(())).is_some()
}

/// Whether this is a thread of some blocking pool.
pub(crate) fn is_on_any() -> bool {
    with_post(|_| Some(())).is_some()
}

/// `task` is over, and who waits for it is about to be woken. If it is this thread's job, the thread is at the desk again
/// from now on: whoever is woken may bring the next job, which then needs no other thread.
pub(super) fn is_free(task: NonNull<Header>) {
    with_post(|post| {
        let asked = post.next.take();
        if asked.is_some() {
            post.next.set(asked);
        } else if post.current.get() == Some(task) {
            post.next.set(Some(post.desk().next(&post.seat)));
        }
        None::<()>
    });
}

/// Runs jobs until it is told to leave.
pub(super) fn serve(runtime: &Handle) {
    let abort = Abort("a thread of the blocking pool, or a hook called by it, panicked");
    let _entered = context::enter(runtime.clone());
    let hooks = &runtime.shared.config.hooks;
    if let Some(hook) = &hooks.on_thread_start {
        hook();
    }
    let post = Post {
        runtime,
        seat: Seat::new(),
        current: Cell::new(None),
        next: Cell::new(None),
        credit: SpinCredit::new(),
    };
    POST.set((&raw const post).cast());
    let mut next = post.desk().arrive(&post.seat);
    loop {
        next = match next {
            Next::Run(slip, start) => {
                if let Some(start) = start {
                    runtime.shared.blocking.start(runtime, start);
                }
                post.run(slip)
            }
            Next::Wait(may_leave) => post.wait(may_leave),
            Next::Leave => break,
        }
    }
    POST.set(null());
    if let Some(hook) = &hooks.on_thread_stop {
        hook();
    }
    std::mem::forget(abort);
}

/// A job that runs, as it is recorded.
struct Recorded {
    mark: Mark,
    from: u64,
    place: &'static Location<'static>,
}

fn job(place: &'static Location<'static>, ended: Option<(End, u64)>) -> Act {
    Act::Poll { place, noun: Noun::Job, resumed: false, ended }
}

impl Post<'_> {
    fn desk(&self) -> &super::Desk<Job> {
        &self.runtime.shared.blocking.desk
    }

    /// Runs a job that was assigned to this thread. A panic in it does not unwind from here.
    fn run(&self, slip: NonNull<Slip<Job>>) -> Next<Job> {
        // SAFETY: B1, B5: the job is this thread's, and so is its Runnable.
        let job = unsafe { &slip.as_ref().job };
        let keep = job.reference();
        // SAFETY: as above.
        let task = unsafe { Runnable::from_raw(job.task()) };
        let config = &self.runtime.shared.config;
        self.current.set(Some(job.task()));
        let from = job.observation().map(|_| config.clock.now());
        let in_hand = &self.runtime.shared.blocking.in_hand;
        in_hand.fetch_add(1, SeqCst);
        let recorded = self.begin_recording(&task);
        match task.run() {
            Ran::Done => {}
            // Its closure is over, and it waits for its children; that needs no thread.
            Ran::Idle => {}
            Ran::Woken(task) => task.schedule(),
            Ran::Yielded(_) => unreachable!("a job is over after one poll"),
        }
        if let Some(recorded) = recorded {
            self.end_recording(recorded, &keep);
        }
        in_hand.fetch_sub(1, SeqCst);
        self.current.set(None);
        if let (Some(observation), Some(from)) = (job.observation(), from) {
            observation.polled(config.clock.now().saturating_sub(from).as_nanos() as u64);
        }
        tell_of_end(config, keep.id());
        let next = self.next.take().unwrap_or_else(|| self.desk().next(&self.seat));
        drop(keep);
        next
    }

    /// A job begins, if somebody records that.
    fn begin_recording(&self, task: &Runnable) -> Option<Recorded> {
        let recorder = &self.runtime.shared.recorder;
        if !recorder.is_on() {
            return None;
        }
        let (from, place) = (recorder.now(), task.spawned_at());
        let mark = recorder.note_outside(from, task.id().get(), job(place, None))?;
        Some(Recorded { mark, from, place })
    }

    fn end_recording(&self, recorded: Recorded, task: &TaskRef) {
        let (recorder, Recorded { mark, from, place }) = (&self.runtime.shared.recorder, recorded);
        let took = recorder.now().saturating_sub(from);
        recorder.amend_outside(mark, from, task.id().get(), job(place, Some((End::Done, took))));
        if let Some(name) = task.name() {
            recorder.remember(task.id().get(), name);
        }
    }

    /// Waits for a job; if it `may_leave`, not longer than the keep-alive.
    fn wait(&self, may_leave: bool) -> Next<Job> {
        if !self.seat.is_called() {
            self.spin();
        }
        let keep_alive = self.runtime.shared.config.blocking.keep_alive;
        // A time that the clock cannot hold is none.
        let until = if may_leave { Instant::now().checked_add(keep_alive) } else { None };
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let time_is_up = left.is_some_and(|left| left.is_zero());
            let awake = time_is_up || self.seat.is_called() || self.seat.parker.park(left);
            if awake && let Some(next) = self.desk().look_again(&self.seat, time_is_up) {
                return next;
            }
        }
    }

    /// One thread of the pool may spin before it sleeps, while that pays off.
    fn spin(&self) {
        let pool = &self.runtime.shared.blocking;
        if !self.credit.allows() {
            return;
        }
        let Some(_right) = pool.spinner.try_take(0) else { return }; // nobody ends the spin of another here
        pool.spins.add_shared(1);
        if self.credit.spin(|| self.seat.is_called()) {
            pool.spin_hits.add_shared(1);
        }
    }
}
