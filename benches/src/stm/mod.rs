//! stm: two threads change what both can reach. One operation is one change.
//!
//! - counter: all add one to the same number. Nothing can be done at once.
//! - bank: all move money between two of a thousand accounts. Almost everything can be done at once.
//!
//! Beside Ropewalk's transactions: those of the crate `stm`, one lock around everything, a lock for each account.

mod locks;
mod peer;
mod ropewalk;

use crate::meter::{Meter, Sample};
use crate::peers::Peer;
use crate::units::{self, Threads};
use std::sync::Arc;

const THREADS: u64 = 2;
const ACCOUNTS: usize = 1000;
const EACH: i64 = 1000;

/// A number that all may add to.
trait Counter: Send + Sync + 'static {
    fn new() -> Self;
    fn add_one(&self);
    fn get(&self) -> u64;
}

/// Accounts between which money is moved.
trait Bank: Send + Sync + 'static {
    fn new() -> Self;
    fn transfer(&self, from: usize, to: usize, amount: i64);
    fn total(&self) -> i64;
}

pub fn counter(peer: Peer, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk => count::<ropewalk::Counter>(meter),
        Peer::Stm => count::<peer::Counter>(meter),
        Peer::Std => count::<locks::Counter>(meter),
        _ => return None,
    })
}

pub fn bank(peer: Peer, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk => transfer::<ropewalk::Bank>(meter),
        Peer::Stm => transfer::<peer::Bank>(meter),
        Peer::Std => transfer::<locks::OneLock>(meter),
        Peer::StdEach => transfer::<locks::LockEach>(meter),
        _ => return None,
    })
}

fn count<C: Counter>(meter: Meter) -> Sample {
    let sample = meter.measure(|ops| {
        let counter = Arc::new(C::new());
        units::all(Threads, THREADS, |_| {
            let counter = counter.clone();
            move || (0..ops / THREADS).for_each(|_| counter.add_one())
        });
        assert_eq!(counter.get(), ops);
    });
    sample.into_rate()
}

fn transfer<B: Bank>(meter: Meter) -> Sample {
    let bank = Arc::new(B::new());
    let sample = meter.measure(|ops| {
        units::all(Threads, THREADS, |seed| {
            let bank = bank.clone();
            move || {
                let mut random = seed;
                for _ in 0..ops / THREADS {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let (from, by) =
                        ((random >> 33) as usize % ACCOUNTS, (random >> 48) as usize % (ACCOUNTS - 1));
                    bank.transfer(from, (from + 1 + by) % ACCOUNTS, 1); // two different ones
                }
            }
        });
        assert_eq!(bank.total(), EACH * ACCOUNTS as i64);
    });
    sample.into_rate()
}
