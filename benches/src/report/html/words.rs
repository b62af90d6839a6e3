//! How things are called in the report.

use crate::report::Line;
use crate::report::number::readable;
use crate::report::verdict::{Against, Finding};
use crate::targets::Better;

/// A unit in words.
pub fn unit(unit: &str) -> &str {
    match unit {
        "ns" => "nanoseconds",
        "us" => "microseconds",
        "ms" => "milliseconds",
        "B" => "bytes",
        "kB" => "kilobytes",
        "MB" => "megabytes",
        "M/s" => "millions a second",
        "k/s" => "thousands a second",
        "x" => "times",
        "calls" => "calls of the allocator",
        other => other,
    }
}

/// As it stands behind a number.
pub fn sign(unit: &str) -> &str {
    match unit {
        "us" => "µs",
        "x" => "×",
        other => other,
    }
}

pub fn better(better: Better) -> &'static str {
    match better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    }
}

pub fn bound(better: Better) -> &'static str {
    match better {
        Better::Lower => "at most",
        Better::Higher => "at least",
    }
}

/// With a capital letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A name as an anchor: letters, digits and `_`; whatever else was there is written as its number.
pub fn id(name: &str) -> String {
    let mut id = String::from("row-");
    for letter in name.chars() {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            id.push(letter);
        } else {
            id += &format!("-{:x}-", letter as u32);
        }
    }
    id
}

/// How many times better we are than they, below one if worse. Nothing, if one of the two is zero.
pub fn lead(line: &Line, against: Option<Against>) -> Option<f64> {
    let ratio = against?.ratio?.median;
    let lead = if line.better == Better::Lower { 1.0 / ratio } else { ratio };
    (lead.is_finite() && lead > 0.0).then_some(lead)
}

/// `2.10× ahead of may`.
pub fn lead_over(lead: f64, whom: &str) -> String {
    match lead {
        // What rounds to one is no lead.
        even if (0.995..1.005).contains(&even) => format!("as good as {whom}"),
        ahead if ahead > 1.0 => format!("{}× ahead of {whom}", readable(ahead)),
        behind => format!("{}× behind {whom}", readable(1.0 / behind)),
    }
}

/// A sign, a word and a class for what was found.
pub fn finding(finding: Option<Finding>) -> (&'static str, &'static str, &'static str) {
    match finding {
        Some(Finding::Yes) => ("✓", "yes", "yes"),
        Some(Finding::Close) => ("≈", "close", "close"),
        Some(Finding::No) => ("✗", "no", "no"),
        None => ("–", "not judged", "none"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_anchors_that_differ() {
        assert_eq!(id("mem_task_rss"), "row-mem_task_rss");
        assert_ne!(id("a b"), id("a-b"));
        assert!(id("<\"&>").bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
    }

    #[test]
    fn a_lead_is_said_in_words() {
        let said = [2.0, 1.001, 0.5, 123.4].map(|lead| lead_over(lead, "may"));
        assert_eq!(said, ["2.00× ahead of may", "as good as may", "2.00× behind may", "123× ahead of may"]);
        assert_eq!(capital("lower is better"), "Lower is better");
        assert_eq!(capital(""), "");
    }
}
