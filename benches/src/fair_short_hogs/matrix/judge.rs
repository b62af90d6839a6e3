//! What issue 27 asks of Ropewalk: how late it may be beside hogs, by itself and beside tokio.

use super::super::Shape;
use crate::meter::Sample;

/// Times the better of tokio's two, and so many microseconds beyond, which are the noise of a good row.
const BEHIND: f64 = 1.1;
const SLACK: f64 = 50.0;

pub const BAR: &str = "bar: p50 <= 1 ms + 2 polls, p99 <= 2 ms + 3 polls, and neither behind the better of tokio's two by more than 10 % + 50 us";

/// What is missed; nothing: it is met.
pub fn missed(shape: Shape, ours: &Sample, tokio: &[&Sample]) -> Vec<String> {
    let bar = shape.bar();
    let mut missed = Vec::new();
    for (name, bar, of) in [("p50", bar.p50, p50 as fn(&Sample) -> f64), ("p99", bar.p99, p99)] {
        let ours = of(ours);
        let within = |bound: f64| ours <= bound; // what is no figure is not
        if !within(bar) {
            missed.push(format!("{name} > {:.2}", bar / 1e3));
        }
        let best = tokio.iter().map(|sample| of(sample)).fold(f64::INFINITY, f64::min);
        if !within(best * BEHIND + SLACK) {
            missed.push(format!("{name} {:.2} x tokio's {:.2}", ours / best, best / 1e3));
        }
    }
    missed
}

pub fn p50(sample: &Sample) -> f64 {
    sample.value
}

pub fn p99(sample: &Sample) -> f64 {
    extra(sample, "p99")
}

/// Not a number: it has no such figure.
pub fn extra(sample: &Sample, name: &str) -> f64 {
    sample.extra.get(name).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn sample(p50: f64, p99: f64) -> Sample {
        Sample {
            value: p50,
            unit: "us".into(),
            cpu_ns_per_op: None,
            ops: 100,
            seconds: 1.0,
            extra: BTreeMap::from([("p99".into(), p99)]),
        }
    }

    #[test]
    fn the_bar_is_both_a_figure_and_the_better_of_tokios_two() {
        let shape = Shape::base(2); // at most 3 and 5 ms
        let tokio = [&sample(1_000.0, 9_000.0), &sample(2_000.0, 2_000.0)];
        assert!(missed(shape, &sample(1_150.0, 2_250.0), &tokio).is_empty());
        assert_eq!(missed(shape, &sample(1_160.0, 2_250.0), &tokio), ["p50 1.16 x tokio's 1.00"]);
        assert_eq!(missed(shape, &sample(10.0, 2_500.0), &tokio), ["p99 1.25 x tokio's 2.00"]);
        assert_eq!(missed(shape, &sample(3_100.0, 5_001.0), &[]), ["p50 > 3.00", "p99 > 5.00"]);
        assert_eq!(missed(shape, &sample(f64::NAN, f64::NAN), &[]).len(), 4, "what is no figure is no proof");
    }
}
