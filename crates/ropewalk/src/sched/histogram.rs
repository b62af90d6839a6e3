//! How often something took how long, counted by one writer.
//!
//! Four buckets to each doubling: a figure that is read from it is off by an eighth at most. The first bucket is all that takes less than
//! 16 nanoseconds, the last all that takes longer than a minute or so.

use super::counters::Count;

/// Each doubling is parted into `1 << PARTS` buckets.
const PARTS: u32 = 2;
/// `1 << SMALLEST` nanoseconds and less are not told apart.
const SMALLEST: u32 = 4;
/// The last doubling that is parted begins at `1 << LARGEST` nanoseconds.
const LARGEST: u32 = 36;
pub(crate) const BUCKETS: usize = 1 + ((LARGEST - SMALLEST + 1) << PARTS) as usize;

/// The buckets of one worker.
#[derive(Debug)]
pub(crate) struct Buckets {
    counts: [Count; BUCKETS],
    /// Of all that were counted, in nanoseconds.
    sum: Count,
    longest: Count,
}

impl Buckets {
    pub(crate) fn new() -> Self {
        let counts = std::array::from_fn(|_| Count::default());
        Self { counts, sum: Count::default(), longest: Count::default() }
    }

    /// Counts something that took so long, and stands for `times` that did. Only the owner calls this.
    pub(crate) fn add(&self, nanos: u64, times: u64) {
        self.counts[bucket(nanos)].add(times);
        self.sum.add(nanos.saturating_mul(times));
        let longest = self.longest.get();
        self.longest.add(nanos.saturating_sub(longest));
    }

    /// What was counted so far: each bucket, the sum, the longest.
    pub(crate) fn read(&self) -> ([u64; BUCKETS], u64, u64) {
        (std::array::from_fn(|index| self.counts[index].get()), self.sum.get(), self.longest.get())
    }
}

fn bucket(nanos: u64) -> usize {
    let Some(doubling) = nanos.checked_ilog2().filter(|log| *log >= SMALLEST) else { return 0 };
    if doubling > LARGEST {
        return BUCKETS - 1;
    }
    let part = nanos >> (doubling - PARTS) & ((1 << PARTS) - 1);
    1 + (((doubling - SMALLEST) << PARTS) as usize) + part as usize
}

/// Below so many nanoseconds is what a bucket counts; the last one has no end.
pub(crate) fn end_of(bucket: usize) -> Option<u64> {
    if bucket + 1 >= BUCKETS {
        return None;
    }
    let (doubling, part) = (bucket as u32 >> PARTS, bucket as u64 & ((1 << PARTS) - 1));
    Some(((1 << PARTS) + part) << (doubling + SMALLEST - PARTS))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_in_the_bucket_that_ends_behind_it() {
        let around = (0..63).flat_map(|log| (0..8).map(move |part| (1u64 << log) + ((part << log) >> 3)));
        for nanos in around.flat_map(|nanos| [nanos - 1, nanos, nanos + 1]) {
            let index = bucket(nanos);
            assert!(end_of(index).is_none_or(|end| nanos < end), "{nanos} is in {index}");
            let begin = index.checked_sub(1).and_then(end_of).unwrap_or(0);
            assert!(nanos >= begin, "{nanos} is in {index}, which begins at {begin}");
        }
        assert_eq!((bucket(0), bucket(15), bucket(16), bucket(u64::MAX)), (0, 0, 1, BUCKETS - 1));
    }

    #[test]
    fn buckets_are_narrow_and_without_gaps() {
        let ends: Vec<_> = (0..BUCKETS - 1).map(|index| end_of(index).unwrap()).collect();
        assert_eq!((ends[0], end_of(BUCKETS - 1)), (16, None));
        assert!(ends.windows(2).all(|pair| pair[0] < pair[1] && (pair[1] - pair[0]) * 4 <= pair[0]));
        assert!(*ends.last().unwrap() > 60_000_000_000, "a minute is told from more");
    }

    #[test]
    fn what_is_counted_is_read() {
        let buckets = Buckets::new();
        buckets.add(100, 1);
        buckets.add(1_000, 61);
        buckets.add(10, 2);
        let (counts, sum, longest) = buckets.read();
        assert_eq!((counts.iter().sum::<u64>(), sum, longest), (64, 61_120, 1_000));
        assert_eq!((counts[0], counts[bucket(100)], counts[bucket(1_000)]), (2, 1, 61));
    }
}
