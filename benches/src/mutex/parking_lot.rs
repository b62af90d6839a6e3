//! parking_lot's mutex, between threads.

use super::BlockingLock;
use ::std::ops::DerefMut;

pub type Mutex = ::parking_lot::Mutex<u64>;

impl BlockingLock for Mutex {
    fn new() -> Self {
        Self::new(0)
    }

    fn lock(&self) -> impl DerefMut<Target = u64> {
        ::parking_lot::Mutex::lock(self)
    }
}
