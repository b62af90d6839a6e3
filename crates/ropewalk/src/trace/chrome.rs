//! A trace in the format of Chrome's tracing (`traceEvents`), which Perfetto reads: one JSON object for each event, in the order of time.
//!
//! | what | how |
//! |---|---|
//! | worker, thread | a thread of process 1, named and in order |
//! | poll, sleep, events delivered | complete events (`X`), named by the task |
//! | wake-up | a flow (`s`, `f`) from the slice it happened in to the poll; where it happened in none, it gets a slice of a nanosecond |
//! | steal, a wake-up that led nowhere yet | an instant (`i`) |
//! | queues | counters (`C`) |
//! | span of a task | asynchronous events (`b`, `e`), keyed by the task; spans that are not one inside the other are kept apart |
//! | span of a thread | a complete event, if it is one inside the other with what else is there |

use super::data::{Poll, PollKind, SleepPlace, Trace, TrackKind};
use super::lines::{Entry, Line, nanos};
use super::wakes::WokenBy;
use std::fmt;
use std::io::{self, Write};
use std::panic::Location;
use std::time::UNIX_EPOCH;

impl Trace {
    /// The trace as JSON, for `chrome://tracing` and [Perfetto](https://ui.perfetto.dev).
    ///
    /// ```
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).record(1024).build()?;
    /// runtime.block_on(runtime.spawn(async {})).unwrap();
    /// assert!(runtime.trace().to_chrome().contains("main/worker 0"));
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    pub fn to_chrome(&self) -> String {
        let mut out = Vec::new();
        self.write_chrome(&mut out).expect("memory takes everything");
        String::from_utf8(out).expect("it is made of text")
    }

    /// The same, written to `out`. Give it something that is buffered.
    ///
    /// ```
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).record(1024).build()?;
    /// runtime.block_on(runtime.spawn(async {})).unwrap();
    /// let mut file = Vec::new(); // or a BufWriter around a file
    /// let trace = runtime.trace();
    /// trace.write_chrome(&mut file).unwrap();
    /// assert_eq!(file, trace.to_chrome().into_bytes());
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_chrome(&self, mut out: impl Write) -> io::Result<()> {
        let program = std::env::args_os().next().map(std::path::PathBuf::from);
        let program =
            program.as_ref().and_then(|path| path.file_name()).unwrap_or_default().to_string_lossy();
        write!(
            out,
            "{{\"traceEvents\":[\n{{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}",
            Quoted(if program.is_empty() { "ropewalk" } else { &program })
        )?;
        for (at, track) in self.tracks.iter().enumerate() {
            let (tid, name) = (tid(at), Quoted(&track.name));
            let meta = format_args!("\"ph\":\"M\",\"pid\":1,\"tid\":{tid}");
            write!(out, ",\n{{{meta},\"name\":\"thread_name\",\"args\":{{\"name\":{name}}}}}")?;
            write!(out, ",\n{{{meta},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{tid}}}}}")?;
        }
        for line in self.lines() {
            self.write_line(&mut out, &line)?;
        }
        self.write_rest(&mut out)
    }

    fn write_rest(&self, out: &mut impl Write) -> io::Result<()> {
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        write!(
            out,
            "\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{{\"recorder\":\"ropewalk\",\"version\":{},\"format\":1,\
             \"started_unix_ns\":\"{started}\",\"until_us\":{},\"complete_since_us\":{},\"events_per_worker\":{},\"lost\":{{",
            Quoted(env!("CARGO_PKG_VERSION")),
            Micros(nanos(self.until)),
            Micros(nanos(self.complete_since())),
            self.events_per_worker
        )?;
        let mut lost: Vec<(&str, u64)> = Vec::new();
        for track in &self.tracks {
            match track.kind {
                TrackKind::Worker { .. } => lost.push((&track.name, track.lost)),
                // It is the same for all threads.
                TrackKind::Thread => {
                    if !lost.iter().any(|(name, _)| *name == OUTSIDE) {
                        lost.push((OUTSIDE, track.lost));
                    }
                }
            }
        }
        for (at, (name, count)) in lost.iter().enumerate() {
            write!(out, "{}{}:{count}", if at > 0 { "," } else { "" }, Quoted(name))?;
        }
        writeln!(out, "}}}}}}")
    }

    fn write_line(&self, out: &mut impl Write, line: &Line<'_>) -> io::Result<()> {
        let Line { at, took, track, .. } = *line;
        let (at, dur) = (Micros(at), Micros(took));
        write!(out, ",\n{{\"pid\":1,\"tid\":{},\"ts\":{at},", tid(track))?;
        let word = |new: bool| if new { "spawn" } else { "wake" };
        match &line.entry {
            Entry::Poll(poll) => {
                let ended = poll.ended.map_or_else(|| "runs".to_owned(), |end| end.to_string());
                write!(
                    out,
                    "\"ph\":\"X\",\"dur\":{dur},\"cat\":\"poll\",\"name\":{},\"args\":{{\"task\":{},\"kind\":\"{}\",\"spawned\":{},\
                     \"ended\":\"{ended}\"{}}}}}",
                    Quoted(&self.label(poll)),
                    poll.task,
                    poll.kind,
                    Quoted(&poll.spawned_at.to_string()),
                    if poll.resumed { ",\"resumed\":true" } else { "" },
                )
            }
            Entry::Park(place) => write!(
                out,
                "\"ph\":\"X\",\"dur\":{dur},\"cat\":\"park\",\"name\":\"parked\",\"args\":{{\"place\":\"{}\",\"driver\":{}}}}}",
                place.map_or_else(|| "asleep now".to_owned(), |place| place.to_string()),
                *place == Some(SleepPlace::Driver)
            ),
            Entry::Io(count) => write!(
                out,
                "\"ph\":\"X\",\"dur\":{dur},\"cat\":\"io\",\"name\":\"io\",\"args\":{{\"events\":{count}}}}}"
            ),
            Entry::Timers(count) => write!(
                out,
                "\"ph\":\"X\",\"dur\":{dur},\"cat\":\"timers\",\"name\":\"timers\",\"args\":{{\"timers\":{count}}}}}"
            ),
            Entry::Alone(new) => {
                write!(
                    out,
                    "\"ph\":\"X\",\"dur\":{dur},\"cat\":\"wake\",\"name\":\"{}\",\"args\":{{}}}}",
                    word(*new)
                )
            }
            Entry::FlowStart { id, task, by, new } => {
                let by = match by {
                    WokenBy::Task(by) => format!("{by}"),
                    WokenBy::Io => "\"io\"".to_owned(),
                    WokenBy::Timer => "\"timer\"".to_owned(),
                    WokenBy::Other => "\"other\"".to_owned(),
                };
                write!(
                    out,
                    "\"ph\":\"s\",\"id\":{},\"cat\":\"wake\",\"name\":\"{}\",\"args\":{{\"task\":{task},\"by\":{by}}}}}",
                    id + 1,
                    word(*new)
                )
            }
            Entry::FlowEnd { id, new } => {
                write!(
                    out,
                    "\"ph\":\"f\",\"bp\":\"e\",\"id\":{},\"cat\":\"wake\",\"name\":\"{}\"}}",
                    id + 1,
                    word(*new)
                )
            }
            Entry::Woke { task, spawned_at, new } => write!(
                out,
                "\"ph\":\"i\",\"s\":\"t\",\"cat\":\"wake\",\"name\":\"{}\",\"args\":{{\"task\":{task},\"spawned\":{}}}}}",
                word(*new),
                Quoted(&spawned_at.to_string())
            ),
            Entry::Steal { task, from, count } => write!(
                out,
                "\"ph\":\"i\",\"s\":\"t\",\"cat\":\"steal\",\"name\":\"steal\",\"args\":{{\"task\":{task},\"from\":{from},\"count\":{count}}}}}"
            ),
            Entry::Queue { whose, tasks } => write_queue(out, whose, *tasks),
            Entry::PoolQueue { pool, tasks } => write_queue(out, &format!("{pool}/outside"), *tasks),
            Entry::Span(span) => {
                write!(
                    out,
                    "\"ph\":\"X\",\"dur\":{dur},\"cat\":\"span\",\"name\":{},\"args\":{{}}}}",
                    Quoted(span.name)
                )
            }
            Entry::SpanBegins { span, key } => {
                let task = span.task.map_or_else(String::new, |task| format!("\"task\":{task}"));
                write!(
                    out,
                    "\"ph\":\"b\",\"id2\":{{\"local\":{}}},\"cat\":\"span\",\"name\":{},\"args\":{{{task}}}}}",
                    Quoted(key),
                    Quoted(span.name)
                )
            }
            Entry::SpanEnds { span, key } => {
                write!(
                    out,
                    "\"ph\":\"e\",\"id2\":{{\"local\":{}}},\"cat\":\"span\",\"name\":{}}}",
                    Quoted(key),
                    Quoted(span.name)
                )
            }
        }
    }

    /// What a poll is called: by the name of its task, or else by where that was spawned.
    fn label(&self, poll: &Poll) -> String {
        match (self.name(poll.task), poll.kind) {
            (Some(name), _) => name.to_owned(),
            (None, PollKind::Root) => "block_on".to_owned(),
            (None, _) => short(poll.spawned_at),
        }
    }
}

fn write_queue(out: &mut impl Write, whose: &str, tasks: u32) -> io::Result<()> {
    let name = format!("queued: {whose}");
    write!(out, "\"ph\":\"C\",\"cat\":\"queue\",\"name\":{},\"args\":{{\"tasks\":{tasks}}}}}", Quoted(&name))
}

/// The number of a track. None has that of the process: it would be taken for the main thread.
fn tid(track: usize) -> usize {
    track + 2
}

/// What threads that are no workers did is kept together.
const OUTSIDE: &str = "outside";

/// A place, without the way to the package it is in.
fn short(place: &Location<'_>) -> String {
    let file = place.file().replace('\\', "/");
    let package = file.rfind("/src/").and_then(|src| file[..src].rfind('/')).map_or(0, |slash| slash + 1);
    let from = if file.starts_with('/') { package } else { 0 };
    format!("{}:{}", &file[from..], place.line())
}

/// Nanoseconds as microseconds, to the last digit.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// Text as JSON has it.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for symbol in self.0.chars() {
            match symbol {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                control if control < ' ' => write!(f, "\\u{:04x}", control as u32)?,
                other => write!(f, "{other}")?,
            }
        }
        f.write_str("\"")
    }
}
