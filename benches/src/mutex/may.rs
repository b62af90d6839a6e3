//! may's mutex.

use super::BlockingLock;
use ::std::ops::DerefMut;

pub type Mutex = ::may::sync::Mutex<u64>;

impl BlockingLock for Mutex {
    fn new() -> Self {
        Self::new(0)
    }

    fn lock(&self) -> impl DerefMut<Target = u64> {
        ::may::sync::Mutex::lock(self).expect("nobody panics")
    }
}
