//! matmul on rayon, whose threads are there already.

use super::Product;
use rayon::ThreadPool;

pub fn multiply(pool: &ThreadPool, product: &mut Product, threads: usize) {
    pool.scope(|scope| {
        for share in product.shares(threads) {
            scope.spawn(|_| share.compute());
        }
    });
}
