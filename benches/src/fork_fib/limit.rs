//! fork_fib without forks, on one core: what two workers could halve.

use super::{Fib, serial};

pub fn fib(fib: Fib) -> u64 {
    serial(fib.number)
}
