//! A job as a task cell: the closure is its body, its slip at the desk is what the cell carries beside the header.

use super::desk::{Slip, Submitted};
use super::thread;
use crate::group::kin::{self, Kin};
use crate::local;
use crate::runtime::{Config, Handle, Shared};
use crate::sched::host::Observation;
use crate::sched::recorder::Act;
use crate::wait::Abort;
use ropewalk_core::blocked::Reason;
use ropewalk_core::task::{
    Birth, Call, Ended, Header, Host, PanicInfo, Runnable, TaskHandle, TaskId, TaskRef, emplace, layout,
};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

/// What the desk knows of a job.
pub(crate) struct Job {
    /// The cell around this.
    task: NonNull<Header>,
    runtime: Arc<Shared>,
    /// Of a job with a name, or in an observed runtime.
    observation: Option<Box<Observation>>,
    /// To whom it belongs, if it is in a group.
    kin: Option<Kin>,
}

// SAFETY: the pointer is to the cell that the job is part of; what is done through it is done by the rights over tasks.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    pub(super) fn task(&self) -> NonNull<Header> {
        self.task
    }

    pub(super) fn observation(&self) -> Option<&Observation> {
        self.observation.as_deref()
    }

    /// The runtime, and the kin, of a job.
    ///
    /// # Safety
    /// `task` is a job, and alive as long as the answer is used.
    pub(crate) unsafe fn relations<'a>(task: NonNull<Header>) -> (&'a Arc<Shared>, Option<&'a Kin>) {
        // SAFETY: passed on to the caller.
        let job = unsafe { &Header::extra::<Jobs>(task).as_ref().job };
        (&job.runtime, job.kin.as_ref())
    }

    /// To whom a job belongs, if it is in a group.
    ///
    /// # Safety
    /// `task` is a job.
    pub(crate) unsafe fn kin_of(task: &TaskRef) -> Option<&Kin> {
        // SAFETY: passed on to the caller; the reference keeps it alive.
        unsafe { task.extra::<Jobs>() }.job.kin.as_ref()
    }

    pub(crate) const KIND: u8 = Jobs::KIND;

    /// What is observed of a job.
    ///
    /// # Safety
    /// As for [`relations`](Self::relations).
    pub(crate) unsafe fn observation_of<'a>(task: NonNull<Header>) -> Option<&'a Observation> {
        // SAFETY: passed on to the caller.
        unsafe { Header::extra::<Jobs>(task).as_ref() }.job.observation()
    }

    /// A reference to the job, while its slip is at the desk.
    pub(super) fn reference(&self) -> TaskRef {
        // SAFETY: B5: the cell around this is alive.
        unsafe { Header::reference(self.task) }
    }
}

/// The blocking pool as a host of task cells, which come from the global allocator.
pub(super) struct Jobs;

// SAFETY: a job is made scheduled and runs once. It is idle only when it waits for its children, and ends by being dropped
// then: its closure is gone, so that needs no thread of the pool. Memory comes from the global allocator.
unsafe impl Host for Jobs {
    type Extra = Slip<Job>;
    /// Away from those of `sched/host.rs`.
    const KIND: u8 = 64;
    const FINDS_TASKS: bool = true;
    const REASON: Reason = Reason::Blocking;
    const SHOWS_START: bool = true;

    fn schedule(task: Runnable) {
        drop(task);
    }

    fn withdraw(task: NonNull<Header>) {
        // SAFETY: a job, which the caller keeps alive; its slip was submitted before anybody could cancel it.
        unsafe {
            let slip = Header::extra::<Self>(task);
            let runtime = &slip.as_ref().job.runtime;
            if runtime.blocking.desk.withdraw(slip) {
                // It is outside now, and its Runnable ours (B1). It was cancelled, so dropping it says so.
                let (withdrawn, id) = (Runnable::from_raw(task), Header::id(task));
                drop(withdrawn);
                tell_of_end(&runtime.config, id);
            }
        }
    }

    fn will_wake(task: NonNull<Header>) {
        thread::is_free(task);
    }

    fn keeps_itself_alive(_task: NonNull<Header>) -> bool {
        true
    }

    unsafe fn dealloc(task: NonNull<Header>, layout: Layout) {
        // SAFETY: `spawn` allocated it with this layout.
        unsafe { dealloc(task.as_ptr().cast(), layout) }
    }

    fn name(slip: &Slip<Job>) -> Option<&str> {
        slip.job.observation()?.name.as_deref()
    }

    fn unhandled(task: NonNull<Header>, panic: PanicInfo) {
        // SAFETY: a job that is still alive.
        let runtime = unsafe { Header::extra::<Self>(task).as_ref() }.job.runtime.clone();
        runtime.unhandled(panic);
    }

    const TELLS_OF_END: bool = true;

    fn ended(task: NonNull<Header>, how: Ended) -> Option<NonNull<()>> {
        // SAFETY: a job that is still alive.
        if let Some(kin) = unsafe { Job::relations(task) }.1 {
            thread::is_free(task); // before the group or the parent wakes anybody
            kin.ended(how.failed, how.panic);
        }
        None
    }

    fn may_end(task: NonNull<Header>) -> bool {
        // SAFETY: a job that is still alive.
        let runtime = unsafe { Job::relations(task) }.0;
        runtime.families.may_end(task, runtime)
    }

    fn refuses_wait(task: NonNull<Header>) -> bool {
        kin::refuses_wait(task)
    }
}

/// Makes a job of `call`, with what it inherits, and brings it to the desk of `runtime`.
pub(crate) fn spawn<F, T>(
    runtime: &Handle,
    call: F,
    name: Option<Box<str>>,
    spawned_at: &'static Location<'static>,
    kin: Option<Kin>,
) -> TaskHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    launch(runtime, local::carry(call), name, spawned_at, kin)
}

fn launch<F, T>(
    runtime: &Handle,
    call: F,
    name: Option<Box<str>>,
    spawned_at: &'static Location<'static>,
    kin: Option<Kin>,
) -> TaskHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let shared = &runtime.shared;
    let id = shared.next_id();
    let birth = Birth { id, spawned_at, pinned: false, priority: 0 };
    let layout = layout::<Call<F>, Jobs>();
    // SAFETY: a cell is never zero-sized, and its header is its first field. Closure and output are Send + 'static.
    let (runnable, handle) = unsafe {
        let memory = NonNull::new(alloc(layout)).unwrap_or_else(|| handle_alloc_error(layout));
        let observation = observe(&shared.config, name);
        let slip = Slip::new(Job { task: memory.cast(), runtime: shared.clone(), observation, kin });
        emplace::<_, Jobs>(memory, Call::new(call), slip, birth)
    };
    // SAFETY: the job is not over before it is submitted.
    if let Some(kin) = unsafe { Job::relations(runnable.as_raw()) }.1 {
        kin.made(runnable.task());
    }
    submit(runtime, runnable, id);
    handle
}

/// Brings the job to the desk, or tells its owner that it is closed.
fn submit(runtime: &Handle, task: Runnable, id: TaskId) {
    let (pool, config) = (&runtime.shared.blocking, &runtime.shared.config);
    if runtime.shared.refuses_guests() {
        task.cancel(true);
        return;
    }
    // A job that is refused is not announced, unless the desk is closed in between.
    let hook = config.hooks.on_task_spawn.as_ref().filter(|_| pool.desk.is_open());
    if let Some(hook) = hook {
        let abort = Abort("the hook on_task_spawn panicked");
        hook(id);
        std::mem::forget(abort);
    }
    if runtime.shared.recorder.is_on() {
        runtime.shared.recorder.note(id.get(), Act::woken(&task, true));
    }
    let raw = task.into_raw();
    // SAFETY: the cell is valid until the job is over, which it is not before it was run or dropped, and whoever does that
    // has it from the desk; a thread keeps it until it has told the desk (B5).
    match unsafe { pool.desk.submit(Header::extra::<Jobs>(raw)) } {
        Submitted::Accepted(None) => {}
        Submitted::Accepted(Some(start)) => pool.start(runtime, start),
        Submitted::Refused => {
            // SAFETY: the desk did not take it.
            let task = unsafe { Runnable::from_raw(raw) };
            task.cancel(true);
            drop(task);
            if hook.is_some() {
                tell_of_end(config, id);
            }
        }
    }
}

/// Calls the user's hook; a panic there ends the process, as in every hook.
pub(super) fn tell_of_end(config: &Config, id: TaskId) {
    if let Some(hook) = &config.hooks.on_task_end {
        let abort = Abort("the hook on_task_end panicked");
        hook(id);
        std::mem::forget(abort);
    }
}

fn observe(config: &Config, name: Option<Box<str>>) -> Option<Box<Observation>> {
    (name.is_some() || config.observe).then(|| {
        let born = config.clock.now().as_nanos() as u64;
        Box::new(Observation::new(name, born, None))
    })
}

/// What was observed of a task, if it is a job that is observed.
pub(crate) fn observation(task: &TaskRef) -> Option<&Observation> {
    // SAFETY: the kind says which host it lives in.
    (task.kind() == Jobs::KIND).then(|| unsafe { task.extra::<Jobs>() }.job.observation()).flatten()
}
