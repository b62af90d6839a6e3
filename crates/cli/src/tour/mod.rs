//! The guided tour: stops that each show one thing by doing it.
//!
//! A stop is a file here and an entry in [`STOPS`]. It works on a thread of its own, so that the tour can draw its
//! progress, survive its panics, and say so when it never ends.

mod attendance;
mod bank;
mod chat;
mod console;
mod dump;
mod fair;
mod forks;
mod gate;
mod hogs;
mod inside;
mod million;
mod options;
mod pool;
mod recorded;
mod report;
mod requests;
mod scopes;
mod shared;
mod sockets;
mod strands;
mod switches;
mod threads;
mod timers;
mod tree;
mod waiting;
mod walk;

use crate::command::{Failure, Verdict, print};
use crate::figure::Findings;
use crate::show::{Bar, Progress};
pub(crate) use options::help;
use options::{Ask, Options};
use report::{Audience, Machine, Person};
use ropewalk::Runtime;
use ropewalk_core::prim::real::{AtomicU64, Ordering::Relaxed};
use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A runtime for a stop. Some hold their workers for long, on purpose: that needs no report.
fn builder() -> ropewalk::Builder {
    Runtime::builder().thread_name("tour").rescue_threshold(Duration::ZERO)
}

/// How often the bar is drawn.
const FRAME: Duration = Duration::from_millis(80);
/// No stop takes longer than this, even on a slow and busy machine; one that does is stuck.
const LIMIT: Duration = Duration::from_secs(120);

/// One stop of the tour.
pub(crate) trait Stop: Sync {
    /// What `--only` calls it.
    fn name(&self) -> &'static str;

    fn title(&self) -> &'static str;

    /// What it shows and why a person should care, in one or two lines.
    fn about(&self) -> &'static str;

    /// Does the work. An error is for what keeps it from being done; what it finds wrong is a failed check.
    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>>;
}

static STOPS: [&dyn Stop; 22] = [
    &million::Million,
    &switches::Switches,
    &fair::Fair,
    &hogs::Hogs,
    &waiting::Waiting,
    &tree::Tree,
    &scopes::Scopes,
    &strands::Strands,
    &walk::Walked,
    &chat::Chat,
    &forks::Forks,
    &pool::Resized,
    &requests::Requests,
    &inside::Inside,
    &dump::Dumped,
    &recorded::Recorded,
    &console::Shown,
    &timers::Timers,
    &threads::Threads,
    &shared::Shared,
    &bank::Bank,
    &sockets::Sockets,
];

/// What a stop is told, and how it tells how far it is.
pub(crate) struct Guide {
    quick: bool,
    progress: Arc<Progress>,
}

impl Guide {
    /// How much to do: all of it, or only enough to see that it works.
    pub(crate) fn amount<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// See [`Progress::phase`].
    pub(crate) fn phase(&self, label: impl Into<String>, measure: impl Fn() -> f64 + Send + 'static) {
        self.progress.phase(label, measure);
    }

    /// A phase that lasts for `span`.
    pub(crate) fn phase_of(&self, label: impl Into<String>, span: Duration) {
        let from = Instant::now();
        self.phase(label, move || from.elapsed().as_secs_f64() / span.as_secs_f64());
    }

    /// A phase that is over when the counter it gives has come to `total`.
    pub(crate) fn phase_counting(&self, label: impl Into<String>, total: u64) -> Arc<AtomicU64> {
        let counter = Arc::new(AtomicU64::new(0));
        let seen = counter.clone();
        self.phase(label, move || seen.load(Relaxed) as f64 / total as f64);
        counter
    }

    /// A phase in which `runtime` finishes so many tasks.
    pub(crate) fn phase_finishing(&self, label: impl Into<String>, runtime: &Runtime, tasks: u64) {
        let handle = runtime.handle();
        let finished = move || handle.metrics().total(|worker| worker.finished) as f64;
        let before = finished();
        self.phase(label, move || (finished() - before) / tasks as f64);
    }

    /// See [`Progress::pause`].
    pub(crate) fn pause(&self) {
        self.progress.pause();
    }
}

/// How a stop went.
pub(crate) struct Visit {
    pub(crate) stop: &'static dyn Stop,
    pub(crate) took: Duration,
    pub(crate) result: Result<Findings, String>,
}

impl Visit {
    pub(crate) fn held(&self) -> bool {
        self.result.as_ref().is_ok_and(Findings::held)
    }
}

/// `ropewalk tour`.
pub(crate) fn run(args: &[String]) -> Result<Verdict, Failure> {
    let options = Options::parse(args)?;
    match options.ask {
        Ask::List if options.json => print(&format!("{}\n", report::list_json())),
        Ask::List => print(&report::list()),
        Ask::Tour if options.json => walk(&options, &Machine),
        Ask::Tour => walk(&options, &Person::at_stdout()),
    }
}

fn walk(options: &Options, audience: &dyn Audience) -> Result<Verdict, Failure> {
    let from = Instant::now();
    let mut visits = Vec::new();
    audience.welcome(options)?;
    for (at, stop) in options.stops.iter().enumerate() {
        audience.announce(at, options.stops.len(), *stop)?;
        visits.push(visit(*stop, options.quick));
        audience.show(&visits[at])?;
    }
    audience.farewell(&visits, options, from.elapsed())?;
    Ok(if visits.iter().all(Visit::held) { Verdict::Held } else { Verdict::Failed })
}

/// Runs a stop on a thread of its own and draws its progress meanwhile.
fn visit(stop: &'static dyn Stop, quick: bool) -> Visit {
    let progress = Arc::new(Progress::new(stop.name()));
    let guide = Guide { quick, progress: progress.clone() };
    let (done, outcome) = channel();
    let from = Instant::now();
    let work = move || drop(done.send(stop.run(&guide)));
    let thread = match thread::Builder::new().name(format!("tour-{}", stop.name())).spawn(work) {
        Ok(thread) => thread,
        Err(error) => {
            return Visit { stop, took: from.elapsed(), result: Err(format!("no thread for it: {error}")) };
        }
    };
    let mut bar = Bar::new();
    let result = loop {
        match outcome.recv_timeout(FRAME) {
            Ok(result) => break result.map_err(|error| error.to_string()),
            Err(RecvTimeoutError::Disconnected) => break Err(panic_of(thread)),
            Err(RecvTimeoutError::Timeout) if from.elapsed() > LIMIT => {
                break Err(format!(
                    "it did not end within {} s; it was {}",
                    LIMIT.as_secs(),
                    progress.label()
                ));
            }
            Err(RecvTimeoutError::Timeout) => bar.draw(&progress),
        }
    };
    Visit { stop, took: from.elapsed(), result }
}

/// Why a thread ended without an answer.
fn panic_of(thread: thread::JoinHandle<()>) -> String {
    let payload = thread.join().expect_err("it ended without an answer");
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
    format!("it panicked: {}", text.as_deref().unwrap_or("(no message)"))
}
