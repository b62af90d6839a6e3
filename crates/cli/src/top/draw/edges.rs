//! The first line says who it is, the last one which keys there are, or what went wrong.

use super::{BAD, BOLD, DIM, GOOD, Link, PLAIN, Picture, ROPE, put};
use crate::show::{counted, grouped};
use crate::top::figures::{columns, cut, tail, time};
use crate::top::view::View;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

pub(super) fn header(buffer: &mut Buffer, area: Rect, picture: &Picture<'_>) {
    let state = picture.state;
    let (status, style) = status(picture);
    let end = area.right().saturating_sub(columns(status) as u16 + 1);
    put(buffer, area, end, area.width, status, style);
    // On a narrow screen the address goes first: who looks knows it.
    let from = end.saturating_sub(columns(picture.address) as u16 + 2);
    let parts = [
        (cut(&state.program, 24), ROPE.bold()),
        (format!("pid {}", state.pid), PLAIN),
        (format!("up {}", time(state.uptime)), PLAIN),
        (format!("{} alive", grouped(state.alive)), PLAIN),
        (counted(state.strands, "strand"), PLAIN),
    ];
    let mut x = area.x + 1;
    for (text, style) in parts {
        let length = columns(&text) as u16;
        if x + length < end {
            x = put(buffer, area, x, length, &text, style) + 2;
        }
    }
    if x < from {
        put(buffer, area, from, area.width, picture.address, DIM);
    }
}

fn status(picture: &Picture<'_>) -> (&'static str, Style) {
    match &picture.link {
        Link::Lost(..) => ("lost", BAD),
        Link::Live if picture.view.paused => ("paused", ROPE.bold()),
        Link::Live if picture.state.ended => ("ended", BAD),
        Link::Live => ("live", GOOD),
    }
}

/// Where the cursor is, while a search is typed.
pub(super) fn footer(buffer: &mut Buffer, area: Rect, picture: &Picture<'_>) -> Option<u16> {
    let view = &*picture.view;
    if view.typing {
        let x = put(buffer, area, area.x + 1, area.width, "/", BOLD);
        let room = usize::from(area.right().saturating_sub(x + 1));
        return Some(put(buffer, area, x, area.width, tail(&view.search, room), PLAIN).min(area.right() - 1));
    }
    if let Some(message) = picture.message {
        put(buffer, area, area.x + 1, area.width, message, BOLD);
        return None;
    }
    if let Link::Lost(why, seconds) = &picture.link {
        let text = format!("trying again for {seconds} s: {why}");
        put(buffer, area, area.x + 1, area.width, &cut(&text, usize::from(area.width - 2)), BAD);
        return None;
    }
    if picture.state.ended {
        let text = "the runtime has ended; this is what it was last (q quits)";
        put(buffer, area, area.x + 1, area.width, text, BOLD);
        return None;
    }
    match view {
        View { help: true, .. } => keys(buffer, area, &[("esc", "back"), ("q", "back")]),
        View { details: Some(_), .. } => keys(buffer, area, &IN_DETAILS),
        _ => keys(buffer, area, &IN_TABLE),
    }
    None
}

/// The ones that lead to the others first.
const IN_TABLE: [(&str, &str); 9] = [
    ("?", "help"),
    ("q", "quit"),
    ("/", "search"),
    ("s", "sort"),
    ("t", "tree"),
    ("enter", "details"),
    ("p", "pause"),
    ("d", "dump"),
    ("w", "workers"),
];
const IN_DETAILS: [(&str, &str); 6] =
    [("esc", "back"), ("up down", "others"), ("?", "help"), ("q", "quit"), ("p", "pause"), ("d", "dump")];

/// As many as fit.
fn keys(buffer: &mut Buffer, area: Rect, keys: &[(&str, &str)]) {
    let mut x = area.x + 1;
    for (key, what) in keys {
        let length = (key.len() + what.len() + 1) as u16;
        if x + length >= area.right() {
            return;
        }
        x = put(buffer, area, x, area.width, key, BOLD) + 1;
        x = put(buffer, area, x, area.width, what, DIM) + 2;
    }
}
