//! A bounded queue.

use super::super::{TVar, Tx, TxResult};
use super::queue::TQueue;
use std::fmt;

/// A queue with room for so many: putting in waits until there is room.
///
/// ```
/// use ropewalk::{Wait, stm::{TBQueue, atomically}};
///
/// let queue = TBQueue::new(2);
/// assert_eq!(atomically(|tx| queue.try_push(tx, 'a')).wait(), Ok(()));
/// assert_eq!(atomically(|tx| queue.try_push(tx, 'b')).wait(), Ok(()));
/// assert_eq!(atomically(|tx| queue.try_push(tx, 'c')).wait(), Err('c'));
/// assert_eq!(atomically(|tx| queue.pop(tx)).wait(), 'a');
/// ```
pub struct TBQueue<T> {
    values: TQueue<T>,
    /// Places that senders know to be free; and those that receivers have freed since. Two, so that they seldom meet.
    free: TVar<usize>,
    freed: TVar<usize>,
    capacity: usize,
}

impl<T: Clone + Send + Sync + 'static> TBQueue<T> {
    /// An empty one with room for `capacity` values.
    ///
    /// # Panics
    /// If that is 0: nothing could ever be put in.
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "ropewalk: a TBQueue needs room for at least one value");
        Self { values: TQueue::new(), free: TVar::new(capacity), freed: TVar::new(0), capacity }
    }

    /// How many it has room for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Puts a value in; waits until there is room.
    ///
    /// # Errors
    /// [`Stop`](super::super::Stop): pass it on. So for all of them.
    pub fn push(&self, tx: &mut Tx, value: T) -> TxResult<()> {
        match self.try_push(tx, value)? {
            Ok(()) => Ok(()),
            Err(_) => tx.retry(),
        }
    }

    /// Puts a value in, if there is room; gives it back otherwise.
    #[allow(clippy::missing_errors_doc)] // as `push`
    pub fn try_push(&self, tx: &mut Tx, value: T) -> TxResult<Result<(), T>> {
        let mut free = tx.read(&self.free)?;
        if free == 0 {
            free = tx.read(&self.freed)?;
            if free == 0 {
                return Ok(Err(value));
            }
            tx.write(&self.freed, 0)?;
        }
        tx.write(&self.free, free - 1)?;
        self.values.push(tx, value)?;
        Ok(Ok(()))
    }

    /// Takes the first one out; waits until there is one.
    #[allow(clippy::missing_errors_doc)]
    pub fn pop(&self, tx: &mut Tx) -> TxResult<T> {
        let value = self.values.pop(tx)?;
        tx.modify(&self.freed, |freed| *freed += 1)?;
        Ok(value)
    }

    /// Takes the first one out, if there is one.
    #[allow(clippy::missing_errors_doc)]
    pub fn try_pop(&self, tx: &mut Tx) -> TxResult<Option<T>> {
        let value = self.values.try_pop(tx)?;
        if value.is_some() {
            tx.modify(&self.freed, |freed| *freed += 1)?;
        }
        Ok(value)
    }

    /// The first one, which stays; waits until there is one.
    #[allow(clippy::missing_errors_doc)]
    pub fn peek(&self, tx: &mut Tx) -> TxResult<T> {
        self.values.peek(tx)
    }

    /// How many are in it.
    #[allow(clippy::missing_errors_doc)]
    pub fn len(&self, tx: &mut Tx) -> TxResult<usize> {
        Ok(self.capacity - tx.read(&self.free)? - tx.read(&self.freed)?)
    }

    /// Whether there is none.
    #[allow(clippy::missing_errors_doc)]
    pub fn is_empty(&self, tx: &mut Tx) -> TxResult<bool> {
        self.values.is_empty(tx)
    }

    /// Whether there is no room.
    #[allow(clippy::missing_errors_doc)]
    pub fn is_full(&self, tx: &mut Tx) -> TxResult<bool> {
        Ok(self.len(tx)? == self.capacity)
    }
}

impl<T> Clone for TBQueue<T> {
    fn clone(&self) -> Self {
        let Self { values, free, freed, capacity } = self;
        Self { values: values.clone(), free: free.clone(), freed: freed.clone(), capacity: *capacity }
    }
}

impl<T> fmt::Debug for TBQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TBQueue").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}
