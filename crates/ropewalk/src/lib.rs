//! Ropewalk: stackless tasks, stackful strands and OS threads on one work-stealing scheduler.
//!
//! ```
//! use ropewalk::Wait;
//!
//! // In async code, await; anywhere else, wait.
//! let total: u64 = ropewalk::block_on(async {
//!     let parts: Vec<_> = (0..4u64).map(|n| ropewalk::spawn(async move { n * n })).collect();
//!     let mut total = 0;
//!     for part in parts {
//!         total += part.await.unwrap();
//!     }
//!     total
//! });
//! assert_eq!(total, 14);
//! assert_eq!(ropewalk::spawn(async { 1 }).wait().unwrap(), 1);
//! ```
//!
//! [`spawn`] starts a task, [`spawn_blocking`] runs a closure that would hold up a worker, [`Runtime`] is one instance with its own workers, [`Pool`] a group of workers that can be
//! resized while it runs, [`wait`](wait()) waits from code that is not `async`. [Which lock or channel to choose](choosing).

#[doc(hidden)]
#[path = "json.rs"]
pub mod __json;
pub mod channel;
pub mod choosing;
#[cfg(all(unix, any(feature = "hyper", feature = "tokio-io")))]
pub mod compat;
#[cfg(all(unix, feature = "console"))]
pub mod console;
mod context;
#[cfg(feature = "deadlock_detection")]
pub mod deadlock;
mod drive;
#[cfg(unix)]
pub mod driver;
pub mod dump;
mod fork;
pub mod fs;
mod group;
mod inspect;
pub mod io;
#[cfg(test)]
mod kit;
mod local;
mod metrics;
#[cfg(unix)]
pub mod net;
mod pool;
mod preempt;
#[cfg(unix)]
pub mod process;
mod runtime;
mod sched;
mod select;
pub mod signal;
pub mod stm;
pub mod strand;
pub mod sync;
pub mod task;
pub mod thread;
pub mod time;
pub mod trace;
mod wait;

#[cfg(unix)]
pub use driver::{Interest, IoDriver, IoDriverKind};
pub use dump::{Dump, DumpOptions};
pub use fork::{Divide, join, par_for, par_map_reduce};
pub use group::{TaskGroup, task_group};
pub use inspect::{Blocked, Observed, TaskInfo};
#[cfg(unix)]
pub use metrics::IoMetrics;
pub use metrics::{BlockingMetrics, Histogram, LongPoll, Metrics, PoolMetrics, WorkerMetrics, WorkerState};
pub use pool::{Pool, PoolBuilder};
pub use preempt::{preempt, preempt_point};
pub use ropewalk_core::blocked::Reason;
pub use ropewalk_macros::{main, preemptible, test};
pub use runtime::{
    BlockInTask, Builder, Clock, Handle, LeftBehind, ManualClock, Runtime, RuntimeConfig, RuntimeError,
    ShutdownError, SystemClock, UnhandledPanic,
};
#[doc(hidden)]
pub use select::support as __select;
pub use strand::run;
pub use task::{
    AbortHandle, PanicInfo, SpawnLocalError, TaskError, TaskHandle, TaskId, spawn, spawn_blocking,
    spawn_local, yield_now,
};
pub use wait::{Blocking, Handler, HandlerGaveUp, OnStrand, Wait, block_on, wait, with_handler};
