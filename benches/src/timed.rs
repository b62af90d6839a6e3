//! The peers that run futures, as the rows about time need them: with their timers on, behind one trait, so that one source
//! serves all of them. may and Go have sources of their own.

use crate::peers::{self, SmolExecutor};
use std::time::Duration;

/// A runtime for futures that can sleep.
pub trait Timed: Copy + Send + Sync + 'static {
    type Sleep: Future + Send + 'static;

    fn sleep(span: Duration) -> Self::Sleep;

    /// Starts a task that nobody waits for.
    fn detach(self, future: impl Future<Output = ()> + Send + 'static);

    /// Runs a task to its end and waits for it here.
    fn run<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> T;

    fn yield_now() -> impl Future<Output = ()> + Send;
}

#[derive(Clone, Copy)]
pub struct Ropewalk(&'static ropewalk::Runtime);

impl Ropewalk {
    pub fn new(workers: usize) -> Self {
        Self(Box::leak(Box::new(peers::ropewalk(workers))))
    }

    /// Where its tasks run.
    pub fn pool(self) -> ropewalk::Pool {
        self.0.pool("main").expect("it has one")
    }
}

impl Timed for Ropewalk {
    type Sleep = ropewalk::time::Sleep;

    fn sleep(span: Duration) -> Self::Sleep {
        ropewalk::time::sleep(span)
    }

    fn detach(self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.spawn(future));
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
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(workers).enable_time().build().expect("tokio starts");
        Self(Box::leak(Box::new(runtime)))
    }

    pub fn current_thread() -> Self {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().expect("tokio starts");
        Self(Box::leak(Box::new(runtime)))
    }

    /// One that was built elsewhere.
    pub fn of(runtime: tokio::runtime::Runtime) -> Self {
        Self(Box::leak(Box::new(runtime)))
    }
}

impl Timed for Tokio {
    type Sleep = tokio::time::Sleep;

    fn sleep(span: Duration) -> Self::Sleep {
        tokio::time::sleep(span)
    }

    fn detach(self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.spawn(future));
    }

    fn run<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> T {
        self.0.block_on(self.0.spawn(future)).expect("it ends")
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

/// smol as its own `spawn` runs it: each thread drives the executor and the reactor, which has the timers.
#[derive(Clone, Copy)]
pub struct Smol(&'static smol::Executor<'static>);

impl Smol {
    pub fn new(workers: usize) -> Self {
        Self(peers::smol_io(workers))
    }

    /// What runs its tasks.
    pub fn executor(self) -> &'static smol::Executor<'static> {
        self.0
    }
}

impl Timed for Smol {
    type Sleep = smol::Timer;

    fn sleep(span: Duration) -> Self::Sleep {
        smol::Timer::after(span)
    }

    fn detach(self, future: impl Future<Output = ()> + Send + 'static) {
        SmolExecutor::spawn(self.0, future).detach();
    }

    fn run<T: Send + 'static>(self, future: impl Future<Output = T> + Send + 'static) -> T {
        smol::future::block_on(SmolExecutor::spawn(self.0, future))
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        smol::future::yield_now()
    }
}

/// Calls a function that is generic over [`Timed`] with the peer that was asked for; `None` for those that are no such.
#[macro_export]
macro_rules! with_timed {
    ($peer:expr, $workers:expr, $call:expr) => {
        match $peer {
            $crate::peers::Peer::Ropewalk => Some($call($crate::timed::Ropewalk::new($workers))),
            $crate::peers::Peer::RopewalkCt => Some($call($crate::timed::Ropewalk::new(0))),
            $crate::peers::Peer::TokioMt => Some($call($crate::timed::Tokio::multi_thread($workers))),
            $crate::peers::Peer::TokioCt => Some($call($crate::timed::Tokio::current_thread())),
            $crate::peers::Peer::Smol => Some($call($crate::timed::Smol::new($workers))),
            _ => None,
        }
    };
}
