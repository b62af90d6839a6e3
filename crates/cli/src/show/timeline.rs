//! What workers were doing, as a small picture: a line for each worker, time runs to the right.

use super::{Hue, Style};
use crate::figure::Timeline;
use ropewalk::WorkerState::{self, Busy, Idle, Polling, Retiring, Vacant};

/// The lines that show `timeline`, without a margin.
pub(crate) fn timeline(timeline: &Timeline, style: Style) -> Vec<String> {
    let mut lines = vec![style.paint(Hue::Bold, timeline.title)];
    for (at, states) in timeline.workers.iter().enumerate() {
        let label = style.paint(Hue::Sky, &format!("worker {at:<2}"));
        lines.push(format!(
            "{label} {}",
            states.iter().map(|state| symbol(*state, style)).collect::<String>()
        ));
    }
    lines.push(format!("{:10}{}", "", style.paint(Hue::Rope, &marks(timeline))));
    let legend = [Busy, Idle, Polling, Retiring, Vacant]
        .map(|state| format!("{} {}", symbol(state, style), format!("{state:?}").to_lowercase()));
    lines.push(format!("{:10}{}", "", legend.join("   ")));
    lines
}

fn symbol(state: WorkerState, style: Style) -> String {
    let (hue, drawn) = match state {
        Busy => (Hue::Good, '█'),
        Idle => (Hue::Dim, '░'),
        Polling => (Hue::Sky, '▒'),
        Retiring => (Hue::Rope, '▚'),
        Vacant => (Hue::Dim, '·'),
    };
    style.paint(hue, &style.pick(drawn, Timeline::letter(state)).to_string())
}

/// Each mark begins below its moment; one that would run into the next is left out.
fn marks(timeline: &Timeline) -> String {
    let mut text = String::new();
    for (at, what) in &timeline.marks {
        let length = text.chars().count();
        if length <= *at {
            text += &" ".repeat(at - length);
            text += &format!("^{what} ");
        }
    }
    text.trim_end().to_owned()
}
