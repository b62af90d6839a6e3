//! Figures that fit into narrow columns, aligned to the right.

use crate::show::fitting;
pub(super) use crate::show::width as columns;

/// Nothing is known.
pub(super) const UNKNOWN: &str = "–";

/// Nanoseconds, in at most six characters: `850ns`, `1.2µs`, `12.3ms`, `3.2s`, `2m05s`, `3h20m`, `4d07h`, `400d`.
pub(super) fn time(nanos: f64) -> String {
    let seconds = (nanos / 1e9) as u64;
    match seconds {
        0..60 => {
            let (value, unit) = match nanos {
                small if small < 999.5 => return format!("{small:.0}ns"),
                small if small < 999.5e3 => (small / 1e3, "µs"),
                middle if middle < 999.5e6 => (middle / 1e6, "ms"),
                large => (large / 1e9, "s"),
            };
            if value < 99.95 { format!("{value:.1}{unit}") } else { format!("{value:.0}{unit}") }
        }
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ if seconds < 100 * 86_400 => format!("{}d{:02}h", seconds / 86_400, seconds / 3600 % 24),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How many, in at most five characters: `0`, `0.4`, `12`, `999`, `1.2k`, `12.3k`, `999k`, `1.2M`.
pub(super) fn short(value: f64) -> String {
    let (scaled, unit) = match value {
        small if small < 999.5 => (small, ""),
        middle if middle < 999.5e3 => (middle / 1e3, "k"),
        large if large < 999.5e6 => (large / 1e6, "M"),
        huge => (huge / 1e9, "G"),
    };
    let is_whole = unit.is_empty() && (scaled >= 9.95 || scaled.fract() == 0.0);
    if is_whole || scaled >= 99.95 { format!("{scaled:.0}{unit}") } else { format!("{scaled:.1}{unit}") }
}

/// A part of one: `0%`, `0.3%`, `42%`, `100%`.
pub(super) fn share(part: f64) -> String {
    match part * 100.0 {
        none if none < 0.05 => "0%".to_owned(),
        small if small < 9.95 => format!("{small:.1}%"),
        more => format!("{more:.0}%"),
    }
}

pub(super) fn or_unknown<T>(value: Option<T>, shown: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), shown)
}

/// The last parts of a path that fit, without the column: `src/serve/mod.rs:107:30` as `serve/mod.rs:107`.
pub(super) fn place(spawned_at: &str, width: usize) -> String {
    let mut parts = spawned_at.rsplitn(3, ':');
    let line = match (parts.next(), parts.next(), parts.next()) {
        (Some(_column), Some(line), Some(file)) => format!("{file}:{line}"),
        _ => spawned_at.to_owned(),
    };
    let mut rest = line.as_str();
    while columns(rest) > width {
        match rest.split_once('/') {
            Some((_, shorter)) => rest = shorter,
            None => return end(rest, width),
        }
    }
    rest.to_owned()
}

/// The longest beginning of a text that fits, and the rest.
pub(super) fn split(text: &str, width: usize) -> (&str, &str) {
    let count = fitting(text.chars(), width).len();
    text.split_at(text.char_indices().nth(count).map_or(text.len(), |(at, _)| at))
}

/// The longest end of a text that fits.
pub(super) fn tail(text: &str, width: usize) -> &str {
    let skipped = text.chars().count() - fitting(text.chars().rev(), width).len();
    text.char_indices().nth(skipped).map_or("", |(at, _)| &text[at..])
}

/// The beginning of a text, with a mark where something is missing.
pub(super) fn cut(text: &str, width: usize) -> String {
    match width {
        _ if columns(text) <= width => text.to_owned(),
        0 => String::new(),
        _ => format!("{}…", split(text, width - 1).0),
    }
}

/// The end of a text, as well.
fn end(text: &str, width: usize) -> String {
    if width == 0 { String::new() } else { format!("…{}", tail(text, width - 1)) }
}

/// Without addresses, which tell nobody anything in a table: `a mutex at 0x7f12, held by ..` as `a mutex, held by ..`.
pub(super) fn without_addresses(text: &str) -> String {
    let mut parts = text.split(" at 0x");
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        left.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    left
}

/// For a narrow column: who holds a lock is what matters.
pub(super) fn narrow(reason: &str) -> String {
    without_addresses(reason).replacen(", held by ", " of ", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_narrow() {
        let shown =
            [0.0, 850.0, 1250.0, 999_400.0, 12.34e6, 123e6, 3.2e9, 59.94e9, 125e9, 12_000e9, 370_800e9, 4e16];
        let expected = [
            "0ns", "850ns", "1.2µs", "999µs", "12.3ms", "123ms", "3.2s", "59.9s", "2m05s", "3h20m", "4d07h",
            "462d",
        ];
        assert_eq!(shown.map(time), expected);
        assert_eq!([999.6, 999_600.0, 999.6e6].map(time), ["1.0µs", "1.0ms", "1.0s"]);
    }

    #[test]
    fn counts_are_narrow() {
        let shown = [0.0, 0.44, 3.0, 3.5, 12.4, 999.4, 999.6, 12_345.0, 999_400.0, 1.2e6, 3e9].map(short);
        assert_eq!(shown, ["0", "0.4", "3", "3.5", "12", "999", "1.0k", "12.3k", "999k", "1.2M", "3.0G"]);
        assert_eq!([0.0, 0.003, 0.42, 1.0].map(share), ["0%", "0.3%", "42%", "100%"]);
    }

    #[test]
    fn places_keep_their_end_and_texts_their_beginning() {
        let long = "crates/cli/src/serve/mod.rs:107:30";
        let shown = [40, 16, 15, 12, 5].map(|width| place(long, width));
        assert_eq!(
            shown,
            ["crates/cli/src/serve/mod.rs:107", "serve/mod.rs:107", "mod.rs:107", "mod.rs:107", "…:107"]
        );
        assert_eq!([cut("holder", 6), cut("holder", 5), cut("holder", 0)], ["holder", "hold…", ""]);
    }

    #[test]
    fn letters_may_be_wide_or_take_no_place() {
        assert_eq!(["木木木", "e\u{301}e\u{301}", "ab"].map(columns), [6, 2, 2]);
        assert_eq!([cut("木木木", 6), cut("木木木", 5), cut("木木木", 4)], ["木木木", "木木…", "木…"]);
        assert_eq!((split("木木木", 3), tail("a木木", 3), tail("ab", 9)), (("木", "木木"), "木", "ab"));
    }

    #[test]
    fn addresses_go() {
        let shown =
            ["a mutex at 0x7f12ab, held by \"x\" (task 5)", "a moment", "a task at 0x1 and 2 others at 0xff"]
                .map(without_addresses);
        assert_eq!(shown, ["a mutex, held by \"x\" (task 5)", "a moment", "a task and 2 others"]);
        assert_eq!(narrow("a mutex at 0x7f12ab, held by \"x\" (task 5)"), "a mutex of \"x\" (task 5)");
    }
}
