//! The keys.

use super::{BOLD, DIM, PLAIN, put, row, rule};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

const KEYS: [(&str, &str, &str); 13] = [
    ("up down", "move", "also j and k, page up and page down"),
    ("home end", "far", "the first task, the last task; also g and G"),
    ("enter", "details", "everything about a task, live"),
    ("esc", "back", "back to the table; ends a search"),
    ("/", "search", "in names, places, states, reasons and ids"),
    ("s S", "sort", "by the next column, by the one before"),
    ("r", "reverse", "the other way round"),
    ("t", "tree", "tasks below those they stem from"),
    ("p", "pause", "the screen stays as it is; again to go on"),
    ("d", "dump", "everything that is alive, into a file"),
    ("w", "workers", "all of them"),
    ("?", "help", "this text; any key ends it"),
    ("q", "quit", "also ctrl-c"),
];

const KEY: u16 = 10;

pub(super) fn draw(buffer: &mut Buffer, area: Rect) {
    rule(buffer, row(area, 0), "keys", "");
    // Where there is no room for a line each, there are two columns of few words.
    let in_lines = usize::from(area.height) > KEYS.len() && area.width >= 66;
    let rows = if in_lines { KEYS.len() } else { KEYS.len().div_ceil(2) };
    for (at, (key, word, about)) in KEYS.iter().enumerate() {
        let line = 1 + (at % rows) as u16;
        if line >= area.height {
            continue;
        }
        let x = area.x + 2 + if at >= rows { area.width / 2 } else { 0 };
        put(buffer, row(area, line), x, KEY, key, BOLD);
        let x = put(buffer, row(area, line), x + KEY, area.width, word, PLAIN);
        if in_lines {
            put(buffer, row(area, line), x.max(area.x + 2 + KEY + 10), area.width, about, DIM);
        }
    }
}
