//! What is measured: a point of the table. Its name, as `timers/2w/2x1ms/yield/1t`, says all of it.

use crate::nearest;
use crate::peers::Peer::{self, Go, Ropewalk, RopewalkCt, Smol, TokioCt, TokioMt};
use std::fmt;
use std::str::FromStr;

/// A point of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub due: Due,
    /// None: the thread that waits drives everything.
    pub workers: usize,
    pub hogs: usize,
    pub poll: Poll,
    pub way: Way,
    /// How many things are due at once.
    pub tickers: usize,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A task's sleep of a millisecond.
    Timers,
    /// The answer to a message over TCP, a millisecond after the last one.
    Echo,
    /// A task that a thread outside spawns, every millisecond.
    Inject,
    /// A task that waits for the end of a process.
    Child,
    /// A task that waits for a signal.
    Signals,
    /// A strand's sleep of a millisecond.
    Strands,
}

/// How long a hog computes before it gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    Micros(u32),
    /// A microsecond; from the moment on from which it counts, 1.9 ms.
    Turn,
}

/// How a hog gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Yield,
    /// It wakes itself and is pending.
    Selfwake,
    /// It is two tasks, and hands a message to the other one.
    Handover,
    /// It spawns the next one and ends.
    Successor,
    /// It receives and sends until its budget is used up.
    Budget,
    /// It is a strand; peers without strands take tasks that yield.
    Strand,
}

impl Due {
    pub const ALL: [Self; 6] =
        [Self::Timers, Self::Echo, Self::Inject, Self::Child, Self::Signals, Self::Strands];

    pub fn name(self) -> &'static str {
        match self {
            Self::Timers => "timers",
            Self::Echo => "echo",
            Self::Inject => "inject",
            Self::Child => "child",
            Self::Signals => "signals",
            Self::Strands => "strands",
        }
    }

    /// Whether tokio needs its driver for sockets, too.
    pub fn needs_io(self) -> bool {
        matches!(self, Self::Echo | Self::Child | Self::Signals)
    }
}

impl Way {
    pub const ALL: [Self; 6] =
        [Self::Yield, Self::Selfwake, Self::Handover, Self::Successor, Self::Budget, Self::Strand];

    pub fn name(self) -> &'static str {
        match self {
            Self::Yield => "yield",
            Self::Selfwake => "selfwake",
            Self::Handover => "handover",
            Self::Successor => "successor",
            Self::Budget => "budget",
            Self::Strand => "strand",
        }
    }
}

impl Poll {
    /// The longest, in microseconds.
    pub const fn micros(self) -> u32 {
        match self {
            Self::Micros(micros) => micros,
            Self::Turn => 1_900,
        }
    }
}

impl Shape {
    /// A task's timer beside two tasks that compute for a millisecond and yield.
    pub const fn base(workers: usize) -> Self {
        Self { due: Due::Timers, workers, hogs: 2, poll: Poll::Micros(1_000), way: Way::Yield, tickers: 1 }
    }

    /// At most so late, in microseconds: one polling interval and the polls of the hogs ahead.
    pub const fn bar(self) -> Bar {
        let poll = self.poll.micros() as f64;
        Bar { p50: 1_000.0 + 2.0 * poll, p99: 2_000.0 + 3.0 * poll }
    }

    /// Who has a counterpart. Of tokio both forms, though on one or two workers, since the better one counts.
    pub const fn peers(self) -> &'static [Peer] {
        let no_smol = matches!(self.due, Due::Signals);
        let no_go = matches!(self.way, Way::Selfwake | Way::Budget);
        match (self.due, self.workers) {
            (Due::Strands, 0) => &[RopewalkCt],
            (Due::Strands, _) => &[Ropewalk],
            (_, 0) if no_smol => &[RopewalkCt, TokioCt],
            (_, 0) => &[RopewalkCt, TokioCt, Smol],
            _ if no_smol && no_go => &[Ropewalk, TokioMt, TokioCt],
            _ if no_smol => &[Ropewalk, TokioMt, TokioCt, Go],
            _ if no_go => &[Ropewalk, TokioMt, TokioCt, Smol],
            _ => &[Ropewalk, TokioMt, TokioCt, Smol, Go],
        }
    }

    /// Who says that it is done: one for each thing that is due, or the thread that brings them.
    pub fn parties(self) -> usize {
        if matches!(self.due, Due::Inject | Due::Signals) { 1 } else { self.tickers }
    }
}

/// How late is not too late, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    pub p50: f64,
    pub p99: f64,
}

impl fmt::Display for Poll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turn => f.write_str("turn"),
            Self::Micros(micros) => write!(f, "{}ms", f64::from(*micros) / 1e3),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { due, workers, hogs, poll, way, tickers } = self;
        write!(f, "{}/{workers}w/{hogs}x{poll}/{}/{tickers}t", due.name(), way.name())
    }
}

impl FromStr for Due {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|due| due.name() == name);
        found.ok_or_else(|| nearest::unknown("thing to be due", name, Self::ALL.map(Self::name)))
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|way| way.name() == name);
        found.ok_or_else(|| nearest::unknown("way to give way", name, Self::ALL.map(Self::name)))
    }
}

impl FromStr for Poll {
    type Err = String;

    /// In milliseconds, or `turn`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "turn" {
            return Ok(Self::Turn);
        }
        let millis = text.strip_suffix("ms").unwrap_or(text).parse::<f64>().ok();
        let micros = millis.map(|millis| (millis * 1e3).round()).filter(|us| (1.0..=1e6).contains(us));
        let micros = micros.ok_or_else(|| {
            format!("a poll of {text:?} is not accepted; accepted: milliseconds from 0.001 to 1000, and turn")
        })?;
        Ok(Self::Micros(micros as u32))
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let odd = || format!("{text:?} is no shape; accepted: such as {}", Self::base(2));
        let parts: Vec<&str> = text.split('/').collect();
        let &[due, workers, hogs, way, tickers] = parts.as_slice() else { return Err(odd()) };
        let number = |text: &str, unit| text.strip_suffix(unit)?.parse().ok();
        let (hogs, poll) = hogs.split_once('x').ok_or_else(odd)?;
        Ok(Self {
            due: due.parse()?,
            workers: number(workers, "w").ok_or_else(odd)?,
            hogs: hogs.parse().map_err(|_| odd())?,
            poll: poll.parse()?,
            way: way.parse()?,
            tickers: number(tickers, "t").filter(|tickers| *tickers > 0).ok_or_else(odd)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_all_of_a_shape() {
        let shape = Shape { poll: Poll::Micros(1_900), hogs: 3, tickers: 20, ..Shape::base(1) };
        assert_eq!(shape.to_string(), "timers/1w/3x1.9ms/yield/20t");
        for due in Due::ALL {
            for way in Way::ALL {
                for poll in [Poll::Micros(100), Poll::Micros(50_000), Poll::Turn] {
                    let shape = Shape { due, way, poll, ..shape };
                    assert_eq!(shape.to_string().parse(), Ok(shape));
                }
            }
        }
        for text in
            ["", "timers", "timers/2w/2x1ms/yield/0t", "timers/2/2x1ms/yield/1t", "timers/2w/2x0ms/yield/1t"]
        {
            assert!(text.parse::<Shape>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_bar_grows_with_the_polls() {
        assert_eq!(Shape::base(2).bar(), Bar { p50: 3_000.0, p99: 5_000.0 });
        assert_eq!(Shape { poll: Poll::Turn, ..Shape::base(2) }.bar(), Bar { p50: 4_800.0, p99: 7_700.0 });
    }
}
