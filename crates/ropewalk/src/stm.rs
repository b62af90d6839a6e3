#![doc = include_str!("../docs/stm.md")]

mod clock;
mod commit;
mod desk;
mod floor;
mod held;
mod log;
mod presence;
mod run;
mod stats;
mod stop;
mod structures;
#[cfg(test)]
mod tests;
mod tx;
mod var;
mod watch;
mod word;

use clock::Clock;
use floor::Claims;
use presence::Presence;
use ropewalk_core::prim::shared;
use ropewalk_core::wait_queue::WaitQueue;
pub use run::{Atomically, Limited, TryAtomically, atomically, try_atomically};
pub use stats::Stats;
pub use stop::{Abandoned, Stop, TxResult};
pub use structures::{TBQueue, TMVar, TQueue, TSemaphore};
pub use tx::Tx;
pub use var::TVar;

/// What all transactions of the process share.
struct Space {
    clock: Clock,
    presence: Presence,
    /// Those who wait until the floor is free, and those of them who ask for it.
    waiting_for_floor: WaitQueue,
    claims: Claims,
}

shared!(fn space() -> Space = Space::new());

impl Space {
    #[cfg(not(any(loom, shuttle)))]
    const fn new() -> Self {
        Self {
            clock: Clock::new(),
            presence: Presence::new(),
            waiting_for_floor: WaitQueue::new(),
            claims: Claims::new(),
        }
    }
    #[cfg(any(loom, shuttle))]
    fn new() -> Self {
        Self {
            clock: Clock::new(),
            presence: Presence::new(),
            waiting_for_floor: WaitQueue::new(),
            claims: Claims::new(),
        }
    }
}

/// What the transactions of this process have done so far.
///
/// ```
/// use ropewalk::{Wait, stm::{TVar, atomically, stats}};
/// let (before, counter) = (stats(), TVar::new(0));
/// atomically(|tx| tx.write(&counter, 1)).wait();
/// assert!(stats().commits > before.commits);
/// ```
pub fn stats() -> Stats {
    let mut sum = Stats::default();
    space().presence.slots().for_each(|slot| slot.counters.add_to(&mut sum));
    sum
}
