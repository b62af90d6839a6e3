//! How long polls take and wakes wait, and what else there is: jobs, files, timers.

use super::{BAD, BOLD, DIM, PLAIN, put, put_right, row, rule};
use crate::show::{counted, grouped};
use crate::top::figures::{UNKNOWN, cut, place, short, time};
use crate::top::state::{Longest, State, Times};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

const LABEL: u16 = 13;
const FIGURE: u16 = 8;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &State) {
    if area.height == 0 {
        return;
    }
    rule(buffer, row(area, 0), "times", "since the console began");
    let headings = ["p50", "p99", "p999", "max", "mean", "count"];
    figures(buffer, row(area, 1), "", &headings.map(str::to_owned), DIM);
    for (at, (label, times)) in
        [("poll time", &state.poll_time), ("wake to run", &state.wake_to_run)].iter().enumerate()
    {
        figures(buffer, row(area, 2 + at as u16), label, &shown(times), PLAIN);
    }
    if area.height >= 6 {
        longest(buffer, row(area, 4), state.longest.first());
        others(buffer, row(area, 5), state);
    }
}

fn shown(times: &Times) -> [String; 6] {
    if times.count == 0 {
        return [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, "0"].map(str::to_owned);
    }
    let nanos = [times.p50, times.p99, times.p999, times.max, times.mean].map(time);
    let [p50, p99, p999, max, mean] = nanos;
    [p50, p99, p999, max, mean, short(times.count as f64)]
}

fn figures(
    buffer: &mut Buffer,
    area: Rect,
    label: &str,
    figures: &[String; 6],
    style: ratatui_core::style::Style,
) {
    put(buffer, area, area.x + 1, LABEL, label, DIM);
    // On a narrow screen what is at the right is left out.
    for (at, text) in figures.iter().enumerate() {
        let x = area.x + 1 + LABEL + FIGURE * at as u16;
        if x + FIGURE <= area.right() {
            put_right(buffer, area, x, FIGURE, text, style);
        }
    }
}

fn longest(buffer: &mut Buffer, area: Rect, longest: Option<&Longest>) {
    put(buffer, area, area.x + 1, LABEL, "longest poll", DIM);
    let x = area.x + 1 + LABEL;
    let Some(longest) = longest else {
        put_right(buffer, area, x, FIGURE, UNKNOWN, PLAIN);
        return;
    };
    put_right(buffer, area, x, FIGURE, &time(longest.time), BOLD);
    let who = format!("by {} {}", longest.kind, longest.task);
    let x = put(buffer, area, x + FIGURE + 2, area.width, &who, PLAIN) + 1;
    let name = longest.name.as_ref().map(|name| format!("{name:?}, "));
    let x = put(buffer, area, x, area.width, &name.unwrap_or_default(), PLAIN);
    let room = area.right().saturating_sub(x + 1);
    put(buffer, area, x, room, &place(&longest.spawned_at, room.into()), DIM);
}

fn others(buffer: &mut Buffer, area: Rect, state: &State) {
    put(buffer, area, area.x + 1, LABEL, "also", DIM);
    let mut x = area.x + 1 + LABEL + 2;
    // What should not be comes first: it must not be what is cut off.
    let bad = [(state.panics, "panic"), (state.rescues, "rescue"), (state.refused_waits, "refused wait")];
    for (count, what) in bad.into_iter().filter(|(count, _)| *count > 0) {
        x = put(buffer, area, x, area.width, &counted(count, what), BAD);
        x = put(buffer, area, x, area.width, ", ", PLAIN);
    }
    let blocking = &state.blocking;
    let mut parts = vec![counted(blocking.threads, "blocking thread")];
    if blocking.running + blocking.queued > 0 {
        parts.push(format!("{} running", counted(blocking.running, "job")));
    }
    if blocking.queued > 0 {
        parts.push(format!("{} queued", grouped(blocking.queued)));
    }
    if !state.driver.is_empty() {
        parts.push(format!("{} at {}", counted(state.registered, "file"), state.driver));
    }
    parts.push(counted(state.timers, "timer"));
    let room = area.right().saturating_sub(x);
    put(buffer, area, x, room, &cut(&parts.join(", "), room.into()), PLAIN);
}
