//! matmul on the standard library's threads.

use super::Product;
use std::thread;

pub fn multiply(product: &mut Product, threads: usize) {
    thread::scope(|scope| {
        for share in product.shares(threads) {
            scope.spawn(|| share.compute());
        }
    });
}
