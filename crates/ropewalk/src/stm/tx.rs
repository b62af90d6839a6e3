//! A transaction under way: what its body can do.
//!
//! # Invariants
//!
//! - **T1** All that was read was there at one moment, each variable at its version. So the body never sees a state that was not there, even if
//!   it cannot be committed any more. There are two ways to know:
//!   - *Few* reads are all looked at again with each further one: they are as they were read, so this is the moment. It needs nothing but
//!     the variables' own words. Then `before` is 1: what was never written was so at any moment.
//!   - *Many*: the moment is when the clock came to `before - 1`. Who has seen that, and then finds a version that is not later, and no lock,
//!     has what was there at that moment (C1: whoever was replacing it had locked it, and is waited for). A later version makes
//!     it look at all reads again, and move on.
//! - **T2** Once that cannot be kept up the transaction is doomed (`before` is 0): it reads nothing more, and is not committed,
//!   whatever the body makes of the error.

use super::desk::Desk;
use super::held::{self, Held};
use super::space;
use super::stop::{Stop, TxResult, Why};
use super::var::{Core, IMPATIENCE, TVar};
use ropewalk_core::prefetch::to_write;
use ropewalk_core::prim::{Ordering::SeqCst, fence, pause};
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A transaction: what the body of [`atomically`](super::atomically) is given.
///
/// Functions that take it, and return a [`TxResult`], are parts of transactions and can be put together like any others.
///
/// ```
/// use ropewalk::Wait;
/// use ropewalk::stm::{TVar, Tx, TxResult, atomically};
///
/// fn transfer(tx: &mut Tx, from: &TVar<i64>, to: &TVar<i64>, amount: i64) -> TxResult<()> {
///     tx.modify(from, |balance| *balance -= amount)?;
///     tx.modify(to, |balance| *balance += amount)
/// }
///
/// let (alice, bob, carol) = (TVar::new(10), TVar::new(0), TVar::new(0));
/// atomically(|tx| {
///     transfer(tx, &alice, &bob, 7)?;
///     transfer(tx, &bob, &carol, 5)
/// })
/// .wait();
/// assert_eq!((alice.get(), bob.get(), carol.get()), (3, 2, 5));
/// ```
pub struct Tx {
    pub(super) desk: ManuallyDrop<Box<Desk>>,
    /// What has an earlier version can be read as it is (T1).
    pub(super) before: u64,
    /// It has the floor: it waits for locks, and need not give up.
    pub(super) alone: bool,
    /// Its body has returned.
    pub(super) is_over: bool,
    /// Where it met another one. To be followed while it is under way.
    pub(super) met: Option<*const Core>,
}

/// Fewer reads than this are looked at again with each further one.
const FEW: usize = if cfg!(any(loom, shuttle)) { 2 } else { 8 };

impl Tx {
    #[inline(always)]
    pub(super) fn begin(floor: Option<u64>) -> Self {
        let desk = Desk::take();
        let start = floor.unwrap_or_else(|| space().clock.now());
        desk.slot.enter(start);
        let (desk, before, alone) = (ManuallyDrop::new(desk), start + 1, floor.is_some());
        Self { desk, before, alone, is_over: false, met: None }
    }

    /// The value of a variable: what this transaction has written, or what it was when the transaction began (or later, if nothing
    /// else that it has read has changed since).
    ///
    /// # Errors
    /// [`Stop`]: pass it on.
    #[inline]
    pub fn read<T: Clone + Send + Sync + 'static>(&mut self, variable: &TVar<T>) -> TxResult<T> {
        self.read_with(variable, T::clone)
    }

    /// What `f` makes of the value, without a copy.
    ///
    /// ```
    /// use ropewalk::{Wait, stm::{TVar, atomically}};
    /// let names = TVar::new(vec!["Ada".to_owned(), "Grace".to_owned()]);
    /// assert_eq!(atomically(|tx| tx.read_with(&names, Vec::len)).wait(), 2);
    /// ```
    ///
    /// # Errors
    /// [`Stop`]: pass it on.
    #[inline]
    pub fn read_with<T: Send + Sync + 'static, R>(
        &mut self,
        variable: &TVar<T>,
        f: impl FnOnce(&T) -> R,
    ) -> TxResult<R> {
        let value = self.value_of(variable.core())?;
        // SAFETY: a value of this variable, read while we are announced (V2), or our own.
        Ok(unsafe { held::show(value, f) })
    }

    /// The value itself, to be kept. (Of a number it is a copy.)
    ///
    /// ```
    /// use ropewalk::{Wait, stm::{TVar, atomically}};
    /// let text = TVar::new("a long text".to_owned());
    /// let kept = atomically(|tx| tx.read_arc(&text)).wait();
    /// assert_eq!(*kept, text.get());
    /// ```
    ///
    /// # Errors
    /// [`Stop`]: pass it on.
    pub fn read_arc<T: Send + Sync + 'static>(&mut self, variable: &TVar<T>) -> TxResult<Arc<T>> {
        let value = self.value_of(variable.core())?;
        // SAFETY: as in `read_with`.
        Ok(unsafe { held::share(value) })
    }

    /// Replaces the value. Others see it when the transaction is committed.
    ///
    /// # Errors
    /// None today; pass it on.
    #[inline]
    pub fn write<T: Send + Sync + 'static>(&mut self, variable: &TVar<T>, value: T) -> TxResult<()> {
        let core = variable.core();
        let desk = &mut **self.desk;
        if let Some(old) = desk.writes.write(core, held::pack(value)) {
            desk.unused.extend(core.remains_of(old)); // dropped at the end: its destructor is code of the user
        }
        Ok(())
    }

    /// Changes (a copy of) the value. Returns what `f` does.
    ///
    /// ```
    /// use ropewalk::{Wait, stm::{TVar, atomically}};
    /// let stack = TVar::new(vec![1, 2]);
    /// assert_eq!(atomically(|tx| tx.modify(&stack, Vec::pop)).wait(), Some(2));
    /// assert_eq!(stack.get(), [1]);
    /// ```
    ///
    /// # Errors
    /// [`Stop`]: pass it on.
    #[inline]
    pub fn modify<T: Clone + Send + Sync + 'static, R>(
        &mut self,
        variable: &TVar<T>,
        f: impl FnOnce(&mut T) -> R,
    ) -> TxResult<R> {
        let core = variable.core();
        to_write(core); // it is read to be written: its line is to come once
        let own = self.desk.writes.find(core);
        let old = own.map_or_else(|| self.read_shared(core), Ok)?;
        // SAFETY: as in `read_with`.
        let mut value = unsafe { held::show(old, T::clone) };
        let result = f(&mut value);
        match own {
            Some(_) => self.write(variable, value)?,
            None => self.desk.writes.push(core, held::pack(value)),
        }
        Ok(result)
    }

    /// Replaces the value, and returns what it was.
    ///
    /// ```
    /// use ropewalk::{Wait, stm::{TVar, atomically}};
    /// let shift = TVar::new("early");
    /// assert_eq!(atomically(|tx| tx.replace(&shift, "late")).wait(), "early");
    /// ```
    ///
    /// # Errors
    /// [`Stop`]: pass it on.
    pub fn replace<T: Clone + Send + Sync + 'static>(&mut self, variable: &TVar<T>, value: T) -> TxResult<T> {
        to_write(variable.core());
        let old = self.read(variable)?;
        self.write(variable, value)?;
        Ok(old)
    }

    /// Exchanges the values of two variables.
    ///
    /// ```
    /// use ropewalk::{Wait, stm::{TVar, atomically}};
    /// let (left, right) = (TVar::new(1), TVar::new(2));
    /// atomically(|tx| tx.swap(&left, &right)).wait();
    /// assert_eq!((left.get(), right.get()), (2, 1));
    /// ```
    ///
    /// # Errors
    /// [`Stop`]: pass it on.
    pub fn swap<T: Clone + Send + Sync + 'static>(&mut self, one: &TVar<T>, other: &TVar<T>) -> TxResult<()> {
        let (first, second) = (self.read(one)?, self.read(other)?);
        self.write(one, second)?;
        self.write(other, first)
    }

    /// Cannot go on as things are: undoes everything, waits until something that was read has changed, and runs the transaction again.
    ///
    /// ```
    /// use ropewalk::{Wait, stm::{TVar, atomically}};
    /// let mailbox = TVar::new(None);
    /// let reader = { let mailbox = mailbox.clone(); ropewalk::spawn(atomically(move |tx| {
    ///     match tx.replace(&mailbox, None)? {
    ///         Some(letter) => Ok(letter),
    ///         None => tx.retry(),
    ///     }
    /// })) };
    /// atomically(|tx| tx.write(&mailbox, Some("hello"))).wait();
    /// assert_eq!(reader.wait().unwrap(), "hello");
    /// ```
    ///
    /// # Errors
    /// Always: pass it on. (`atomically` panics if nothing was read before that anybody could change: it would wait for ever.)
    pub fn retry<T>(&mut self) -> TxResult<T> {
        Err(Stop(Why::Retry))
    }

    /// Goes on if the condition holds, otherwise [`retry`](Self::retry).
    ///
    /// # Errors
    /// As [`retry`](Self::retry).
    pub fn check(&mut self, condition: bool) -> TxResult<()> {
        if condition { Ok(()) } else { self.retry() }
    }

    /// What `first` gives; if it asks to [`retry`](Self::retry), what it wrote is undone, and `second` is run instead. If that one retries too, the
    /// transaction waits for a change of anything that either has read.
    ///
    /// ```
    /// use ropewalk::{Wait, stm::{TVar, atomically}};
    /// let (empty, full) = (TVar::new(None), TVar::new(Some(5)));
    /// let took = atomically(|tx| {
    ///     tx.or_else(
    ///         |tx| tx.replace(&empty, None)?.map_or_else(|| tx.retry(), Ok),
    ///         |tx| tx.replace(&full, None)?.map_or_else(|| tx.retry(), Ok),
    ///     )
    /// });
    /// assert_eq!((took.wait(), full.get()), (5, None));
    /// ```
    ///
    /// # Errors
    /// [`Stop`] of the second, or a conflict: pass it on.
    pub fn or_else<T>(
        &mut self,
        first: impl FnOnce(&mut Self) -> TxResult<T>,
        second: impl FnOnce(&mut Self) -> TxResult<T>,
    ) -> TxResult<T> {
        let mark = self.desk.writes.mark();
        let result = first(self);
        let desk = &mut **self.desk;
        match result {
            Err(Stop(Why::Retry)) => {
                desk.writes.undo(mark, &mut desk.unused);
                second(self)
            }
            result => {
                desk.writes.merge(mark);
                result
            }
        }
    }

    #[inline(always)]
    fn value_of(&mut self, core: &Core) -> TxResult<Held> {
        match self.desk.writes.find(core) {
            Some(own) => Ok(own),
            None => self.read_shared(core),
        }
    }

    #[inline(always)]
    fn read_shared(&mut self, core: &Core) -> TxResult<Held> {
        loop {
            if let Some((value, version)) = core.look()
                && (version < self.before || self.is_now())
            {
                self.desk.reads.push(core, version);
                return Ok(value);
            }
            self.catch_up(core)?;
        }
    }

    /// Whether few were read, and all are as they were: then the moment is now (T1).
    #[inline(always)]
    fn is_now(&mut self) -> bool {
        let reads = self.desk.reads.all();
        let now = reads.len() < FEW && !self.is_doomed() && reads.iter().all(|read| read.is_so(false));
        if now {
            self.before = 1;
        }
        now
    }

    /// The variable is locked, or it was written since and too much was read to look at all of it each time: moves on to a later moment, if
    /// all that was read is the same as it was (T1).
    #[cold]
    #[inline(never)]
    fn catch_up(&mut self, core: &Core) -> TxResult<()> {
        if self.is_doomed() {
            return Err(Stop(Why::Conflict));
        }
        let mut looks = 0;
        while core.word.load().is_locked() {
            looks += 1;
            if looks > IMPATIENCE && !self.alone {
                self.desk.slot.counters.conflicts_locked.bump();
                return Err(self.conflict(Some(core)));
            }
            pause(looks);
        }
        let reads = self.desk.reads.all();
        let versions = reads.iter().map(|read| read.version);
        let latest = versions.fold(core.word.load().version(), u64::max);
        let now = if reads.len() < FEW { 0 } else { space().clock.reach(latest) };
        if cfg!(loom) {
            fence(SeqCst); // it has seen a time (C1)
        }
        if let Some(read) = reads.iter().find(|read| !read.is_so(self.alone)).copied() {
            self.desk.slot.counters.conflicts_reading.bump();
            return Err(self.conflict(Some(read.core)));
        }
        self.before = now + 1;
        Ok(())
    }

    pub(super) fn is_doomed(&self) -> bool {
        self.before == 0
    }

    /// It is doomed (T2).
    pub(super) fn conflict(&mut self, met: Option<*const Core>) -> Stop {
        self.before = 0;
        self.met = met;
        Stop(Why::Conflict)
    }
}

/// However it ends: after a commit, after an attempt in vain, or by a panic of its body.
impl Drop for Tx {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        let mut desk = unsafe { ManuallyDrop::take(&mut self.desk) };
        if !desk.writes.is_empty() {
            let Desk { writes, unused, .. } = &mut *desk;
            writes.discard(unused);
        }
        if !self.is_over {
            desk.slot.counters.panics.bump();
        }
        desk.leave();
        desk.put_away();
    }
}

impl std::fmt::Debug for Tx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx").field("reads", &self.desk.reads.all().len()).finish_non_exhaustive()
    }
}
