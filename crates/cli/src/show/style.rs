//! Colours, and how a figure is written.

use super::plain;
use crate::figure::Value;
use std::io::IsTerminal;

/// Whether output may be drawn or must be plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) drawn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hue {
    Bold,
    Dim,
    Good,
    Bad,
    Rope,
    Sky,
}

impl Style {
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { drawn: false };

    /// Drawn if `output` is a terminal that can, and its owner did not ask for plain text.
    pub(crate) fn of(output: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { drawn: output.is_terminal() && !refused && !dumb }
    }

    pub(crate) fn paint(self, hue: Hue, text: &str) -> String {
        if !self.drawn {
            return text.to_owned();
        }
        let code = match hue {
            Hue::Bold => "1",
            Hue::Dim => "2",
            Hue::Good => "32",
            Hue::Bad => "1;31",
            Hue::Rope => "33",
            Hue::Sky => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// One of two forms of the same thing.
    pub(crate) fn pick<T>(self, drawn: T, plain: T) -> T {
        if self.drawn { drawn } else { plain }
    }

    /// A figure as a person reads it.
    pub(crate) fn value(self, value: &Value) -> String {
        match value {
            Value::Count(count) => grouped(*count),
            Value::Rate(rate) => scaled(*rate, 1000.0, &["/s", "k/s", "M/s", "G/s"]),
            Value::Nanos(nanos) if *nanos >= 2.0 * DAY => scaled(*nanos / DAY, 1000.0, &["days"]),
            Value::Nanos(nanos) => scaled(*nanos, 1000.0, &["ns", self.pick("µs", "us"), "ms", "s"]),
            Value::Bytes(bytes) => scaled(*bytes, 1024.0, &["B", "KiB", "MiB", "GiB"]),
            Value::Ratio(ratio) => format!("{ratio:.3}"),
            Value::Share(share) => format!("{:.1} %", share * 100.0),
            Value::Text(text) => plain(text),
            Value::Absent => self.pick("–", "-").to_owned(),
        }
    }
}

const DAY: f64 = 24.0 * 3600.0 * 1e9;

/// Three digits, and the largest unit that leaves something before the point.
fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (value, 0);
    while value.abs() >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let digits = match value.abs() {
        small if small < 10.0 => 2,
        middle if middle < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {}", units[unit])
}

/// 1234567 as 1,234,567.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many there are of something: 1 worker, 2 workers.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::{Hue, Style, counted, grouped};
    use crate::figure::Value;

    #[test]
    fn counts_are_grouped_by_thousands_and_have_a_plural() {
        assert_eq!(
            [counted(1, "task"), counted(0, "task"), counted(2000, "task")],
            ["1 task", "0 tasks", "2,000 tasks"]
        );
        let shown = [0, 7, 999, 1000, 12_345, 1_000_000].map(grouped);
        assert_eq!(shown, ["0", "7", "999", "1,000", "12,345", "1,000,000"]);
    }

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        let values = [
            Value::Nanos(7.654),
            Value::Nanos(45_678.0),
            Value::Nanos(2e9),
            Value::Nanos(2e12),
            Value::Rate(12_345_678.0),
            Value::Bytes(56.0),
            Value::Bytes(3.0 * 1024.0 * 1024.0),
            Value::Nanos(364.9 * 24.0 * 3600.0 * 1e9),
        ];
        let shown = values.each_ref().map(|value| Style::PLAIN.value(value));
        assert_eq!(
            shown,
            ["7.65 ns", "45.7 us", "2.00 s", "2000 s", "12.3 M/s", "56.0 B", "3.00 MiB", "365 days"]
        );
    }

    #[test]
    fn plain_text_has_no_colour() {
        assert_eq!(Style::PLAIN.paint(Hue::Bad, "text"), "text");
        assert_eq!(Style { drawn: true }.paint(Hue::Bad, "text"), "\x1b[1;31mtext\x1b[0m");
    }
}
