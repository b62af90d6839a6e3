//! Where a value is on an axis.

/// Values that differ by more than this are shown on a logarithmic scale.
const WIDE: f64 = 30.0;

/// At most so many steps on a linear axis.
const STEPS: f64 = 6.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From zero.
    Linear { end: f64 },
    /// From a power of ten.
    Log { start: f64, end: f64 },
}

impl Scale {
    /// The scale for these values.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let largest = values.iter().copied().fold(0.0, f64::max);
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        if smallest > 0.0 && largest > WIDE * smallest {
            // A little less than the smallest, so that it has a bar.
            let start = 10f64.powf((smallest / 1.6).log10().floor());
            return Self::Log { start, end: largest * 1.15 };
        }
        Self::Linear { end: if largest > 0.0 { largest * 1.04 } else { 1.0 } }
    }

    pub fn is_log(self) -> bool {
        matches!(self, Self::Log { .. })
    }

    /// From 0, its beginning, to 1, its end.
    pub fn at(self, value: f64) -> f64 {
        let share = match self {
            Self::Linear { end } => value / end,
            Self::Log { start, end } => (value / start).ln() / (end / start).ln(),
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// Round values along it: 1, 2 or 5 times a power of ten apart, or powers of ten.
    pub fn marks(self) -> Vec<f64> {
        match self {
            Self::Linear { end } => {
                let least = end / STEPS;
                let power = 10f64.powf(least.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].map(|by| by * power).into_iter().find(|step| *step >= least);
                let step = step.unwrap_or(least);
                (0..).map(|at| f64::from(at) * step).take_while(|mark| *mark <= end).collect()
            }
            Self::Log { start, end } => {
                let decades = (end / start).log10();
                // Not more marks than there is room for.
                let every = (decades / 6.0).ceil().max(1.0) as i32;
                let powers = (0..).map(|at| start * 10f64.powi(at * every));
                powers.take_while(|mark| *mark <= end).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Scale {
        Scale::of(values.iter().copied())
    }

    #[test]
    fn values_that_differ_a_lot_are_shown_by_their_powers() {
        assert_eq!(of(&[10.0, 290.0]), Scale::Linear { end: 290.0 * 1.04 });
        let Scale::Log { start, end } = of(&[10.0, 310.0]) else { panic!() };
        assert!((start - 1.0).abs() < 1e-12 && end > 310.0, "ten itself has a bar");
        assert!(!of(&[0.0, 1e9]).is_log(), "zero is not on a logarithmic scale");
        assert_eq!(of(&[]), Scale::Linear { end: 1.0 });
        assert_eq!(of(&[0.0, f64::NAN, f64::INFINITY]), Scale::Linear { end: 1.0 });
    }

    #[test]
    fn a_value_is_where_it_belongs() {
        let linear = Scale::Linear { end: 200.0 };
        assert_eq!(
            [0.0, 50.0, 200.0, 400.0, f64::NAN].map(|value| linear.at(value)),
            [0.0, 0.25, 1.0, 1.0, 0.0]
        );
        let log = Scale::Log { start: 1.0, end: 10_000.0 };
        assert_eq!([0.0, 1.0, 1e9].map(|value| log.at(value)), [0.0, 0.0, 1.0]);
        assert!((log.at(100.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn marks_are_round() {
        assert_eq!(Scale::Linear { end: 312.0 }.marks(), [0.0, 100.0, 200.0, 300.0]);
        assert_eq!(Scale::Linear { end: 9.3 }.marks(), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(Scale::Linear { end: 1.0 }.marks().len(), 6);
        let log = Scale::Log { start: 10.0, end: 40_000.0 }.marks();
        assert_eq!(log.iter().map(|mark| mark.round()).collect::<Vec<_>>(), [10.0, 100.0, 1000.0, 10_000.0]);
        assert!(Scale::Log { start: 1.0, end: 1e12 }.marks().len() <= 7);
    }
}
