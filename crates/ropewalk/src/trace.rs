//! A flight recorder: what the workers did last, as a trace that [Perfetto](https://ui.perfetto.dev) and `chrome://tracing` show.
//!
//! It is off unless it is asked for, by [`Builder::record`](crate::Builder::record) or, at any time, by [`Runtime::record`](crate::Runtime::record); then
//! every worker keeps its newest events in a ring of its own. [`Runtime::trace`](crate::Runtime::trace) copies what the rings hold while all goes on.
//!
//! ```
//! use ropewalk::{Runtime, spawn, trace};
//!
//! let runtime = Runtime::builder().worker_threads(2).record(16_384).build()?;
//! let task = runtime.spawn(async {
//!     let _span = trace::span("both halves");
//!     spawn(async { 20 }).await.unwrap() + spawn(async { 22 }).await.unwrap()
//! });
//! assert_eq!(runtime.block_on(task).unwrap(), 42);
//!
//! let trace = runtime.trace();
//! assert!(trace.polls().count() >= 3);
//! assert_eq!(trace.spans[0].name, "both halves");
//! // To look at it: std::fs::write("trace.json", trace.to_chrome())?, and open that in https://ui.perfetto.dev
//! # Ok::<(), ropewalk::RuntimeError>(())
//! ```
//!
//! # What there is to see
//!
//! * A track for each worker, and one for each other thread that has woken or spawned something, run a job of the blocking pool, or entered a span.
//! * **Polls** as slices, named by the task's name, or else by where it was spawned; how each of them ended. A poll that waits in the middle (`.wait()` in a task)
//!   ends there, and goes on as another slice. So does a strand, each time that it waits.
//! * **Wake-ups and spawns** as arrows from the poll in which they happened to the poll that they led to. (A task that is woken while it runs, or is queued already, is
//!   not woken again: that is no event.)
//! * Steals, sleeps and where (in the driver, or not), events of the driver and timers that became wake-ups, how much is queued.
//! * **Spans** of your own: [`span`].
//!
//! `ropewalk trace FILE` summarises a recording in the terminal: longest polls, wake-ups that took long, idle time.
//!
//! # What it costs
//!
//! Nothing while it is off. While it is on, two readings of the clock for each poll and one for each wake-up, and 32 bytes for each event that is kept; on threads that are no workers, a lock that they
//! share, and twice as many bytes. What runs at
//! once when nobody looks, such as a strand that is joined before it was started, has its own turn while it is recorded.

mod chrome;
mod data;
mod lines;
mod snapshot;
mod wakes;

pub use data::{Event, Poll, PollEnd, PollKind, SleepPlace, SpanRecord, Trace, Track, TrackKind, What};
pub use wakes::{WakeUp, WokenBy};

use crate::context;
use crate::sched::recorder::{Act, Recorder};
use ropewalk_core::prim::real::{AtomicU32, Ordering::Relaxed};
use ropewalk_core::task::Header;
use std::sync::Arc;

/// Something of your own that takes time, from the call until the guard is dropped. In a task or strand it belongs to that, wherever it goes on; on any other thread,
/// to the thread.
///
/// It is recorded by the runtime it is in; outside of any, by the one that was switched on last. While nothing is recorded, it is one load.
///
/// ```
/// use ropewalk::{Runtime, trace::span, yield_now};
///
/// let runtime = Runtime::builder().worker_threads(1).record(1024).build()?;
/// runtime.block_on(runtime.spawn(async {
///     let _request = span("request");
///     yield_now().await; // the span goes on
///     let _parse = span("parse");
/// })).unwrap();
/// let names: Vec<_> = runtime.trace().spans.iter().map(|span| span.name).collect();
/// assert_eq!(names, ["request", "parse"]);
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
///
/// Names longer than 65,535 bytes are cut.
#[inline]
pub fn span(name: &'static str) -> Span {
    if !Recorder::is_any_on() {
        return Span(None);
    }
    Span::begin(name)
}

/// A span until it is dropped; see [`span`].
#[derive(Debug)]
#[must_use = "a span ends when its guard is dropped"]
pub struct Span(Option<Begun>);

#[derive(Debug)]
struct Begun {
    recorder: Arc<Recorder>,
    number: u32,
    task: u64,
}

impl Span {
    #[cold]
    fn begin(name: &'static str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(Recorder::here().map(|recorder| {
            let (number, task) = (NEXT.fetch_add(1, Relaxed), current_task());
            recorder.note(task, Act::SpanBegins { number, name });
            Begun { recorder, number, task }
        }))
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if let Some(Begun { recorder, number, task }) = self.0.take() {
            recorder.note(task, Act::SpanEnds { number });
        }
    }
}

/// The task or strand that runs here; 0: none.
fn current_task() -> u64 {
    let current = context::with_worker(|worker| worker.and_then(|worker| worker.frame.current.get()));
    // SAFETY: the current task is alive while it runs.
    current.map_or(0, |task| unsafe { Header::id(task) }.get())
}
