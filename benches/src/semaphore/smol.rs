//! async-lock's semaphore, which is smol's.

use super::OnePermit;

pub type Semaphore = ::smol::lock::Semaphore;

impl OnePermit for Semaphore {
    fn new() -> Self {
        Self::new(1)
    }

    async fn acquire(&self) -> impl Drop + Send {
        Self::acquire(self).await
    }
}
