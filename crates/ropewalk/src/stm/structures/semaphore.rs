//! A semaphore.

use super::super::{TVar, Tx, TxResult};

/// So many permits: taking some waits until there are enough. Together with other conditions of a transaction, all or none.
///
/// Nobody waits in line: whoever runs first when there are enough gets them. Where the order matters, use
/// [`Semaphore`](crate::sync::Semaphore).
///
/// ```
/// use ropewalk::{Wait, stm::{TSemaphore, atomically}};
///
/// let (cranes, lorries) = (TSemaphore::new(2), TSemaphore::new(5));
/// atomically(|tx| { cranes.acquire(tx, 1)?; lorries.acquire(tx, 3) }).wait(); // never holds one while it waits for the other
/// assert_eq!(atomically(|tx| lorries.available(tx)).wait(), 2);
/// atomically(|tx| { lorries.release(tx, 3)?; cranes.release(tx, 1) }).wait();
/// ```
#[derive(Clone, Debug)]
pub struct TSemaphore(TVar<usize>);

impl TSemaphore {
    /// One with so many permits.
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        Self(TVar::new(permits))
    }

    /// Takes `permits`; waits until there are so many.
    ///
    /// # Errors
    /// [`Stop`](super::super::Stop): pass it on. So for all of them.
    pub fn acquire(&self, tx: &mut Tx, permits: usize) -> TxResult<()> {
        let got = self.try_acquire(tx, permits)?;
        tx.check(got)
    }

    /// Takes `permits` if there are so many; says whether.
    #[allow(clippy::missing_errors_doc)] // as `acquire`
    pub fn try_acquire(&self, tx: &mut Tx, permits: usize) -> TxResult<bool> {
        let there = tx.read(&self.0)?;
        if let Some(left) = there.checked_sub(permits) {
            tx.write(&self.0, left)?;
        }
        Ok(there >= permits)
    }

    /// Gives `permits` back, or adds them.
    ///
    /// # Panics
    /// If there were more than a `usize` can count.
    #[allow(clippy::missing_errors_doc)]
    pub fn release(&self, tx: &mut Tx, permits: usize) -> TxResult<()> {
        tx.modify(&self.0, |there| {
            *there = there.checked_add(permits).expect("ropewalk: too many permits in a TSemaphore");
        })
    }

    /// How many there are.
    #[allow(clippy::missing_errors_doc)]
    pub fn available(&self, tx: &mut Tx) -> TxResult<usize> {
        tx.read(&self.0)
    }
}
