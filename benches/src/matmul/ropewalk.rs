//! matmul on ropewalk's threads.

use super::Product;
use ropewalk::thread::{self, Class};

pub fn multiply(product: &mut Product, threads: usize) {
    thread::scope(|scope| {
        for share in product.shares(threads) {
            drop(scope.spawn(|| share.compute()).expect("a thread starts"));
        }
    });
}

/// The same on threads that stand back for all others.
pub fn multiply_standing_back(product: &mut Product, threads: usize) {
    thread::scope(|scope| {
        for share in product.shares(threads) {
            let thread = thread::Builder::new().class(Class::Idle).spawn_scoped(scope, || share.compute());
            drop(thread.expect("a thread starts"));
        }
    });
}
