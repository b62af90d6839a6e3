//! The second half of a join, on the stack of the strand that forks: it is taken back, or somebody steals it.
//!
//! * **JB1** A job lies in a call of `join`, which is not left before the job was taken back, or is over: who stole it has ended, and
//!   with it the strand that it became.
//! * **JB2** `half` is the closure until the job is over, and the result from then on. It belongs to who has the job: the owner, until
//!   it is pushed; then whoever takes it out of the deque; and the owner again when all that `scene` knows of have ended.
//! * **JB3** `shown` is written by the owner before the job is public, and belongs to both from then on. Before, it is not there.
//! * **JB4** Of a stolen job, owner and thief meet at a scene: who comes first makes it, and the owner frees it, when its child has
//!   left (C1).

use super::Origin;
use crate::local::{Heritage, Lent};
use crate::sched::entry::Entry;
use crate::strand::{Belongings, Scene, catch};
use ropewalk_core::prim::AtomicPtr;
use ropewalk_core::prim::Ordering::{AcqRel, Acquire, Relaxed};
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{NonNull, null_mut};

#[cfg(test)]
mod tests;

/// What a half gave, or what it panicked with.
pub(super) type Outcome<T> = Result<T, Box<dyn Any + Send>>;

/// What thieves know of a job.
pub(crate) struct Head {
    /// Runs it, on the strand that it has become.
    execute: unsafe fn(NonNull<Head>),
    /// What is inherited where it was forked, and whether that is shielded: so it is where it runs.
    heritage: *const Heritage,
    shields: u32,
    shown: UnsafeCell<MaybeUninit<Shown>>,
}

/// What only a job needs that others may take (JB3).
struct Shown {
    scene: AtomicPtr<Scene>,
    is_over: Cell<bool>,
    origin: Origin,
}

/// See the head of this file.
#[repr(C)]
pub(super) struct Job<B, R> {
    head: Head,
    half: UnsafeCell<Half<B, R>>,
}

union Half<B, R> {
    closure: ManuallyDrop<B>,
    outcome: ManuallyDrop<Outcome<R>>,
}

impl<B: FnOnce(bool) -> R, R> Job<B, R> {
    #[inline(always)]
    pub(super) fn new(closure: B, own: &Belongings) -> Self {
        let head = Head {
            execute: Self::execute,
            heritage: own.locals.inherited(),
            shields: own.shields.get(),
            shown: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Self { head, half: UnsafeCell::new(Half { closure: ManuallyDrop::new(closure) }) }
    }

    /// The job, for the deque.
    ///
    /// # Safety
    /// The caller keeps to JB1.
    #[inline(always)]
    pub(super) unsafe fn loot(&self) -> Loot {
        Loot(NonNull::from(self).cast())
    }

    /// # Safety
    /// The caller has the job, and it is not over (JB2); this is the only call.
    #[inline(always)]
    pub(super) unsafe fn closure(&self) -> B {
        // SAFETY: the contract.
        unsafe { ManuallyDrop::take(&mut (*self.half.get()).closure) }
    }

    /// What the thief left: the outcome, or nothing if it did not get to run the job.
    ///
    /// # Safety
    /// It was stolen, and the scene's child has left (JB4); this is the only call.
    pub(super) unsafe fn outcome(&self) -> Option<Outcome<R>> {
        // SAFETY: what is stolen was shown; and JB2.
        unsafe {
            let is_over = self.head.shown().is_over.get();
            is_over.then(|| ManuallyDrop::take(&mut (*self.half.get()).outcome))
        }
    }

    /// Where owner and thief meet.
    ///
    /// # Safety
    /// It was stolen; and the scene is not used any more when [`forget_scene`](Self::forget_scene) is called.
    pub(super) unsafe fn scene(&self) -> &Scene {
        // SAFETY: what is stolen was shown.
        unsafe { self.head.shown().scene() }
    }

    /// # Safety
    /// The scene was made, its child has left, and this is the only call.
    pub(super) unsafe fn forget_scene(&self) {
        // SAFETY: passed on to the caller; what has a scene was shown.
        unsafe { self.head.shown().forget_scene() };
    }

    /// # Safety
    /// `head` is that of a job of this type, which the caller has stolen; this is the only call.
    unsafe fn execute(head: NonNull<Head>) {
        // SAFETY: the contract; the head comes first, and is there until this strand has ended (JB1).
        let job = unsafe { head.cast::<Self>().as_ref() };
        let lent = Lent::inheriting(job.head.heritage);
        Belongings::here(|own| own.shields.set(job.head.shields));
        // SAFETY: the owner does not leave the call in which the heritage is bound, and nothing else was lent; JB2.
        let outcome = unsafe {
            let closure = job.closure();
            lent.within(|| catch(|| closure(true)))
        };
        // SAFETY: JB2: the closure is gone, and the owner does not look before this strand has ended.
        unsafe {
            (*job.half.get()).outcome = ManuallyDrop::new(outcome);
            job.head.shown().is_over.set(true);
        }
    }
}

impl Head {
    /// # Safety
    /// It was shown (JB3).
    unsafe fn shown(&self) -> &Shown {
        // SAFETY: the contract.
        unsafe { (*self.shown.get()).assume_init_ref() }
    }
}

impl Shown {
    fn scene(&self) -> &Scene {
        let mut scene = self.scene.load(Acquire);
        if scene.is_null() {
            let new = Box::into_raw(Box::new(Scene::of_one_to_come(self.origin.strand)));
            scene = match self.scene.compare_exchange(null_mut(), new, AcqRel, Acquire) {
                Ok(_) => new,
                Err(other) => {
                    // SAFETY: just made, and nobody has seen it.
                    drop(unsafe { Box::from_raw(new) });
                    other
                }
            };
        }
        // SAFETY: it is there until the owner frees it (JB4), and who calls this does so before.
        unsafe { &*scene }
    }

    /// # Safety
    /// As [`Job::forget_scene`].
    unsafe fn forget_scene(&self) {
        // SAFETY: the contract: it came from a box (`scene`), and nobody else uses it; the caller has read the pointer before.
        drop(unsafe { Box::from_raw(self.scene.load(Relaxed)) });
    }
}

/// A job that is in a deque, or was stolen from there.
pub(crate) struct Loot(NonNull<Head>);

// SAFETY: the closure and its result are `Send` (`join`); so is what else of the job its thief uses: a heritage is `Sync`.
unsafe impl Send for Loot {}

impl Entry for Loot {
    #[inline(always)]
    fn into_raw(self) -> NonNull<()> {
        self.0.cast()
    }

    #[inline(always)]
    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Self(raw.cast())
    }
}

impl Loot {
    /// Others may take the job at `raw` from now on.
    ///
    /// # Safety
    /// The caller owns the deque that it is in; it was not shown before.
    pub(super) unsafe fn show(raw: NonNull<()>, origin: Origin) {
        let shown = Shown { scene: AtomicPtr::new(null_mut()), is_over: Cell::new(false), origin };
        // SAFETY: the contract, JB3.
        unsafe { (*raw.cast::<Head>().as_ref().shown.get()).write(shown) };
    }

    /// Where its owner waits for it, and where that comes from.
    ///
    /// # Safety
    /// It was stolen; and the scene is used only until the strand that it becomes has left it (JB4).
    pub(crate) unsafe fn meet<'a>(&self) -> (&'a Scene, Origin) {
        // SAFETY: what was stolen was shown; the job is there until it is over (JB1).
        let shown: &'a Shown = unsafe { self.0.as_ref().shown() };
        (shown.scene(), shown.origin)
    }

    /// Runs it on the strand that it has become.
    ///
    /// # Safety
    /// It was stolen by the caller.
    pub(crate) unsafe fn run(self) {
        // SAFETY: the contract.
        unsafe { (self.0.as_ref().execute)(self.0) }
    }
}
