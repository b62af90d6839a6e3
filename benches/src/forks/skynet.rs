//! fork_skynet: a tree in which everybody has ten children, a million leaves in all, sums up their numbers. The children of one are
//! called by halves. Nothing is computed between two forks: the figure is the time for each of them.

use super::{Forks, Program, measure};
use crate::meter::{Meter, Sample};
use crate::peers::Peer;

const CHILDREN: u64 = 10;

struct Tree {
    leaves: u64,
    sum: Option<u64>,
}

impl Program for Tree {
    fn compute<F: Forks>(&mut self) {
        self.sum = Some(node::<F>(0, self.leaves));
    }

    fn is_right(&self) -> bool {
        self.sum == Some(self.leaves * (self.leaves - 1) / 2)
    }
}

/// Of so many leaves, from the first on.
fn node<F: Forks>(first: u64, leaves: u64) -> u64 {
    if leaves == 1 { first } else { children::<F>(first, leaves / CHILDREN, CHILDREN) }
}

/// So many children with so many leaves each.
fn children<F: Forks>(first: u64, leaves: u64, count: u64) -> u64 {
    if count == 1 {
        return node::<F>(first, leaves);
    }
    let half = count / 2;
    let (left, right) = F::join(
        || children::<F>(first, leaves, half),
        || children::<F>(first + half * leaves, leaves, count - half),
    );
    left + right
}

pub fn run(peer: Peer, meter: Meter) -> Option<Sample> {
    let leaves = meter.speed.pick(1_000_000, 100_000);
    // Each fork joins two sums to one.
    measure(peer, leaves - 1, Tree { leaves, sum: None }, meter)
}

#[cfg(test)]
mod tests {
    use super::super::tests::all_compute;
    use super::*;

    #[test]
    fn leaves_are_summed_up() {
        for leaves in [1, 10, 100, 10_000] {
            all_compute(Tree { leaves, sum: None });
        }
    }
}
