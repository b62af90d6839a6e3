//! matmul: two square matrices are multiplied by threads of their own, each of which computes a share of the rows; the
//! threads are started for each product and joined. One operation is one multiplication with its addition. Two threads
//! against one is the speed-up: what starting, joining and sharing a machine cost.

pub mod echo;
mod limit;
mod rayon;
mod ropewalk;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};
use std::hint::black_box;

/// Rows of a square matrix, one after the other.
type Matrix = Vec<f64>;

/// What is multiplied, and where the product goes.
pub struct Product {
    size: usize,
    left: Matrix,
    right: Matrix,
    product: Matrix,
}

/// Some rows of the product, to be computed by one thread.
pub struct Share<'a> {
    size: usize,
    left: &'a [f64],
    right: &'a [f64],
    product: &'a mut [f64],
}

impl Product {
    fn new(size: usize) -> Self {
        let fill = |seed: usize| (0..size * size).map(|at| (at * seed % 17) as f64 - 8.0).collect();
        Self { size, left: fill(7), right: fill(11), product: vec![0.0; size * size] }
    }

    /// As many shares as threads, of almost equal size.
    fn shares(&mut self, threads: usize) -> impl Iterator<Item = Share<'_>> {
        let Self { size, left, right, product } = self;
        let (size, right, rows) = (*size, &right[..], size.div_ceil(threads) * *size);
        let shares = left.chunks(rows).zip(product.chunks_mut(rows));
        shares.map(move |(left, product)| Share { size, left, right, product })
    }
}

impl Share<'_> {
    /// Goes along rows only, so that what it reads is in order.
    fn compute(self) {
        let rows = self.left.chunks_exact(self.size).zip(self.product.chunks_exact_mut(self.size));
        for (left, product) in rows {
            product.fill(0.0);
            for (factor, right) in left.iter().zip(self.right.chunks_exact(self.size)) {
                product.iter_mut().zip(right).for_each(|(sum, other)| *sum += factor * other);
            }
        }
    }
}

pub fn run(peer: Peer, threads: usize, meter: Meter) -> Option<Sample> {
    let size = meter.speed.pick(320, 128);
    let mut product = Product::new(size);
    let operations = (size * size * size) as u64;
    let mut batch: Box<dyn FnMut(&mut Product)> = match peer {
        Peer::Ropewalk => Box::new(move |product| ropewalk::multiply(product, threads)),
        Peer::Limit => Box::new(move |product| limit::multiply(product, threads)),
        Peer::Rayon => {
            let pool = peers::rayon(threads);
            Box::new(move |product| rayon::multiply(&pool, product, threads))
        }
        _ => return None,
    };
    let sample = meter.measure_fixed(operations, || {
        batch(black_box(&mut product));
        black_box(&product.product);
    });
    Some(sample.into_rate())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of them compute the product, whatever the number of threads.
    #[test]
    fn products_are_right() {
        let mut expected = Product::new(9);
        for (at, sum) in expected.product.iter_mut().enumerate() {
            let (row, column) = (at / 9, at % 9);
            *sum = (0..9).map(|k| expected.left[row * 9 + k] * expected.right[k * 9 + column]).sum();
        }
        let pool = peers::rayon(2);
        for threads in [1, 2, 4, 9] {
            let ways: [&dyn Fn(&mut Product); 3] = [
                &|product| ropewalk::multiply(product, threads),
                &|product| limit::multiply(product, threads),
                &|product| rayon::multiply(&pool, product, threads),
            ];
            for multiply in ways {
                let mut product = Product::new(9);
                multiply(&mut product);
                assert_eq!(product.product, expected.product);
            }
        }
    }
}
