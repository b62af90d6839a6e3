//! A line for each worker; where there is no room for all of them, one for the others together.

use super::{DIM, GOOD, PLAIN, ROPE, SKY, put, put_right, row, rule};
use crate::show::{counted, grouped};
use crate::top::figures::{columns, or_unknown, short};
use crate::top::state::{Rates, Worker};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

const STATE: u16 = 10;
const FIGURE: u16 = 9;
const BAR: u16 = 16;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, workers: &[Worker], several_pools: bool) {
    let most = workers.iter().filter_map(|worker| worker.rates).map(|rates| rates.polls).fold(0.0, f64::max);
    let label =
        if several_pools { 3 + workers.iter().map(|w| columns(&w.pool)).max().unwrap_or(0) } else { 2 };
    let label = (label as u16 + 1).clamp(7, 20);
    match area.height {
        0 => {}
        1 => in_words(buffer, area, workers),
        _ => {
            rule(buffer, row(area, 0), &counted(workers.len() as u64, "worker"), &states(workers));
            if area.height > 2 || workers.is_empty() {
                heading(buffer, row(area, 1), label);
            }
            let first = if area.height > 2 { 2 } else { 1 };
            let room = usize::from(area.height - first);
            let alone = if workers.len() <= room { workers.len() } else { room.saturating_sub(1) };
            for (at, worker) in workers[..alone].iter().enumerate() {
                let name = if several_pools {
                    format!("{} {}", worker.pool, worker.number)
                } else {
                    worker.number.to_string()
                };
                line(buffer, row(area, first + at as u16), label, &Line::of(name, worker, most));
            }
            if alone < workers.len() {
                let name = if alone == 0 { "all" } else { "others" };
                let others = Line::of_all(name, &workers[alone..], most);
                line(buffer, row(area, first + alone as u16), label, &others);
            }
        }
    }
}

/// Where there is one line for all of them.
fn in_words(buffer: &mut Buffer, area: Rect, workers: &[Worker]) {
    let x = put(buffer, area, area.x + 1, area.width, &counted(workers.len() as u64, "worker"), PLAIN);
    put(buffer, area, x, area.width, &format!(": {}", states(workers)), DIM);
}

fn heading(buffer: &mut Buffer, area: Rect, label: u16) {
    let x = put(buffer, area, area.x + 1, label, "worker", DIM).max(area.x + 1 + label);
    put(buffer, area, x, STATE, "state", DIM);
    for (at, text) in ["queue", "polls/s", "steals/s", "parks/s"].iter().enumerate() {
        put_right(buffer, area, x + STATE + FIGURE * at as u16, FIGURE, text, DIM);
    }
}

/// What is said of one worker, or of several.
struct Line {
    name: String,
    state: String,
    style: Style,
    queued: u64,
    rates: Option<Rates>,
    /// Of the most that one does.
    part: f64,
}

impl Line {
    fn of(name: String, worker: &Worker, most: f64) -> Self {
        let part = worker.rates.map_or(0.0, |rates| rates.polls / most.max(1e-9));
        let (state, style) = (worker.state.clone(), style(&worker.state));
        Self { name, state, style, queued: worker.queued, rates: worker.rates, part }
    }

    fn of_all(name: &str, workers: &[Worker], most: f64) -> Self {
        let busy = workers.iter().filter(|worker| worker.state == "busy").count();
        let sum = |sum: Rates, rates: Rates| Rates {
            polls: sum.polls + rates.polls,
            steals: sum.steals + rates.steals,
            parks: sum.parks + rates.parks,
        };
        let rates = workers.iter().filter_map(|worker| worker.rates).reduce(sum);
        let part = rates.map_or(0.0, |rates| rates.polls / workers.len() as f64 / most.max(1e-9));
        let queued = workers.iter().map(|worker| worker.queued).sum();
        Self { name: name.to_owned(), state: format!("{busy} busy"), style: PLAIN, queued, rates, part }
    }
}

fn line(buffer: &mut Buffer, area: Rect, label: u16, line: &Line) {
    put(buffer, area, area.x + 1, label - 1, &line.name, PLAIN);
    let x = area.x + 1 + label;
    put(buffer, area, x, STATE, &line.state, line.style);
    let rate = |of: fn(Rates) -> f64| or_unknown(line.rates, |rates| short(of(rates)));
    let figures = [
        short(line.queued as f64),
        rate(|rates| rates.polls),
        rate(|rates| rates.steals),
        rate(|rates| rates.parks),
    ];
    for (at, text) in figures.iter().enumerate() {
        let x = x + STATE + FIGURE * at as u16;
        if x + FIGURE <= area.right() {
            put_right(buffer, area, x, FIGURE, text, PLAIN);
        }
    }
    let x = x + STATE + FIGURE * 4 + 2;
    if x + BAR < area.right() {
        let end = put(buffer, area, x, BAR, &bar(line.part, BAR.into()), ROPE);
        put(buffer, area, end, x + BAR - end, &"·".repeat((x + BAR - end).into()), DIM);
    }
}

fn bar(part: f64, width: usize) -> String {
    let eighths = (part.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{rest}", "█".repeat(eighths / 8))
}

fn style(state: &str) -> Style {
    match state {
        "busy" => GOOD,
        "polling" => SKY,
        "retiring" => ROPE,
        _ => DIM,
    }
}

/// `2 busy, 6 idle`.
fn states(workers: &[Worker]) -> String {
    let known = ["busy", "polling", "idle", "retiring", "vacant"];
    let count = |state: &str| workers.iter().filter(|worker| worker.state == state).count() as u64;
    let parts = known.iter().map(|state| (count(state), state)).filter(|(count, _)| *count > 0);
    parts.map(|(count, state)| format!("{} {state}", grouped(count))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_drawn_in_eighths() {
        let bars = [0.0, 0.5, 0.53, 1.0, 7.0].map(|part| bar(part, 4));
        assert_eq!(bars, ["", "██", "██▏", "████", "████"]);
    }

    #[test]
    fn states_are_counted() {
        let worker = |state: &str| Worker { state: state.to_owned(), ..Worker::default() };
        assert_eq!(states(&["idle", "busy", "idle"].map(worker)), "1 busy, 2 idle");
    }
}
