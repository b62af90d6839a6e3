//! Buffers that are lent to whoever has something to read, and used again.

use ropewalk_core::prim::Lock;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

/// How many are kept.
const KEPT: usize = 32;

/// Those of a runtime that nobody has just now.
#[derive(Debug)]
pub(super) struct Spares(Lock<Vec<Box<[u8]>>>);

impl Spares {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Lock::new(Vec::new())))
    }

    pub(super) fn take(self: &Arc<Self>) -> Spare {
        let kept = self.0.lock().pop();
        Spare { buffer: kept.unwrap_or_else(|| vec![0; Spare::SIZE].into()), len: 0, home: self.clone() }
    }
}

/// A buffer that was lent. It goes back when it is dropped.
#[derive(Debug)]
pub(crate) struct Spare {
    buffer: Box<[u8]>,
    /// So much of it was filled.
    len: usize,
    home: Arc<Spares>,
}

impl Spare {
    /// How large each is.
    pub(crate) const SIZE: usize = 16 * 1024;

    /// Fills it by a read, which says how much.
    pub(crate) fn fill(&mut self, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
        self.len = read(&mut self.buffer)?.min(Self::SIZE);
        Ok(self.len)
    }
}

impl Deref for Spare {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        let mut kept = self.home.0.lock();
        if kept.len() < KEPT {
            kept.push(buffer);
        } else {
            drop(kept); // the buffer is freed outside
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_lent_again_and_shows_only_what_was_filled() {
        let spares = Spares::new();
        let mut first = spares.take();
        first.fill(|buffer| Ok(buffer.len())).unwrap();
        assert_eq!(first.len(), Spare::SIZE);
        let place = first.as_ptr();
        drop(first);
        let mut second = spares.take();
        assert!(second.is_empty());
        second.fill(|buffer| io::Read::read(&mut &b"abc"[..], buffer)).unwrap();
        assert_eq!((&*second, second.as_ptr()), (&b"abc"[..], place));
        assert!(second.fill(|_| Err(io::ErrorKind::WouldBlock.into())).is_err());
    }

    #[test]
    fn few_are_kept() {
        let spares = Spares::new();
        let many: Vec<_> = (0..KEPT + 9).map(|_| spares.take()).collect();
        drop(many);
        assert_eq!(spares.0.lock().len(), KEPT);
    }
}
