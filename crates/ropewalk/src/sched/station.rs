//! The shared side of a worker: what thieves, wakers and metrics see of it.
//!
//! A station is made when a pool first needs it and lives as long as the pool; workers come and go at it. So nobody who
//! looks at one needs to be told when a worker retires.

use super::counters::Counters;
use super::hold::Hold;
use super::injector::Injector;
use super::lifo;
use super::park::Parker;
use super::post::Post;
pub(crate) use super::post::Status;
use super::recorder::Tape;
use super::ring::{self, Producer, Stealer};
use super::slab::Cache;
use super::worker::Histograms;
use crate::drive::time::Lease;
use crate::fork::{Roster, Spare};
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use ropewalk_core::task::Runnable;
use std::sync::{Arc, OnceLock};

pub(crate) struct Station {
    pub(crate) index: usize,
    pub(crate) stealer: Stealer<Runnable>,
    /// Of what a look of the worker's found due.
    pub(crate) due: Stealer<Runnable>,
    pub(crate) lifo: lifo::Thief<Runnable>,
    /// Pinned tasks woken from elsewhere.
    pub(crate) inbox: Injector<Runnable>,
    pub(crate) parker: Parker,
    pub(crate) counters: Counters,
    /// What was sampled here, if anything was.
    histograms: OnceLock<Box<Histograms>>,
    /// What is recorded here, while something is: for the worker to write on.
    pub(super) tape: Lock<Option<Arc<Tape>>>,
    /// The task that runs here now, and who comes for the worker if it takes too long.
    pub(crate) hold: Hold,
    /// The id of the worker's thread, as the system knows it; 0: unknown.
    thread: AtomicU32,
    /// Timers first polled here.
    pub(crate) timers: Lease,
    /// Pinned tasks alive and fibres parked here.
    pub(crate) pinned: AtomicUsize,
    pub(crate) parked: AtomicUsize,
    /// Who is here, and how many strands that are to start here are on their way.
    pub(crate) post: Post,
    /// The deques of strands that fork here.
    pub(crate) roster: Roster,
    kit: Lock<Option<Kit>>,
}

/// How many tasks the ring of the due lane has room for: as many as the looks of a busy worker find, one window each.
pub(super) fn due_capacity(queue_capacity: usize) -> usize {
    (queue_capacity / 4).max(16)
}

/// The owner's ends of a station's queues, and its free slots: with the worker while there is one.
pub(crate) struct Kit {
    pub(crate) ring: Producer<Runnable>,
    pub(crate) due: Producer<Runnable>,
    pub(crate) lifo: lifo::Owner<Runnable>,
    pub(crate) cache: Cache,
    /// The owner's ends of those in the roster that no strand has.
    pub(crate) forks: Spare,
}

impl Station {
    pub(crate) fn new(index: usize, queue_capacity: usize, timers: Lease) -> Self {
        let (ring, stealer) = ring::ring(queue_capacity);
        let (due_ring, due) = ring::ring(due_capacity(queue_capacity));
        let (slot, thief) = lifo::slot();
        Self {
            index,
            stealer,
            due,
            lifo: thief,
            inbox: Injector::new(),
            parker: Parker::new(),
            counters: Counters::default(),
            histograms: OnceLock::new(),
            tape: Lock::new(None),
            hold: Hold::new(),
            thread: AtomicU32::new(0),
            timers,
            pinned: AtomicUsize::new(0),
            parked: AtomicUsize::new(0),
            post: Post::new(),
            roster: Roster::default(),
            kit: Lock::new(Some(Kit {
                ring,
                due: due_ring,
                lifo: slot,
                cache: Cache::new(),
                forks: Spare::new(),
            })),
        }
    }

    /// For the worker that is here.
    pub(crate) fn histograms(&self) -> &Histograms {
        self.histograms.get_or_init(|| Box::new(Histograms::new()))
    }

    pub(crate) fn known_histograms(&self) -> Option<&Histograms> {
        self.histograms.get().map(|known| &**known)
    }

    pub(crate) fn status(&self) -> Status {
        self.post.status()
    }

    /// What is queued here is open to others, although the worker believes that it is alone, if a task holds it.
    pub(super) fn seize(&self) {
        if !self.stealer.door().is_open() {
            self.hold.seize(&[self.stealer.door(), self.due.door(), self.lifo.door()]);
        }
    }

    /// Whether a thief that came now might find something in a ring.
    pub(crate) fn has_loot(&self) -> bool {
        self.stealer.has_loot() || self.due.has_loot()
    }

    /// How many tasks wait in the rings, about.
    pub(crate) fn queued(&self) -> usize {
        self.stealer.len() + self.due.len()
    }

    /// How many tasks were taken from the rings until now.
    pub(super) fn taken(&self) -> u64 {
        self.stealer.head_position().wrapping_add(self.due.head_position())
    }

    /// The calling thread is that of the worker.
    pub(crate) fn is_mine(&self) {
        #[cfg(target_os = "linux")]
        self.thread.store(rustix::thread::gettid().as_raw_nonzero().get() as u32, Relaxed);
    }

    /// The worker leaves.
    pub(crate) fn is_nobodys(&self) {
        self.thread.store(0, Relaxed);
    }

    /// The thread of the worker, if the system says which it is.
    pub(super) fn thread(&self) -> Option<u32> {
        Some(self.thread.load(Relaxed)).filter(|thread| *thread != 0)
    }

    /// The new worker takes the owner's ends.
    pub(crate) fn take_kit(&self) -> Kit {
        self.kit.lock().take().expect("a vacant station has its kit")
    }

    pub(crate) fn return_kit(&self, kit: Kit) {
        *self.kit.lock() = Some(kit);
    }
}
