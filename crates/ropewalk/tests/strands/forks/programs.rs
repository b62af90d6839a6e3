//! Whole programs that fork, compared with the same ones that do not.

use super::super::kit::{RuntimeKind, guarded};
use super::{join, strand};
use ropewalk::{par_for, par_map_reduce};
use std::ops::Range;

/// Runs `program` on a strand of pools of several sizes.
fn on_pools(program: impl Fn() + Sync) {
    for kind in [RuntimeKind::Threads(1), RuntimeKind::Threads(2), RuntimeKind::Threads(16)] {
        guarded(format!("{kind:?}"), || {
            let runtime = kind.builder().strand_stack_size(1 << 20).build().unwrap();
            runtime.run(&program);
        });
    }
}

/// Numbers in no order, the same ones each time.
fn numbers(count: usize, below: u64) -> Vec<u64> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Some waits, so that halves are stolen where there is one worker, too.
fn wait_at_some(at: usize) {
    if at.is_multiple_of(37) {
        strand::yield_now();
    }
}

/// A board with queens on its first rows: which columns, and which diagonals as seen from the next row, are attacked.
#[derive(Clone, Copy, Default)]
struct Board {
    size: u32,
    rows: u32,
    columns: u32,
    falling: u32,
    rising: u32,
}

impl Board {
    fn is_free(self, column: u32) -> bool {
        (self.columns | self.falling | self.rising) & (1 << column) == 0
    }

    fn with_queen(self, column: u32) -> Self {
        let queen = 1 << column;
        Self {
            size: self.size,
            rows: self.rows + 1,
            columns: self.columns | queen,
            falling: (self.falling | queen) << 1,
            rising: (self.rising | queen) >> 1,
        }
    }

    /// In how many ways it can be completed.
    fn ways(self) -> u32 {
        if self.rows == self.size {
            return 1;
        }
        wait_at_some(self.columns as usize);
        let ways = |column| if self.is_free(column) { self.with_queen(column).ways() } else { 0 };
        par_map_reduce(0..self.size, || 0, ways, |left, right| left + right)
    }
}

#[test]
fn queens_do_not_attack_each_other() {
    on_pools(|| {
        for (size, ways) in [(1, 1), (2, 0), (3, 0), (4, 2), (8, 92), (9, 352)] {
            assert_eq!(Board { size, ..Board::default() }.ways(), ways, "{size} queens");
        }
    });
}

/// Down to one number. The halves are of all sizes.
fn quicksort(numbers: &mut [u64]) {
    if numbers.len() <= 1 {
        return;
    }
    wait_at_some(numbers.len());
    let last = numbers.len() - 1;
    numbers.swap(last / 2, last);
    let (pivot, mut smaller) = (numbers[last], 0);
    for at in 0..last {
        if numbers[at] < pivot {
            numbers.swap(at, smaller);
            smaller += 1;
        }
    }
    numbers.swap(smaller, last);
    let (left, right) = numbers.split_at_mut(smaller);
    join(|| quicksort(left), || quicksort(&mut right[1..]));
}

#[test]
fn quicksort_sorts() {
    let in_order: Vec<u64> = (0..1000).collect();
    let backwards: Vec<u64> = (0..1000).rev().collect();
    // With many that are equal, and with hardly any.
    let cases = [numbers(5000, 400), numbers(5000, u64::MAX), in_order, backwards, vec![7; 200]];
    on_pools(|| {
        for case in &cases {
            let (mut sorted, mut expected) = (case.clone(), case.clone());
            expected.sort_unstable();
            quicksort(&mut sorted);
            assert_eq!(sorted, expected);
        }
    });
}

/// The sides of the matrices here, and of the blocks that are not cut any further. Both are powers of two.
const SIDE: usize = 32;
const BLOCK: usize = 4;

/// Where a cell is in a matrix that has its four quarters one after the other, each of them likewise.
fn place(side: usize, row: usize, column: usize) -> usize {
    if side == BLOCK {
        return row * BLOCK + column;
    }
    let half = side / 2;
    let quarter = row / half * 2 + column / half;
    quarter * half * half + place(half, row % half, column % half)
}

fn quarters(matrix: &[u64]) -> [&[u64]; 4] {
    let (above, below) = matrix.split_at(matrix.len() / 2);
    let ((a, b), (c, d)) = (above.split_at(above.len() / 2), below.split_at(below.len() / 2));
    [a, b, c, d]
}

/// Adds the product of `left` and `right`, in quarters, to `sum`.
fn add_product(sum: &mut [u64], left: &[u64], right: &[u64]) {
    if sum.len() == BLOCK * BLOCK {
        wait_at_some(left[0] as usize);
        for (row, cells) in sum.chunks_mut(BLOCK).enumerate() {
            for (column, cell) in cells.iter_mut().enumerate() {
                *cell += (0..BLOCK).map(|k| left[row * BLOCK + k] * right[k * BLOCK + column]).sum::<u64>();
            }
        }
        return;
    }
    let (left, right) = (quarters(left), quarters(right));
    let quarter = |sum: &mut [u64], row: usize, column: usize| {
        add_product(sum, left[2 * row], right[column]);
        add_product(sum, left[2 * row + 1], right[2 + column]);
    };
    let (above, below) = sum.split_at_mut(sum.len() / 2);
    let half = |sum: &mut [u64], row| {
        let (a, b) = sum.split_at_mut(sum.len() / 2);
        join(|| quarter(a, row, 0), || quarter(b, row, 1));
    };
    join(|| half(above, 0), || half(below, 1));
}

/// Row by row.
fn plain_product(left: &[u64], right: &[u64]) -> Vec<u64> {
    let mut product = vec![0; SIDE * SIDE];
    for row in 0..SIDE {
        for column in 0..SIDE {
            for k in 0..SIDE {
                product[row * SIDE + column] += left[row * SIDE + k] * right[k * SIDE + column];
            }
        }
    }
    product
}

#[test]
fn a_product_of_blocks_is_that_of_rows() {
    let all = numbers(2 * SIDE * SIDE, 1000);
    let (left, right) = all.split_at(SIDE * SIDE);
    let expected = plain_product(left, right);
    let cells = || (0..SIDE * SIDE).map(|at| (at, place(SIDE, at / SIDE, at % SIDE)));
    let in_quarters = |matrix: &[u64]| {
        let mut cut = vec![0; matrix.len()];
        cells().for_each(|(at, place)| cut[place] = matrix[at]);
        cut
    };
    on_pools(|| {
        let mut product = vec![0; SIDE * SIDE];
        add_product(&mut product, &in_quarters(left), &in_quarters(right));
        assert!(cells().all(|(at, place)| product[place] == expected[at]));
    });
}

#[test]
fn rows_of_a_product_are_shared_out() {
    let all = numbers(2 * SIDE * SIDE, 1000);
    let (left, right) = all.split_at(SIDE * SIDE);
    let expected = plain_product(left, right);
    on_pools(|| {
        let mut product = vec![0; SIDE * SIDE];
        let mut rows: Vec<_> = left.chunks(SIDE).zip(product.chunks_mut(SIDE)).collect();
        par_for(&mut rows[..], |(left, product)| {
            wait_at_some(left[0] as usize);
            for (factor, right) in left.iter().zip(right.chunks(SIDE)) {
                product.iter_mut().zip(right).for_each(|(sum, other)| *sum += factor * other);
            }
        });
        assert_eq!(product, expected);
    });
}

/// A tree in which everybody has ten children; its leaves are numbered.
fn skynet(leaves: Range<usize>) -> usize {
    if leaves.len() == 1 {
        wait_at_some(leaves.start);
        return leaves.start;
    }
    let tenth = leaves.len() / 10;
    let child = |at| skynet(leaves.start + at * tenth..leaves.start + (at + 1) * tenth);
    par_map_reduce(0..10usize, || 0, child, |left, right| left + right)
}

/// The same with two.
fn pairs(leaves: Range<usize>) -> usize {
    if leaves.len() == 1 {
        wait_at_some(leaves.start);
        return leaves.start;
    }
    let middle = leaves.start + leaves.len() / 2;
    let (left, right) = join(|| pairs(leaves.start..middle), || pairs(middle..leaves.end));
    left + right
}

#[test]
fn a_tree_sums_up_its_leaves() {
    let sum = |leaves: usize| leaves * (leaves - 1) / 2;
    on_pools(|| {
        assert_eq!(skynet(0..10_000), sum(10_000));
        assert_eq!(pairs(0..10_007), sum(10_007));
    });
}
