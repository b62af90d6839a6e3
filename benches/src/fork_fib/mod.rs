//! fork_fib: Fibonacci numbers by forking: the second call of each pair is left to whoever is idle. Down to 2 a fork is all there is, and
//! its price is the figure; down to 12 there is some work between two forks, and what counts is how well two workers share it.

mod limit;
mod rayon;
mod ropewalk;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};
use std::hint::black_box;

/// Which number, and below which one nobody forks.
#[derive(Clone, Copy, Debug)]
pub struct Fib {
    pub number: u32,
    pub down_to: u32,
}

/// Fork, and little else.
pub const FORKS: Fib = Fib { number: 25, down_to: 2 };
/// Work to be shared.
pub const WORK: Fib = Fib { number: 32, down_to: 12 };

impl Fib {
    fn forks(self) -> u64 {
        let mut counts = vec![0u64; self.down_to as usize];
        for at in self.down_to as usize..=self.number as usize {
            counts.push(1 + counts[at - 1] + counts[at - 2]);
        }
        counts[self.number as usize]
    }
}

fn serial(number: u32) -> u64 {
    if number < 2 { number.into() } else { serial(number - 1) + serial(number - 2) }
}

/// Nanoseconds per fork.
pub fn per_fork(peer: Peer, fib: Fib, meter: Meter) -> Option<Sample> {
    let expected = serial(fib.number);
    let check = |value: u64| assert_eq!(value, expected, "{fib:?}");
    let (forks, workers) = (fib.forks(), peers::fork_workers());
    Some(match peer {
        Peer::Ropewalk => {
            let runtime = peers::ropewalk(workers);
            meter.measure_fixed(forks, || check(runtime.run(|| ropewalk::fib(black_box(fib)))))
        }
        Peer::Rayon => {
            let pool = peers::rayon(workers);
            meter.measure_fixed(forks, || check(pool.install(|| rayon::fib(black_box(fib)))))
        }
        Peer::Limit => meter.measure_fixed(forks, || check(limit::fib(black_box(fib)))),
        _ => return None,
    })
}

/// Milliseconds for all of it.
pub fn in_all(peer: Peer, fib: Fib, meter: Meter) -> Option<Sample> {
    let mut sample = per_fork(peer, fib, meter)?;
    sample.value *= fib.forks() as f64 / 1e6;
    sample.unit = "ms".into();
    Some(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_compute_the_same_and_forks_are_counted() {
        fn count(number: u32, down_to: u32) -> u64 {
            if number < down_to { 0 } else { 1 + count(number - 1, down_to) + count(number - 2, down_to) }
        }
        let (runtime, pool) = (peers::ropewalk(2), peers::rayon(2));
        for (number, down_to) in [(1, 2), (2, 2), (15, 2), (20, 12)] {
            let fib = Fib { number, down_to };
            assert_eq!(fib.forks(), count(number, down_to));
            let expected = serial(number);
            assert_eq!(runtime.run(|| ropewalk::fib(fib)), expected);
            assert_eq!(pool.install(|| rayon::fib(fib)), expected);
            assert_eq!(limit::fib(fib), expected);
        }
    }
}
