//! Loops that are shared out: [`par_for`] and [`par_map_reduce`].
//!
//! What is to be done is halved by `join` until there are some pieces for each worker, and a piece that somebody has stolen is
//! halved again as often: where there are thieves, pieces become smaller, and where there are none, they stay large and are done in a
//! plain loop.

use super::join_told;
use crate::context;
use crate::wait::is_in_transaction;
use std::ops::Range;

/// Items that can be cut in two: ranges of integers, slices, mutable slices.
///
/// ```
/// use ropewalk::Divide;
/// let (left, right) = (0..10u32).cut(4);
/// assert_eq!((left, right), (0..4, 4..10));
/// let slice = &[1, 2, 3][..];
/// assert_eq!(slice.cut(1), (&[1][..], &[2, 3][..]));
/// ```
pub trait Divide: Send + Sized {
    /// What a loop gets.
    type Item;

    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first `at` of them, and the others.
    ///
    /// # Panics
    /// If there are not that many.
    fn cut(self, at: usize) -> (Self, Self);

    /// All of them, in order.
    fn items(self) -> impl Iterator<Item = Self::Item>;
}

impl<'a, T: Sync> Divide for &'a [T] {
    type Item = &'a T;

    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }

    fn items(self) -> impl Iterator<Item = Self::Item> {
        self.iter()
    }
}

impl<'a, T: Send> Divide for &'a mut [T] {
    type Item = &'a mut T;

    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }

    fn items(self) -> impl Iterator<Item = Self::Item> {
        self.iter_mut()
    }
}

macro_rules! divide_range {
    ($($integer:ident as $wide:ident)*) => {$(
        impl Divide for Range<$integer> {
            type Item = $integer;

            fn len(&self) -> usize {
                let count = (self.end as $wide).wrapping_sub(self.start as $wide);
                if self.start < self.end { usize::try_from(count).unwrap_or(usize::MAX) } else { 0 }
            }

            fn cut(self, at: usize) -> (Self, Self) {
                assert!(at <= Divide::len(&self), "cut at {at} of {}", Divide::len(&self));
                if at == 0 {
                    return (self.start..self.start, self);
                }
                let middle = (self.start as $wide).wrapping_add(at as $wide) as $integer;
                (self.start..middle, middle..self.end)
            }

            fn items(self) -> impl Iterator<Item = Self::Item> {
                self
            }
        }
    )*};
}
divide_range! { usize as usize isize as usize u64 as u64 i64 as u64 u32 as u64 i32 as u64 u16 as u64 i16 as u64 u8 as u64 i8 as u64 }

/// Calls `f` with each item, perhaps several at the same time.
///
/// ```
/// let mut squares: Vec<u64> = (0..1000).collect();
/// ropewalk::par_for(&mut squares[..], |square| *square *= *square);
/// assert_eq!(squares[31], 961);
///
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// let odd = AtomicU32::new(0);
/// ropewalk::par_for(0..100u32, |n| {
///     odd.fetch_add(n % 2, Relaxed);
/// });
/// assert_eq!(odd.into_inner(), 50);
/// ```
///
/// Each item is given to one call. Neighbours are mostly done one after the other on one worker; beyond that there is no order. `f`
/// may wait; then the items behind it in its piece wait as well.
///
/// # Cancellation
/// As [`join`](crate::join()): those who run are interrupted at their next wait, and items that nobody has begun with are left out.
///
/// # Panics
/// With what the first of the calls that panicked, in the order of the items, panicked with; after all others that had begun have
/// ended. Items behind it in its piece are left out, others are not.
pub fn par_for<D: Divide>(items: D, f: impl Fn(D::Item) + Sync) {
    par_map_reduce(items, || (), f, |(), ()| ());
}

/// Maps each item, perhaps several at the same time, and reduces what comes of it to one value.
///
/// ```
/// let words = ["hemp", "", "sisal", "jute"];
/// let longest = ropewalk::par_map_reduce(&words[..], || 0, |word| word.len(), usize::max);
/// assert_eq!(longest, 5);
/// let all = ropewalk::par_map_reduce(&words[..], String::new, |word| word.to_string(), |left, right| left + &right);
/// assert_eq!(all, "hempsisaljute");
/// ```
///
/// Values are reduced in the order of their items, but in groups that are different each time: `reduce` has to be associative, not
/// commutative. `identity` makes a value that changes nothing when it is reduced with another; each piece begins with one, and it is what
/// no items give.
///
/// # Cancellation
/// As [`join`](crate::join()).
///
/// # Panics
/// As [`par_for`]; of the closures, whichever panics.
pub fn par_map_reduce<D: Divide, R: Send>(
    items: D,
    identity: impl Fn() -> R + Sync,
    map: impl Fn(D::Item) -> R + Sync,
    reduce: impl Fn(R, R) -> R + Sync,
) -> R {
    let work = Work { identity, map, reduce };
    if Divide::len(&items) <= 1 || is_in_transaction() {
        return work.piece(items);
    }
    if context::with_worker(|worker| worker.is_some_and(|worker| worker.frame.strand.get().is_some())) {
        return work.divide(items, Splitter::new());
    }
    crate::run(|| work.divide(items, Splitter::new()))
}

struct Work<I, M, C> {
    identity: I,
    map: M,
    reduce: C,
}

impl<I, M, C> Work<I, M, C> {
    fn divide<D: Divide, R: Send>(&self, items: D, splitter: Splitter) -> R
    where
        I: Fn() -> R + Sync,
        M: Fn(D::Item) -> R + Sync,
        C: Fn(R, R) -> R + Sync,
    {
        let count = Divide::len(&items);
        if count <= 1 || splitter.0 <= 1 {
            return self.piece(items);
        }
        let (left, right) = items.cut(count / 2);
        let half = splitter.half();
        let (left, right) = join_told(
            || self.divide(left, half),
            |stolen| self.divide(right, if stolen { half.renewed() } else { half }),
        );
        (self.reduce)(left, right)
    }

    fn piece<D: Divide, R>(&self, items: D) -> R
    where
        I: Fn() -> R,
        M: Fn(D::Item) -> R,
        C: Fn(R, R) -> R,
    {
        items.items().fold((self.identity)(), |sum, item| (self.reduce)(sum, (self.map)(item)))
    }
}

/// In how many pieces something is to be cut.
#[derive(Clone, Copy, Debug)]
struct Splitter(usize);

impl Splitter {
    /// Two for each worker: one that has done its own finds another.
    fn new() -> Self {
        Self(2 * context::with_worker(|worker| worker.map_or(1, |worker| worker.pool.active())).max(1))
    }

    fn half(self) -> Self {
        Self(self.0 / 2)
    }

    /// There are thieves.
    fn renewed(self) -> Self {
        Self(self.0.max(Self::new().0))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_whatever_their_signs() {
        assert_eq!(Divide::len(&(i8::MIN..i8::MAX)), 255);
        assert_eq!((i8::MIN..i8::MAX).cut(200), (i8::MIN..72, 72..i8::MAX));
        assert_eq!(Divide::len(&(0..u64::MAX)), usize::MAX);
        assert_eq!((i64::MIN..i64::MAX).cut(usize::MAX), (i64::MIN..i64::MAX, i64::MAX..i64::MAX));
        let reversed = Range { start: 5, end: 3 };
        assert_eq!(Divide::len(&reversed), 0);
        assert_eq!(reversed.clone().cut(0), (5..5, reversed));
        assert_eq!((7u8..7).cut(0), (7..7, 7..7));
    }

    #[test]
    #[should_panic(expected = "cut at 4 of 3")]
    fn nothing_is_cut_behind_its_end() {
        (0..3).cut(4);
    }
}
