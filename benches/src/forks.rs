//! The peers that fork, behind one trait, so that one source serves all of them in the rows about whole programs. (What a fork alone
//! costs is in `fork_fib`, where each peer has a source of its own.)

#[cfg(test)]
mod held_lock;
pub mod matmul;
pub mod nqueens;
pub mod quicksort;
pub mod skynet;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};
use std::hint::black_box;

/// Somebody who calls two halves, perhaps at the same time.
pub trait Forks: Sync {
    fn new(workers: usize) -> Self;

    /// Calls `f` where it can join.
    fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R;

    fn join<RA: Send, RB: Send>(a: impl FnOnce() -> RA + Send, b: impl FnOnce() -> RB + Send) -> (RA, RB);
}

/// A computation that forks.
pub trait Program: Send {
    fn compute<F: Forks>(&mut self);

    /// Whether what it computed last is right.
    fn is_right(&self) -> bool;
}

pub struct Ropewalk(ropewalk::Runtime);

impl Forks for Ropewalk {
    fn new(workers: usize) -> Self {
        Self(peers::ropewalk(workers))
    }

    fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.0.run(f)
    }

    #[inline(always)]
    fn join<RA: Send, RB: Send>(a: impl FnOnce() -> RA + Send, b: impl FnOnce() -> RB + Send) -> (RA, RB) {
        ropewalk::join(a, b)
    }
}

pub struct Rayon(rayon::ThreadPool);

impl Forks for Rayon {
    fn new(workers: usize) -> Self {
        Self(peers::rayon(workers))
    }

    fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.0.install(f)
    }

    #[inline(always)]
    fn join<RA: Send, RB: Send>(a: impl FnOnce() -> RA + Send, b: impl FnOnce() -> RB + Send) -> (RA, RB) {
        rayon::join(a, b)
    }
}

/// One half after the other, on one core.
pub struct Serial;

impl Forks for Serial {
    fn new(_: usize) -> Self {
        Self
    }

    fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        f()
    }

    #[inline(always)]
    fn join<RA: Send, RB: Send>(a: impl FnOnce() -> RA + Send, b: impl FnOnce() -> RB + Send) -> (RA, RB) {
        (a(), b())
    }
}

/// Nanoseconds for each of the operations of `program`.
fn measure(peer: Peer, operations: u64, program: impl Program, meter: Meter) -> Option<Sample> {
    let workers = peers::fork_workers();
    Some(match peer {
        Peer::Ropewalk => measure_on(Ropewalk::new(workers), operations, program, meter),
        Peer::Rayon => measure_on(Rayon::new(workers), operations, program, meter),
        Peer::Limit => measure_on(Serial, operations, program, meter),
        _ => return None,
    })
}

/// Milliseconds for all of it.
fn measure_whole(peer: Peer, program: impl Program, meter: Meter) -> Option<Sample> {
    let mut sample = measure(peer, 1, program, meter)?;
    sample.value /= 1e6;
    sample.unit = "ms".into();
    Some(sample)
}

fn measure_on<F: Forks>(pool: F, operations: u64, mut program: impl Program, meter: Meter) -> Sample {
    meter.measure_fixed(operations, || {
        pool.run(|| black_box(&mut program).compute::<F>());
        assert!(program.is_right(), "it computed something else");
    })
}

/// Numbers in no order, the same ones each time.
fn numbers(count: usize) -> Vec<u32> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    std::iter::repeat_with(next).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every peer computes what is expected, again and again.
    pub fn all_compute(mut program: impl Program) {
        assert!(!program.is_right(), "nothing was computed yet");
        on::<Serial>(&mut program);
        on::<Ropewalk>(&mut program);
        on::<Rayon>(&mut program);
    }

    fn on<F: Forks>(program: &mut impl Program) {
        let pool = F::new(2);
        for _ in 0..3 {
            pool.run(|| program.compute::<F>());
            assert!(program.is_right());
        }
    }
}
