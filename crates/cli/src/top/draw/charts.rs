//! What happened lately, as small lines of bars.

use super::{BOLD, DIM, ROPE, put, put_right, row};
use crate::top::change::History;
use crate::top::figures::{or_unknown, short};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use std::collections::VecDeque;

/// The widest figure.
const FIGURE: u16 = 5;
/// Less is no room for bars.
const NARROW: u16 = 18;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, history: &History) {
    if area.height == 0 {
        return;
    }
    let charts = [("polls/s", &history.polls), ("queue", &history.queued), ("alive", &history.alive)];
    let third = area.width / 3;
    if third < NARROW {
        return in_words(buffer, row(area, area.height - 1), charts);
    }
    for (at, (label, values)) in charts.into_iter().enumerate() {
        let area = Rect { x: area.x + third * at as u16 + 1, width: third - 2, ..area };
        let bottom = row(area, area.height - 1);
        let x = put(buffer, bottom, area.x, area.width, label, DIM) + 1;
        let now = or_unknown(values.back(), |now| short(*now));
        put_right(buffer, bottom, area.right() - FIGURE, FIGURE, &now, BOLD);
        let width = (area.right() - FIGURE).saturating_sub(x + 1);
        for (line, bars) in bars(values, width.into(), area.height.into()).iter().enumerate() {
            put(buffer, row(area, line as u16), x, width, bars, ROPE);
        }
    }
}

/// Where bars would have no room.
fn in_words(buffer: &mut Buffer, area: Rect, charts: [(&str, &VecDeque<f64>); 3]) {
    let mut x = area.x + 1;
    for (label, values) in charts {
        x = put(buffer, area, x, area.width, label, DIM) + 1;
        x = put(buffer, area, x, area.width, &or_unknown(values.back(), |now| short(*now)), BOLD) + 2;
    }
}

/// The newest values as bars, the largest as high as it goes; the newest is at the right.
fn bars(values: &VecDeque<f64>, width: usize, height: usize) -> Vec<String> {
    const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown: Vec<f64> = values.iter().skip(values.len().saturating_sub(width)).copied().collect();
    let largest = shown.iter().copied().fold(0.0, f64::max);
    let eighths = |value: f64| match largest > 0.0 {
        // What is there is seen, and nothing is a line.
        true => ((value / largest * (height * 8) as f64).round() as usize).max(1),
        false => 1,
    };
    let line = |from_top: usize| {
        let below = (height - 1 - from_top) * 8;
        let bar = |value: &f64| EIGHTHS[eighths(*value).saturating_sub(below).min(8)];
        let pad = std::iter::repeat_n(' ', width - shown.len());
        pad.chain(shown.iter().map(bar)).collect()
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::bars;
    use std::collections::VecDeque;

    #[test]
    fn bars_are_as_high_as_their_values() {
        let values = VecDeque::from([0.0, 1.0, 2.0, 4.0, 8.0]);
        assert_eq!(bars(&values, 7, 1), ["  ▁▁▂▄█"]);
        assert_eq!(bars(&values, 3, 1), ["▂▄█"], "the newest");
        assert_eq!(bars(&values, 5, 2), ["    █", "▁▂▄██"]);
        assert_eq!(bars(&VecDeque::from([0.0, 0.0]), 3, 1), [" ▁▁"]);
        assert_eq!(bars(&VecDeque::new(), 2, 1), ["  "]);
    }
}
