//! How long something takes, as a distribution.

use crate::sched::histogram::{BUCKETS, Buckets, end_of};
use std::fmt;
use std::time::Duration;

/// How often something took how long.
///
/// What is not measured each time, but sampled, counts for those around it that were not measured.
///
/// ```
/// # fn main() -> Result<(), ropewalk::RuntimeError> {
/// let runtime = ropewalk::Runtime::builder().worker_threads(1).histograms(true).build()?;
/// runtime.block_on(runtime.spawn(async {
///     for _ in 0..10_000 {
///         ropewalk::yield_now().await;
///     }
/// })).unwrap();
/// let polls = runtime.metrics().poll_time();
/// println!("p50 {:?}, p99 {:?}", polls.quantile(0.5), polls.quantile(0.99));
/// assert!(polls.count() > 1_000 && polls.quantile(0.5) <= polls.quantile(0.99));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BUCKETS],
    sum: u64,
    longest: u64,
}

impl Histogram {
    /// With nothing in it.
    pub(crate) fn new() -> Self {
        Self { counts: [0; BUCKETS], sum: 0, longest: 0 }
    }

    pub(crate) fn of(buckets: &Buckets) -> Self {
        let (counts, sum, longest) = buckets.read();
        Self { counts, sum, longest }
    }

    pub(crate) fn sum_of(all: impl Iterator<Item = Histogram>) -> Self {
        all.fold(Self::new(), |mut sum, more| {
            sum.merge(&more);
            sum
        })
    }

    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.sum = self.sum.saturating_add(other.sum);
        self.longest = self.longest.max(other.longest);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How long all of them took.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum)
    }

    /// How long one took on average; zero if there was none.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.sum.checked_div(self.count()).unwrap_or(0))
    }

    /// The longest that was measured.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.longest)
    }

    /// So much of them took at most so long: 0.5 gives the median, 0.99 what one of a hundred exceeds. It is an eighth too high or too low
    /// at most (below 16 ns and above two minutes more), and never more than [`max`](Self::max); zero if there was none. A `q` below 0 counts as 0, above 1 as 1.
    pub fn quantile(&self, q: f64) -> Duration {
        let count = self.count();
        let rank = ((count as f64 * q.clamp(0.0, 1.0)).ceil() as u64).max(1);
        if rank >= count {
            return self.max(); // all of them
        }
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                let begin = bucket.checked_sub(1).and_then(end_of).unwrap_or(0);
                let middle = end_of(bucket).map_or(self.longest, |end| begin + (end - begin) / 2);
                return Duration::from_nanos(middle.min(self.longest));
            }
        }
        Duration::ZERO
    }

    /// All buckets: below which time, and how many; the last one has no end.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<Duration>, u64)> {
        let ends = (0..BUCKETS).map(|bucket| end_of(bucket).map(Duration::from_nanos));
        ends.zip(self.counts)
    }
}

/// Count, mean, the usual quantiles and the longest.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Histogram");
        shown.field("count", &self.count()).field("mean", &self.mean());
        for (name, q) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
            shown.field(name, &self.quantile(q));
        }
        shown.field("max", &self.max()).finish()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn of(times: &[(u64, u64)]) -> Histogram {
        let buckets = Buckets::new();
        times.iter().for_each(|(nanos, times)| buckets.add(*nanos, *times));
        Histogram::of(&buckets)
    }

    #[test]
    fn quantiles_are_near_what_was_counted() {
        let histogram = of(&(1..=100_000).map(|n| (n * 10, 1)).collect::<Vec<_>>());
        for (q, exact) in [(0.01, 10_000.0), (0.5, 500_000.0), (0.99, 990_000.0), (0.999, 999_000.0)] {
            let found = histogram.quantile(q).as_nanos() as f64;
            assert!((found / exact - 1.0).abs() <= 0.125, "{q}: {found} for {exact}");
        }
        assert_eq!(histogram.count(), 100_000);
        assert_eq!((histogram.quantile(1.0), histogram.max()), (histogram.max(), Duration::from_millis(1)));
        assert_eq!(histogram.mean(), Duration::from_nanos(500_005));
        assert_eq!(
            (histogram.quantile(-1.0), histogram.quantile(7.0)),
            (histogram.quantile(0.0), histogram.max())
        );
    }

    #[test]
    fn nothing_takes_no_time() {
        let nothing = Histogram::new();
        assert_eq!(
            (nothing.count(), nothing.mean(), nothing.quantile(0.5)),
            (0, Duration::ZERO, Duration::ZERO)
        );
    }

    #[test]
    fn what_takes_very_long_is_told_by_its_longest() {
        let histogram = of(&[(1 << 40, 3)]);
        assert_eq!(histogram.quantile(0.5), Duration::from_nanos(1 << 40));
    }

    #[test]
    fn those_of_several_add_up() {
        let (mut one, other) = (of(&[(100, 3)]), of(&[(5_000, 7)]));
        one.merge(&other);
        assert_eq!(one, of(&[(5_000, 7), (100, 3)]));
        assert_eq!(one.buckets().map(|(_, count)| count).sum::<u64>(), 10);
        assert_eq!(one.buckets().last().unwrap().0, None);
    }
}
