//! What the task of a strand carries beside its header: where it is at home, what it is called, whose child it is.
//!
//! Its home is one of four:
//!
//! | home | where it is | counted | becomes |
//! |---|---|---|---|
//! | nowhere | in a slot, a ring or the injection queue; it may be stolen | by nobody | *adopted* by the worker that is about to run it, if no other has less (`adopt`); else *sent* by that worker (`send_to`) |
//! | sent | in the inbox or the local queue of the worker it was sent to | there, as coming (`post.rs`) | *adopted* by that worker, when it is about to run it; *nowhere*, if no thread was to be had for that worker (`call_back`) |
//! | adopted | runs, waits, or is in the inbox or the local queue of its worker | there, as pinned | nothing else: it stays to its end |
//! | anywhere | has started, where strands roam: runs, waits, or is queued as a task is, and may be stolen | by nobody | *adopted* by the worker on which it is suspended while somebody unwinds there (RO2) |
//!
//! It is born nowhere (`new`), and changed by who holds its `Runnable`, one at a time: a queue or the state of the task orders
//! them, so the accesses are relaxed. Cancelling changes nothing of this: one that was cancelled before it was started is adopted, and
//! then dropped instead of run. (But what came to a pool that has ended is dropped where it is.)
//!
//! Strands that roam ([`PoolBuilder::roaming_strands`](crate::PoolBuilder::roaming_strands)):
//!
//! * **RO1** What a stack keeps of its thread across a wait is the user's to answer for; ours is TL1 (`context.rs`), the seat, which is
//!   used by one thread at a time, in the order of the queues, and that a strand that roams does not fork (its deque would have to move).
//! * **RO2** A strand that is suspended on a thread that counts as panicking is adopted first: it may be the one that unwinds, and then its
//!   panic is counted there. (Whether it is, it does not always know: S3 in `seat.rs`.)
//! * **RO3** A strand that drives a runtime without threads is adopted first, for good: what it drives may belong to its thread.

use super::scene::{Scene, Tie};
use crate::sched::host::{Extra, Observation, Tasks};
use crate::sched::pool::Pool;
use crate::task::observation;
use ropewalk_core::prim::real::{AtomicU32, Ordering::Relaxed};
use ropewalk_core::task::{Ended, Header, PanicInfo, TaskId};
use std::ptr::NonNull;

/// Sent: the number of its worker. Adopted: that, and this bit.
const ADOPTED: u32 = 1 << 16;
const NOWHERE: u32 = u32::MAX;
/// It has started, and has no home.
const ANYWHERE: u32 = u32::MAX - 1;

/// See the head of this file.
pub(crate) struct Stranded {
    /// See the table at the head of this file.
    home: AtomicU32,
    /// The worker on which the strand is that started it.
    parent_home: Option<u16>,
    known: Option<Box<Known>>,
    /// The task in whose scope it is. (The scope may be gone when somebody asks.)
    parent: Option<TaskId>,
    tie: Tie,
}

/// What is known of a strand with a name, and of those of an observed runtime.
pub(super) struct Known {
    name: Option<Box<str>>,
    observation: Option<Observation>,
}

impl Known {
    /// Of a strand that is about to be made in `pool`, if there is anything.
    #[inline(always)]
    pub(super) fn of(name: Option<Box<str>>, pool: &Pool) -> Option<Box<Self>> {
        (name.is_some() || pool.config.observe).then(|| Self::new(name, pool))
    }

    #[cold]
    fn new(name: Option<Box<str>>, pool: &Pool) -> Box<Self> {
        let observation = pool.config.observe.then(|| observation(pool, None, None));
        Box::new(Self { name, observation })
    }
}

impl Stranded {
    pub(super) fn new(known: Option<Box<Known>>, scene: Option<&Scene>, parent_home: Option<u16>) -> Self {
        let parent = scene.and_then(Scene::owner);
        Self { parent_home, home: AtomicU32::new(NOWHERE), known, parent, tie: Tie::new(scene) }
    }

    /// It is to start at `home`, and to stay there.
    pub(crate) fn send_to(&self, home: u16) {
        self.home.store(home.into(), Relaxed); // it goes there by a queue, which publishes this
    }

    /// There is no worker where it was sent.
    pub(crate) fn call_back(&self) {
        self.home.store(NOWHERE, Relaxed); // it is queued again, which publishes this
    }

    /// It starts at `home`.
    pub(crate) fn adopt(&self, home: u16) {
        self.home.store(u32::from(home) | ADOPTED, Relaxed);
    }

    /// It starts, and goes wherever there is room from now on.
    pub(crate) fn roam(&self) {
        self.home.store(ANYWHERE, Relaxed);
    }

    /// Whether it has started, and may go elsewhere.
    #[inline]
    pub(crate) fn roams(&self) -> bool {
        cfg!(feature = "roaming") && self.home.load(Relaxed) == ANYWHERE
    }

    /// Whether it has started.
    #[inline]
    pub(crate) fn has_started(&self) -> bool {
        let home = self.home.load(Relaxed);
        home != NOWHERE && home & ADOPTED != 0
    }

    pub(crate) fn parent_home(&self) -> Option<u16> {
        self.parent_home
    }

    pub(crate) fn parent(&self) -> Option<TaskId> {
        self.parent
    }

    pub(super) fn tie(&self) -> &Tie {
        &self.tie
    }

    pub(crate) fn observation(&self) -> Option<&Observation> {
        self.known.as_ref()?.observation.as_ref()
    }
}

/// What a strand carries; `None`: it is none, or is local.
///
/// # Safety
/// The task is alive.
pub(super) unsafe fn carried<'a>(task: NonNull<Header>) -> Option<&'a Stranded> {
    // SAFETY: the caller's promise; the place of the extra does not depend on how big the task is.
    unsafe {
        (Header::kind(task) == Stranded::KIND).then(|| Header::extra::<Tasks<Stranded, false>>(task).as_ref())
    }
}

impl Extra for Stranded {
    const KIND: u8 = 6;
    const NOUN: &'static str = "strand";
    const TELLS_OF_END: bool = true;

    fn home(&self) -> Option<u16> {
        match self.home.load(Relaxed) {
            NOWHERE | ANYWHERE => None,
            home => Some(home as u16),
        }
    }

    fn is_pinned(&self) -> bool {
        true // also before it has a home: who runs it gives it one
    }

    fn name(&self) -> Option<&str> {
        self.known.as_ref()?.name.as_deref()
    }

    #[inline]
    fn ended(&self, task: NonNull<Header>, how: Ended) -> Option<NonNull<()>> {
        let scene = self.tie.scene()?;
        if how.leaves_nothing {
            scene.leave(&self.tie);
            return None;
        }
        // SAFETY: the task is alive.
        scene.unlist(&self.tie, unsafe { Header::id(task) }, how.panic);
        Some(NonNull::from(scene).cast())
    }

    unsafe fn left(whom: NonNull<()>) {
        // SAFETY: `ended` gave it, and the scope is there until the child that calls this has left (C1).
        unsafe { whom.cast::<Scene>().as_ref() }.left();
    }

    /// A child's panic is its scope's business.
    fn unhandled(&self, panic: PanicInfo) -> Option<PanicInfo> {
        match self.tie.scene() {
            Some(scene) => {
                scene.keep_panic(panic);
                None
            }
            None => Some(panic),
        }
    }
}
