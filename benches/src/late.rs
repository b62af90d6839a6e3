//! How late things were: a histogram per thread, so that recording is two plain memory accesses.
//!
//! Invariant: a histogram is written by one thread only, so load + store loses nothing.

use crate::meter::{Sample, Usage};
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Each power of two is cut into 32 parts: a figure is right to 3 %.
const PARTS: u64 = 32;
const BUCKETS: usize = 40 * PARTS as usize;

type Histogram = [AtomicU64; BUCKETS];

static ALL: Lock<Vec<&'static Histogram>> = Lock::new(Vec::new());
static ON: AtomicBool = AtomicBool::new(false);

thread_local!(static MINE: Cell<Option<&'static Histogram>> = const { Cell::new(None) });

/// Something that was due at `due` happens now.
#[inline]
pub fn record(due: Instant) {
    if ON.load(Relaxed) {
        let late = Instant::now().saturating_duration_since(due);
        let bucket = &MINE.get().unwrap_or_else(take_histogram)[bucket_of(late.as_nanos() as u64)];
        bucket.store(bucket.load(Relaxed) + 1, Relaxed);
    }
}

#[cold]
fn take_histogram() -> &'static Histogram {
    let histogram: &'static Histogram = Box::leak(Box::new([const { AtomicU64::new(0) }; BUCKETS]));
    ALL.lock().push(histogram);
    MINE.set(Some(histogram));
    histogram
}

fn bucket_of(nanos: u64) -> usize {
    let shift = (nanos.max(PARTS)).ilog2() - PARTS.ilog2();
    ((u64::from(shift) * PARTS + (nanos >> shift)) as usize).min(BUCKETS - 1)
}

/// The middle of a bucket.
fn nanos_of(bucket: usize) -> f64 {
    let (shift, part) = ((bucket as u64 / PARTS).saturating_sub(1), bucket as u64);
    let low = (part - shift * PARTS) << shift;
    low as f64 + ((1_u64 << shift) - 1) as f64 / 2.0
}

/// Records from now on.
pub struct Watch {
    from: Instant,
    usage: Usage,
}

impl Watch {
    pub fn start() -> Self {
        ON.store(true, Relaxed);
        Self { from: Instant::now(), usage: Usage::now() }
    }

    /// What was recorded since: the median in microseconds, the tail beside it, and how many there were in a second.
    pub fn stop(self) -> Sample {
        ON.store(false, Relaxed);
        let (took, usage) = (self.from.elapsed(), Usage::now().since(self.usage));
        let counts: Vec<u64> = {
            let all = ALL.lock();
            (0..BUCKETS).map(|at| all.iter().map(|histogram| histogram[at].load(Relaxed)).sum()).collect()
        };
        let total: u64 = counts.iter().sum();
        let quantile = |share: f64| {
            let rank = ((total as f64 * share).ceil() as u64).max(1);
            let mut below = 0;
            let at = counts.iter().position(|count| {
                below += count;
                below >= rank
            });
            at.map_or(f64::NAN, nanos_of) / 1e3
        };
        Sample {
            value: quantile(0.5),
            unit: "us".into(),
            cpu_ns_per_op: Some(usage.cpu.as_secs_f64() * 1e9 / total as f64),
            ops: total,
            seconds: took.as_secs_f64(),
            extra: BTreeMap::from([
                ("p99".into(), quantile(0.99)),
                ("p999".into(), quantile(0.999)),
                ("max".into(), quantile(1.0)),
                ("rate".into(), total as f64 / took.as_secs_f64() / 1e6),
            ]),
        }
    }
}

/// A sequence of spans below `limit` that is the same for every peer.
pub fn span(number: u64, limit: Duration) -> Duration {
    let mixed = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    Duration::from_nanos((mixed ^ mixed >> 27) % limit.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_hold_what_they_say() {
        let mut last = 0;
        for bits in 0..38 {
            for nanos in [1 << bits, (1 << bits) + (1 << bits) / 3] {
                let bucket = bucket_of(nanos);
                assert!(bucket >= last, "{nanos}");
                last = bucket;
                let off = (nanos_of(bucket) - nanos as f64).abs();
                assert!(off <= nanos as f64 / PARTS as f64, "{nanos}: {}", nanos_of(bucket));
            }
        }
    }
}
