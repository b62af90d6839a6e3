//! The table of tasks. On a narrow screen some columns are left out, and what a task waits for takes the place of its state.

use super::{BOLD, DIM, GOOD, PLAIN, ROPE, put, put_right, row, rule};
use crate::show::grouped;
use crate::top::figures::{columns, cut, narrow, or_unknown, place, share, short, time, without_addresses};
use crate::top::rows::{Column, Row};
use crate::top::state::{State, Task};
use crate::top::view::View;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &State, view: &mut View) {
    let rows = view.rows(&state.tasks);
    let page = usize::from(area.height.saturating_sub(2));
    view.scroll(page, rows.len());
    rule(buffer, row(area, 0), &title(state, view, rows.len()), &position(view, rows.len()));
    let cells = Cells::of(area.width, &rows, view.tree);
    cells.heading(buffer, row(area, 1), view);
    if rows.is_empty() {
        let why =
            if view.search.is_empty() { "no task is alive" } else { "nothing is found; esc ends the search" };
        put(buffer, row(area, 2), area.x + 1, area.width, why, DIM);
    }
    for (at, one) in rows.iter().enumerate().skip(view.top).take(page) {
        let line = row(area, 2 + (at - view.top) as u16);
        cells.row(buffer, line, one);
        if at == view.at {
            buffer.set_style(line, Style::reset().add_modifier(Modifier::REVERSED));
        }
    }
}

/// How many, and of how many.
fn title(state: &State, view: &View, shown: usize) -> String {
    let (alive, listed) = (state.tasks_alive, state.tasks.len() as u64);
    let mut text = match view.search.is_empty() {
        true if listed < alive => format!("tasks: {} of {}, / finds others", grouped(listed), grouped(alive)),
        true => format!("tasks: {}", grouped(alive)),
        false => {
            // What is being typed is not answered yet.
            let found = if state.search == view.search { state.matching } else { shown as u64 };
            let least = if state.cut_short { "at least " } else { "" };
            format!("tasks: {least}{} of {} with {:?}", grouped(found), grouped(alive), view.search)
        }
    };
    if view.tree {
        text += ", as a tree";
    }
    if !state.observed {
        text += ", not observed";
    }
    text
}

/// Which rows are seen.
fn position(view: &View, all: usize) -> String {
    let last = (view.top + view.page).min(all);
    if all <= view.page { String::new() } else { format!("{}–{last} of {all}", view.top + 1) }
}

/// Where the columns are.
struct Cells {
    columns: Vec<(Cell, u16, u16)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Name,
    Id,
    Kind,
    State,
    Waits,
    Since,
    Age,
    Polls,
    Busy,
}

impl Cell {
    fn heading(self, merged: bool) -> &'static str {
        match self {
            Self::Name => "task",
            Self::Id => "id",
            Self::Kind => "kind",
            Self::State => "state",
            Self::Waits if merged => "state, waits for",
            Self::Waits => "waits for",
            Self::Since => "since",
            Self::Age => "age",
            Self::Polls => "polls/s",
            Self::Busy => "busy",
        }
    }

    /// What sorting by a column sorts.
    fn sorted_by(self, merged: bool) -> Option<Column> {
        Some(match self {
            Self::Name => Column::Name,
            Self::Id => Column::Id,
            Self::Kind => Column::Kind,
            Self::State => Column::State,
            Self::Waits if merged => Column::State,
            Self::Waits => return None,
            Self::Since => Column::Since,
            Self::Age => Column::Age,
            Self::Polls => Column::Polls,
            Self::Busy => Column::Busy,
        })
    }

    fn is_figure(self) -> bool {
        matches!(self, Self::Id | Self::Since | Self::Age | Self::Polls | Self::Busy)
    }
}

impl Cells {
    fn of(width: u16, rows: &[Row<'_>], tree: bool) -> Self {
        let digits = rows.iter().map(|row| row.task.id).max().map_or(1, |id| id.to_string().len()) as u16;
        let gap = if width < 100 { 1 } else { 2 };
        let all = [
            (Cell::Name, 0, 0),
            (Cell::Id, digits.clamp(3, 12), 46),
            (Cell::Kind, 6, 66),
            (Cell::State, 7, 110),
            (Cell::Waits, 0, 0),
            (Cell::Since, 6, 54),
            (Cell::Age, 6, 76),
            (Cell::Polls, 8, 66),
            (Cell::Busy, 5, 0),
        ];
        let shown: Vec<_> = all.into_iter().filter(|(_, _, from)| width >= *from).collect();
        let fixed: u16 = shown.iter().map(|(_, width, _)| width + gap).sum::<u16>() + 1;
        let room = width.saturating_sub(fixed);
        // A name is seldom longer than that, and a reason often is; branches need some more.
        let (twentieths, most) = if tree { (11, 60) } else { (9, 44) };
        let name = (room * twentieths / 20).clamp(10, most).min(room);
        let mut x = 1;
        let columns = shown.into_iter().map(|(cell, width, _)| {
            let width = match cell {
                Cell::Name => name,
                Cell::Waits => room - name,
                _ => width,
            };
            x += width + gap;
            (cell, x - width - gap, width)
        });
        Self { columns: columns.collect() }
    }

    /// Whether there is no column for the state alone.
    fn merged(&self) -> bool {
        !self.columns.iter().any(|(cell, ..)| *cell == Cell::State)
    }

    fn heading(&self, buffer: &mut Buffer, area: Rect, view: &View) {
        for &(cell, x, width) in &self.columns {
            let is_sorted = cell.sorted_by(self.merged()) == Some(view.sort);
            let mark = if view.descending { "▼" } else { "▲" };
            let text = format!("{}{}", cell.heading(self.merged()), if is_sorted { mark } else { "" });
            let style = if is_sorted { BOLD } else { DIM };
            self.put(buffer, area, (cell, x, width), &text, style);
        }
    }

    fn row(&self, buffer: &mut Buffer, area: Rect, row: &Row<'_>) {
        let task = row.task;
        for &(cell, x, width) in &self.columns {
            let (text, style) = match cell {
                Cell::Name => (name(row, width.into()), PLAIN),
                Cell::Id => (task.id.to_string(), DIM),
                Cell::Kind => (task.kind.clone(), DIM),
                Cell::State => (task.state.clone(), style(&task.state)),
                Cell::Waits if self.merged() => {
                    let style = if task.doing() == task.state { style(&task.state) } else { PLAIN };
                    (cut(&narrow(task.doing()), width.into()), style)
                }
                Cell::Waits => {
                    let text = task.waits_for.as_deref().map(without_addresses).unwrap_or_default();
                    (cut(&text, width.into()), PLAIN)
                }
                Cell::Since => (task.waits.map(time).unwrap_or_default(), PLAIN),
                Cell::Age => (or_unknown(task.age, time), PLAIN),
                Cell::Polls => (or_unknown(task.rate, short), PLAIN),
                Cell::Busy => (or_unknown(task.share, share), busy(task)),
            };
            self.put(buffer, area, (cell, x, width), &text, style);
        }
    }

    fn put(&self, buffer: &mut Buffer, area: Rect, at: (Cell, u16, u16), text: &str, style: Style) {
        let (cell, x, width) = at;
        if cell.is_figure() {
            put_right(buffer, area, area.x + x, width, text, style);
        } else {
            put(buffer, area, area.x + x, width, text, style);
        }
    }
}

/// Its branch, and its name or the end of the place where it was spawned.
fn name(row: &Row<'_>, width: usize) -> String {
    let room = width.saturating_sub(columns(&row.branch));
    let text = match &row.task.name {
        Some(name) => cut(name, room),
        None => place(&row.task.spawned_at, room),
    };
    format!("{}{text}", row.branch)
}

pub(super) fn style(state: &str) -> Style {
    match state {
        "running" => GOOD,
        "queued" => ROPE,
        _ => DIM,
    }
}

/// Half a worker and more is seen at once.
fn busy(task: &Task) -> Style {
    if task.share.unwrap_or(0.0) >= 0.5 { ROPE.add_modifier(Modifier::BOLD) } else { PLAIN }
}
