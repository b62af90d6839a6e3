//! What transactions did: each slot counts for itself, and who asks adds up.

use ropewalk_core::prim::real::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[$meta:meta])* $name:ident,)*) => {
        /// What the transactions of this process have done so far: [`stats`](super::stats).
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats {
            $($(#[$meta])* pub $name: u64,)*
        }

        /// Written by who has the slot.
        #[derive(Debug, Default)]
        pub(super) struct Counters {
            $(pub(super) $name: Counter,)*
        }

        impl Counters {
            pub(super) fn add_to(&self, stats: &mut Stats) {
                $(stats.$name += self.$name.0.load(Relaxed);)*
            }
        }
    };
}

counters! {
    /// Transactions that changed something.
    commits,
    /// Transactions that only read, or whose error undid what they wrote.
    reads,
    /// Attempts that ended because something was replaced that they had read before, found on the next read.
    conflicts_reading,
    /// Attempts that ended because what they had read was replaced before they could commit.
    conflicts_committing,
    /// Attempts that ended because another commit had locked what they needed, for too long.
    conflicts_locked,
    /// Attempts that had to wait because another transaction had the floor.
    conflicts_alone,
    /// Attempts that asked to wait for a change ([`Tx::retry`](super::Tx::retry)).
    retries,
    /// Those whom a commit woke.
    wakes,
    /// Attempts with the floor for themselves, because they had met others too often.
    alone,
    /// Transactions that were given up at their limit.
    abandoned,
    /// Attempts that panicked.
    panics,
}

impl Stats {
    /// Attempts that were in vain, for whatever reason.
    pub fn conflicts(&self) -> u64 {
        self.conflicts_reading + self.conflicts_committing + self.conflicts_locked + self.conflicts_alone
    }
}

#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    /// By who has the slot, and nobody else.
    #[inline(always)]
    pub(super) fn bump(&self) {
        self.add(1);
    }
    #[inline(always)]
    pub(super) fn add(&self, by: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(by), Relaxed);
    }
}
