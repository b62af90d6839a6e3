//! The runtime as a host of task cells: where woken tasks go, where their memory comes from.
//!
//! | layout | beside the header | who gets it |
//! |---|---|---|
//! | lean | nothing | `spawn` |
//! | at home | the home worker | `spawn_local`, strands of `strand::spawn_local`, fibres that wait |
//! | observed | [`Observation`] | tasks with a name, all tasks of an observed runtime |
//! | member | [`Member`] | tasks of a group |
//! | strand | [`Stranded`] | strands, but those of `spawn_local` |

use super::blocking::Job;
use super::entry::Entry;
use super::pool::Pool;
use super::reasons::Reasons;
use super::slab::{is_big, pool_of};
use super::span::TaskSpan;
use super::worker::Worker;
use crate::context;
use crate::group::kin::{self, Kin};
use crate::strand::Stranded;
use ropewalk_core::prim::real::{AtomicU64, Ordering::Relaxed};
#[cfg(feature = "tokio-console")]
use ropewalk_core::task::WakerOp;
use ropewalk_core::task::{
    Birth, Body, Ended, Header, Host, PanicInfo, Runnable, TaskHandle, TaskId, TaskRef, emplace, layout,
};
use std::alloc::Layout;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

impl Entry for Runnable {
    #[inline(always)]
    fn into_raw(self) -> NonNull<()> {
        Runnable::into_raw(self).cast()
    }

    #[inline(always)]
    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { Runnable::from_raw(raw.cast()) }
    }
}

/// What a task carries beside its header.
pub(crate) trait Extra: Send + Sync + 'static {
    const KIND: u8;
    const NOUN: &'static str = "task";
    /// The worker a pinned task belongs to.
    #[inline(always)]
    fn home(&self) -> Option<u16> {
        None
    }
    #[inline(always)]
    fn is_pinned(&self) -> bool {
        self.home().is_some()
    }
    fn name(&self) -> Option<&str> {
        None
    }
    /// Whether it may have kin.
    const HAS_KIN: bool = false;
    const TELLS_OF_END: bool = Self::HAS_KIN;
    /// See [`Host::ended`].
    fn ended(&self, _task: NonNull<Header>, how: Ended) -> Option<NonNull<()>> {
        if let Some(kin) = self.kin() {
            kin.ended(how.failed, how.panic);
        }
        None
    }
    /// See [`Host::left`].
    ///
    /// # Safety
    /// As there.
    unsafe fn left(_whom: NonNull<()>) {}
    /// A panic nobody took: who else may want it. `None`: somebody did.
    fn unhandled(&self, panic: PanicInfo) -> Option<PanicInfo> {
        Some(panic)
    }
    /// To whom it belongs, if it is in a group.
    fn kin(&self) -> Option<&Kin> {
        None
    }
    fn into_kin(self) -> Option<Kin>
    where
        Self: Sized,
    {
        None
    }
}

/// A lean task carries nothing.
impl Extra for () {
    const KIND: u8 = 0;
}

/// A pinned task knows its worker.
#[derive(Debug)]
pub(crate) struct Home(pub(crate) u16);

impl Extra for Home {
    const KIND: u8 = 1;
    fn home(&self) -> Option<u16> {
        Some(self.0)
    }
}

/// What is known of an observed task beyond the header.
#[derive(Debug)]
pub(crate) struct Observation {
    pub(crate) name: Option<Box<str>>,
    pub(crate) home: Option<u16>,
    /// It has a stack of its own, and stays where it is.
    pub(crate) is_strand: bool,
    pub(crate) polls: AtomicU64,
    /// Time spent in polls, in nanoseconds of the runtime's clock.
    pub(crate) busy: AtomicU64,
    pub(crate) born: u64,
    pub(crate) kin: Option<Kin>,
    pub(crate) reasons: Reasons,
    pub(crate) span: TaskSpan,
}

impl Extra for Observation {
    const KIND: u8 = 2;
    fn home(&self) -> Option<u16> {
        self.home
    }
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
    const HAS_KIN: bool = true;
    fn kin(&self) -> Option<&Kin> {
        self.kin.as_ref()
    }
    fn into_kin(self) -> Option<Kin> {
        self.kin
    }
}

/// A task of a group.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) kin: Kin,
    pub(crate) home: Option<u16>,
}

impl Extra for Member {
    const KIND: u8 = 5;
    fn home(&self) -> Option<u16> {
        self.home
    }
    const HAS_KIN: bool = true;
    fn kin(&self) -> Option<&Kin> {
        Some(&self.kin)
    }
    fn into_kin(self) -> Option<Kin> {
        Some(self.kin)
    }
}

/// A strand that stays on the worker it was started on.
#[derive(Debug)]
pub(crate) struct LocalStrand(pub(crate) u16);

impl Extra for LocalStrand {
    const KIND: u8 = 7;
    const NOUN: &'static str = "strand";
    fn home(&self) -> Option<u16> {
        Some(self.0)
    }
}

/// The pinned task by which a waiting fibre is woken, or the root of a `block_on`; not a task of the user's, so shutdown passes over it.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) home: u16,
    pub(crate) root: bool,
}

impl Extra for Ticket {
    const KIND: u8 = 3;
    fn home(&self) -> Option<u16> {
        Some(self.home)
    }
}

/// Tasks of a pool with extra `X`; `BIG` ones have memory of their own.
pub(crate) struct Tasks<X, const BIG: bool>(PhantomData<X>);

// SAFETY: `schedule` queues every task where it will be run, pinned ones at their home; memory comes from and returns to
// the pool's depot; a pool that ends walks its memory and drops what is left.
unsafe impl<X: Extra, const BIG: bool> Host for Tasks<X, BIG> {
    type Extra = X;
    const KIND: u8 = X::KIND;
    const FINDS_TASKS: bool = true;
    const NOUN: &'static str = X::NOUN;

    #[inline]
    fn schedule(task: Runnable) {
        // SAFETY: a task of this host; M3: it keeps its pool alive until it is queued.
        let (pool, home) = unsafe {
            let raw = task.as_raw();
            (&*pool_of::<BIG>(raw), Header::extra::<Self>(raw).as_ref().home())
        };
        context::with_worker_at_loop(|worker| {
            let worker = worker.filter(|worker| std::ptr::eq(Arc::as_ptr(&worker.pool), pool));
            match (home, worker) {
                (None, Some(worker)) => worker.push_woken(task),
                (None, None) => pool.inject(task),
                (Some(home), Some(worker)) if worker.index() == home as usize => {
                    worker.push_woken_pinned(task)
                }
                (Some(home), Some(worker)) => worker.send_home(home, task),
                (Some(home), None) => pool.send_home(home as usize, task),
            }
        });
    }

    #[inline]
    fn keeps_itself_alive(task: NonNull<Header>) -> bool {
        // SAFETY: a task of this host.
        let pool = unsafe { pool_of::<BIG>(task) };
        context::with_worker_at_loop(|worker| {
            worker.is_some_and(|worker| std::ptr::eq(Arc::as_ptr(&worker.pool), pool))
        })
    }

    #[inline]
    unsafe fn dealloc(task: NonNull<Header>, layout: Layout) {
        // SAFETY: a task of this host; M3: the pool is alive until its memory is back.
        let pool = unsafe { &*pool_of::<BIG>(task) };
        if BIG {
            // SAFETY: passed on to the caller.
            return unsafe { pool.depot.free_big(task, layout) };
        }
        context::with_worker_at_loop(|worker| match worker {
            Some(worker) if std::ptr::eq(Arc::as_ptr(&worker.pool), pool) => worker.free(task, layout),
            // SAFETY: passed on to the caller.
            _ => unsafe { pool.depot.free(task, layout) },
        });
    }

    fn name(extra: &X) -> Option<&str> {
        extra.name()
    }

    fn unhandled(task: NonNull<Header>, panic: PanicInfo) {
        // SAFETY: a task of this host that is still alive.
        let (runtime, extra) =
            unsafe { (&(*pool_of::<BIG>(task)).runtime, Header::extra::<Self>(task).as_ref()) };
        match extra.unhandled(panic) {
            Some(panic) if X::KIND == Stranded::KIND => runtime.unhandled_strand(panic),
            Some(panic) => runtime.unhandled(panic),
            None => {}
        }
    }

    const TELLS_OF_END: bool = X::TELLS_OF_END;

    fn ended(task: NonNull<Header>, how: Ended) -> Option<NonNull<()>> {
        // SAFETY: a task of this host that is still alive.
        unsafe { Header::extra::<Self>(task).as_ref() }.ended(task, how)
    }

    unsafe fn left(whom: NonNull<()>) {
        // SAFETY: passed on to the caller.
        unsafe { X::left(whom) }
    }

    #[cold]
    fn may_end(task: NonNull<Header>) -> bool {
        // SAFETY: a task of this host that is still alive.
        let runtime = unsafe { &(*pool_of::<BIG>(task)).runtime };
        let may = runtime.families.may_end(task, runtime);
        #[cfg(feature = "tokio-console")]
        if !may {
            // SAFETY: as above.
            unsafe { with_span(task, TaskSpan::wait_for_children) };
        }
        may
    }

    #[cold]
    fn refuses_wait(task: NonNull<Header>) -> bool {
        kin::refuses_wait(task)
    }

    #[cfg(feature = "tokio-console")]
    fn poll_begins(task: NonNull<Header>) {
        // SAFETY: a task of this host that is still alive.
        unsafe { with_span(task, TaskSpan::enter) };
    }

    #[cfg(feature = "tokio-console")]
    fn poll_ends(task: NonNull<Header>, yielded: bool) {
        // SAFETY: as above.
        unsafe { with_span(task, |span| span.exit(yielded)) };
    }

    #[cfg(feature = "tokio-console")]
    fn waker(task: NonNull<Header>, what: WakerOp) {
        // SAFETY: as above.
        unsafe { with_span(task, |span| span.tell(what)) };
    }
}

/// How a task is to be made.
pub(crate) struct Order<X> {
    pub(crate) extra: X,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) priority: u8,
}

impl<X> Order<X> {
    #[track_caller]
    pub(crate) fn here(extra: X) -> Self {
        Self { extra, spawned_at: Location::caller(), priority: 0 }
    }
}

/// Makes a task in the memory of `pool`; `worker` is the current worker if it belongs to it.
///
/// # Safety
/// As for [`emplace`]: `Send + 'static`, or the extra names a home and the caller answers for the rest.
#[inline]
pub(crate) unsafe fn make<B: Body, X: Extra>(
    pool: &Arc<Pool>,
    worker: Option<&Worker>,
    body: B,
    order: Order<X>,
) -> (Runnable, TaskHandle<B::Output>) {
    let Order { extra, spawned_at, priority } = order;
    let id = worker.map_or_else(|| pool.runtime.next_id(), Worker::next_id);
    let birth = Birth { id, spawned_at, pinned: extra.is_pinned(), priority };
    // SAFETY: passed on to the caller; the memory is for this layout and of this host.
    let made = unsafe {
        if const { is_big(layout::<B, Tasks<X, false>>()) } {
            let memory = pool.depot.alloc_big(pool, layout::<B, Tasks<X, true>>());
            emplace::<B, Tasks<X, true>>(memory, body, extra, birth)
        } else {
            let layout = layout::<B, Tasks<X, false>>();
            let memory = match worker {
                Some(worker) => worker.alloc(layout),
                None => pool.depot.alloc(pool, layout),
            };
            emplace::<B, Tasks<X, false>>(memory, body, extra, birth)
        }
    };
    if const { X::HAS_KIN } {
        // SAFETY: just made, and with this extra.
        if let Some(kin) = unsafe { Header::extra::<Tasks<X, false>>(made.0.as_raw()).as_ref() }.kin() {
            kin.made(made.0.task());
        }
    }
    made
}

/// The kin of a live task, if it is in a group.
///
/// # Safety
/// `task` is alive as long as the answer is used, and lives in a pool or is a job.
pub(crate) unsafe fn kin_of<'a>(task: NonNull<Header>) -> Option<&'a Kin> {
    // SAFETY: passed on to the caller; the kind says which host it lives in, and the extra's place does not depend on `BIG`.
    unsafe {
        match Header::kind(task) {
            Observation::KIND => Header::extra::<Tasks<Observation, false>>(task).as_ref().kin(),
            Member::KIND => Header::extra::<Tasks<Member, false>>(task).as_ref().kin(),
            Job::KIND => Job::relations(task).1,
            _ => None,
        }
    }
}

/// The task that does not end before this one, as far as it is known.
pub(crate) fn parent(task: &TaskRef) -> Option<TaskId> {
    // SAFETY: as in `observation`; the reference keeps what the task carries.
    unsafe {
        match task.kind() {
            Observation::KIND => task.extra::<Tasks<Observation, false>>().kin()?.parent(),
            Member::KIND => task.extra::<Tasks<Member, false>>().kin()?.parent(),
            Stranded::KIND => task.extra::<Tasks<Stranded, false>>().parent(),
            Job::KIND => Job::kin_of(task)?.parent(),
            _ => None,
        }
    }
}

/// The worker that a task stays at.
pub(crate) fn home(task: &TaskRef) -> Option<u16> {
    // SAFETY: as in `observation`.
    unsafe {
        match task.kind() {
            Home::KIND => task.extra::<Tasks<Home, false>>().home(),
            LocalStrand::KIND => task.extra::<Tasks<LocalStrand, false>>().home(),
            Observation::KIND => task.extra::<Tasks<Observation, false>>().home(),
            Member::KIND => task.extra::<Tasks<Member, false>>().home(),
            Stranded::KIND => task.extra::<Tasks<Stranded, false>>().home(),
            _ => None,
        }
    }
}

/// Its name, if it has one.
pub(crate) fn name(task: &TaskRef) -> Option<&str> {
    // SAFETY: as in `observation`.
    unsafe {
        match task.kind() {
            Observation::KIND => task.extra::<Tasks<Observation, false>>().name(),
            Stranded::KIND => task.extra::<Tasks<Stranded, false>>().name(),
            _ => None,
        }
    }
}

/// What it is called.
pub(crate) fn noun(task: &TaskRef) -> &'static str {
    match task.kind() {
        Stranded::KIND | LocalStrand::KIND => Stranded::NOUN,
        Observation::KIND if observation(task).is_some_and(|seen| seen.is_strand) => Stranded::NOUN,
        Job::KIND => "job",
        _ => "task",
    }
}

/// Whether it is a strand with a stack that has been started.
pub(crate) fn has_stack(task: &TaskRef) -> bool {
    match task.kind() {
        // SAFETY: as in `observation`.
        Stranded::KIND => unsafe { task.extra::<Tasks<Stranded, false>>() }.has_started(),
        _ => noun(task) == Stranded::NOUN,
    }
}

/// Whether it is what brings a parked stack back.
pub(crate) fn is_ticket(task: &Runnable) -> bool {
    let raw = task.as_raw();
    // SAFETY: a task that can run is alive; the kind says which host it lives in, and the extra's place does not depend on `BIG`.
    unsafe { Header::kind(raw) == Ticket::KIND && !Header::extra::<Tasks<Ticket, false>>(raw).as_ref().root }
}

/// Whether it may be an observed one, or have a name.
pub(crate) fn may_be_observed(task: &Runnable) -> bool {
    // SAFETY: a task that can run is alive.
    matches!(unsafe { Header::kind(task.as_raw()) }, Observation::KIND | Stranded::KIND)
}

/// What was observed of a task, if it is an observed one.
pub(crate) fn observation(task: &TaskRef) -> Option<&Observation> {
    // SAFETY: the kind says which host it lives in; the extra's place does not depend on `BIG`.
    unsafe {
        match task.kind() {
            Observation::KIND => Some(task.extra::<Tasks<Observation, false>>()),
            Stranded::KIND => task.extra::<Tasks<Stranded, false>>().observation(),
            _ => None,
        }
    }
}

/// An observed task was spawned: tokio's console is told.
#[cfg(feature = "tokio-console")]
pub(crate) fn begin_span(task: &TaskRef) {
    if let Some(seen) = observation(task) {
        seen.span.begin(task.id(), noun(task), name(task), task.spawned_at());
    }
}

/// Calls `f` with the span of a task, if it is an observed one.
///
/// # Safety
/// `task` is alive, and lives in a pool.
#[cfg(feature = "tokio-console")]
pub(crate) unsafe fn with_span(task: NonNull<Header>, f: impl FnOnce(&TaskSpan)) {
    // SAFETY: passed on to the caller.
    if let Some(seen) = unsafe { observation_of(task) } {
        f(&seen.span);
    }
}

/// The same, of a live task of any kind or of a job.
///
/// # Safety
/// `task` is alive as long as the answer is used, and lives in a pool or is a job.
pub(crate) unsafe fn observation_of<'a>(task: NonNull<Header>) -> Option<&'a Observation> {
    // SAFETY: passed on to the caller; as in `kin_of`.
    unsafe {
        match Header::kind(task) {
            Observation::KIND => Some(Header::extra::<Tasks<Observation, false>>(task).as_ref()),
            Stranded::KIND => Header::extra::<Tasks<Stranded, false>>(task).as_ref().observation(),
            Job::KIND => Job::observation_of(task),
            _ => None,
        }
    }
}

impl Observation {
    pub(crate) fn new(name: Option<Box<str>>, born: u64, kin: Option<Kin>) -> Self {
        let (polls, busy) = (AtomicU64::new(0), AtomicU64::new(0));
        Self {
            name,
            home: None,
            is_strand: false,
            polls,
            busy,
            born,
            kin,
            reasons: Reasons::new(),
            span: TaskSpan::new(),
        }
    }

    pub(crate) fn polled(&self, nanos: u64) {
        self.polls.fetch_add(1, Relaxed);
        self.busy.fetch_add(nanos, Relaxed);
    }
}
