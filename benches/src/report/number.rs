//! How numbers are written.

/// Three digits that matter.
pub fn number(value: f64) -> String {
    let decimals = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// The same for a person: thousands apart, and nothing where there is nothing.
pub fn readable(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let text = number(value);
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if whole.len() <= 3 || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return text;
    }
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{rest}")
}

/// For the marks of an axis: 2, 0.5, 10, 20k, 1M.
pub fn short(value: f64) -> String {
    let (value, suffix) = match value.abs() {
        large if large >= 1e9 => (value / 1e9, "G"),
        large if large >= 1e6 => (value / 1e6, "M"),
        large if large >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Marks are round; what is left behind the sixth digit comes from counting in binary.
    let text = format!("{value:.6}");
    format!("{}{suffix}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A share as per cent.
pub fn percent(share: f64) -> String {
    let decimals = if share < 0.0995 { 1 } else { 0 };
    format!("{:.decimals$} %", share * 100.0)
}

/// Seconds as `1 h 2 min`, `3 min 4 s` or `5 s`.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!([1.234, 12.34, 123.4, 1234.0].map(number), ["1.23", "12.3", "123", "1234"]);
        let shown = [0.0, 1.234, 999.4, 1234.0, 182_452.3, 1_234_567.0, -1234.0].map(readable);
        assert_eq!(shown, ["0", "1.23", "999", "1,234", "182,452", "1,234,567", "-1,234"]);
        assert_eq!(readable(f64::INFINITY), "inf");
    }

    #[test]
    fn marks_are_short() {
        let marks = [0.0, 0.1 + 0.2, 2.0, 10.0, 2500.0, 20_000.0, 1e6, 2.5e9].map(short);
        assert_eq!(marks, ["0", "0.3", "2", "10", "2.5k", "20k", "1M", "2.5G"]);
    }

    #[test]
    fn shares_and_times_are_for_people() {
        assert_eq!([0.0, 0.012, 0.0996, 0.5].map(percent), ["0.0 %", "1.2 %", "10 %", "50 %"]);
        assert_eq!([0.4, 59.6, 125.0, 4000.0].map(duration), ["0 s", "1 min 0 s", "2 min 5 s", "1 h 6 min"]);
    }
}
