//! Ropewalk's mutex.

use super::Lock;
use ::std::ops::DerefMut;

pub type Mutex = ::ropewalk::sync::Mutex<u64>;

impl Lock for Mutex {
    fn new() -> Self {
        Self::new(0)
    }

    async fn lock(&self) -> impl DerefMut<Target = u64> + Send {
        ::ropewalk::sync::Mutex::lock(self).await
    }
}
