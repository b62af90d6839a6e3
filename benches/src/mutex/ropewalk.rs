//! Ropewalk's mutex.

use super::Lock;
use ::std::ops::DerefMut;

pub type Mutex = ::ropewalk::sync::Mutex<u64>;

impl Lock for Mutex {
    fn new() -> Self {
        Self::new(0)
    }

    fn lock(&self) -> impl Future<Output = impl DerefMut<Target = u64> + Send> + Send {
        ::ropewalk::sync::Mutex::lock(self)
    }
}
