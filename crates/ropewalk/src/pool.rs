//! Pools: named groups of workers that can be made, resized and shut down while they run.

use crate::context;
use crate::metrics::PoolMetrics;
use crate::runtime::{Handle, MOST_WORKERS, RuntimeError, Strands};
use crate::sched;
use crate::sched::pool::Phase;
use crate::task::{TaskHandle, spawn_in};
use ropewalk_core::blocked::{self, Reason};
use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;

/// A group of worker threads in a runtime. Cloning it gives another handle to the same pool.
///
/// ```
/// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
/// let pool = ropewalk::Pool::builder().name("render").workers(1).build(&runtime.handle())?;
/// let picture = pool.spawn(async { "done" });
/// runtime.block_on(async {
///     assert_eq!(picture.await.unwrap(), "done");
///     pool.resize(2).unwrap().await;
///     pool.shutdown().await.unwrap();
/// });
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
#[derive(Clone)]
pub struct Pool(Arc<sched::pool::Pool>);

/// Makes a [`Pool`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct PoolBuilder {
    name: String,
    workers: usize,
    strand_stack_size: Option<usize>,
    roaming: bool,
}

impl PoolBuilder {
    /// The pool's name, unique in its runtime. Default `pool`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// How many workers it starts with, from 1 to 1,024. Default 1.
    pub fn workers(mut self, count: usize) -> Self {
        self.workers = count;
        self
    }

    /// The size of the stack of a strand in this pool. At least 32 KiB; default: that of the runtime
    /// ([`Builder::strand_stack_size`](crate::Builder::strand_stack_size)).
    ///
    /// ```
    /// use ropewalk::{Pool, strand};
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
    /// let deep = Pool::builder().name("deep").strand_stack_size(1 << 20).build(&runtime.handle())?;
    /// let strand = strand::Builder::new().pool(&deep).spawn(|| std::hint::black_box([1_u8; 500_000]).len());
    /// assert_eq!(strand.join(), 500_000);
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    pub fn strand_stack_size(mut self, bytes: usize) -> Self {
        self.strand_stack_size = Some(bytes);
        self
    }

    /// Lets strands of this pool go to another worker after any wait, as tasks do: whoever has nothing to do takes them. Default: no, a
    /// strand stays on the thread where it started.
    ///
    /// ```
    /// use ropewalk::{Pool, strand, time};
    /// use std::time::Duration;
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
    /// // SAFETY: what waits below keeps nothing of its thread.
    /// let pool = unsafe { Pool::builder().name("roaming").workers(2).roaming_strands(true) }.build(&runtime.handle())?;
    /// let strand = strand::Builder::new().pool(&pool).spawn(|| {
    ///     strand::sleep(Duration::from_millis(1));
    ///     "on whichever thread"
    /// });
    /// assert_eq!(strand.join(), "on whichever thread");
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    ///
    /// With the feature `roaming` only: with it, whatever asks for its thread does so in a function of its own, which costs some nanoseconds
    /// in all pools (a yield: 10).
    ///
    /// Such strands do the halves of a [`join`](crate::join()) one after the other. One that waits in a destructor while it unwinds stays where
    /// it is from then on, and so do strands of [`spawn_local`](crate::strand::spawn_local), and one that drives a runtime without threads.
    ///
    /// # Safety
    /// Of every strand that starts in this pool, in each frame that is on its stack while it waits, code of libraries and of the compiler
    /// included:
    ///
    /// - nothing that is not `Send` is kept (an `Rc` that somebody else has, a guard of a lock of threads, a reference to a thread-local);
    /// - no thread-local is used before the wait and after it, as if it were the same; that includes those that functions touch which the
    ///   compiler puts into that frame: it may keep the *address* of a thread-local across the wait. Use them in functions of their
    ///   own that are `#[inline(never)]`, and that do not wait;
    /// - no value in a [`TVar`](crate::stm::TVar) waits in its destructor.
    ///
    /// This library keeps to that; not all of std does. What is known to be affected: `std::thread::current` and `thread::park` (of which
    /// thread?), `RandomState::new`, `print!` and `stdout().lock()` held over a wait, and whatever else has state by thread.
    #[cfg(feature = "roaming")]
    pub unsafe fn roaming_strands(mut self, roam: bool) -> Self {
        self.roaming = roam;
        self
    }

    /// Starts the pool in `runtime`.
    ///
    /// # Errors
    /// A count or a size out of range, a name in use, a runtime that was shut down, or no threads to be had.
    pub fn build(self, runtime: &Handle) -> Result<Pool, RuntimeError> {
        check_count("workers", self.workers)?;
        let stack_size = self.strand_stack_size.unwrap_or(runtime.shared.config.strands.stack_size);
        let strands = Strands { stack_size, roam: self.roaming };
        strands.check()?;
        runtime.shared.add_pool(&self.name, self.workers, strands).map(Pool)
    }
}

impl Pool {
    /// Default settings.
    pub fn builder() -> PoolBuilder {
        PoolBuilder { name: "pool".to_owned(), workers: 1, strand_stack_size: None, roaming: false }
    }

    pub(crate) fn wrap(pool: Arc<sched::pool::Pool>) -> Self {
        Self(pool)
    }

    pub(crate) fn inner(&self) -> Arc<sched::pool::Pool> {
        self.0.clone()
    }

    /// The pool's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Starts a task in this pool; see [`crate::spawn`].
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> TaskHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn_in(&self.0, future)
    }

    /// Changes the number of workers. New ones start at once. Those that are too many retire: they take no new work, hand
    /// over what they have, serve their local tasks and waiting stacks until these end, and leave. The answer completes
    /// when they have left; dropping it changes nothing. A strand on a worker that retires must not wait for it: that would be
    /// for its own end.
    ///
    /// # Errors
    /// A count outside 1 to 1,024, a pool that is closing or driven by its host, or no threads to be had.
    pub fn resize(&self, workers: usize) -> Result<impl Future<Output = ()> + Send + use<>, RuntimeError> {
        check_count("resize", workers)?;
        if self.0.hosted {
            return Err(RuntimeError::Misuse(format!(
                "pool {:?} has no threads of its own to resize",
                self.name()
            )));
        }
        self.0.resize(workers, crate::runtime::hire)?;
        if self.0.phase() != Phase::Open {
            return Err(RuntimeError::Misuse(format!("pool {:?} is shut down", self.name())));
        }
        let pool = self.0.clone();
        Ok(poll_fn(move |cx| {
            pool.watch_census(cx.waker());
            until(pool.retiring() == 0)
        }))
    }

    /// Cancels everything in the pool and completes when its workers have left. The main pool ends with its runtime.
    ///
    /// # Errors
    /// From inside the pool itself, which would wait for its own end, and for the main pool.
    pub async fn shutdown(&self) -> Result<(), RuntimeError> {
        let inside =
            context::with_worker(|worker| worker.is_some_and(|worker| Arc::ptr_eq(&worker.pool, &self.0)));
        if inside {
            return Err(RuntimeError::Misuse(format!(
                "pool {:?} cannot be shut down from inside",
                self.name()
            )));
        }
        if self.name() == "main" {
            return Err(RuntimeError::Misuse("the main pool ends with its runtime".to_owned()));
        }
        self.0.close();
        let pool = &self.0;
        poll_fn(|cx| {
            pool.watch_census(cx.waker());
            until(pool.is_deserted())
        })
        .await;
        Ok(())
    }

    /// What the pool's workers have counted until now.
    pub fn metrics(&self) -> PoolMetrics {
        PoolMetrics::of(&self.0)
    }
}

/// Who is pending waits for threads to leave.
fn until(all_left: bool) -> Poll<()> {
    if !all_left {
        blocked::note(Reason::Thread, 0);
        return Poll::Pending;
    }
    Poll::Ready(())
}

fn check_count(knob: &'static str, count: usize) -> Result<(), RuntimeError> {
    if (1..=MOST_WORKERS).contains(&count) {
        return Ok(());
    }
    Err(RuntimeError::setting(knob, count, format!("1 to {MOST_WORKERS}")))
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("name", &self.name()).field("workers", &self.0.active()).finish()
    }
}
