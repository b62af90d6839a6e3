//! tokio's semaphore.

use super::OnePermit;

pub type Semaphore = ::tokio::sync::Semaphore;

impl OnePermit for Semaphore {
    fn new() -> Self {
        Self::new(1)
    }

    async fn acquire(&self) -> impl Drop + Send {
        Self::acquire(self).await.expect("it is never closed")
    }
}
