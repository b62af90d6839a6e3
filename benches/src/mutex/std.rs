//! std's mutex, between threads.

use super::BlockingLock;
use ::std::ops::DerefMut;

pub type Mutex = ::std::sync::Mutex<u64>;

impl BlockingLock for Mutex {
    fn new() -> Self {
        Self::new(0)
    }

    fn lock(&self) -> impl DerefMut<Target = u64> {
        ::std::sync::Mutex::lock(self).expect("nobody panics")
    }
}
