//! The same contract from a lock and a condition variable: for systems without a futex, and for the model checkers,
//! which can look into these but not into a system call.

use super::Futex;
use core::ops::Deref;
use core::time::Duration;
use ropewalk_core::prim::{AtomicU32, Condvar, Lock, Ordering};

/// A word that threads sleep on through a condition variable beside it.
///
/// The word itself is changed without the lock, as with a futex. `asleep` is held from the comparison until the
/// thread is on the condition variable, and `wake` passes through it: so a `wake` comes either before the comparison,
/// which then sees the change made before `wake`, or when the sleeper can already be notified.
#[derive(Debug)]
pub(crate) struct Word {
    value: AtomicU32,
    asleep: Lock<()>,
    changed: Condvar,
}

impl Deref for Word {
    type Target = AtomicU32;
    #[inline]
    fn deref(&self) -> &AtomicU32 {
        &self.value
    }
}

impl Futex for Word {
    fn new(value: u32) -> Self {
        Self { value: AtomicU32::new(value), asleep: Lock::new(()), changed: Condvar::new() }
    }

    fn wait(&self, expected: u32, timeout: Option<Duration>) {
        let guard = self.asleep.lock();
        // Relaxed: if `wake` was here before us, its change reached us through the lock.
        if self.value.load(Ordering::Relaxed) != expected {
            return;
        }
        drop(match timeout {
            None => self.changed.wait(guard),
            Some(limit) => self.changed.wait_timeout(guard, limit),
        });
    }

    fn wake(&self, count: u32) {
        drop(self.asleep.lock());
        match count {
            0 => {}
            1 => self.changed.notify_one(),
            _ => self.changed.notify_all(),
        }
    }
}
