//! fork_quicksort: half a million numbers in no order are sorted: those below the middle one of three go to the left, and both sides are
//! sorted likewise. Few numbers are left to the standard library. The figure is the time for all of it, with the copy of what is
//! to be sorted, and the comparison with what it should be.

use super::{Forks, Program, measure_whole, numbers};
use crate::meter::{Meter, Sample};
use crate::peers::Peer;

/// Up to so many nobody forks.
const FEW: usize = 256;

struct Sorting {
    numbers: Vec<u32>,
    sorted: Vec<u32>,
    expected: Vec<u32>,
}

impl Sorting {
    fn new(count: usize) -> Self {
        let numbers = numbers(count);
        let mut expected = numbers.clone();
        expected.sort_unstable();
        Self { numbers, sorted: Vec::with_capacity(count), expected }
    }
}

impl Program for Sorting {
    fn compute<F: Forks>(&mut self) {
        self.sorted.clone_from(&self.numbers);
        quicksort::<F>(&mut self.sorted);
    }

    fn is_right(&self) -> bool {
        self.sorted == self.expected
    }
}

fn quicksort<F: Forks>(numbers: &mut [u32]) {
    if numbers.len() <= FEW {
        return numbers.sort_unstable();
    }
    let middle = partition(numbers);
    let (left, right) = numbers.split_at_mut(middle);
    F::join(|| quicksort::<F>(left), || quicksort::<F>(&mut right[1..]));
}

/// Puts a number where it belongs, with the smaller ones before it; says where that is.
fn partition(numbers: &mut [u32]) -> usize {
    let last = numbers.len() - 1;
    let mut three = [0, last / 2, last];
    three.sort_unstable_by_key(|at| numbers[*at]);
    numbers.swap(three[1], last);
    let (pivot, mut smaller) = (numbers[last], 0);
    for at in 0..last {
        // Without a branch that nobody could predict.
        let is_smaller = numbers[at] < pivot;
        numbers.swap(at, smaller);
        smaller += usize::from(is_smaller);
    }
    numbers.swap(smaller, last);
    smaller
}

pub fn run(peer: Peer, meter: Meter) -> Option<Sample> {
    measure_whole(peer, Sorting::new(meter.speed.pick(500_000, 50_000)), meter)
}

#[cfg(test)]
mod tests {
    use super::super::tests::all_compute;
    use super::*;

    #[test]
    fn numbers_are_sorted() {
        for count in [1, 2, FEW, FEW + 1, 10_000] {
            all_compute(Sorting::new(count));
        }
    }

    #[test]
    fn who_is_in_the_middle_is_where_it_belongs() {
        for mut case in [vec![3, 1, 2], vec![5; 7], (0..9).collect(), (0..9).rev().collect(), numbers(1000)] {
            let at = partition(&mut case);
            let pivot = case[at];
            assert!(case[..at].iter().all(|number| *number < pivot), "{case:?}");
            assert!(case[at..].iter().all(|number| *number >= pivot), "{case:?}");
        }
    }
}
