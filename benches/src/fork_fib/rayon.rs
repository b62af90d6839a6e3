//! fork_fib on rayon.

use super::{Fib, serial};

pub fn fib(Fib { number, down_to }: Fib) -> u64 {
    if number < down_to {
        return serial(number);
    }
    let half = |less| fib(Fib { number: number - less, down_to });
    let (a, b) = rayon::join(|| half(1), || half(2));
    a + b
}
