//! Instruments that order nothing by themselves, so that a model checker, or TSan, sees the order of what they watch.

use crate::prim::UnsafeCell;
use crate::prim::real::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::task::Wake;

/// A plain number that two threads share: only who comes after the writer may read it.
pub(super) struct Note(UnsafeCell<usize>);

// SAFETY: this is what the tests are about: the code under test must keep writer and readers apart.
unsafe impl Sync for Note {}

impl Note {
    pub(super) fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    pub(super) fn read(&self) -> usize {
        // SAFETY: see `Sync`: checked, not assumed.
        self.0.with(|number| unsafe { *number })
    }

    pub(super) fn write(&self, value: usize) {
        // SAFETY: see `Sync`: checked, not assumed.
        self.0.with_mut(|number| unsafe { *number = value });
    }
}

/// Says whether the end of something came after every use of it (L2).
pub(super) struct Witness(Note);

impl Witness {
    pub(super) fn new() -> Self {
        Self(Note::new())
    }

    pub(super) fn used(&self) {
        assert_eq!(self.0.read(), 0, "used after its end");
    }

    pub(super) fn ended(&self) {
        assert_eq!(self.0.read(), 0, "ended twice");
        self.0.write(1);
    }
}

/// Somebody who waits, but is no task.
pub(super) struct Bell {
    pub(super) rung: AtomicUsize,
    witness: Witness,
}

impl Bell {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { rung: AtomicUsize::new(0), witness: Witness::new() })
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.witness.used();
        self.rung.fetch_add(1, Relaxed);
    }
}
