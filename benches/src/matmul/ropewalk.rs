//! matmul on ropewalk's threads.

use super::Product;
use ropewalk::thread;

pub fn multiply(product: &mut Product, threads: usize) {
    thread::scope(|scope| {
        for share in product.shares(threads) {
            drop(scope.spawn(|| share.compute()).expect("a thread starts"));
        }
    });
}
