//! Rows of latencies: the value is the median; p99, p999 and the worst are beside it.

use crate::meter::{Sample, Usage};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Nanoseconds since the process first asked, never zero: a moment that fits an atomic.
pub fn stamp() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64 + 1
}

/// How long ago that was.
pub fn since(stamped: u64) -> Duration {
    Duration::from_nanos(stamp().saturating_sub(stamped))
}

/// Latencies of one kind, as they come.
#[derive(Debug)]
pub struct Latencies {
    nanos: Vec<u64>,
    from: Instant,
    before: Usage,
}

impl Latencies {
    /// Room for so many; what follows counts.
    pub fn start(count: usize) -> Self {
        stamp();
        Self { nanos: Vec::with_capacity(count), from: Instant::now(), before: Usage::now() }
    }

    pub fn note(&mut self, latency: Duration) {
        self.nanos.push(latency.as_nanos() as u64);
    }

    pub fn is_empty(&self) -> bool {
        self.nanos.is_empty()
    }

    /// The sample, in a unit of so many nanoseconds.
    pub fn finish(mut self, unit: &str, nanos: f64) -> Sample {
        let usage = Usage::now().since(self.before);
        let seconds = self.from.elapsed().as_secs_f64();
        self.nanos.sort_unstable();
        let ops = self.nanos.len() as u64;
        let at = |share: f64| {
            let last = self.nanos.len().saturating_sub(1);
            self.nanos.get((last as f64 * share).round() as usize).map_or(f64::NAN, |&ns| ns as f64 / nanos)
        };
        Sample {
            value: at(0.5),
            unit: unit.into(),
            cpu_ns_per_op: Some(usage.cpu.as_secs_f64() * 1e9 / ops as f64),
            ops,
            seconds,
            extra: BTreeMap::from([
                ("p99".into(), at(0.99)),
                ("p999".into(), at(0.999)),
                ("max".into(), at(1.0)),
                ("voluntary_switches_per_op".into(), usage.voluntary as f64 / ops as f64),
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_the_median_and_the_tail_is_beside_it() {
        let mut latencies = Latencies::start(1001);
        (0..=1000).for_each(|micros| latencies.note(Duration::from_micros(micros)));
        let sample = latencies.finish("us", 1e3);
        assert_eq!((sample.value, sample.ops), (500.0, 1001));
        assert_eq!([sample.extra["p99"], sample.extra["p999"], sample.extra["max"]], [990.0, 999.0, 1000.0]);
    }
}
