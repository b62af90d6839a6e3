//! The peers and how each is set up: as its documentation says is best for the rows at hand. Most rows do no I/O and wait
//! for no time, so runtimes that let one leave those drivers out are built without them; `..._io` is with them.

use crate::nearest;
use async_executor::StaticExecutor;
use serde::{Deserialize, Serialize};
use smol::Executor;
use std::fmt;
use std::future::{Future, pending};
use std::str::FromStr;
use std::thread;
use std::time::Duration;

/// Who is measured. In JSON it goes by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Peer {
    Ropewalk,
    RopewalkCt,
    /// With io_uring, and buffers that the driver lends.
    RopewalkUring,
    /// A server on strands, where others are on tasks.
    RopewalkStrand,
    /// The same on one thread, as `RopewalkCt` is.
    RopewalkStrandCt,
    /// On as many workers, with strands that roam.
    RopewalkStrandRoam,
    TokioMt,
    TokioCt,
    Smol,
    SmolStatic,
    May,
    Rayon,
    Go,
    Java,
    Monoio,
    /// Channels of other crates, awaited by tasks on tokio's multi-thread runtime.
    Flume,
    Kanal,
    /// Plain threads.
    Crossbeam,
    Std,
    /// A lock for each thing instead of one for all.
    StdEach,
    ParkingLot,
    /// The crate `stm`.
    Stm,
    Limit,
}

impl Peer {
    pub const ALL: [Self; 23] = [
        Self::Ropewalk,
        Self::RopewalkCt,
        Self::RopewalkUring,
        Self::RopewalkStrand,
        Self::RopewalkStrandCt,
        Self::RopewalkStrandRoam,
        Self::TokioMt,
        Self::TokioCt,
        Self::Smol,
        Self::SmolStatic,
        Self::May,
        Self::Rayon,
        Self::Go,
        Self::Java,
        Self::Monoio,
        Self::Flume,
        Self::Kanal,
        Self::Crossbeam,
        Self::Std,
        Self::StdEach,
        Self::ParkingLot,
        Self::Stm,
        Self::Limit,
    ];

    /// The name used in commands and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ropewalk => "ropewalk",
            Self::RopewalkCt => "ropewalk-ct",
            Self::RopewalkUring => "ropewalk-uring",
            Self::RopewalkStrand => "ropewalk-strand",
            Self::RopewalkStrandCt => "ropewalk-strand-ct",
            Self::RopewalkStrandRoam => "ropewalk-strand-roam",
            Self::TokioMt => "tokio-mt",
            Self::TokioCt => "tokio-ct",
            Self::Smol => "smol",
            Self::SmolStatic => "smol-static",
            Self::May => "may",
            Self::Rayon => "rayon",
            Self::Go => "go",
            Self::Java => "java",
            Self::Monoio => "monoio",
            Self::Flume => "tokio+flume",
            Self::Kanal => "tokio+kanal",
            Self::Crossbeam => "threads+crossbeam",
            Self::Std => "threads+std",
            Self::StdEach => "threads+std-each",
            Self::ParkingLot => "threads+parking_lot",
            Self::Stm => "threads+stm",
            Self::Limit => "limit",
        }
    }

    /// Whether `--against` means it by this name: its own, that of its family, or that of the crate it shows.
    pub fn goes_by(self, name: &str) -> bool {
        let family = match self {
            Self::TokioMt | Self::TokioCt => "tokio",
            Self::SmolStatic => "smol",
            Self::Crossbeam | Self::Std | Self::StdEach | Self::ParkingLot | Self::Stm => "threads",
            _ => self.name(),
        };
        let shown = self.name().rsplit('+').next();
        name == self.name() || name == family || shown == Some(name)
    }

    /// One of our forms.
    pub fn is_ours(self) -> bool {
        matches!(
            self,
            Self::Ropewalk
                | Self::RopewalkCt
                | Self::RopewalkUring
                | Self::RopewalkStrand
                | Self::RopewalkStrandCt
                | Self::RopewalkStrandRoam
        )
    }

    /// Neither ours nor the floor without a runtime.
    pub fn is_rival(self) -> bool {
        !self.is_ours() && self != Self::Limit
    }

    /// One of those that no row may be slower than.
    pub fn is_floor(self) -> bool {
        self.is_tokio() || matches!(self, Self::Smol | Self::SmolStatic)
    }

    pub fn is_tokio(self) -> bool {
        matches!(self, Self::TokioMt | Self::TokioCt)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|peer| peer.name() == name);
        found.ok_or_else(|| nearest::unknown("peer", name, Self::ALL.map(Self::name)))
    }
}

impl From<Peer> for &'static str {
    fn from(peer: Peer) -> Self {
        peer.name()
    }
}

impl TryFrom<String> for Peer {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

/// Events of each worker that are kept, if something is recorded.
const RECORDED: usize = 1 << 14;

/// Ropewalk with this many workers; with none, the thread that calls `block_on` drives everything. To see what parts of it cost, there are
/// environment variables: `BENCH_WATCHDOG=off` leaves out the watchdog, `BENCH_SEEN` switches on those of `histograms`, `record` and `observe`
/// that it names, with commas between them.
pub fn ropewalk(workers: usize) -> ropewalk::Runtime {
    let mut builder = ropewalk::Runtime::builder().worker_threads(workers);
    if std::env::var_os("BENCH_WATCHDOG").is_some_and(|watchdog| watchdog == "off") {
        builder = builder.preempt_threshold(Duration::ZERO).rescue_threshold(Duration::ZERO);
    }
    let seen = std::env::var("BENCH_SEEN").ok();
    for seen in seen.iter().flat_map(|seen| seen.split_terminator(',')) {
        builder = match seen {
            "histograms" => builder.histograms(true),
            "record" => builder.record(RECORDED),
            "observe" => builder.observe(true),
            _ => panic!("BENCH_SEEN names {seen:?}: there are histograms, record and observe"),
        };
    }
    builder.build().expect("ropewalk starts")
}

/// On how many workers the rows about forks are: two, or what the environment variable `BENCH_FORK_WORKERS` says.
pub fn fork_workers() -> usize {
    let asked = std::env::var("BENCH_FORK_WORKERS").ok();
    asked.map_or(2, |asked| asked.parse().expect("BENCH_FORK_WORKERS is a number of workers"))
}

/// Ropewalk whose strands roam.
#[cfg(feature = "roaming")]
pub fn ropewalk_roaming(workers: usize) -> ropewalk::Runtime {
    // SAFETY: the only server of this kind keeps a socket and a buffer across its waits, and uses no thread-local.
    let builder = unsafe { ropewalk::Runtime::builder().worker_threads(workers).roaming_strands(true) };
    builder.build().expect("ropewalk starts")
}

/// Ropewalk with io_uring.
pub fn ropewalk_uring(workers: usize) -> ropewalk::Runtime {
    let builder = ropewalk::Runtime::builder().worker_threads(workers);
    builder.io_driver(ropewalk::driver::IoDriverKind::IoUring).build().expect("ropewalk starts")
}

/// Tokio's multi-threaded scheduler.
pub fn tokio_mt(workers: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(workers).build().expect("tokio starts")
}

/// Tokio's scheduler on the caller's thread.
pub fn tokio_ct() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().expect("tokio starts")
}

/// Tokio's multi-threaded scheduler, with its drivers.
pub fn tokio_mt_io(workers: usize) -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(workers).enable_all().build().expect("tokio starts")
}

/// Tokio's scheduler on the caller's thread, with its drivers.
pub fn tokio_ct_io() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio starts")
}

/// An executor of smol, so that one source serves its two forms.
pub trait SmolExecutor: Copy + Send + Sync + 'static {
    fn spawn<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> smol::Task<T>;
}

impl SmolExecutor for &'static Executor<'static> {
    fn spawn<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> smol::Task<T> {
        Executor::spawn(self, future)
    }
}

impl SmolExecutor for &'static StaticExecutor {
    fn spawn<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> smol::Task<T> {
        StaticExecutor::spawn(self, future)
    }
}

/// smol's executor with this many threads that run it, as its documentation shows.
pub fn smol(workers: usize) -> &'static Executor<'static> {
    let executor: &'static Executor<'static> = Box::leak(Box::new(Executor::new()));
    for _ in 0..workers {
        thread::spawn(|| smol::future::block_on(executor.run(pending::<()>())));
    }
    executor
}

/// The same as smol's own `spawn` runs it: each thread drives the executor and the reactor.
pub fn smol_io(workers: usize) -> &'static Executor<'static> {
    let executor: &'static Executor<'static> = Box::leak(Box::new(Executor::new()));
    for _ in 0..workers {
        thread::spawn(|| smol::block_on(executor.run(pending::<()>())));
    }
    executor
}

/// The same as the first after `Executor::leak`, which spares it the list of live tasks (it can never be shut down).
pub fn smol_static(workers: usize) -> &'static StaticExecutor {
    let executor = Executor::new().leak();
    for _ in 0..workers {
        thread::spawn(|| smol::future::block_on(executor.run(pending::<()>())));
    }
    executor
}

/// may's scheduler, of which a process has one; it starts with the first coroutine.
pub fn may(workers: usize) {
    may::config().set_workers(workers);
}

/// A rayon pool.
pub fn rayon(workers: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(workers).build().expect("rayon starts")
}
