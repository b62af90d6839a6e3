//! What is in a runtime when it goes down.

use super::body::{Output, Script};
use super::table::{Act, Fate, Life, MAKINGS, Making, Moment};
use crate::kit::{KINDS, Probe, RuntimeKind, guarded, on_every_kind, until, until_async};
use ropewalk::{Handle, Runtime, TaskError, TaskHandle, Wait};
use std::sync::atomic::Ordering::SeqCst;

/// Tasks of every kind that wait and yield for ever: what must be ended when the runtime goes down.
pub struct Crowd(pub Vec<(Script, TaskHandle<Output>)>);

impl Crowd {
    pub fn gather(runtime: &Handle, makings: &'static [Making]) -> Self {
        let inner = runtime.clone();
        let gathered = runtime.spawn(async move {
            let acts = [Act::WaitsForEver, Act::YieldsForEver, Act::CompletesLater];
            let lives = makings.iter().flat_map(|making| acts.map(|act| (*making, act)));
            let spawn = |(making, act)| {
                let script = Script::new(Life { making, act, fate: Fate::Orphaned(Moment::Paused) });
                let task = script.spawn(&inner);
                (script, task)
            };
            Crowd(lives.map(spawn).collect())
        });
        let crowd = runtime.block_on(gathered).unwrap();
        runtime
            .block_on(until_async("all are there", || crowd.0.iter().all(|(script, _)| script.is_paused())));
        crowd
    }

    /// Everybody was told, everything was dropped once, and what outlived the runtime (handles, abort handles, wakers in
    /// the gates) still does no harm.
    pub fn assert_over(self) {
        for (script, task) in self.0 {
            let end = task.wait();
            assert!(matches!(end, Err(TaskError::Shutdown)), "{:?}: {:?}", script.life, end.err());
            assert_eq!(script.ledger.futures_dropped.load(SeqCst), 1, "{:?}", script.life);
            assert_eq!(script.ledger.dropped_abroad.load(SeqCst), 0, "{:?}", script.life);
            let abort = script.abort.lock().unwrap().take().unwrap();
            until("it is finished", || abort.is_finished());
            abort.cancel();
            script.gate.open();
        }
    }
}

/// What does not belong to a thread.
const FREE: [Making; 4] = [Making::Lean, Making::Injected, Making::Named, Making::Big];

/// A runtime with a crowd in it.
pub fn inhabited(kind: RuntimeKind) -> (Runtime, Crowd, Probe) {
    inhabited_by(kind, &MAKINGS)
}

/// The same for a runtime that may be dropped on another thread: if this one drives it, nothing in it is bound here.
pub fn inhabited_for_others(kind: RuntimeKind) -> (Runtime, Crowd, Probe) {
    inhabited_by(kind, if kind.is_hosted() { &FREE } else { &MAKINGS })
}

fn inhabited_by(kind: RuntimeKind, makings: &'static [Making]) -> (Runtime, Crowd, Probe) {
    let probe = Probe::new();
    let runtime = kind.builder().clock(probe.clock()).build().unwrap();
    let crowd = Crowd::gather(&runtime.handle(), makings);
    (runtime, crowd, probe)
}

pub fn on_every_pair(test: impl Fn(RuntimeKind, RuntimeKind)) {
    for outer in KINDS {
        on_every_kind(|inner| guarded(format!("{inner:?} in {outer:?}"), || test(outer, inner)));
    }
}
