//! The tasks that live the lives, and the ledger they are entered in.

use super::table::{Act, Fate, Life, Making, Moment};
use crate::kit::{Gate, ON_PURPOSE, until};
use ropewalk::{AbortHandle, Handle, TaskHandle, Wait, spawn, spawn_local, strand, task, yield_now};
use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread::{self, ThreadId};

/// What happened in one life.
#[derive(Default)]
pub struct Ledger {
    pub futures_dropped: AtomicUsize,
    pub outputs_made: AtomicUsize,
    pub outputs_dropped: AtomicUsize,
    /// Drops of pinned futures away from home.
    pub dropped_abroad: AtomicUsize,
    pub polled: AtomicBool,
    /// It waits or yields for ever.
    pub at_rest: AtomicBool,
}

/// What a task needs to know.
#[derive(Clone)]
pub struct Script {
    pub life: Life,
    pub ledger: Arc<Ledger>,
    pub gate: Gate,
    pub abort: Arc<Mutex<Option<AbortHandle>>>,
}

impl Script {
    pub fn new(life: Life) -> Self {
        Self { life, ledger: Arc::default(), gate: Gate::new(), abort: Arc::default() }
    }

    /// Makes the task, on a worker.
    pub fn spawn(&self, runtime: &Handle) -> TaskHandle<Output> {
        let task = self.spawn_as(self.life.making, runtime);
        *self.abort.lock().unwrap() = Some(task.abort_handle());
        task
    }

    fn spawn_as(&self, making: Making, runtime: &Handle) -> TaskHandle<Output> {
        match making {
            Making::Lean => spawn(self.body(())),
            Making::Injected => {
                let body = self.body(());
                thread::scope(|scope| scope.spawn(|| runtime.spawn(body)).join().unwrap())
            }
            Making::Local => spawn_local(self.body(Rc::new(()))).unwrap(),
            Making::Named => task::Builder::new().name("a name").spawn(self.body(())),
            Making::Strand => {
                let (guard, act) = (self.guard(), self.clone().act());
                let body = move || {
                    let output = act.wait();
                    drop(guard); // by hand: a return value is not dropped if a local's destructor panics (rust-lang/rust#47949)
                    output
                };
                strand::spawn_local(body).unwrap()
            }
            Making::Big => spawn(self.body([0u64; 200])),
            Making::Aligned => spawn(self.body(Aligned([0; 64]))),
        }
    }

    fn body<P>(&self, padding: P) -> Body<P> {
        let guard = self.guard();
        Body { act: Box::pin(self.clone().act()), _guard: guard, _padding: padding }
    }

    fn guard(&self) -> FutureGuard {
        let pinned = matches!(self.life.making, Making::Local | Making::Strand);
        FutureGuard { home: pinned.then(|| thread::current().id()), script: self.clone() }
    }

    async fn act(self) -> Output {
        self.enter();
        match self.life.act {
            Act::Completes | Act::OutputDropPanics => {}
            Act::CompletesLater | Act::FutureDropPanics => self.gate.passed().await,
            Act::Panics => panic!("{ON_PURPOSE}: at the first poll"),
            Act::PanicsLater => {
                yield_now().await;
                self.gate.passed().await;
                panic!("{ON_PURPOSE}: later");
            }
            Act::WaitsForEver => {
                self.ledger.at_rest.store(true, SeqCst);
                pending().await
            }
            Act::WaitsInPoll => self.gate.passed().wait(),
            Act::YieldsForEver => {
                yield_now().await;
                self.ledger.at_rest.store(true, SeqCst);
                loop {
                    yield_now().await;
                }
            }
        }
        self.ledger.outputs_made.fetch_add(1, SeqCst);
        Output(self)
    }

    /// The first poll.
    fn enter(&self) {
        assert!(!self.ledger.polled.swap(true, SeqCst));
        if self.life.fate == Fate::Cancelled(Moment::Running) {
            let abort = || self.abort.lock().unwrap().clone();
            until("the spawner has left the abort handle", || abort().is_some());
            abort().unwrap().cancel();
            assert!(task::is_cancelled());
        }
    }

    /// Whether the task is where it stays until something is done to it.
    pub fn is_paused(&self) -> bool {
        self.gate.waiting() > 0 || self.ledger.at_rest.load(SeqCst)
    }
}

#[allow(dead_code)] // the padding is only there
struct Body<P> {
    act: Pin<Box<dyn Future<Output = Output> + Send>>,
    _guard: FutureGuard,
    _padding: P,
}

impl<P> Unpin for Body<P> {}

impl<P> Future for Body<P> {
    type Output = Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Output> {
        self.act.as_mut().poll(cx)
    }
}

#[repr(align(64))]
#[allow(dead_code)]
struct Aligned([u8; 64]);

/// Counts the drop of the future it is part of.
struct FutureGuard {
    script: Script,
    home: Option<ThreadId>,
}

impl Drop for FutureGuard {
    fn drop(&mut self) {
        let Script { ledger, life, .. } = &self.script;
        ledger.futures_dropped.fetch_add(1, SeqCst);
        if self.home.is_some_and(|home| home != thread::current().id()) {
            ledger.dropped_abroad.fetch_add(1, SeqCst);
        }
        if life.act == Act::FutureDropPanics && !thread::panicking() {
            panic!("{ON_PURPOSE}: in the future's drop");
        }
    }
}

/// Counts its drop.
pub struct Output(Script);

impl Drop for Output {
    fn drop(&mut self) {
        self.0.ledger.outputs_dropped.fetch_add(1, SeqCst);
        if self.0.life.act == Act::OutputDropPanics && !thread::panicking() {
            panic!("{ON_PURPOSE}: in the output's drop");
        }
    }
}
