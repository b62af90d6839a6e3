//! What a worker counts. Each counter has one writer, so counting is a load and a store, not a read-modify-write.

use ropewalk_core::prim::{AtomicU64, Ordering::*};

/// A counter that only its worker raises.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Only the owner calls this. Release: who reads the new count sees what the owner did before.
    #[inline(always)]
    pub(crate) fn bump(&self) {
        self.add(1);
    }

    #[inline(always)]
    pub(crate) fn add(&self, by: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(by), Release);
    }

    /// For counters that several threads raise.
    pub(crate) fn add_shared(&self, by: u64) {
        self.0.fetch_add(by, SeqCst);
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Acquire)
    }
}

/// The counters of one worker. Those that a poll and a wake-up raise come first: one cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Counters {
    /// After how many polls the worker sees what time it is; 0: now, and it looks around.
    glance_at: AtomicU64,
    pub(crate) polls: Count,
    /// Of those that are counted against the budget; when their poll has ended.
    pub(crate) operations: Count,
    pub(crate) spawned: Count,
    pub(crate) finished: Count,
    pub(crate) lifo_hits: Count,
    pub(crate) injected: Count,
    pub(crate) looks: Count,
    pub(crate) parks: Count,
    pub(crate) wakes: Count,
    pub(crate) overflows: Count,
    pub(crate) searches: Count,
    pub(crate) steals: Count,
    pub(crate) lifo_steals: Count,
    pub(crate) spins: Count,
    pub(crate) spin_hits: Count,
    pub(crate) asides: Count,
    pub(crate) budget_yields: Count,
    pub(crate) preemptions: Count,
    pub(crate) waits_in_poll: Count,
    pub(crate) held: Count,
    pub(crate) timers: Count,
    pub(crate) strands_started: Count,
    pub(crate) strands_ended: Count,
}

impl Counters {
    /// Worker: the window of polls is over, or somebody wants a look.
    #[inline(always)]
    pub(crate) fn is_time_to_glance(&self) -> bool {
        self.polls.0.load(Relaxed) >= self.glance_at.load(Relaxed)
    }

    /// Worker: the next glance comes after so many polls.
    pub(crate) fn glance_at(&self, polls: u64) {
        self.glance_at.store(polls, Relaxed);
    }

    /// Anybody: the worker looks around before its next poll. (If it begins a window just now, that is overwritten: the watchdog says it again.)
    pub(crate) fn look_now(&self) {
        self.glance_at.store(0, Relaxed);
    }

    /// Worker: whether somebody does.
    pub(crate) fn wants_look(&self) -> bool {
        self.glance_at.load(Relaxed) == 0
    }
}
