//! async-lock's mutex, which is smol's.

use super::Lock;
use ::std::ops::DerefMut;

pub type Mutex = ::smol::lock::Mutex<u64>;

impl Lock for Mutex {
    fn new() -> Self {
        Self::new(0)
    }

    fn lock(&self) -> impl Future<Output = impl DerefMut<Target = u64> + Send> + Send {
        ::smol::lock::Mutex::lock(self)
    }
}
