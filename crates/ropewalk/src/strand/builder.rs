//! How strands are started.

use super::body::Run;
use super::handle::Strand;
use super::scene::Scene;
use super::scope::Scope;
use super::stranded::{Known, Stranded};
use crate::context;
use crate::fork::Loot;
use crate::local;
use crate::sched::host::{Order, Tasks, make};
use crate::sched::pool::Pool;
use crate::sched::worker::Worker;
use crate::task::{queue, tell_of_spawn};
use ropewalk_core::task::{Header, Runnable, TaskHandle};
use std::panic::Location;
use std::sync::Arc;

/// Starts strands with a name, a stack of a certain size, or in a certain pool.
///
/// ```
/// use ropewalk::strand::{self, Builder};
/// let name = ropewalk::run(|| strand::scope(|s| {
///     let fid = Builder::new().name("fid").stack_size(256 * 1024);
///     fid.spawn_in(s, || strand::current().unwrap().name().unwrap().to_owned()).join()
/// }));
/// assert_eq!(name, "fid");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until `spawn`"]
pub struct Builder {
    name: Option<Box<str>>,
    /// Zero: as the pool says.
    stack_size: usize,
    pool: Option<crate::Pool>,
}

impl Builder {
    /// No name, the stack that the pool's strands have, and the pool of the caller.
    pub fn new() -> Self {
        Self::default()
    }

    /// The strand's name, shown in reports and dumps.
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How many bytes of stack it has at least.
    ///
    /// # Panics
    /// If that is less than 8 KiB, or more than a terabyte.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        assert!(
            (8 << 10..=1 << 40).contains(&bytes),
            "ropewalk: a stack of {bytes} bytes; accepted are 8192 to {}",
            1u64 << 40
        );
        self.stack_size = bytes;
        self
    }

    /// The pool it runs in.
    pub fn pool(mut self, pool: &crate::Pool) -> Self {
        self.pool = Some(pool.clone());
        self
    }

    /// Starts it as a child of `scope`; see [`Scope::spawn`].
    #[track_caller]
    pub fn spawn_in<'scope, F, T>(self, scope: &'scope Scope<'scope, '_>, f: F) -> Strand<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let scene = scope.scene();
        // SAFETY: `f` and what it gives outlive the scope, which waits for it (C1).
        Strand::new(unsafe { self.start(f, Some(scene)) }, Some(scene))
    }

    /// Starts it as nobody's child; see [`spawn`](super::spawn).
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> Strand<'static, T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: it borrows nothing.
        Strand::new(unsafe { self.start(f, None) }, None)
    }

    /// # Safety
    /// What `f` and its value borrow outlives them.
    #[track_caller]
    unsafe fn start<F, T>(self, f: F, scene: Option<&Scene>) -> TaskHandle<T>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let Self { name, stack_size, pool } = self;
        let settings = Settings { name, stack_size, spawned_at: Location::caller() };
        let Some(pool) = pool else {
            // SAFETY: passed on to the caller.
            return unsafe { launch(f, scene, settings) };
        };
        let pool = pool.inner();
        // SAFETY: passed on to the caller.
        context::with_worker(|worker| unsafe {
            let worker = worker.filter(|worker| Arc::ptr_eq(&worker.pool, &pool));
            launch_at(&pool, worker, f, scene, settings)
        })
    }
}

/// How a strand is to be made.
pub(super) struct Settings {
    pub(super) name: Option<Box<str>>,
    /// Zero: as the pool says.
    pub(super) stack_size: usize,
    pub(super) spawned_at: &'static Location<'static>,
}

/// Starts a strand in the pool of the caller.
///
/// # Safety
/// What `f` and its value borrow outlives them.
#[inline]
pub(super) unsafe fn launch<F, T>(f: F, scene: Option<&Scene>, settings: Settings) -> TaskHandle<T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    // SAFETY: passed on to the caller.
    context::with_worker(|worker| unsafe {
        match worker {
            Some(worker) if !context::has_entered() => {
                launch_at(&worker.pool, Some(worker), f, scene, settings)
            }
            _ => launch_at(&crate::Handle::current().main(), None, f, scene, settings),
        }
    })
}

/// # Safety
/// What `f` and its value borrow outlives them.
unsafe fn launch_at<F, T>(
    pool: &Arc<Pool>,
    worker: Option<&Worker>,
    f: F,
    scene: Option<&Scene>,
    settings: Settings,
) -> TaskHandle<T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let parent = worker.filter(|worker| worker.frame.strand.get().is_some());
    let known = Known::of(settings.name, pool);
    let extra = Stranded::new(known, scene, parent.map(|worker| worker.index() as u16));
    let body = Run::new(local::carry(f), settings.stack_size);
    let order = Order { extra, spawned_at: settings.spawned_at, priority: 0 };
    // SAFETY: it is `Send` until it starts, and stays where it does, or its pool was promised RO1; for what it borrows the caller answers.
    let (runnable, handle) = unsafe { make(pool, worker, body, order) };
    if let Some(scene) = scene {
        let task = runnable.as_raw();
        // SAFETY: just made, with this extra, whose place does not depend on how big the task is.
        let late = unsafe { scene.enrol(Header::extra::<Tasks<Stranded, false>>(task).as_ref().tie(), task) };
        if late {
            runnable.cancel(false);
        }
        if worker.is_none() && pool.hosted {
            scene.starts_in_threadless(pool);
        }
    }
    queue(pool, worker, runnable);
    handle
}

/// Makes a strand out of a half of a join, which was stolen: it starts on `worker`, as the child that the join waits for.
///
/// # Safety
/// The caller has stolen it.
pub(crate) unsafe fn strand_of_half(worker: &Worker, half: Loot) -> Runnable {
    let pool = &worker.pool;
    // SAFETY: the contract; the scene is there until this child has left it.
    let (scene, origin) = unsafe { half.meet() };
    let extra = Stranded::new(Known::of(None, pool), Some(scene), None);
    let order = Order { extra, spawned_at: origin.spawned_at, priority: 0 };
    // SAFETY: passed on to the caller. Its function is called once, or not at all.
    let body = Run::new(move || unsafe { half.run() }, origin.stack_size);
    let counted = worker.admit();
    debug_assert!(counted, "nothing is stolen while the pool closes");
    // SAFETY: it is `Send`; what it borrows outlives it, for the join waits for it.
    let (runnable, handle) = unsafe { make(pool, Some(worker), body, order) };
    drop(handle);
    let task = runnable.as_raw();
    // SAFETY: just made, with this extra, whose place does not depend on how big the task is.
    let strand = unsafe { Header::extra::<Tasks<Stranded, false>>(task).as_ref() };
    // SAFETY: as above.
    if unsafe { scene.enrol_expected(strand.tie(), task) } {
        runnable.cancel(false);
    }
    worker.start_here(strand);
    tell_of_spawn(pool, &runnable);
    runnable
}
