//! How far a run is, on standard error: a bar with the time that is left where that is a terminal, a line for each measurement elsewhere.

use crate::report::duration;
use rustix::termios::tcgetwinsize;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Cells of the bar, and columns of the whole line where there is room for them.
const WIDTH: usize = 20;
const COLUMNS: usize = 79;
/// With fewer columns there is no bar: the words are what matters.
const FEWEST: usize = 60;

/// A line on standard error. That nobody reads any more is no reason to stop, as it would be for `eprintln!`.
pub fn tell(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}

/// What is measured now.
struct Current {
    unit: usize,
    label: String,
    from: Instant,
}

pub struct Progress {
    terminal: bool,
    /// Colours and boxes, unless they are not wanted.
    drawn: bool,
    shown: bool,
    rounds: usize,
    /// How long each unit takes compared with others, as far as one knows beforehand.
    weights: Vec<f64>,
    /// How many seconds each took when it was last measured.
    took: Vec<Option<f64>>,
    done: usize,
    current: Option<Current>,
}

impl Progress {
    /// So many rounds of units of these weights.
    pub fn new(rounds: usize, weights: Vec<f64>) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let (terminal, took) = (stderr().is_terminal() && !dumb, vec![None; weights.len()]);
        let drawn = terminal && !set("NO_COLOR");
        Self { terminal, drawn, shown: false, rounds, weights, took, done: 0, current: None }
    }

    pub fn begin(&mut self, unit: usize, label: String) {
        self.current = Some(Current { unit, label, from: Instant::now() });
        self.draw();
    }

    pub fn end(&mut self) {
        if let Some(Current { unit, from, .. }) = self.current.take() {
            self.took[unit] = Some(from.elapsed().as_secs_f64());
            self.done += 1;
        }
    }

    /// Nothing is under way any more.
    pub fn finish(&mut self) {
        self.clear();
        self.current = None;
    }

    /// Where it is, for a line: `round 1/5 [3/80]`.
    pub fn place(&self) -> String {
        let units = self.weights.len();
        let (round, at) = (self.done / units, self.done % units);
        format!("round {}/{} [{}/{units}]", round + 1, self.rounds, at + 1)
    }

    /// Something that everybody should see.
    pub fn say(&mut self, line: &str) {
        self.clear();
        tell(line);
        self.draw();
    }

    /// Something that the bar stands for, where there is one.
    pub fn detail(&mut self, line: &str) {
        if !self.terminal {
            tell(line);
        }
    }

    /// How often the bar is to be drawn meanwhile; never, where there is none.
    pub fn redraws_after(&self) -> Option<Duration> {
        self.terminal.then_some(Duration::from_secs(1))
    }

    pub fn draw(&mut self) {
        if self.terminal && self.current.is_some() {
            self.shown = true;
            // A bar that cannot be drawn is no reason to stop.
            let _ = write!(stderr(), "\r\x1b[2K{}", self.line(columns()));
        }
    }

    /// Takes the bar off the screen.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(stderr(), "\r\x1b[2K");
        }
    }

    /// At most so many columns: what is longer than the terminal is wide cannot be taken off again.
    fn line(&self, columns: usize) -> String {
        let all = self.weights.len() * self.rounds;
        let share = self.share();
        let end = match self.left() {
            Some(left) => format!("  {} left", duration(left)),
            None => String::new(),
        };
        let start = format!(" {:>3.0} %  {}/{all}  ", share * 100.0, self.done + 1);
        let label = self.current.as_ref().map_or("", |current| current.label.as_str());
        // Without colours the bar stands in brackets.
        let bar = if columns < FEWEST { 0 } else { WIDTH + 2 };
        let room = columns.saturating_sub(bar + start.chars().count() + end.chars().count());
        let label: String = label.chars().take(room).collect();
        let words: String = format!("{start}{label}{end}").chars().take(columns - bar).collect();
        if bar == 0 { words } else { format!("{}{words}", self.bar(share)) }
    }

    fn bar(&self, share: f64) -> String {
        let eighths = (share.clamp(0.0, 1.0) * (WIDTH * 8) as f64) as usize;
        let full = eighths / 8;
        if !self.drawn {
            return format!("[{}{}]", "#".repeat(full), ".".repeat(WIDTH - full));
        }
        let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
        let empty = WIDTH - full - usize::from(!part.is_empty());
        format!("\x1b[33m{}{part}\x1b[0m\x1b[2m{}\x1b[0m", "█".repeat(full), "·".repeat(empty))
    }

    /// How much is done, by time rather than by number.
    fn share(&self) -> f64 {
        let all = self.rounds as f64 * (0..self.took.len()).map(|unit| self.expected(unit)).sum::<f64>();
        if all > 0.0 { (1.0 - self.seconds_left() / all).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Seconds until the end; unknown before anything was measured.
    fn left(&self) -> Option<f64> {
        self.took.iter().any(Option::is_some).then(|| self.seconds_left())
    }

    /// What is left of this round and of those to come, and of what is under way. Odd rounds go backwards.
    fn seconds_left(&self) -> f64 {
        let units = self.weights.len();
        let left: f64 = (self.done..units * self.rounds)
            .map(|at| {
                let (round, at) = (at / units, at % units);
                self.expected(if round.is_multiple_of(2) { at } else { units - 1 - at })
            })
            .sum();
        let under_way = self
            .current
            .as_ref()
            .map_or(0.0, |current| current.from.elapsed().as_secs_f64().min(self.expected(current.unit)));
        left - under_way
    }

    /// Seconds of one measurement: as the last time, or as others of its weight.
    fn expected(&self, unit: usize) -> f64 {
        self.took[unit].unwrap_or_else(|| self.weights[unit] * self.seconds_of_weight())
    }

    fn seconds_of_weight(&self) -> f64 {
        let known = || {
            self.took.iter().zip(&self.weights).filter_map(|(took, weight)| Some((*took)?).zip(Some(*weight)))
        };
        let (seconds, weight) =
            known().fold((0.0, 0.0), |sum, (took, weight)| (sum.0 + took, sum.1 + weight));
        if weight > 0.0 { seconds / weight } else { 1.0 }
    }
}

/// How many the terminal has, but the last: there a line may end, or not.
fn columns() -> usize {
    let size = tcgetwinsize(stderr()).map_or(0, |size| size.ws_col.into());
    if size == 0 { COLUMNS } else { COLUMNS.min(size - 1) }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(took: &[Option<f64>], done: usize) -> Progress {
        let mut progress = Progress::new(2, vec![1.0, 1.0, 4.0]);
        (progress.terminal, progress.drawn) = (false, false);
        progress.took = took.to_vec();
        progress.done = done;
        progress
    }

    #[test]
    fn the_time_left_is_what_each_took_or_what_its_weight_says() {
        assert_eq!(progress(&[None, None, None], 0).left(), None);
        // The second as the first, the third four times that; then all of them again.
        assert_eq!(progress(&[Some(2.0), None, None], 1).left(), Some(2.0 + 8.0 + 12.0));
        // The second round begins with the third.
        let second = progress(&[Some(1.0), Some(2.0), Some(9.0)], 4);
        assert_eq!((second.left(), second.share()), (Some(3.0), 0.875));
        assert_eq!(progress(&[Some(1.0), Some(2.0), Some(9.0)], 6).left(), Some(0.0));
        assert_eq!(progress(&[None, None, None], 4).place(), "round 2/2 [2/3]");
    }

    #[test]
    fn the_line_says_what_runs_and_fits() {
        let mut progress = progress(&[Some(60.0), Some(60.0), None], 2);
        progress.current =
            Some(Current { unit: 2, label: "a very long name ".repeat(9), from: Instant::now() });
        let line = progress.line(COLUMNS);
        assert!(line.starts_with("[###") && line.contains("  3/6  a very long name "), "{line}");
        assert!(line.ends_with(" 10 min 0 s left") && line.chars().count() <= COLUMNS, "{line}");
        for columns in 0..COLUMNS {
            let line = progress.line(columns);
            assert!(line.chars().count() <= columns, "{columns}: {line}");
            assert_eq!(line.starts_with("[###"), columns >= FEWEST, "{columns}: {line}");
        }
        assert_eq!(progress.line(30), "  17 %  3/6    10 min 0 s left");
        progress.drawn = true;
        assert!(progress.line(COLUMNS).contains("\x1b[33m███"), "{line}");
    }
}
