//! The peers that run futures, behind one trait, so that one source serves all of them in the rows about locks and
//! channels. They have no timers (`timed.rs` has). may, Go and plain threads have sources of their own.

use crate::peers::{self, Peer, SmolExecutor};

/// A runtime for futures.
pub trait Tasks: Copy + Send + Sync + 'static {
    /// Starts a task. What comes back gives its answer when awaited.
    fn spawn<T: Send + 'static>(
        self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static;

    /// Runs a task to its end and waits for it here.
    fn run<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> T;

    fn yield_now() -> impl Future<Output = ()> + Send;
}

/// So many tasks at once, numbered; ends when all have ended.
pub async fn all<R: Tasks, F: Future<Output = ()> + Send + 'static>(
    runtime: R,
    count: u64,
    task: impl Fn(u64) -> F,
) {
    let tasks: Vec<_> = (0..count).map(|number| runtime.spawn(task(number))).collect();
    for task in tasks {
        task.await;
    }
}

#[derive(Clone, Copy)]
pub struct Ropewalk(&'static ropewalk::Runtime);

impl Ropewalk {
    pub fn new(workers: usize) -> Self {
        Self(Box::leak(Box::new(peers::ropewalk(workers))))
    }

    /// The peer with workers, or the one without.
    pub fn of(peer: Peer, workers: usize) -> Self {
        Self::new(if peer == Peer::Ropewalk { workers } else { 0 })
    }
}

impl Tasks for Ropewalk {
    fn spawn<T: Send + 'static>(
        self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        let task = self.0.spawn(future);
        async { task.await.expect("it ends") }
    }

    fn run<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> T {
        self.0.block_on(self.0.spawn(future)).expect("it ends")
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        ropewalk::yield_now()
    }
}

#[derive(Clone, Copy)]
pub struct Tokio(&'static tokio::runtime::Runtime);

impl Tokio {
    pub fn multi_thread(workers: usize) -> Self {
        Self(Box::leak(Box::new(peers::tokio_mt(workers))))
    }

    pub fn current_thread() -> Self {
        Self(Box::leak(Box::new(peers::tokio_ct())))
    }

    /// The current-thread runtime, driven by a thread of its own.
    pub fn driven() -> Self {
        let runtime = Self::current_thread();
        std::thread::spawn(move || runtime.0.block_on(std::future::pending::<()>()));
        runtime
    }

    /// The current-thread runtime for the peer of that name, the other one for all others.
    pub fn of(peer: Peer, workers: usize) -> Self {
        if peer == Peer::TokioCt { Self::current_thread() } else { Self::multi_thread(workers) }
    }
}

impl Tasks for Tokio {
    fn spawn<T: Send + 'static>(
        self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        let task = self.0.spawn(future);
        async { task.await.expect("it ends") }
    }

    fn run<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> T {
        self.0.block_on(self.0.spawn(future)).expect("it ends")
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

impl<E: SmolExecutor> Tasks for E {
    fn spawn<T: Send + 'static>(
        self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        SmolExecutor::spawn(self, future)
    }

    fn run<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> T {
        smol::future::block_on(SmolExecutor::spawn(self, future))
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        smol::future::yield_now()
    }
}
