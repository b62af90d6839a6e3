//! Software transactional memory: several variables are read and changed as if nothing else happened meanwhile, without a lock to
//! choose, to order or to forget; and a transaction that cannot go on waits until what it has read has changed.
//!
//! A task `.await`s a transaction, a strand or a thread [waits](crate::Wait) for it; all meet at the same variables.
//!
//! ```
//! use ropewalk::Wait;
//! use ropewalk::stm::{TVar, Tx, TxResult, atomically};
//!
//! /// Part of a transaction: it waits until there is enough on the account.
//! fn withdraw(tx: &mut Tx, account: &TVar<u64>, amount: u64) -> TxResult<()> {
//!     let balance = tx.read(account)?;
//!     tx.check(balance >= amount)?;
//!     tx.write(account, balance - amount)
//! }
//!
//! let (current, savings, house) = (TVar::new(100), TVar::new(500), TVar::new(0));
//! // From the one, or if that has not enough, from the other; or waits until one of them has.
//! atomically(|tx| {
//!     tx.or_else(|tx| withdraw(tx, &current, 300), |tx| withdraw(tx, &savings, 300))?;
//!     tx.modify(&house, |house| *house += 300)
//! })
//! .wait();
//! assert_eq!((current.get(), savings.get(), house.get()), (100, 200, 300));
//! ```
//!
//! # What is promised
//! - **Atomic**: others see all that a transaction wrote, or nothing. A panic, an error ([`try_atomically`]), a dropped future: nothing.
//! - **Consistent while it runs** (opacity): the body never sees a state that was not there at one moment, not even in an
//!   attempt that will be in vain. So it may rely on what always holds between variables: index with it, divide by it.
//! - **Waits for what it read**: after [`Tx::retry`] it is run again when a commit changed something that it had read, and at no
//!   other time; no change is missed.
//! - **Comes to an end**: who meets others too often gets the floor for itself, in the order of coming; nobody else commits meanwhile,
//!   though all may read.
//! - **No code of yours under our locks**: clones, destructors and wakers run outside of them.
//!
//! # What it must not do
//! The body runs as often as needed, so it does nothing that cannot be repeated: send, print, count. It returns what is to be done after
//! the transaction. A wait, a `block_on`, or another transaction inside panics. A panic of the body is passed on.
//!
//! # How it works
//! Each variable has a version: the time of the commit that wrote it, on one clock that counts commits (the design is TL2's, with
//! snapshots that are extended as in LSA). A transaction reads without locks, checks each version against the time at which it began, and
//! keeps what it writes for itself. The commit locks what is to be written, in the order of addresses, takes the next time, makes sure that all
//! that was read is as it was, and publishes. [`stats`] counts what happened, and why attempts were in vain.
//!
//! Built on it: [`TMVar`], [`TQueue`], [`TBQueue`], [`TSemaphore`].

mod clock;
mod commit;
mod desk;
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
use presence::Presence;
use ropewalk_core::prim::shared;
use ropewalk_core::sync::Mutex;
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
    /// Who may have the floor, in the order of coming.
    floor: Mutex<()>,
}

shared!(fn space() -> Space = Space::new());

impl Space {
    #[cfg(not(any(loom, shuttle)))]
    const fn new() -> Self {
        Self { clock: Clock::new(), presence: Presence::new(), floor: Mutex::new(()) }
    }
    #[cfg(any(loom, shuttle))]
    fn new() -> Self {
        Self { clock: Clock::new(), presence: Presence::new(), floor: Mutex::new(()) }
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
