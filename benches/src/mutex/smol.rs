//! async-lock's mutex, which is smol's.

use super::Lock;
use ::std::ops::DerefMut;

pub type Mutex = ::smol::lock::Mutex<u64>;

impl Lock for Mutex {
    fn new() -> Self {
        Self::new(0)
    }

    async fn lock(&self) -> impl DerefMut<Target = u64> + Send {
        ::smol::lock::Mutex::lock(self).await
    }
}
