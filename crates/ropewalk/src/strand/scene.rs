//! Scopes: strands that borrow from the call they are started in, and end before it does.
//!
//! Child, when it is over (`Stranded::ended`, `left`):
//!
//! 1. its function and all that it held are gone; its value, if it has a handle, is in its task
//! 2. under the lock: it leaves the list, and a panic of it is noted
//! 3. who waits for it is woken; a value that nobody will take is dropped
//! 4. under the lock: it is not alive any more; if it was the last, who waits for all of them is taken out, and then woken
//!
//! (2 and 4 at once, if there is no panic and no value that could be dropped in 3.)
//!
//! Parent, when the closure of the scope is over, however:
//!
//! 1. under the lock: takes references to those that are in the list, and cancels them; whoever is started from then on, by one of
//!    them, is cancelled too
//! 2. under the lock: nobody alive: goes on; otherwise leaves its waker, and waits, whatever interrupts it
//!
//! * **C1** The call that a scope lies in is not left before 4 of every child. So what children borrow outlives them: their
//!   functions are gone by 1, their values by 3, or they are with a handle, which does not outlive `'scope`.
//! * **C2** The lock is a [`BriefLock`], of which nothing is touched once it is open: the last child's 4 may be followed at once by
//!   the end of the scope.
//! * **C3** A child is in the list from before it can run until 2, and its task is alive as long.
//! * **C4** No user code runs under the lock: wakers are cloned, called and dropped, and tasks cancelled, outside.

use super::stranded::{Stranded, carried};
use super::{Interrupted, LiveStrands, rethrow};
use crate::runtime::{Handle, complain, wake_safely};
use crate::sched::host::{Extra, Tasks};
use crate::sched::pool::Pool;
use crate::wait::wait_to_the_end_driving;
use ropewalk_core::blocked::{Reason, address_of, note};
use ropewalk_core::linked;
use ropewalk_core::list::{Links, List};
use ropewalk_core::prim::{BriefGuard, BriefLock};
use ropewalk_core::task::{Header, PanicInfo, Runnable, TaskId, TaskRef};
use std::any::Any;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What children and their scope have in common; see the head of this file.
pub(crate) struct Scene {
    kind: Kind,
    /// The task that it lies in, for those who look at its children; `None`: a plain thread.
    owner: Option<TaskId>,
    /// The thread that its call is on and stays on, if it stays there; see [`Scene::this_thread`].
    thread: Option<usize>,
    /// The nursery around this one, if it is one. Used by the stack it lies on only.
    outer: Cell<*const Scene>,
    members: BriefLock<Members>,
}
// SAFETY: `outer` is used on one thread; the rest is under the lock.
unsafe impl Sync for Scene {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Scope,
    /// The first panic ends all.
    Nursery,
}

#[derive(Default)]
struct Members {
    /// Those that may be running (C3).
    list: List<Tie>,
    /// Those that have not come to 4.
    alive: usize,
    /// Those who wait until nobody is.
    waiting: Vec<Waker>,
    /// Pools of runtimes without threads in which children were started from outside.
    threadless: Vec<Arc<Pool>>,
    /// Who comes from now on is cancelled: a child of a nursery has panicked, or the closure is over.
    doomed: bool,
    /// What the first panic in a nursery said.
    said: Option<String>,
    /// What the nursery's owner waits with.
    owner: Option<Waker>,
    /// Panics that nobody has taken, the first one first.
    panics: Vec<PanicInfo>,
    /// Panics that are with a handle: it may yet take them, or be forgotten.
    with_handle: Vec<(TaskId, String)>,
    /// Panics that were taken from their handle already, and not noted yet: a handle knows a moment earlier.
    taken: Vec<TaskId>,
}

/// A child's place in the list.
pub(crate) struct Tie {
    links: Links<Tie>,
    scene: *const Scene,
    task: Cell<Option<NonNull<Header>>>,
}
linked!(Tie, links);
// SAFETY: what it points to is `Sync`, and `task` is written before the task is shown to anybody.
unsafe impl Send for Tie {}
// SAFETY: as above.
unsafe impl Sync for Tie {}

impl Tie {
    /// For a child of `scene`, or of nobody.
    pub(super) fn new(scene: Option<&Scene>) -> Self {
        let scene = scene.map_or(std::ptr::null(), std::ptr::from_ref);
        Self { links: Links::new(), scene, task: Cell::new(None) }
    }

    /// The scope it is in, while it is.
    pub(crate) fn scene(&self) -> Option<&Scene> {
        // SAFETY: C1: a child's scope is there until the child has left, and who asks does so before.
        unsafe { self.scene.as_ref() }
    }
}

impl Scene {
    pub(super) fn new(kind: Kind) -> Self {
        Self::of(crate::task::id(), kind)
    }

    fn of(owner: Option<TaskId>, kind: Kind) -> Self {
        let members = BriefLock::new(Members::default());
        let roams = cfg!(feature = "roaming") && super::with_seat(|_, seat| seat.roams()).unwrap_or(false);
        let thread = (!roams).then(Self::this_thread);
        Self { kind, owner, thread, outer: Cell::new(std::ptr::null()), members }
    }

    /// A name for this thread, which no other one has at the same time.
    pub(crate) fn this_thread() -> usize {
        thread_local!(static HERE: u8 = const { 0 });
        HERE.try_with(|here| std::ptr::from_ref(here).addr()).unwrap_or(0)
    }

    /// Interrupts what waits inside, as if a child had failed.
    pub(crate) fn interrupt(&self) {
        self.fail(self.members.lock(), Some(String::new()));
    }

    /// A scope with one child that is counted and not made yet: see [`enrol_expected`](Self::enrol_expected).
    pub(crate) fn of_one_to_come(owner: Option<TaskId>) -> Self {
        let this = Self::of(owner, Kind::Scope);
        this.members.lock().alive = 1;
        this
    }

    pub(super) fn outer(&self) -> *const Scene {
        self.outer.get()
    }

    pub(super) fn set_outer(&self, outer: *const Scene) {
        self.outer.set(outer);
    }

    pub(super) fn owner(&self) -> Option<TaskId> {
        self.owner
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// How many children are alive.
    pub(super) fn len(&self) -> usize {
        self.members.lock().alive
    }

    /// A child was made, and is not queued yet. True: it is to be cancelled.
    ///
    /// # Safety
    /// `tie` is that of `task`, which is in no list.
    #[must_use]
    pub(super) unsafe fn enrol(&self, tie: &Tie, task: NonNull<Header>) -> bool {
        tie.task.set(Some(task));
        let mut members = self.members.lock();
        members.alive += 1;
        // SAFETY: passed on to the caller; it stays until `unlist` or `leave` takes it out (C3).
        unsafe { members.list.push_back(NonNull::from(tie)) };
        members.doomed
    }

    /// The same for a child that was counted before it was made.
    ///
    /// # Safety
    /// As for [`enrol`](Self::enrol).
    #[must_use]
    pub(super) unsafe fn enrol_expected(&self, tie: &Tie, task: NonNull<Header>) -> bool {
        tie.task.set(Some(task));
        let mut members = self.members.lock();
        // SAFETY: passed on to the caller; it stays until `unlist` takes it out (C3).
        unsafe { members.list.push_back(NonNull::from(tie)) };
        members.doomed
    }

    /// Cancels its children, also those to come.
    pub(crate) fn doom(&self) {
        self.members.lock().doomed = true;
        self.cancel_all();
    }

    /// Step 2 of a child. `panic`: what is said of the panic it ended with.
    pub(crate) fn unlist(&self, tie: &Tie, id: TaskId, panic: Option<String>) {
        let said = if self.kind == Kind::Nursery { panic.clone() } else { None };
        let mut members = self.members.lock();
        // SAFETY: it is in this list (C3).
        unsafe { members.list.remove(NonNull::from(tie)) };
        if let Some(text) = panic {
            if !members.is_taken(id) {
                members.with_handle.push((id, text));
            }
            self.fail(members, said);
        }
    }

    /// Nobody will join a child that panicked. If it never had a handle by then, this comes before step 2.
    pub(crate) fn keep_panic(&self, panic: PanicInfo) {
        let said = if self.kind == Kind::Nursery { Some(panic.to_string()) } else { None };
        let mut members = self.members.lock();
        members.take_from_handle(panic.task());
        members.panics.push(panic);
        self.fail(members, said);
    }

    /// A child has panicked, and `said` something: in a nursery, that is the end of all.
    fn fail(&self, mut members: BriefGuard<'_, Members>, said: Option<String>) {
        if members.said.is_some() || said.is_none() {
            drop(members); // before what was said
            return;
        }
        (members.doomed, members.said) = (true, said);
        let (owner, children) = (members.owner.take(), members.references());
        drop(members);
        children.iter().for_each(TaskRef::cancel);
        if let Some(owner) = owner {
            wake_safely(owner);
        }
    }

    /// A handle has taken a panic.
    pub(super) fn panic_taken(&self, id: TaskId) {
        self.members.lock().take_from_handle(id);
    }

    /// Steps 2 and 4 of a child for which there is nothing to do in between.
    pub(crate) fn leave(&self, tie: &Tie) {
        let mut members = self.members.lock();
        // SAFETY: it is in this list (C3).
        unsafe { members.list.remove(NonNull::from(tie)) };
        Self::depart(members);
    }

    /// Step 4 of a child.
    pub(crate) fn left(&self) {
        Self::depart(self.members.lock());
    }

    #[inline(always)]
    fn depart(mut members: BriefGuard<'_, Members>) {
        members.alive -= 1;
        let waiting = if members.alive == 0 { std::mem::take(&mut members.waiting) } else { Vec::new() };
        drop(members); // C2
        waiting.into_iter().for_each(wake_safely);
    }

    /// Ready when no child is alive.
    pub(crate) fn poll_empty(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.members.lock().alive == 0 {
            return Poll::Ready(());
        }
        let waker = cx.waker().clone();
        let mut members = self.members.lock();
        let known = members.waiting.iter().any(|known| known.will_wake(&waker));
        let empty = members.alive == 0;
        let unused = if known || empty {
            Some(waker)
        } else {
            members.waiting.push(waker);
            None
        };
        drop(members);
        drop(unused);
        if empty {
            return Poll::Ready(());
        }
        note(Reason::Group, address_of(self));
        Poll::Pending
    }

    /// Whether a child of this nursery has panicked; if not, `waker` is called when one does.
    pub(super) fn poll_failed(&self, waker: &Waker) -> bool {
        if self.members.lock().will_wake(waker) {
            return false;
        }
        let waker = waker.clone();
        let mut members = self.members.lock();
        let failed = members.said.is_some();
        let unused = if failed { Some(waker) } else { members.owner.replace(waker) };
        drop(members);
        drop(unused);
        failed
    }

    pub(super) fn cancel_all(&self) {
        let children = self.members.lock().references();
        children.iter().for_each(TaskRef::cancel);
    }

    /// The closure is over: cancels who is left, waits for all, and says what is to be told of them.
    pub(super) fn close(&self) -> Remains {
        let children = {
            let mut members = self.members.lock();
            members.doomed = true;
            members.references()
        };
        let live: Vec<_> = children.iter().filter(|child| !child.has_ended()).collect();
        children.iter().for_each(TaskRef::cancel);
        // One that was joined may not have come to its step 2 yet.
        let names: Vec<_> = live.iter().map(|child| name_of(child)).collect();
        drop(live);
        drop(children);
        if self.members.lock().alive > 0 {
            self.wait_for_all();
        }
        let mut members = self.members.lock();
        let (panics, forgotten) =
            (std::mem::take(&mut members.panics), std::mem::take(&mut members.with_handle));
        let (owner, said) = (members.owner.take(), members.said.take());
        let threadless = std::mem::take(&mut members.threadless);
        drop(members);
        drop((owner, threadless));
        Remains { live: names, panics, forgotten, said }
    }
}

impl Scene {
    /// A child was made in a runtime without threads, from outside, and is not queued yet: this may be the thread that has to drive it.
    pub(super) fn starts_in_threadless(&self, pool: &Arc<Pool>) {
        pool.orphans.one_more(); // OR1
        let mut members = self.members.lock();
        if members.threadless.iter().all(|known| !Arc::ptr_eq(known, pool)) {
            members.threadless.push(pool.clone());
        }
    }

    /// Waits to the end until no child is alive. Where nobody may drive, because the workers are bound to a thread that does not,
    /// children that have not begun are taken out of the queue. (Others there are none: HD1.)
    fn wait_for_all(&self) {
        let threadless: Vec<_> = self.members.lock().threadless.iter().map(Handle::of_worker).collect();
        let take_back =
            |runtime: &Handle| Some(runtime.main().take_back(|task| self.is_unstarted_child(task)));
        wait_to_the_end_driving(&threadless, &take_back, |cx| self.poll_empty(cx));
    }

    fn is_unstarted_child(&self, task: &Runnable) -> bool {
        // SAFETY: a task that can run is alive.
        let strand = unsafe { carried(task.as_raw()) };
        strand.is_some_and(|strand| !strand.has_started() && std::ptr::eq(strand.tie().scene, self))
    }
}

/// Whether `task` is a strand that borrows from a call on another thread than `here`; if so, whether it has started.
///
/// # Safety
/// The caller drives the pool that the task is in: so it does not end meanwhile.
pub(crate) unsafe fn is_orphan(task: &TaskRef, here: usize) -> Option<bool> {
    if task.kind() != Stranded::KIND || task.has_ended() {
        return None;
    }
    // SAFETY: it is one of those; the place of the extra does not depend on how big the task is.
    let strand = unsafe { task.extra::<Tasks<Stranded, false>>() };
    let scene = strand.tie().scene()?; // C1: it has not left
    (scene.thread != Some(here)).then(|| strand.has_started())
}

impl Members {
    /// A failure is told to `waker` already, should there be one.
    fn will_wake(&self, waker: &Waker) -> bool {
        self.said.is_none() && self.owner.as_ref().is_some_and(|owner| owner.will_wake(waker))
    }

    fn references(&self) -> Vec<TaskRef> {
        // SAFETY: what is in the list is alive (C3), and it was told its task before it came here.
        let reference =
            |tie: NonNull<Tie>| unsafe { tie.as_ref().task.get().map(|task| Header::reference(task)) };
        self.list.iter().filter_map(reference).collect()
    }

    /// The panic of `id` is with its handle no longer; it may not have been noted yet.
    fn take_from_handle(&mut self, id: TaskId) {
        let known = self.with_handle.len();
        self.with_handle.retain(|(with_handle, _)| *with_handle != id);
        if self.with_handle.len() == known {
            self.taken.push(id);
        }
    }

    /// Whether the panic of `id` was taken from its handle before it could be noted.
    fn is_taken(&mut self, id: TaskId) -> bool {
        let known = self.taken.len();
        self.taken.retain(|taken| *taken != id);
        self.taken.len() < known
    }
}

fn name_of(task: &TaskRef) -> String {
    task.name().map_or_else(|| format!("strand {}", task.id()), str::to_owned)
}

/// What the children of a scope have left behind.
pub(super) struct Remains {
    /// The names of those that had to be cancelled.
    live: Vec<String>,
    panics: Vec<PanicInfo>,
    /// Panics of children whose handle was forgotten: only what they said is left.
    forgotten: Vec<(TaskId, String)>,
    /// It is a nursery that has failed, and that is what the first panic said.
    said: Option<String>,
}

impl Remains {
    /// Goes on as the closure ended, or with what is worse.
    pub(super) fn settle<T>(self, result: Result<T, Box<dyn Any + Send>>) -> T {
        let Self { live, panics, forgotten, said } = self;
        let mut panics: Vec<_> = panics.into_iter().map(Trouble::Panic).collect();
        panics.extend(forgotten.into_iter().map(|(_, text)| Trouble::Said(text)));
        let unwinds = super::panicking();
        let value = match result {
            Ok(value) => value,
            // The nursery itself has interrupted its closure: the panic that it did that for is what goes on.
            Err(payload) if said.is_some() && payload.is::<Interrupted>() && !unwinds => {
                match said.filter(|_| panics.is_empty()) {
                    None => panics.remove(0).throw(panics),
                    // It was taken from its handle, and is gone; or somebody has cancelled the strand as well.
                    Some(_) if super::is_cancelled() => rethrow(payload),
                    Some(said) => Trouble::Said(said).throw(panics),
                }
            }
            Err(payload) => {
                panics.into_iter().for_each(Trouble::report);
                rethrow(payload)
            }
        };
        if unwinds {
            panics.into_iter().for_each(Trouble::report);
            if !live.is_empty() {
                complain(format_args!("{}", LiveStrands { names: live }));
            }
            return value;
        }
        if !panics.is_empty() {
            drop(value);
            panics.remove(0).throw(panics);
        }
        if !live.is_empty() {
            drop(value);
            let live = LiveStrands { names: live };
            complain(format_args!("{live}"));
            rethrow(Box::new(live));
        }
        value
    }
}

/// A panic that nobody took.
enum Trouble {
    Panic(PanicInfo),
    Said(String),
}

impl Trouble {
    fn throw(self, others: Vec<Trouble>) -> ! {
        others.into_iter().for_each(Trouble::report);
        match self {
            Self::Panic(panic) => rethrow(panic.into_payload()),
            Self::Said(text) => rethrow(Box::new(text)),
        }
    }

    /// As the runtime's policy says.
    fn report(self) {
        let runtime = Handle::current();
        match self {
            Self::Panic(panic) => runtime.shared.unhandled_strand(panic),
            Self::Said(text) => runtime.shared.forgotten_strand(text),
        }
    }
}

#[cfg(test)]
mod tests;
