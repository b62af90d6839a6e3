//! Everything about one task.

use super::{BAD, DIM, PLAIN, put, row, rule, tasks};
use crate::show::{counted, grouped};
use crate::top::figures::{or_unknown, share, short, time};
use crate::top::state::{State, Task};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

const LABEL: u16 = 12;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, task: &Task, state: &State) {
    let is_there = state.tasks.iter().any(|other| other.id == task.id);
    rule(buffer, row(area, 0), &format!("{} {}", task.kind, task.id), "esc goes back, up and down to others");
    let mut y = 1;
    for (label, text, style) in lines(task, state, is_there) {
        let room = usize::from(area.width.saturating_sub(LABEL + 2)).max(1);
        put(buffer, row(area, y.min(area.height - 1)), area.x + 1, LABEL, label, DIM);
        for part in wrapped(&text, room) {
            if y >= area.height {
                return;
            }
            put(buffer, row(area, y), area.x + 1 + LABEL, area.width, &part, style);
            y += 1;
        }
    }
}

fn lines(task: &Task, state: &State, is_there: bool) -> Vec<(&'static str, String, Style)> {
    let mut lines = Vec::new();
    let pinned = if task.pinned { ", pinned to its worker" } else { "" };
    match is_there {
        true => lines.push(("state", format!("{}{pinned}", task.state), tasks::style(&task.state))),
        false => lines.push((
            "state",
            "it has ended, or is not listed any more; this is what it was".to_owned(),
            BAD,
        )),
    }
    if let Some(what) = &task.waits_for {
        lines.push(("waits for", what.clone(), PLAIN));
        lines.push(("since", or_unknown(task.waits, time), PLAIN));
    }
    if let Some(name) = &task.name {
        lines.push(("name", name.clone(), PLAIN));
    }
    lines.push(("spawned at", task.spawned_at.clone(), PLAIN));
    lines.push(("pool", task.pool.clone(), PLAIN));
    let children = state.tasks.iter().filter(|other| other.parent == Some(task.id)).count() as u64;
    lines.push(("stems from", ancestors(task, state), PLAIN));
    if children > 0 {
        lines.push((
            "has",
            if children == 1 { "1 child".to_owned() } else { format!("{} children", grouped(children)) },
            PLAIN,
        ));
    }
    if task.age.is_none() {
        let why = "not observed: it has no name, and the runtime is without Builder::observe(true)";
        lines.push(("times", why.to_owned(), DIM));
        return lines;
    }
    lines.push(("age", or_unknown(task.age, time), PLAIN));
    let rate = task.rate.map(|rate| format!(", {} a second lately", short(rate)));
    let polls = or_unknown(task.polls, |polls| counted(polls, "poll"));
    lines.push(("polled", format!("{polls}{}", rate.unwrap_or_default()), PLAIN));
    let lately = task.share.map(|part| format!(", {} of the time lately", share(part)));
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

/// Lines of at most so many characters, broken between words where it can be.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let last = lines.last_mut().expect("there is one");
            let used = last.chars().count();
            let space = usize::from(used > 0);
            if used + space + word.len() <= width {
                last.extend(std::iter::repeat_n(' ', space));
                last.extend(&word);
                break;
            }
            if used > 0 {
                lines.push(String::new());
            } else {
                last.extend(word.drain(..width));
                lines.push(String::new());
            }
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
    }
}
