//! In debug builds: which stack of execution holds guards of thread locks, so that it is not parked while it does.
//!
//! A stack that is parked with a guard keeps the lock locked for as long as it waits; whoever wants the lock on the same
//! worker meanwhile stops the very thread that would have to go on. `.await` with a guard does not compile in `spawn`; a
//! `.wait()` with one, on a strand or in a poll, is found here. In release builds all of this is empty.
//!
//! A guard counts against the stack that took it, wherever on that thread it is dropped. (One thread counts; it is atomic so
//! that a guard is `Sync` in debug builds as it is in others.)

#[cfg(debug_assertions)]
use crate::context;
#[cfg(debug_assertions)]
use ropewalk_core::prim::real::{AtomicU32, Ordering::Relaxed};
#[cfg(debug_assertions)]
use std::cell::RefCell;
#[cfg(debug_assertions)]
use std::sync::Arc;

/// The guards taken by one stack (a strand, or one poll of a task) and not dropped yet.
pub(crate) struct Holds {
    #[cfg(debug_assertions)]
    count: RefCell<Option<Arc<AtomicU32>>>,
}

/// In each guard: takes it off the count again.
#[derive(Default)]
pub(super) struct Mark {
    #[cfg(debug_assertions)]
    count: Option<Arc<AtomicU32>>,
}

impl Holds {
    pub(crate) const fn new() -> Self {
        Self {
            #[cfg(debug_assertions)]
            count: RefCell::new(None),
        }
    }

    /// Leaves with its stack.
    #[inline]
    pub(crate) fn take(&self) -> Self {
        Self {
            #[cfg(debug_assertions)]
            count: RefCell::new(self.count.take()),
        }
    }

    /// Comes back with it.
    #[inline]
    pub(crate) fn set(&self, _other: Self) {
        #[cfg(debug_assertions)]
        self.count.replace(_other.count.take());
    }

    /// The stack is about to wait.
    ///
    /// # Panics
    /// In debug builds, if it holds a guard.
    #[inline]
    pub(crate) fn refuse_to_wait(&self) {
        #[cfg(debug_assertions)]
        if self.count.borrow().as_ref().is_some_and(|count| count.load(Relaxed) > 0) {
            panic!(
                "ropewalk: wait with a guard of thread::Mutex, RwLock or Semaphore held: whoever wants that lock on \
                 this worker would stop its thread; drop the guard first"
            );
        }
    }
}

impl Mark {
    /// A guard was taken here.
    #[inline]
    pub(super) fn taken() -> Self {
        #[cfg(debug_assertions)]
        return context::with_worker(|worker| {
            let mut mark = Self::default();
            if let Some(worker) = worker {
                let count = worker.frame.own().holds.count.borrow_mut().get_or_insert_default().clone();
                count.fetch_add(1, Relaxed);
                mark.count = Some(count);
            }
            mark
        });
        #[cfg(not(debug_assertions))]
        Self::default()
    }
}

#[cfg(debug_assertions)]
impl Drop for Mark {
    fn drop(&mut self) {
        if let Some(count) = &self.count {
            count.fetch_sub(1, Relaxed);
        }
    }
}
