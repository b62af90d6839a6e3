//! What a trace is made of.

use crate::task::TaskId;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::time::{Duration, SystemTime};

/// What a runtime has recorded: a copy, made by [`Runtime::trace`](crate::Runtime::trace). Times are since [`started`](Self::started).
///
/// ```
/// use ropewalk::{Runtime, trace::What};
///
/// let runtime = Runtime::builder().worker_threads(1).record(1024).build()?;
/// runtime.block_on(runtime.spawn(async {})).unwrap();
/// for track in &runtime.trace().tracks {
///     for event in &track.events {
///         if let What::Poll(poll) = &event.what {
///             println!("{}: {} {} ran at {:?}", track.name, poll.kind, poll.task, event.at);
///         }
///     }
/// }
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trace {
    /// Workers by pool and number, then other threads. None while nothing is recorded.
    pub tracks: Vec<Track>,
    /// The user's spans, by when they began.
    pub spans: Vec<SpanRecord>,
    /// Where times begin: when the runtime was made.
    pub started: SystemTime,
    /// When this copy was made.
    pub until: Duration,
    /// How many events each worker keeps.
    pub events_per_worker: usize,
    pub(super) names: HashMap<u64, String>,
}

/// What a worker, or another thread, did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Track {
    /// `main/worker 0`, or the thread's name.
    pub name: String,
    /// Whose it is.
    pub kind: TrackKind,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// How many events came before, and were overwritten. (Of threads: of all of them together.)
    pub lost: u64,
    /// Since when nothing is missing.
    pub(super) since: Duration,
}

/// Whose track it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrackKind {
    /// A worker's.
    Worker {
        /// The name of its pool.
        pool: String,
        /// Its number there.
        worker: usize,
    },
    /// Some other thread's.
    Thread,
}

/// Something that happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// When it did, or began to.
    pub at: Duration,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum What {
    /// A task ran.
    Poll(Poll),
    /// A task was woken, or spawned, and can run from now on.
    Wake {
        /// Which one.
        task: TaskId,
        /// Where it was spawned.
        spawned_at: &'static Location<'static>,
        /// It was spawned just now.
        new: bool,
    },
    /// Tasks were taken from another worker.
    Steal {
        /// The one that runs next.
        task: TaskId,
        /// The number of the worker that had them.
        from: usize,
        /// How many.
        count: u32,
    },
    /// The worker slept.
    Park {
        /// How long; `None`: it still does.
        took: Option<Duration>,
        /// Where; `None`: it still does.
        place: Option<SleepPlace>,
    },
    /// Events of the driver became wake-ups.
    Io {
        /// How many.
        count: u64,
        /// How long that took.
        took: Duration,
    },
    /// Timers did.
    Timers {
        /// How many.
        count: u64,
        /// How long that took.
        took: Duration,
    },
    /// How much is queued has changed since the worker looked last.
    Queues {
        /// Tasks at this worker.
        here: u32,
        /// Tasks in the pool's queue.
        outside: u32,
    },
}

/// One turn of a task.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Poll {
    /// Whose.
    pub task: TaskId,
    /// What that is.
    pub kind: PollKind,
    /// Where it was spawned.
    pub spawned_at: &'static Location<'static>,
    /// It goes on in the middle, where it had waited.
    pub resumed: bool,
    /// How long; `None`: it still runs.
    pub took: Option<Duration>,
    /// How it ended; `None`: it still runs.
    pub ended: Option<PollEnd>,
}

macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$note:meta])* $one:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name { $($(#[$note])* $one,)* }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$one => $text,)* })
            }
        }
    };
}
named! {
    /// What it is that ran.
    PollKind {
        /// A task.
        Task = "task",
        /// A strand.
        Strand = "strand",
        /// A job of the blocking pool.
        Job = "job",
        /// The root of a `block_on`, on a runtime without threads.
        Root = "block_on",
    }
}
named! {
    /// How a poll ended.
    PollEnd {
        /// It waits for something.
        Waits = "waits",
        /// It was woken while it ran, and is queued again.
        Woken = "woken again",
        /// It let others go first.
        Yielded = "yields",
        /// The task is over.
        Done = "done",
        /// It waits in the middle; its stack was put away.
        Parked = "waits inside",
    }
}
named! {
    /// Where a worker slept.
    SleepPlace {
        /// In the driver: for events and timers.
        Driver = "in the driver",
        /// To see to timers and events if the one in the driver is away for long.
        StandingBy = "standing by",
        /// Until it is called.
        Own = "until called",
        /// Although there was work: with fewer workers more gets done.
        Aside = "standing aside",
        /// On a worker of another runtime.
        Guest = "as a guest",
    }
}

/// A span of the user's; see [`span`](crate::trace::span).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SpanRecord {
    /// What it is called.
    pub name: &'static str,
    /// The task it belongs to; `None`: a thread's.
    pub task: Option<TaskId>,
    /// The track on which it began.
    pub track: usize,
    /// The track on which it ended; `None`: it goes on.
    pub ended_on: Option<usize>,
    /// When it began.
    pub at: Duration,
    /// How long it took; `None`: it goes on.
    pub took: Option<Duration>,
}

impl Event {
    /// When it was over; `None`: it goes on.
    pub fn end(&self) -> Option<Duration> {
        let took = match &self.what {
            What::Poll(poll) => poll.took,
            What::Park { took, .. } => *took,
            What::Io { took, .. } | What::Timers { took, .. } => Some(*took),
            What::Wake { .. } | What::Steal { .. } | What::Queues { .. } => Some(Duration::ZERO),
        };
        took.map(|took| self.at + took)
    }
}

impl Trace {
    /// Every poll, with the number of its track and when it began.
    pub fn polls(&self) -> impl Iterator<Item = (usize, Duration, &Poll)> {
        self.tracks.iter().enumerate().flat_map(|(track, one)| {
            one.events.iter().filter_map(move |event| match &event.what {
                What::Poll(poll) => Some((track, event.at, poll)),
                _ => None,
            })
        })
    }

    /// The name of a task, if it has one: of those that are alive, and of the last few thousand that have ended.
    pub fn name(&self, task: TaskId) -> Option<&str> {
        self.names.get(&task.get()).map(String::as_str)
    }

    /// From when on nothing is missing on any track: what came before was overwritten, or was not recorded. A worker that
    /// has not noticed yet that it is to record does not count: it is in the same poll since then.
    pub fn complete_since(&self) -> Duration {
        self.tracks.iter().map(|track| track.since).max().unwrap_or_default().min(self.until)
    }
}
