//! fork_fib on ropewalk.

use super::{Fib, serial};

pub fn fib(Fib { number, down_to }: Fib) -> u64 {
    if number < down_to {
        return serial(number);
    }
    let half = |less| fib(Fib { number: number - less, down_to });
    let (a, b) = ropewalk::join(|| half(1), || half(2));
    a + b
}
