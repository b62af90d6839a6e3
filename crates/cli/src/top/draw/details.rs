//! Everything about one task.

use super::{BAD, DIM, PLAIN, put, row, rule, tasks};
use crate::show::{counted, grouped};
use crate::top::figures::{columns, or_unknown, share, short, split, time};
use crate::top::state::{State, Task};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

const LABEL: u16 = 12;

/// What is said, in lines that are broken already.
pub(super) struct Details {
    title: String,
    /// The label of a line that is the first of its kind.
    lines: Vec<(&'static str, String, Style)>,
}

impl Details {
    pub(super) fn of(task: &Task, state: &State, width: u16) -> Self {
        let room = usize::from(width.saturating_sub(LABEL + 2)).max(1);
        let mut lines = Vec::new();
        for (label, text, style) in said(task, state) {
            let parts = wrapped(&text, room).into_iter().enumerate();
            lines.extend(parts.map(|(at, part)| (if at == 0 { label } else { "" }, part, style)));
        }
        Self { title: format!("{} {}", task.kind, task.id), lines }
    }

    /// With the title.
    pub(super) fn height(&self) -> u16 {
        u16::try_from(self.lines.len() + 1).unwrap_or(u16::MAX)
    }

    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect) {
        rule(buffer, row(area, 0), &self.title, "");
        for (y, (label, text, style)) in (1..area.height).zip(&self.lines) {
            put(buffer, row(area, y), area.x + 1, LABEL, label, DIM);
            put(buffer, row(area, y), area.x + 1 + LABEL, area.width, text, *style);
        }
    }
}

/// What matters most comes first.
fn said(task: &Task, state: &State) -> Vec<(&'static str, String, Style)> {
    let mut lines = Vec::new();
    let pinned = if task.pinned { ", pinned to its worker" } else { "" };
    match state.tasks.iter().any(|other| other.id == task.id) {
        true => {
            let text = format!("{} in the pool {:?}{pinned}", task.state, task.pool);
            lines.push(("state", text, tasks::style(&task.state)));
        }
        false => lines.push(("state", "it has ended, or is not listed any more".to_owned(), BAD)),
    }
    if let Some(what) = &task.waits_for {
        lines.push(("waits for", format!("{what}, for {}", or_unknown(task.waits, time)), PLAIN));
    }
    lines.extend(task.name.iter().map(|name| ("name", name.clone(), PLAIN)));
    lines.push(("spawned at", task.spawned_at.clone(), PLAIN));
    lines.push(("stems from", ancestors(task, state), PLAIN));
    let children = state.tasks.iter().filter(|other| other.parent == Some(task.id)).count() as u64;
    if children > 0 {
        let noun = if children == 1 { "child" } else { "children" };
        lines.push(("has", format!("{} {noun}", grouped(children)), PLAIN));
    }
    if task.age.is_none() {
        let why = "not observed: it has no name, and the runtime is without Builder::observe(true)";
        lines.push(("times", why.to_owned(), DIM));
        return lines;
    }
    lines.push(("age", or_unknown(task.age, time), PLAIN));
    let rate = task.rate.map(|rate| format!(", {}/s lately", short(rate)));
    let polls = or_unknown(task.polls, |polls| counted(polls, "time"));
    lines.push(("polled", format!("{polls}{}", rate.unwrap_or_default()), PLAIN));
    let lately = task.share.map(|part| format!(", {} lately", share(part)));
    lines.push(("busy", format!("{}{}", or_unknown(task.busy, time), lately.unwrap_or_default()), PLAIN));
    lines
}

/// From its parent upwards.
fn ancestors(task: &Task, state: &State) -> String {
    let (mut names, mut next) = (Vec::new(), task.parent);
    while let Some(id) = next {
        let parent = state.tasks.iter().find(|other| other.id == id);
        names.push(match parent.and_then(|parent| parent.name.as_ref()) {
            Some(name) => format!("{name} ({id})"),
            None => format!("{} {id}", parent.map_or("task", |parent| parent.kind.as_str())),
        });
        if names.len() == 16 {
            names.push("…".to_owned());
            break;
        }
        next = parent.and_then(|parent| parent.parent);
    }
    if names.is_empty() { "nobody: it has no parent".to_owned() } else { names.join(" < ") }
}

/// Lines of at most so many columns, broken between words where it can be.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word;
        loop {
            let last = lines.last_mut().expect("there is one");
            let used = columns(last);
            let space = usize::from(used > 0);
            if used + space + columns(word) <= width {
                last.extend(std::iter::repeat_n(' ', space));
                last.push_str(word);
                break;
            }
            if used == 0 {
                // A letter that is wider than a line has one for itself.
                let first = word.chars().next().map_or(0, char::len_utf8);
                let (part, rest) = word.split_at(split(word, width).0.len().max(first));
                last.push_str(part);
                word = rest;
            }
            lines.push(String::new());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("a mutex, held by it", 8), ["a mutex,", "held by", "it"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("", 3), [""]);
        assert_eq!(wrapped("木木木 木", 4), ["木木", "木", "木"]);
        assert_eq!(wrapped("木a", 1), ["木", "a"], "it ends");
    }
}
