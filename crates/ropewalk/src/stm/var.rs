//! A variable: its handle, and what all handles share.
//!
//! # Invariants
//!
//! - **V1** `value` is replaced only by who has locked `word`, before it is published. Who reads the word, then the value, then the
//!   word again, and finds it free and of one version both times, has the value of that version.
//! - **V2** A value that was read is not dropped while the slot of its reader is announced (P1). The same goes for the variable: it
//!   is dropped after all of its handles, and after all transactions that may have had one.
//! - **V3** `watchers` is changed under its lock; a commit empties it while it has `word` locked, and what comes in between
//!   finds the word locked, and does not rely on it (`word.rs`).

use super::held::{self, Held};
use super::presence::Remains;
use super::space;
use super::stop::Place;
use super::watch::Watcher;
use super::word::{Word, WordCell};
use ropewalk_core::prim::{Arc, AtomicPtr, AtomicUsize, BriefLock, Ordering::*, pause};
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr::NonNull;

/// A variable that is read and written in transactions: [`atomically`](super::atomically).
///
/// A handle: clones are handles of the same variable. Its value is replaced as a whole, never changed in place, and held in an
/// [`Arc`](std::sync::Arc); numbers, `bool` and `char` are held in place.
///
/// ```
/// use ropewalk::Wait;
/// use ropewalk::stm::{TVar, atomically};
///
/// let seats = TVar::new(3);
/// let seen = seats.clone();
/// atomically(move |tx| tx.modify(&seats, |seats| *seats -= 1)).wait();
/// assert_eq!(seen.get(), 2);
/// ```
///
/// A value that was replaced is dropped when the last transaction that could have read it is over: usually at once, by the commit that
/// replaced it.
pub struct TVar<T> {
    core: NonNull<Core>,
    /// Invariant: what is written through one handle is read through others.
    value: PhantomData<fn(T) -> T>,
}

// SAFETY: a handle gives `&T` to any thread, and the last one may drop a `T` that another one made.
unsafe impl<T: Send + Sync> Send for TVar<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for TVar<T> {}

/// What the handles share, and what a transaction knows of it: not the type. A line of its own.
#[repr(C, align(64))]
pub(super) struct Core {
    pub(super) word: WordCell,
    pub(super) value: AtomicPtr<()>,
    /// How many handles there are, and others that keep it.
    owners: AtomicUsize,
    /// How to drop a value; none for numbers.
    pub(super) release: Option<unsafe fn(Held)>,
    pub(super) watchers: BriefLock<Vec<Arc<Watcher>>>,
    pub(super) place: Place,
    /// A model must be the same each time it is run, and addresses are not.
    #[cfg(any(loom, shuttle))]
    number: usize,
}

impl<T: Send + Sync + 'static> TVar<T> {
    /// A variable with this value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::placed(value, Place { location: Location::caller(), name: None })
    }

    /// A variable with a name, by which errors call it; otherwise they say where it was made.
    ///
    /// ```
    /// let stock = ropewalk::stm::TVar::named("stock of nails", 100_u32);
    /// assert_eq!(format!("{stock:?}"), "TVar(stock of nails: 100)");
    /// ```
    #[track_caller]
    pub fn named(name: impl Into<Box<str>>, value: T) -> Self {
        Self::placed(value, Place { location: Location::caller(), name: Some(name.into()) })
    }

    fn placed(value: T, place: Place) -> Self {
        let core = Core {
            word: WordCell::new(),
            value: AtomicPtr::new(held::pack(value)),
            owners: AtomicUsize::new(1),
            release: (!held::in_place::<T>()).then_some(held::release::<T> as unsafe fn(Held)),
            watchers: BriefLock::new(Vec::new()),
            place,
            #[cfg(any(loom, shuttle))]
            number: {
                use ropewalk_core::prim::real::AtomicUsize;
                static NEXT: AtomicUsize = AtomicUsize::new(0);
                NEXT.fetch_add(1, Relaxed)
            },
        };
        Self { core: NonNull::from(Box::leak(Box::new(core))), value: PhantomData }
    }

    #[inline(always)]
    pub(super) fn core(&self) -> &Core {
        // SAFETY: there is a handle, this one (V2).
        unsafe { self.core.as_ref() }
    }

    /// The value now, outside of a transaction. Inside of one it is not what the transaction sees, and not what it relies on:
    /// use [`Tx::read`](super::Tx::read) there.
    ///
    /// ```
    /// assert_eq!(ropewalk::stm::TVar::new("a").get(), "a");
    /// ```
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        if held::in_place::<T>() {
            // SAFETY: a value of this variable; a number is in the word itself.
            return unsafe { held::show(self.core().look_patiently().0, T::clone) };
        }
        self.get_arc().as_ref().clone()
    }

    /// The value now, without a copy of it (but of numbers).
    ///
    /// ```
    /// let log = ropewalk::stm::TVar::new(vec![1, 2, 3]);
    /// assert_eq!(log.get_arc().len(), 3);
    /// ```
    pub fn get_arc(&self) -> std::sync::Arc<T> {
        super::desk::Desk::visit(|| {
            let (value, _) = self.core().look_patiently();
            // SAFETY: the value of this variable, read while a slot of ours is announced (V2).
            unsafe { held::share(value) }
        })
    }

    /// Whether both are handles of the same variable.
    pub fn is_same(&self, other: &Self) -> bool {
        self.core == other.core
    }
}

impl Core {
    /// The order in which all commits lock: no two variables that are there at the same time have the same.
    #[inline(always)]
    pub(super) fn order(&self) -> usize {
        #[cfg(any(loom, shuttle))]
        return self.number;
        #[cfg(not(any(loom, shuttle)))]
        std::ptr::from_ref(self).addr()
    }

    /// The value, and its version. The caller's slot is announced. `None`: somebody is replacing it.
    #[inline(always)]
    pub(super) fn look(&self) -> Option<(Held, u64)> {
        let before = self.word.load();
        let value = self.value.load(Acquire); // who sees a value sees the lock under which it was written
        let same = self.word.load().is_free_at(before.version()) && !before.is_locked();
        same.then_some((value, before.version()))
    }

    /// The same, as soon as nobody replaces it: between the lock and the end of a commit there is no code of the user.
    #[inline(always)]
    pub(super) fn look_patiently(&self) -> (Held, u64) {
        let mut looks = 0;
        loop {
            if let Some(seen) = self.look() {
                return seen;
            }
            looks += 1;
            pause(looks);
        }
    }

    /// Locks it; returns what the word was. `None`: somebody else has it, and the caller does not wait.
    #[inline(always)]
    pub(super) fn lock(&self, patient: bool) -> Option<Word> {
        let mut looks = 0;
        loop {
            let seen = self.word.load();
            if !seen.is_locked() && self.word.lock(seen) {
                return Some(seen);
            }
            looks += 1;
            if looks > IMPATIENCE && !patient {
                return None;
            }
            pause(looks);
        }
    }

    /// A value of this variable, to be dropped; none for numbers.
    #[inline(always)]
    pub(super) fn remains_of(&self, value: Held) -> Option<Remains> {
        self.release.map(|release| Remains::Value(value, release))
    }

    /// Those who watch go into `wakes`.
    #[cold]
    pub(super) fn call(&self, wakes: &mut Vec<Arc<Watcher>>) {
        wakes.append(&mut self.watchers.lock());
    }

    /// One more owner, unless there is none any more.
    pub(super) fn keep(&self) -> Option<Kept> {
        let mut owners = self.owners.load(Relaxed);
        while owners > 0 {
            match self.owners.compare_exchange_weak(owners, owners + 1, Relaxed, Relaxed) {
                Ok(_) => return Some(Kept(NonNull::from(self))),
                Err(now) => owners = now,
            }
        }
        None
    }

    /// One owner less. The last one leaves the variable to transactions that may still have it.
    ///
    /// # Safety
    /// The owner does not use it any more.
    unsafe fn let_go(this: NonNull<Self>) {
        // SAFETY: an owner is left, the caller's.
        let owners = &unsafe { this.as_ref() }.owners;
        if owners.fetch_sub(1, Release) > 1 {
            return;
        }
        // Not a fence: ThreadSanitizer knows none. Sees what owners did before: a transaction that had a handle has announced
        // itself before it let go.
        let _none = owners.load(Acquire);
        let mut remains = vec![Remains::Variable(this)];
        let space = space();
        if space.presence.is_anybody_there() {
            let moment = space.clock.now() + 1; // who sees that time comes after us
            space.presence.retire(&space.clock, moment, &mut remains);
        }
        dispose(remains);
    }
}

/// Drops variables one after the other: the value of one may have the last handle of the next, and so on without end.
fn dispose(remains: Vec<Remains>) {
    /// Whatever happens, the next one begins a line of its own.
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            let _left = line(Option::take);
        }
    }
    let mut remains = remains;
    if line(|line| line.as_mut().map(|line| line.append(&mut remains))).is_some() {
        return;
    }
    let _none = line(|line| line.replace(Vec::new()));
    let ends = Ends;
    drop(remains);
    while let Some(next) = line(|line| line.as_mut().and_then(Vec::pop)) {
        drop(next);
    }
    drop(ends);
}

/// What waits to be dropped on this thread, if it drops any. (Destructors run between two calls: TL1.)
#[cfg_attr(feature = "roaming", inline(never))]
fn line<R>(f: impl FnOnce(&mut Option<Vec<Remains>>) -> Option<R>) -> Option<R> {
    thread_local!(static LINE: RefCell<Option<Vec<Remains>>> = const { RefCell::new(None) });
    LINE.try_with(|line| f(&mut line.borrow_mut())).ok().flatten()
}

/// How often a commit looks at a word that is locked by another one.
pub(super) const IMPATIENCE: u32 = if cfg!(any(loom, shuttle)) { 0 } else { 32 };

impl Drop for Core {
    fn drop(&mut self) {
        self.remains_of(self.value.load(Relaxed));
    }
}

/// Owns a variable as a handle does, without knowing its type.
pub(super) struct Kept(NonNull<Core>);

// SAFETY: as a handle (`TVar` is made of values that are `Send` and `Sync` only).
unsafe impl Send for Kept {}
// SAFETY: as above.
unsafe impl Sync for Kept {}

impl std::ops::Deref for Kept {
    type Target = Core;
    fn deref(&self) -> &Core {
        // SAFETY: an owner is left, this one.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: this was the owner.
        unsafe { Core::let_go(self.0) };
    }
}

impl<T> Clone for TVar<T> {
    fn clone(&self) -> Self {
        // SAFETY: an owner is left, this one.
        let owners = unsafe { self.core.as_ref() }.owners.fetch_add(1, Relaxed);
        if owners > isize::MAX as usize {
            std::process::abort(); // so many were forgotten that the count would begin again
        }
        Self { core: self.core, value: PhantomData }
    }
}

impl<T> Drop for TVar<T> {
    fn drop(&mut self) {
        // SAFETY: this was the owner.
        unsafe { Core::let_go(self.core) };
    }
}

impl<T: Send + Sync + fmt::Debug + 'static> fmt::Debug for TVar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.core().place.name {
            Some(name) => write!(f, "TVar({name}: {:?})", self.get_arc()),
            None => write!(f, "TVar({:?})", self.get_arc()),
        }
    }
}

impl<T: Send + Sync + Default + 'static> Default for TVar<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Send + Sync + 'static> From<T> for TVar<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}
