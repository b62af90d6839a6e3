//! async-lock's semaphore, which is smol's.

use super::{Answer, OnePermit};

pub type Semaphore = ::smol::lock::Semaphore;

impl OnePermit for Semaphore {
    fn new() -> Self {
        Self::new(1)
    }

    fn acquire(&self) -> impl Future<Output = impl Answer> + Send {
        Self::acquire(self)
    }
}

impl Answer for ::smol::lock::SemaphoreGuard<'_> {
    fn is_permit(&self) -> bool {
        true
    }
}
