//! An unbounded queue.

use super::super::{TVar, Tx, TxResult};
use super::list::List;
use std::fmt;

/// A queue without bounds: first in, first out.
///
/// Senders and receivers work at two ends and disturb each other only when the receivers' end is used up. Values are cloned when they are
/// received: put into an `Arc` what is large.
///
/// ```
/// use ropewalk::{Wait, stm::{TQueue, atomically}};
///
/// let (todo, done) = (TQueue::new(), TQueue::new());
/// atomically(|tx| todo.extend(tx, [1, 2, 3])).wait();
/// atomically(|tx| { let job = todo.pop(tx)?; done.push(tx, job * 10) }).wait(); // in one or the other, never in none
/// assert_eq!(atomically(|tx| done.pop(tx)).wait(), 10);
/// ```
pub struct TQueue<T> {
    /// What is received next, first first.
    front: TVar<List<T>>,
    /// What came since, last first.
    back: TVar<List<T>>,
}

impl<T: Clone + Send + Sync + 'static> TQueue<T> {
    /// An empty one.
    #[track_caller]
    pub fn new() -> Self {
        Self { front: TVar::new(List::EMPTY), back: TVar::new(List::EMPTY) }
    }

    /// Puts a value in.
    ///
    /// # Errors
    /// [`Stop`](super::super::Stop): pass it on. So for all of them.
    pub fn push(&self, tx: &mut Tx, value: T) -> TxResult<()> {
        let back = tx.read(&self.back)?;
        tx.write(&self.back, back.with(value))
    }

    /// Puts several in, one behind the other.
    #[allow(clippy::missing_errors_doc)] // as `push`
    pub fn extend(&self, tx: &mut Tx, values: impl IntoIterator<Item = T>) -> TxResult<()> {
        let back = tx.read(&self.back)?;
        tx.write(&self.back, values.into_iter().fold(back, List::with))
    }

    /// Takes the first one out; waits until there is one.
    #[allow(clippy::missing_errors_doc)]
    pub fn pop(&self, tx: &mut Tx) -> TxResult<T> {
        match self.try_pop(tx)? {
            Some(value) => Ok(value),
            None => tx.retry(),
        }
    }

    /// Takes the first one out, if there is one.
    #[allow(clippy::missing_errors_doc)]
    pub fn try_pop(&self, tx: &mut Tx) -> TxResult<Option<T>> {
        let front = self.front(tx)?;
        let Some((value, rest)) = front.first() else { return Ok(None) };
        tx.write(&self.front, rest.clone())?;
        Ok(Some(value.clone()))
    }

    /// The first one, which stays; waits until there is one.
    #[allow(clippy::missing_errors_doc)]
    pub fn peek(&self, tx: &mut Tx) -> TxResult<T> {
        match self.front(tx)?.first() {
            Some((value, _)) => Ok(value.clone()),
            None => tx.retry(),
        }
    }

    /// Takes all of them out, perhaps none.
    #[allow(clippy::missing_errors_doc)]
    pub fn drain(&self, tx: &mut Tx) -> TxResult<Vec<T>> {
        let (front, back) = (tx.replace(&self.front, List::EMPTY)?, tx.replace(&self.back, List::EMPTY)?);
        let mut values: Vec<T> =
            back.iter().chain(Vec::from_iter(front.iter()).into_iter().rev()).cloned().collect();
        values.reverse();
        Ok(values)
    }

    /// Whether there is none.
    #[allow(clippy::missing_errors_doc)]
    pub fn is_empty(&self, tx: &mut Tx) -> TxResult<bool> {
        let is_empty = |list: &List<T>| list.first().is_none();
        Ok(tx.read_with(&self.front, is_empty)? && tx.read_with(&self.back, is_empty)?)
    }

    /// The receivers' end, with what the senders have brought if it was used up.
    fn front(&self, tx: &mut Tx) -> TxResult<List<T>> {
        let front = tx.read(&self.front)?;
        if front.first().is_some() {
            return Ok(front);
        }
        let back = tx.read(&self.back)?;
        if back.first().is_none() {
            return Ok(front);
        }
        let front = back.reversed();
        tx.write(&self.back, List::EMPTY)?;
        tx.write(&self.front, front.clone())?;
        Ok(front)
    }
}

impl<T> Clone for TQueue<T> {
    fn clone(&self) -> Self {
        Self { front: self.front.clone(), back: self.back.clone() }
    }
}

impl<T: Clone + Send + Sync + 'static> Default for TQueue<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for TQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TQueue").finish_non_exhaustive()
    }
}
