//! From samples to one figure per row and peer: the median over the rounds.

use crate::driver::Samples;
use crate::meter::{Sample, median};
use crate::peers::Peer;
use crate::targets::{Row, Source, rows};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// A row's figure for one peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// How far the extremes are apart, as a share of the median.
    pub spread: Option<f64>,
    /// CPU time of the whole process per operation, nanoseconds.
    pub cpu_ns_per_op: Option<f64>,
    pub samples: Vec<f64>,
}

/// All figures, by row and peer.
#[derive(Debug, Default)]
pub struct Figures(BTreeMap<&'static str, BTreeMap<Peer, Figure>>);

impl Figures {
    pub fn of(samples: &Samples) -> Self {
        let mut figures = Self::default();
        for row in rows() {
            for peer in Peer::ALL {
                if let Some(figure) = figure(row, peer, samples) {
                    figures.0.entry(row.name).or_default().insert(peer, figure);
                }
            }
        }
        figures
    }

    /// The rows that were measured, in the order of the report.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> {
        rows().filter(|row| self.0.contains_key(row.name))
    }

    /// The peers of a row.
    pub fn peers(&self, row: &str) -> impl Iterator<Item = (Peer, &Figure)> {
        self.0.get(row).into_iter().flatten().map(|(&peer, figure)| (peer, figure))
    }

    /// The same, to keep.
    pub fn of_row(&self, row: &str) -> BTreeMap<Peer, Figure> {
        self.0.get(row).cloned().unwrap_or_default()
    }

    pub fn get(&self, row: &str, peer: Peer) -> Option<&Figure> {
        self.0.get(row)?.get(&peer)
    }

    #[cfg(test)]
    pub fn with(self, row: &'static str, peer: Peer, value: f64) -> Self {
        self.with_all(row, peer, &[value])
    }

    #[cfg(test)]
    pub fn with_all(mut self, row: &'static str, peer: Peer, values: &[f64]) -> Self {
        self.0.entry(row).or_default().insert(peer, Figure::of_values(values.to_vec(), None));
        self
    }
}

impl Figure {
    /// As many ones: what is judged as it is, is divided by them.
    pub fn one_of(count: usize) -> Self {
        Self::of_values(vec![1.0; count.max(1)], None)
    }

    pub fn of_values(samples: Vec<f64>, cpu_ns_per_op: Option<f64>) -> Self {
        let mut sorted = samples.clone();
        let median = median(&mut sorted);
        let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
        let spread = (samples.len() > 1 && median > 0.0).then(|| (max - min) / median);
        Self { median, min, max, spread, cpu_ns_per_op, samples }
    }
}

/// Ours divided by theirs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The median of the ratios of measurements that were made together.
    #[serde(deserialize_with = "or_nan")]
    pub median: f64,
    /// Where that median is if it were measured again, 19 times of 20: a statement about the ratios that were seen, by their ranks.
    #[serde(deserialize_with = "or_nan")]
    pub low: f64,
    #[serde(deserialize_with = "or_nan")]
    pub high: f64,
}

/// JSON has no word for what comes of a division by zero; it is written as null.
fn or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

impl Figure {
    /// Measurements are paired in their order. If one of the two has fewer, nothing was made together.
    pub fn over(&self, other: &Self) -> Ratio {
        let pairs = self.samples.iter().zip(&other.samples);
        let mut ratios: Vec<f64> = pairs.map(|(ours, theirs)| ours / theirs).collect();
        if self.samples.len() != other.samples.len() || ratios.is_empty() {
            let ratio = self.median / other.median;
            return Ratio { median: ratio, low: ratio, high: ratio };
        }
        let median = median(&mut ratios);
        let half = 0.98 * (ratios.len() as f64).sqrt();
        let rank = |at: f64| ratios[at.clamp(0.0, ratios.len() as f64 - 1.0) as usize];
        let middle = (ratios.len() as f64 - 1.0) / 2.0;
        Ratio { median, low: rank((middle - half).floor()), high: rank((middle + half).ceil()) }
    }
}

fn figure(row: &Row, peer: Peer, samples: &Samples) -> Option<Figure> {
    let of = |problem| samples.good.get(&(problem, peer)).map(Vec::as_slice);
    match row.source {
        Source::Value(problem) => {
            let samples = of(problem)?;
            Some(Figure::of_values(samples.iter().map(|sample| sample.value).collect(), cpu(samples)))
        }
        Source::Extra(problem, field) => {
            let values: Vec<f64> =
                of(problem)?.iter().filter_map(|sample| sample.extra.get(field).copied()).collect();
            (!values.is_empty()).then(|| Figure::of_values(values, None))
        }
        Source::Ratio(problem, base) => {
            let pairs = of(problem)?.iter().zip(of(base)?);
            // What is divided by nothing is no figure, and JSON has no word for it.
            let ratios =
                pairs.map(|(sample, base)| sample.value / base.value).filter(|ratio| ratio.is_finite());
            let ratios: Vec<f64> = ratios.collect();
            (!ratios.is_empty()).then(|| Figure::of_values(ratios, None))
        }
    }
}

fn cpu(samples: &[Sample]) -> Option<f64> {
    let mut values: Vec<f64> = samples.iter().filter_map(|sample| sample.cpu_ns_per_op).collect();
    (!values.is_empty()).then(|| median(&mut values))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(value: f64) -> Sample {
        Sample {
            value,
            unit: "M/s".into(),
            cpu_ns_per_op: Some(value * 2.0),
            ops: 1,
            seconds: 1.0,
            extra: BTreeMap::new(),
        }
    }

    #[test]
    fn a_ratio_is_of_what_was_measured_together() {
        let of = |values: &[f64]| Figure::of_values(values.to_vec(), None);
        // A machine that becomes slower: the figures overlap, the ratios do not.
        let ratio = of(&[11.0, 22.0, 44.0, 88.0]).over(&of(&[10.0, 20.0, 40.0, 80.0]));
        assert_eq!(ratio, Ratio { median: 1.1, low: 1.1, high: 1.1 });
        let noisy: Vec<f64> = (0..100).map(|at| f64::from(at) / 100.0 + 0.5).collect();
        let ratio = of(&noisy).over(&of(&[1.0; 100]));
        assert!((ratio.median - 0.995).abs() < 1e-9);
        assert!(ratio.low > 0.87 && ratio.low < 0.91 && ratio.high > 1.08 && ratio.high < 1.12, "{ratio:?}");
        let few = of(&[1.0, 3.0, 2.0]).over(&of(&[1.0; 3]));
        assert_eq!(few, Ratio { median: 2.0, low: 1.0, high: 3.0 });
        assert_eq!(of(&[2.0, 2.0]).over(&of(&[1.0])).median, 2.0);
    }

    #[test]
    fn a_figure_is_the_median_and_a_ratio_is_taken_round_by_round() {
        let mut samples = Samples::default();
        samples.good.insert(("spawn_many_work_1w", Peer::Smol), [1.0, 2.0, 1.0].map(sample).to_vec());
        samples.good.insert(("spawn_many_work_2w", Peer::Smol), [2.0, 3.0, 1.8].map(sample).to_vec());
        let figures = Figures::of(&samples);
        let two = figures.get("spawn_many_work_2w", Peer::Smol).unwrap();
        assert_eq!((two.median, two.min, two.max, two.cpu_ns_per_op), (2.0, 1.8, 3.0, Some(4.0)));
        assert_eq!(figures.get("spawn_many_speed_up", Peer::Smol).unwrap().median, 1.8);
        assert_eq!(figures.rows().count(), 3);
    }

    #[test]
    fn what_is_divided_by_nothing_is_no_figure() {
        let mut samples = Samples::default();
        samples.good.insert(("spawn_many_work_1w", Peer::Smol), [0.0, 2.0, 0.0].map(sample).to_vec());
        samples.good.insert(("spawn_many_work_2w", Peer::Smol), [0.0, 3.0, 1.8].map(sample).to_vec());
        samples.good.insert(("spawn_many_work_1w", Peer::May), vec![sample(0.0)]);
        samples.good.insert(("spawn_many_work_2w", Peer::May), vec![sample(1.0)]);
        let figures = Figures::of(&samples);
        assert_eq!(figures.get("spawn_many_speed_up", Peer::Smol).unwrap().samples, [1.5]);
        assert_eq!(figures.get("spawn_many_speed_up", Peer::May), None);
    }
}
