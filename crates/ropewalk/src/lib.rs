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
//! resized while it runs, [`wait`](wait()) waits from code that is not `async`.

mod context;
mod drive;
mod group;
mod inspect;
mod local;
mod metrics;
mod pool;
mod runtime;
mod sched;
pub mod strand;
pub mod task;
pub mod thread;
pub mod time;
mod wait;

pub use group::{TaskGroup, task_group};
pub use inspect::{Observed, TaskInfo};
pub use metrics::{BlockingMetrics, Metrics, PoolMetrics, WorkerMetrics, WorkerState};
pub use pool::{Pool, PoolBuilder};
pub use ropewalk_macros::{main, test};
pub use runtime::{
    BlockInTask, Builder, Clock, Handle, LeftBehind, ManualClock, Runtime, RuntimeConfig, RuntimeError,
    ShutdownError, SystemClock, UnhandledPanic,
};
pub use task::{
    AbortHandle, PanicInfo, SpawnLocalError, TaskError, TaskHandle, TaskId, spawn, spawn_blocking,
    spawn_local, yield_now,
};
pub use wait::{Blocking, Handler, HandlerGaveUp, OnStrand, Wait, block_on, wait, with_handler};
