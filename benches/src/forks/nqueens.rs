//! fork_nqueens: in how many ways twelve queens can stand on a board of 12 x 12 so that none attacks another. Each row is a fork between
//! a queen in the first column that is free, and the others; halves are of very different sizes. Boards with few free rows are counted
//! without forks. The figure is the time for all of it.

use super::{Forks, Program, measure_whole};
use crate::meter::{Meter, Sample};
use crate::peers::Peer;

/// Below so many free rows nobody forks.
const DOWN_TO: u32 = 6;

/// In how many ways the first sizes can be solved.
const WAYS: [u64; 13] = [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200];

struct Queens {
    size: u32,
    ways: Option<u64>,
}

impl Program for Queens {
    fn compute<F: Forks>(&mut self) {
        self.ways = Some(Board::new(self.size).ways::<F>());
    }

    fn is_right(&self) -> bool {
        self.ways == Some(WAYS[self.size as usize])
    }
}

/// A board with queens on its first rows: as bits, the columns without one, and what the diagonals attack in the next row.
#[derive(Clone, Copy)]
struct Board {
    rows: u32,
    columns: u32,
    falling: u32,
    rising: u32,
}

impl Board {
    fn new(size: u32) -> Self {
        Self { rows: size, columns: (1 << size) - 1, falling: 0, rising: 0 }
    }

    /// The columns in which the next queen may stand.
    fn free(self) -> u32 {
        self.columns & !(self.falling | self.rising)
    }

    fn with(self, queen: u32) -> Self {
        Self {
            rows: self.rows - 1,
            columns: self.columns & !queen,
            falling: (self.falling | queen) << 1,
            rising: (self.rising | queen) >> 1,
        }
    }

    fn ways<F: Forks>(self) -> u64 {
        if self.rows < DOWN_TO { self.ways_here() } else { self.ways_in::<F>(self.free()) }
    }

    /// With the next queen in one of these columns.
    fn ways_in<F: Forks>(self, free: u32) -> u64 {
        if free == 0 {
            return 0;
        }
        let (queen, others) = (free & free.wrapping_neg(), free & (free - 1));
        if others == 0 {
            return self.with(queen).ways::<F>();
        }
        let (first, others) = F::join(|| self.with(queen).ways::<F>(), || self.ways_in::<F>(others));
        first + others
    }

    fn ways_here(self) -> u64 {
        if self.rows == 0 {
            return 1;
        }
        let (mut free, mut ways) = (self.free(), 0);
        while free != 0 {
            ways += self.with(free & free.wrapping_neg()).ways_here();
            free &= free - 1;
        }
        ways
    }
}

pub fn run(peer: Peer, meter: Meter) -> Option<Sample> {
    measure_whole(peer, Queens { size: meter.speed.pick(12, 10), ways: None }, meter)
}

#[cfg(test)]
mod tests {
    use super::super::tests::all_compute;
    use super::*;

    #[test]
    fn queens_are_counted() {
        for size in 0..10 {
            all_compute(Queens { size, ways: None });
        }
    }
}
