//! Times and numbers as people read them.

use std::fmt;
use std::time::Duration;

/// `850 ns`, `1.2 ms`, `3.2 s`, `2 min 5 s`, `3 h 20 min`, `4 d 7 h`.
pub(super) struct Time(pub(super) Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u128, &str); 4] = [(1, "ns"), (1000, "µs"), (1_000_000, "ms"), (1_000_000_000, "s")];
        let (nanos, seconds) = (self.0.as_nanos(), self.0.as_secs());
        match seconds {
            0..60 => {
                let (unit, name) =
                    UNITS.into_iter().rev().find(|(unit, _)| nanos >= *unit).unwrap_or(UNITS[0]);
                let (whole, tenths) = (nanos / unit, nanos % unit * 10 / unit);
                if whole >= 100 || unit == 1 {
                    write!(f, "{whole} {name}")
                } else {
                    write!(f, "{whole}.{tenths} {name}")
                }
            }
            60..3600 => write!(f, "{} min {} s", seconds / 60, seconds % 60),
            3600..86_400 => write!(f, "{} h {} min", seconds / 3600, seconds / 60 % 60),
            _ => write!(f, "{} d {} h", seconds / 86_400, seconds / 3600 % 24),
        }
    }
}

/// `9,998`.
pub(super) struct Number(pub(super) u64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_are_short() {
        let text = |nanos: u64| Time(Duration::from_nanos(nanos)).to_string();
        let expected = [
            (0, "0 ns"),
            (850, "850 ns"),
            (1250, "1.2 µs"),
            (999_949, "999 µs"),
            (120_000_000, "120 ms"),
            (3_290_000_000, "3.2 s"),
            (59_999_999_999, "59.9 s"),
            (125_000_000_000, "2 min 5 s"),
            (12_000_000_000_000, "3 h 20 min"),
            (370_800_000_000_000, "4 d 7 h"),
        ];
        for (nanos, expected) in expected {
            assert_eq!(text(nanos), expected);
        }
        let numbers = [(0, "0"), (999, "999"), (1000, "1,000"), (9_998_001, "9,998,001")];
        for (number, expected) in numbers {
            assert_eq!(Number(number).to_string(), expected);
        }
    }
}
