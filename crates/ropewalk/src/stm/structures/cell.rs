//! A place for one value, full or empty.

use super::super::{TVar, Tx, TxResult};
use std::fmt;

/// A variable that is full or empty: taking waits until it is full, putting until it is empty. A lock (a full one), a signal, or a channel of one.
///
/// Values are cloned when they are taken (a transaction may run again): put into an `Arc` what is large.
///
/// ```
/// use ropewalk::{Wait, stm::{TMVar, atomically}};
///
/// let (left, right) = (TMVar::new("fork"), TMVar::new("fork"));
/// atomically(|tx| Ok((left.take(tx)?, right.take(tx)?))).wait(); // both, or it waits for both
/// assert!(atomically(|tx| left.is_empty(tx)).wait());
/// atomically(|tx| left.put(tx, "fork")).wait();
/// ```
pub struct TMVar<T>(TVar<Option<T>>);

impl<T: Clone + Send + Sync + 'static> TMVar<T> {
    /// A full one.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self(TVar::new(Some(value)))
    }

    /// An empty one.
    #[track_caller]
    pub fn empty() -> Self {
        Self(TVar::new(None))
    }

    /// Takes the value; waits until there is one.
    ///
    /// # Errors
    /// [`Stop`](super::super::Stop): pass it on. So for all of them.
    pub fn take(&self, tx: &mut Tx) -> TxResult<T> {
        match self.try_take(tx)? {
            Some(value) => Ok(value),
            None => tx.retry(),
        }
    }

    /// Takes the value, if there is one.
    #[allow(clippy::missing_errors_doc)] // as `take`
    pub fn try_take(&self, tx: &mut Tx) -> TxResult<Option<T>> {
        let value = tx.read(&self.0)?;
        if value.is_some() {
            tx.write(&self.0, None)?;
        }
        Ok(value)
    }

    /// Puts a value in; waits until it is empty.
    #[allow(clippy::missing_errors_doc)]
    pub fn put(&self, tx: &mut Tx, value: T) -> TxResult<()> {
        let empty = self.is_empty(tx)?;
        tx.check(empty)?;
        tx.write(&self.0, Some(value))
    }

    /// Puts a value in, if it is empty; gives it back otherwise.
    #[allow(clippy::missing_errors_doc)]
    pub fn try_put(&self, tx: &mut Tx, value: T) -> TxResult<Result<(), T>> {
        if !self.is_empty(tx)? {
            return Ok(Err(value));
        }
        tx.write(&self.0, Some(value))?;
        Ok(Ok(()))
    }

    /// The value, which stays; waits until there is one.
    #[allow(clippy::missing_errors_doc)]
    pub fn read(&self, tx: &mut Tx) -> TxResult<T> {
        match tx.read(&self.0)? {
            Some(value) => Ok(value),
            None => tx.retry(),
        }
    }

    /// Puts another value in its place, and returns the one that was there; waits until there is one.
    #[allow(clippy::missing_errors_doc)]
    pub fn replace(&self, tx: &mut Tx, value: T) -> TxResult<T> {
        let old = self.read(tx)?;
        tx.write(&self.0, Some(value))?;
        Ok(old)
    }

    /// Whether there is none.
    #[allow(clippy::missing_errors_doc)]
    pub fn is_empty(&self, tx: &mut Tx) -> TxResult<bool> {
        tx.read_with(&self.0, Option::is_none)
    }
}

impl<T> Clone for TMVar<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Clone + Send + Sync + 'static> Default for TMVar<T> {
    #[track_caller]
    fn default() -> Self {
        Self::empty()
    }
}

impl<T: Clone + Send + Sync + fmt::Debug + 'static> fmt::Debug for TMVar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TMVar").field(&self.0.get_arc()).finish()
    }
}
