//! Ropewalk's semaphore.

use super::{Answer, OnePermit};

pub type Semaphore = ::ropewalk::sync::Semaphore;

impl OnePermit for Semaphore {
    fn new() -> Self {
        Self::new(1)
    }

    fn acquire(&self) -> impl Future<Output = impl Answer> + Send {
        Self::acquire(self)
    }
}
