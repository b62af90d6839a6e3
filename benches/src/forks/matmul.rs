//! fork_matmul: the product of two square matrices by blocks. A matrix has its four quarters one after the other, each of them likewise,
//! down to blocks by rows. The quarters of the product are computed by forks, the two products of which each is the sum one after
//! the other. One operation is one multiplication with its addition.

use super::{Forks, Program, measure, numbers};
use crate::meter::{Meter, Sample};
use crate::peers::Peer;

/// The side of a block.
const BLOCK: usize = 32;

/// What is multiplied, and where the product goes.
struct Product {
    left: Vec<f64>,
    right: Vec<f64>,
    product: Vec<f64>,
    expected: Vec<f64>,
}

impl Product {
    /// The side is that of a block, doubled some times.
    fn new(side: usize) -> Self {
        // Small integers: then all sums are exact, in whatever order they are made.
        let mut cells = numbers(2 * side * side).into_iter().map(|number| f64::from(number % 17) - 8.0);
        let mut matrix = || cells.by_ref().take(side * side).collect::<Vec<_>>();
        let (left, right) = (matrix(), matrix());
        Self {
            product: vec![0.0; side * side],
            expected: in_quarters(side, &plain(side, &left, &right)),
            left: in_quarters(side, &left),
            right: in_quarters(side, &right),
        }
    }
}

impl Program for Product {
    fn compute<F: Forks>(&mut self) {
        self.product.fill(0.0);
        add_product::<F>(&mut self.product, &self.left, &self.right);
    }

    fn is_right(&self) -> bool {
        self.product == self.expected
    }
}

/// The product of matrices by rows.
fn plain(side: usize, left: &[f64], right: &[f64]) -> Vec<f64> {
    let cell = |at: usize| (0..side).map(|k| left[at / side * side + k] * right[k * side + at % side]).sum();
    (0..side * side).map(cell).collect()
}

/// A matrix by rows, cut.
fn in_quarters(side: usize, rows: &[f64]) -> Vec<f64> {
    let mut cut = vec![0.0; rows.len()];
    for (at, cell) in rows.iter().enumerate() {
        cut[place(side, at / side, at % side)] = *cell;
    }
    cut
}

/// Where a cell is.
fn place(side: usize, row: usize, column: usize) -> usize {
    if side == BLOCK {
        return row * BLOCK + column;
    }
    let half = side / 2;
    let quarter = row / half * 2 + column / half;
    quarter * half * half + place(half, row % half, column % half)
}

fn add_product<F: Forks>(sum: &mut [f64], left: &[f64], right: &[f64]) {
    if sum.len() == BLOCK * BLOCK {
        return add_block(sum, left, right);
    }
    let (left, right) = (quarters(left), quarters(right));
    let quarter = |sum: &mut [f64], row: usize, column: usize| {
        add_product::<F>(sum, left[2 * row], right[column]);
        add_product::<F>(sum, left[2 * row + 1], right[2 + column]);
    };
    let half = |sum: &mut [f64], row| {
        let (a, b) = sum.split_at_mut(sum.len() / 2);
        F::join(|| quarter(a, row, 0), || quarter(b, row, 1));
    };
    let (above, below) = sum.split_at_mut(sum.len() / 2);
    F::join(|| half(above, 0), || half(below, 1));
}

fn quarters(matrix: &[f64]) -> [&[f64]; 4] {
    let (above, below) = matrix.split_at(matrix.len() / 2);
    let ((a, b), (c, d)) = (above.split_at(above.len() / 2), below.split_at(below.len() / 2));
    [a, b, c, d]
}

fn add_block(sum: &mut [f64], left: &[f64], right: &[f64]) {
    for (sum, left) in sum.chunks_exact_mut(BLOCK).zip(left.chunks_exact(BLOCK)) {
        for (factor, right) in left.iter().zip(right.chunks_exact(BLOCK)) {
            sum.iter_mut().zip(right).for_each(|(sum, other)| *sum += factor * other);
        }
    }
}

pub fn run(peer: Peer, meter: Meter) -> Option<Sample> {
    let side = meter.speed.pick(256, 128);
    let sample = measure(peer, (side * side * side) as u64, Product::new(side), meter)?;
    Some(sample.into_rate())
}

#[cfg(test)]
mod tests {
    use super::super::tests::all_compute;
    use super::*;

    #[test]
    fn products_are_right() {
        for side in [BLOCK, 2 * BLOCK, 4 * BLOCK] {
            all_compute(Product::new(side));
        }
    }

    #[test]
    fn each_cell_has_its_place() {
        let mut places: Vec<usize> =
            (0..4 * BLOCK * BLOCK).map(|at| place(2 * BLOCK, at / (2 * BLOCK), at % (2 * BLOCK))).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..4 * BLOCK * BLOCK));
    }
}
