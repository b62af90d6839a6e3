//! Progress of long work, on standard error: a bar where that is a terminal, a line for each phase elsewhere.
//!
//! The one who works only says which phase it is in and how to ask how far it is; the one who waits for it draws. So
//! drawing costs the work nothing.

use super::{Hue, Style};
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::Instant;

const WIDTH: usize = 24;

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
        if !io::stderr().is_terminal() {
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
        Self { terminal: stderr.is_terminal(), style: Style::of(&stderr), shown: false }
    }

    pub(crate) fn draw(&mut self, progress: &Progress) {
        if !self.terminal {
            return;
        }
        let phase = progress.phase.lock().expect("phases do not panic");
        let Some(Phase { label, from, measure }) = &*phase else { return };
        let done = measure().clamp(0.0, 1.0);
        let line = format!(
            "\r\x1b[2K   {} {:>3.0} %  {:4.1} s  {label}",
            self.bar(done),
            done * 100.0,
            from.elapsed().as_secs_f64()
        );
        drop(phase);
        self.shown = true;
        // A bar that cannot be drawn is no reason to stop.
        let _ = io::stderr().write_all(line.as_bytes());
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
