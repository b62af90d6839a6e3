//! Sorting the entries of one tick: a merge sort on the lists themselves, stable and without memory of its own.

use super::Timed;
use crate::list::List;
use core::ptr::NonNull;

/// Runs of `2^0` to `2^31` entries: more than memory holds.
const RUNS: usize = 32;

/// Puts `list` in the order of its deadlines; equal ones stay as they are.
pub(super) fn by_deadline<T: Timed>(list: &mut List<T>) {
    // Run `i` is empty or has `2^i` entries, all of them older than those of the runs below it.
    let mut runs: [List<T>; RUNS] = [const { List::new() }; RUNS];
    while let Some(node) = list.pop_front() {
        let mut run = List::new();
        // SAFETY: it was in `list`, so it is valid and stays so, and is in no list now.
        unsafe { run.push_back(node) };
        let mut at = 0;
        while !runs[at].is_empty() && at + 1 < RUNS {
            run = merge(runs[at].take(), run);
            at += 1;
        }
        runs[at] = merge(runs[at].take(), run);
    }
    for run in &mut runs {
        *list = merge(run.take(), list.take());
    }
}

/// One ordered list of two; of equal ones those of `older` come first.
fn merge<T: Timed>(mut older: List<T>, mut newer: List<T>) -> List<T> {
    let mut merged = List::new();
    while let (Some(one), Some(other)) = (older.front(), newer.front()) {
        let from = if deadline(one) <= deadline(other) { &mut older } else { &mut newer };
        if let Some(node) = from.pop_front() {
            // SAFETY: as above.
            unsafe { merged.push_back(node) };
        }
    }
    merged.append(&mut older);
    merged.append(&mut newer);
    merged
}

fn deadline<T: Timed>(node: NonNull<T>) -> u64 {
    // SAFETY: a linked node is valid, and whoever sorts holds the wheel (H6).
    unsafe { T::deadline(node).as_ref().get() }
}
