//! The measuring loop that every timed row shares: grow the batch until it is long enough to time, warm up, then repeat
//! it and take the median batch. CPU time and context switches are those of the whole process over the measured batches.

use nix::sys::resource::{UsageWho, getrusage};
use nix::time::ClockId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// 0.4 s and more per measurement.
    Full,
    /// A tenth of it, and smaller fixed sizes: to see that everything runs, not to judge.
    Quick,
}

impl Speed {
    /// `full` or, in a quick run, `quick`.
    pub fn pick<T>(self, full: T, quick: T) -> T {
        if self == Self::Full { full } else { quick }
    }
}

/// One measurement, as printed by `bench one`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    pub value: f64,
    pub unit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns_per_op: Option<f64>,
    pub ops: u64,
    pub seconds: f64,
    /// Further figures by name.
    #[serde(default)]
    pub extra: BTreeMap<String, f64>,
}

/// Times batches of operations.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    pub speed: Speed,
}

const MIN_BATCHES: usize = 3;
const START_OPS: u64 = 2_000;

impl Meter {
    /// Measures `batch(ops)`, which runs `ops` operations to their end; the meter chooses how many.
    pub fn measure(self, mut batch: impl FnMut(u64)) -> Sample {
        let long_enough = self.measuring_time() / 10;
        let mut ops = START_OPS;
        while time(|| batch(ops)) < long_enough {
            ops *= 2;
        }
        self.measure_fixed(ops, || batch(ops))
    }

    /// Measures `batch`, which runs exactly `ops` operations to their end.
    pub fn measure_fixed(self, ops: u64, mut batch: impl FnMut()) -> Sample {
        let warm = Instant::now();
        while warm.elapsed() < self.measuring_time() / 4 {
            batch();
        }
        let (mut times, mut total, before) = (Vec::new(), Duration::ZERO, Usage::now());
        while total < self.measuring_time() || times.len() < MIN_BATCHES {
            let took = time(&mut batch);
            total += took;
            times.push(took);
        }
        let all_ops = ops * times.len() as u64;
        let ns_per_op = median_secs(&times) * 1e9 / ops as f64;
        let usage = Usage::now().since(before);
        Sample {
            value: ns_per_op,
            unit: "ns".into(),
            cpu_ns_per_op: Some(usage.cpu.as_secs_f64() * 1e9 / all_ops as f64),
            ops: all_ops,
            seconds: total.as_secs_f64(),
            extra: BTreeMap::from([
                ("voluntary_switches_per_op".into(), usage.voluntary as f64 / all_ops as f64),
                ("mean_ns_per_op".into(), total.as_secs_f64() * 1e9 / all_ops as f64),
            ]),
        }
    }

    fn measuring_time(self) -> Duration {
        self.speed.pick(Duration::from_millis(400), Duration::from_millis(40))
    }
}

impl Sample {
    /// Of several measurements of the same: the median of each figure.
    pub fn median_of(samples: &[Self]) -> Option<Self> {
        let first = samples.first()?;
        let middle = |of: &dyn Fn(&Self) -> Option<f64>| {
            let mut values: Vec<f64> = samples.iter().filter_map(of).collect();
            (!values.is_empty()).then(|| median(&mut values))
        };
        let extra = |name: &String| Some((name.clone(), middle(&|sample| sample.extra.get(name).copied())?));
        Some(Self {
            value: middle(&|sample| Some(sample.value))?,
            unit: first.unit.clone(),
            cpu_ns_per_op: middle(&|sample| sample.cpu_ns_per_op),
            ops: samples.iter().map(|sample| sample.ops).sum(),
            seconds: samples.iter().map(|sample| sample.seconds).sum(),
            extra: first.extra.keys().filter_map(extra).collect(),
        })
    }

    /// The same measurement as a rate.
    pub fn into_rate(mut self) -> Self {
        self.value = 1e3 / self.value;
        self.unit = "M/s".into();
        self
    }
}

fn time(f: impl FnOnce()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}

fn median_secs(times: &[Duration]) -> f64 {
    let mut secs: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    median(&mut secs)
}

/// The median (of an even number: the mean of the middle two). Sorts its argument; of nothing it is not a number.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// What `getrusage` says of a process: CPU time of all its threads, and how often they gave up their core.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub cpu: Duration,
    pub voluntary: u64,
}

impl Usage {
    pub fn now() -> Self {
        Self::of(UsageWho::RUSAGE_SELF)
    }

    /// Of the children that have ended.
    pub fn of_children() -> Self {
        Self::of(UsageWho::RUSAGE_CHILDREN)
    }

    /// The CPU time of all threads but this one, to the nanosecond: it does not change if none of them runs.
    pub fn of_other_threads() -> Duration {
        let me = nix::unistd::gettid().as_raw();
        let threads = fs::read_dir("/proc/self/task").expect("/proc shows this process").flatten();
        let tids = threads.filter_map(|thread| thread.file_name().to_str()?.parse::<i32>().ok());
        tids.filter(|tid| *tid != me).filter_map(cpu_time_of).sum()
    }

    fn of(who: UsageWho) -> Self {
        let usage = getrusage(who).expect("getrusage knows this process");
        let micros = |t: nix::sys::time::TimeVal| (t.tv_sec() * 1_000_000 + t.tv_usec()) as u64;
        Self {
            cpu: Duration::from_micros(micros(usage.user_time()) + micros(usage.system_time())),
            voluntary: usage.voluntary_context_switches() as u64,
        }
    }

    pub fn since(self, before: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            voluntary: self.voluntary.saturating_sub(before.voluntary),
        }
    }
}

/// The CPU time of a thread of this process. (A clock per thread has its number in the upper bits, inverted, and 6, "one
/// thread, to the nanosecond", in the lower three.)
fn cpu_time_of(tid: i32) -> Option<Duration> {
    nix::time::clock_gettime(ClockId::from_raw((!tid << 3) | 6)).ok().map(Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_middle_two() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn of_several_each_figure_is_the_median() {
        let sample = |value, p99| Sample {
            value,
            unit: "us".into(),
            cpu_ns_per_op: None,
            ops: 10,
            seconds: 0.5,
            extra: BTreeMap::from([("p99".to_string(), p99)]),
        };
        let all = [sample(1.0, 30.0), sample(2.0, 90.0), sample(9.0, 20.0)];
        let middle = Sample::median_of(&all).unwrap();
        assert_eq!((middle.value, middle.extra["p99"], middle.ops, middle.seconds), (2.0, 30.0, 30, 1.5));
        assert_eq!(middle.cpu_ns_per_op, None);
        assert!(Sample::median_of(&[]).is_none());
    }

    #[test]
    fn a_thread_that_works_shows_and_one_that_sleeps_does_not() {
        let (tell, told) = std::sync::mpsc::channel::<()>();
        let (tell_back, told_back) = std::sync::mpsc::channel::<Duration>();
        let other = std::thread::spawn(move || {
            let mine = || cpu_time_of(nix::unistd::gettid().as_raw()).unwrap();
            let from = mine();
            while mine() < from + Duration::from_millis(2) {}
            tell_back.send(mine()).unwrap();
            told.recv().unwrap();
        });
        assert!(told_back.recv().unwrap() >= Duration::from_millis(2));
        assert!(Usage::of_other_threads() >= Duration::from_millis(2));
        tell.send(()).unwrap();
        other.join().unwrap();
    }

    #[test]
    fn a_rate_is_the_reciprocal() {
        let sample = Meter { speed: Speed::Quick }.measure(|ops| {
            for op in 0..ops {
                std::hint::black_box(op);
            }
        });
        let ns = sample.value;
        assert!(ns > 0.0 && sample.ops >= START_OPS * MIN_BATCHES as u64);
        assert!((sample.into_rate().value * ns - 1e3).abs() < 1e-6);
    }
}
