//! The screen, from top to bottom: who it is, what happened lately, times, workers, tasks, keys.

mod charts;
mod details;
mod edges;
mod help;
mod plan;
mod tasks;
mod times;
mod workers;

use super::change::History;
use super::figures::columns;
use super::state::State;
use super::view::View;
use plan::Plan;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Color, Style};
use ratatui_core::terminal::Frame;

/// Below that nothing can be told.
const SMALLEST: (u16, u16) = (40, 10);

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dim();
const GOOD: Style = Style::new().fg(Color::Green);
const BAD: Style = Style::new().fg(Color::Red).bold();
const ROPE: Style = Style::new().fg(Color::Yellow);
const SKY: Style = Style::new().fg(Color::Cyan);

/// How it is with the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Live,
    /// Why, and for how many seconds.
    Lost(String, u64),
}

/// Everything that is drawn.
pub(super) struct Picture<'a> {
    pub(super) address: &'a str,
    pub(super) state: &'a State,
    pub(super) history: &'a History,
    pub(super) view: &'a mut View,
    pub(super) link: Link,
    pub(super) message: Option<&'a str>,
}

pub(super) fn draw(frame: &mut Frame<'_>, picture: &mut Picture<'_>) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        return too_small(buffer, area);
    }
    edges::header(buffer, row(area, 0), picture);
    let last = row(area, area.height - 1);
    let cursor = edges::footer(buffer, last, picture);
    let body = Rect { y: 1, height: area.height - 2, ..area };
    if picture.view.help {
        return help::draw(buffer, body);
    }
    picture.view.follow(&picture.state.tasks);
    let mut plan = Plan::of(body.height, picture.state.workers.len(), picture.view.all_workers);
    let details =
        picture.view.details.as_ref().map(|task| details::Details::of(task, picture.state, area.width));
    if details.as_ref().is_some_and(|details| details.height() > body.height - plan.height()) {
        plan = Plan::NOTHING; // what was asked for goes before
    }
    let mut left = body;
    let mut part = |height: u16| {
        let part = Rect { height, ..left };
        left = Rect { y: left.y + height, height: left.height - height, ..left };
        part
    };
    charts::draw(buffer, part(plan.charts), picture.history);
    times::draw(buffer, part(plan.times), picture.state);
    workers::draw(buffer, part(plan.workers), &picture.state.workers, picture.state.pools > 1);
    let rest = left;
    match details {
        Some(details) => details.draw(buffer, rest),
        None => tasks::draw(buffer, rest, picture.state, picture.view),
    }
    if let Some(x) = cursor {
        frame.set_cursor_position(Position { x, y: last.y });
    }
}

fn too_small(buffer: &mut Buffer, area: Rect) {
    let (width, height) = SMALLEST;
    let lines =
        [format!("{} by {} is too small", area.width, area.height), format!("{width} by {height} is enough")];
    for (at, line) in lines.iter().enumerate().take(usize::from(area.height)) {
        buffer.set_stringn(area.x, area.y + at as u16, line, usize::from(area.width), PLAIN);
    }
}

fn row(area: Rect, at: u16) -> Rect {
    Rect { y: area.y + at, height: 1, ..area }
}

/// Writes text at a column, cut at `width`; where it ends.
fn put(buffer: &mut Buffer, area: Rect, x: u16, width: u16, text: &str, style: Style) -> u16 {
    if x >= area.right() || area.height == 0 {
        return x;
    }
    buffer.set_stringn(x, area.y, text, usize::from(width.min(area.right() - x)), style).0
}

/// Writes a figure so that it ends with its column.
fn put_right(buffer: &mut Buffer, area: Rect, x: u16, width: u16, text: &str, style: Style) {
    let length = columns(text) as u16;
    put(buffer, area, x + width.saturating_sub(length), width, text, style);
}

/// A line with a title, and something at its end.
fn rule(buffer: &mut Buffer, area: Rect, title: &str, end: &str) {
    put(buffer, area, area.x, area.width, &"─".repeat(usize::from(area.width)), DIM);
    let x = put(buffer, area, area.x + 2, area.width, &format!(" {title} "), SKY);
    let length = columns(end) as u16 + 2;
    if !end.is_empty() && x + length + 2 < area.right() {
        put(buffer, area, area.right() - length - 2, length, &format!(" {end} "), DIM);
    }
}
