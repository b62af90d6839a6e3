//! A recording as it is in a file: Chrome's trace events, as `ropewalk::trace` writes them.

use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashMap;

/// The version of what is written that is understood here.
const FORMAT: u64 = 1;

/// A file that was read.
#[derive(Debug)]
pub(super) struct Recording<'a> {
    /// The program that was recorded.
    pub(super) program: String,
    /// The names of tracks, by their number.
    pub(super) tracks: Vec<(u64, String)>,
    /// What happened, in the order of time.
    pub(super) lines: Vec<Line<'a>>,
    /// When it was taken, in nanoseconds.
    pub(super) until: u64,
    /// From when on nothing is missing.
    pub(super) complete_since: u64,
    /// How many events were overwritten, for each track.
    pub(super) lost: HashMap<String, u64>,
}

/// The file, as far as it matters here.
#[derive(Deserialize)]
struct File<'a> {
    #[serde(rename = "traceEvents", borrow)]
    events: Vec<Line<'a>>,
    #[serde(rename = "otherData", default)]
    other: Other,
}

#[derive(Deserialize, Default)]
struct Other {
    #[serde(default)]
    recorder: String,
    #[serde(default)]
    format: u64,
    #[serde(default)]
    until_us: f64,
    #[serde(default)]
    complete_since_us: f64,
    #[serde(default)]
    lost: HashMap<String, u64>,
}

/// One event.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow)]
    pub(super) ph: Cow<'a, str>,
    pub(super) tid: u64,
    #[serde(borrow)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) cat: Cow<'a, str>,
    #[serde(default)]
    ts: f64,
    dur: Option<f64>,
    #[serde(borrow, default)]
    id: Option<Id<'a>>,
    #[serde(borrow, default)]
    id2: Option<Local<'a>>,
    #[serde(borrow, default)]
    pub(super) args: Args<'a>,
}

/// What it belongs to, within its process.
#[derive(Debug, Deserialize)]
struct Local<'a> {
    #[serde(borrow)]
    local: Id<'a>,
}

/// Flows are numbered, spans have names.
#[derive(Debug, Deserialize, Clone, PartialEq, Eq, Hash)]
#[serde(untagged)]
pub(super) enum Id<'a> {
    Number(u64),
    #[serde(borrow)]
    Text(Cow<'a, str>),
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Args<'a> {
    pub(super) task: Option<u64>,
    /// The number of a task, or what else has woken.
    #[serde(borrow, default)]
    pub(super) by: Option<Id<'a>>,
    #[serde(borrow, default)]
    pub(super) spawned: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) ended: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) driver: Option<bool>,
    pub(super) events: Option<u64>,
    pub(super) timers: Option<u64>,
    pub(super) count: Option<u64>,
}

impl Line<'_> {
    pub(super) fn at(&self) -> u64 {
        nanos(self.ts)
    }

    pub(super) fn took(&self) -> u64 {
        nanos(self.dur.unwrap_or(0.0))
    }

    pub(super) fn id(&self) -> Option<&Id<'_>> {
        self.id.as_ref().or(self.id2.as_ref().map(|id| &id.local))
    }

    /// Whether it is a slice of that kind.
    pub(super) fn is_slice(&self, cat: &str) -> bool {
        self.ph == "X" && self.cat == cat
    }
}

fn nanos(micros: f64) -> u64 {
    (micros * 1000.0).round() as u64
}

impl<'a> Recording<'a> {
    /// Reads it, or says what is wrong and what is accepted.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let accepted = "accepted is what `Trace::write_chrome` or `ropewalk serve --trace FILE` wrote";
        // Perfetto opens such files, too; here they have to be unpacked first.
        let packed = if bytes.starts_with(&[0x1f, 0x8b]) { " (it is packed by gzip)" } else { "" };
        let text = std::str::from_utf8(bytes).map_err(|_| format!("not text{packed}; {accepted}"))?;
        let file: File<'a> = serde_json::from_str(text).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => format!("no recording: {error}; {accepted}"),
            serde_json::error::Category::Eof => format!("it ends in the middle: {error}; {accepted}"),
            _ => format!("not JSON: {error}; {accepted}"),
        })?;
        let File { events, other } = file;
        if other.recorder != "ropewalk" {
            let who =
                if other.recorder.is_empty() { "nobody".to_owned() } else { format!("{:?}", other.recorder) };
            return Err(format!(
                "a trace, but `otherData.recorder` names {who}, not \"ropewalk\"; {accepted}"
            ));
        }
        if other.format != FORMAT {
            return Err(format!(
                "a recording in format {}; this program reads format {FORMAT}",
                other.format
            ));
        }
        for (at, line) in events.iter().enumerate() {
            check(line).map_err(|what| format!("event {at} of the recording ({:?}) {what}", line.name))?;
        }
        for (name, time) in [("until_us", other.until_us), ("complete_since_us", other.complete_since_us)] {
            if !is_time(time) {
                return Err(format!("`otherData.{name}` is {time:?}, which is no time; {accepted}"));
            }
        }
        let program = events.iter().find(|line| line.ph == "M" && line.name == "process_name");
        let program = program.and_then(|line| line.args.name.as_deref()).unwrap_or_default().to_owned();
        let named = events.iter().filter(|line| line.ph == "M" && line.name == "thread_name");
        let tracks = named.map(|line| (line.tid, line.args.name.as_deref().unwrap_or_default().to_owned()));
        Ok(Self {
            program,
            tracks: tracks.collect(),
            until: nanos(other.until_us),
            complete_since: nanos(other.complete_since_us),
            lost: other.lost,
            lines: events.into_iter().filter(|line| line.ph != "M").collect(),
        })
    }

    /// The name of a track.
    pub(super) fn track(&self, number: u64) -> &str {
        self.tracks.iter().find(|(known, _)| *known == number).map_or("?", |(_, name)| name)
    }
}

/// More microseconds than a recording can have: that would be three hundred years.
const MOST: f64 = 1e16;

fn is_time(micros: f64) -> bool {
    (0.0..=MOST).contains(&micros)
}

/// Whether it has what is needed of it.
fn check(line: &Line<'_>) -> Result<(), &'static str> {
    match &*line.ph {
        _ if !is_time(line.ts) => Err("has a time that is none (ts)"),
        "X" if line.dur.is_none() => Err("has no duration (dur)"),
        "X" if !line.dur.is_some_and(is_time) => Err("has a duration that is none (dur)"),
        "X" if line.cat == "poll" && line.args.task.is_none() => {
            Err("does not say whose poll it is (args.task)")
        }
        "s" | "f" | "b" | "e" if line.id().is_none() => Err("has no id"),
        _ => Ok(()),
    }
}
