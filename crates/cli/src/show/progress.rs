//! Progress of long work, on standard error: a bar where that is a terminal, a line for each phase elsewhere.
//!
//! The one who works only says which phase it is in and how to ask how far it is; the one who waits for it draws. So
//! drawing costs the work nothing.

use super::{Hue, Style, clip, columns, redraws};
use std::io::{self, Write};
use std::sync::Mutex;
use std::time::Instant;

const WIDTH: usize = 24;
/// Columns that words need beside a bar.
const FEWEST_WORDS: usize = 24;

/// How far something is, from 0 to 1.
type Measure = Box<dyn Fn() -> f64 + Send>;

struct Phase {
    label: String,
    from: Instant,
    measure: Measure,
}

/// What the work is doing now.
pub(crate) struct Progress {
    stop: &'static str,
    phase: Mutex<Option<Phase>>,
}

impl Progress {
    pub(crate) fn new(stop: &'static str) -> Self {
        Self { stop, phase: Mutex::new(None) }
    }

    /// A new phase begins; the measure of the one before is dropped.
    pub(crate) fn phase(&self, label: impl Into<String>, measure: impl Fn() -> f64 + Send + 'static) {
        let label = label.into();
        if !redraws(&io::stderr()) {
            let _nobody_looks = writeln!(io::stderr(), "{}: {label}", self.stop);
        }
        self.set(Some(Phase { label, from: Instant::now(), measure: Box::new(measure) }));
    }

    /// Nothing to show until the next phase.
    pub(crate) fn pause(&self) {
        self.set(None);
    }

    /// What the work is doing, in words.
    pub(crate) fn label(&self) -> String {
        let phase = self.phase.lock().expect("drawing does not panic");
        phase.as_ref().map_or_else(|| "between two phases".to_owned(), |phase| phase.label.clone())
    }

    fn set(&self, phase: Option<Phase>) {
        let before = std::mem::replace(&mut *self.phase.lock().expect("drawing does not panic"), phase);
        drop(before);
    }
}

/// Draws the bar of a [`Progress`]; takes it off the screen when dropped.
pub(crate) struct Bar {
    terminal: bool,
    style: Style,
    shown: bool,
}

impl Bar {
    pub(crate) fn new() -> Self {
        let stderr = io::stderr();
        Self { terminal: redraws(&stderr), style: Style::of(&stderr), shown: false }
    }

    pub(crate) fn draw(&mut self, progress: &Progress) {
        if !self.terminal {
            return;
        }
        let phase = progress.phase.lock().expect("phases do not panic");
        let Some(Phase { label, from, measure }) = &*phase else { return };
        let done = measure().clamp(0.0, 1.0);
        let words = format!("{:>3.0} %  {:4.1} s  {label}", done * 100.0, from.elapsed().as_secs_f64());
        drop(phase);
        let line = format!("\r\x1b[2K{}", self.line(done, &words, columns(&io::stderr())));
        self.shown = true;
        // A bar that cannot be drawn is no reason to stop.
        let _ = io::stderr().write_all(line.as_bytes());
    }

    /// It leaves the last column free: a line that is longer than the terminal is wide cannot be taken off again. Where there is no room for
    /// all, the words are what matters.
    fn line(&self, done: f64, words: &str, columns: Option<usize>) -> String {
        let room = columns.map_or(usize::MAX, |columns| columns - 1);
        let beside = room.saturating_sub(WIDTH + self.style.pick(4, 6));
        if beside < FEWEST_WORDS {
            return clip(words, room);
        }
        format!("   {} {}", self.bar(done), clip(words, beside))
    }

    fn bar(&self, done: f64) -> String {
        let eighths = (done * (WIDTH * 8) as f64) as usize;
        if !self.style.drawn {
            let full = eighths / 8;
            return format!("[{}{}]", "#".repeat(full), ".".repeat(WIDTH - full));
        }
        let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
        let full = eighths / 8;
        let empty = WIDTH - full - usize::from(!part.is_empty());
        let rope = self.style.paint(Hue::Rope, &format!("{}{part}", "█".repeat(full)));
        format!("{rope}{}", self.style.paint(Hue::Dim, &"·".repeat(empty)))
    }

    /// Takes the bar off the screen.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = io::stderr().write_all(b"\r\x1b[2K");
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fits_into_the_terminal() {
        let bar = Bar { terminal: true, style: Style::PLAIN, shown: false };
        let words = " 50 %   1.0 s  three stages, one of them slow once";
        let half = "[############............]";
        assert_eq!(bar.line(0.5, words, Some(120)), format!("   {half} {words}"));
        assert_eq!(bar.line(0.5, words, None), format!("   {half} {words}"));
        for columns in 1..120 {
            let line = bar.line(0.5, words, Some(columns));
            assert!(line.len() < columns, "{columns}: {line}");
            assert_eq!(line.contains(half), columns >= 55, "{columns}: {line}");
        }
        assert_eq!(bar.line(0.5, words, Some(20)), " 50 %   1.0 s  thre");
    }
}
