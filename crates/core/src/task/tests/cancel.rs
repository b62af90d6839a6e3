//! Races of a cancellation: against the poll and against the end.

use super::lab::{Bench, Lab, Obliging, Value, ask, run};
use super::watch::Note;
use crate::prim::real::Ordering::Relaxed as Count;
use crate::prim::{Arc, model, thread};
use crate::task::TaskError;
use std::task::Poll;

type Plain = Lab<false, true>;

/// A body that nothing ends but a cancellation, before which the canceller leaves a note.
struct Reader(Arc<Note>, Arc<std::sync::Mutex<usize>>);

impl Drop for Reader {
    fn drop(&mut self) {
        *self.1.lock().unwrap() = self.0.read();
    }
}

// The body is dropped because of the cancellation, so its destructor may read what the canceller wrote, also if the task
// was scheduled already, or running.
//
// mutation: start-does-not-acquire
// - in crates/core/src/task/state.rs: `self.0.fetch_add(SCHEDULED, AcqRel)`
// + `self.0.fetch_add(SCHEDULED, Release)`
//
// mutation: load-does-not-acquire
// - in crates/core/src/task/state.rs: `Snapshot(self.0.load(Acquire))`
// + `Snapshot(self.0.load(Relaxed))`
//
// mutation: cancel-does-not-release
// - in crates/core/src/task/state.rs: `self.0.compare_exchange_weak(now, next, AcqRel, Acquire)`
// + `self.0.compare_exchange_weak(now, next, Acquire, Acquire)`
//
// mutation: cancel-of-a-running-task-is-lost
// - in crates/core/src/task/state.rs: `(answer, Some(now.0 | why | SCHEDULED))`
// + `(answer, Some(now.0 | why | if now.is_running() { 0 } else { SCHEDULED }))`
//
// mutation: cancel-submits-a-running-task
// - in crates/core/src/task/state.rs: `let answer = if now.is_idle() {`
// + `let answer = if !now.is_scheduled() {`
//
// mutation: cancel-submits-a-scheduled-task
// - in crates/core/src/task/state.rs: `let answer = if now.is_idle() {`
// + `let answer = if !now.is_running() {`
//
// mutation: cancel-does-not-submit
// - in crates/core/src/task/handle.rs: `if self.header().state.cancel(shutdown) == Woken::Submit {`
// + `if self.header().state.cancel(shutdown) == Woken::Free {`
#[test]
fn model_cancel_against_poll() {
    model(|| {
        let bench = Bench::new();
        let (note, seen) = (Arc::new(Note::new()), Arc::new(std::sync::Mutex::new(0)));
        let reader = Reader(note.clone(), seen.clone());
        let poll = move || {
            let _owns = &reader;
            Poll::<Value>::Pending
        };
        let (runnable, mut handle) = bench.task::<Plain, _>(poll);
        let other = thread::spawn(move || run(runnable));
        note.write(5);
        handle.cancel();
        bench.run_queue();
        other.join().unwrap();
        assert!(matches!(ask(&mut handle), Poll::Ready(Err(TaskError::Cancelled))));
        assert_eq!(*seen.lock().unwrap(), 5);
        assert!(bench.tally.polls.load(Count) <= 1, "polled after it was cancelled");
        bench.assert_gone();
    });
}

// The cancellation comes before the end, or too late; the handle says which, and the task is run by one thread.
//
// mutation: cancel-submits-a-scheduled-task
// - in crates/core/src/task/state.rs: `let answer = if now.is_idle() {`
// + `let answer = if !now.is_running() {`
//
// mutation: cancel-submits-a-running-task
// - in crates/core/src/task/state.rs: `let answer = if now.is_idle() {`
// + `let answer = if !now.is_scheduled() {`
#[test]
fn model_cancel_against_complete() {
    model(|| {
        let bench = Bench::new();
        let (runnable, mut handle) = bench.short::<Plain>();
        let other = {
            let (bench, abort) = (bench.clone(), handle.abort_handle());
            thread::spawn(move || {
                abort.cancel();
                bench.run_queue();
            })
        };
        run(runnable);
        other.join().unwrap();
        match ask(&mut handle) {
            Poll::Ready(Ok(5)) => bench.assert_outputs(1),
            Poll::Ready(Err(TaskError::Cancelled)) => {
                bench.assert_outputs(0);
                assert_eq!(bench.tally.polls.load(Count), 0, "only a task that has not run can be cancelled");
            }
            end => panic!("{end:?}"),
        }
        bench.assert_gone();
    });
}

// A queued task is cancelled while somebody takes it out of the queue to run it: it is not queued any more when `cancel`
// returns, and if it was taken out by the cancellation its end is there already.
//
// mutation: cancel-leaves-it-in-the-queue
// - in crates/core/src/task/handle.rs: `unsafe { (self.header().vtable.withdraw)(self.0) }`
// + `{}`
#[test]
fn model_cancel_against_the_queue() {
    model(|| {
        let bench = Bench::new();
        let (runnable, mut handle) = bench.short::<Obliging>();
        runnable.schedule();
        let other = {
            let bench = bench.clone();
            thread::spawn(move || bench.next().map(run).is_some())
        };
        handle.cancel();
        assert_eq!(bench.queued(), 0, "it is withdrawn, or somebody has it");
        let taken = other.join().unwrap();
        match ask(&mut handle) {
            Poll::Ready(Ok(5)) => assert!(taken, "nobody ran it"),
            Poll::Ready(Err(TaskError::Cancelled)) => {
                assert_eq!(bench.tally.polls.load(Count), 0, "only a task that has not run can be cancelled");
            }
            end => panic!("{end:?}"),
        }
        bench.assert_gone();
    });
}
