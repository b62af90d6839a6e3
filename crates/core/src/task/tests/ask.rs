//! A body is asked where it is, while it is polled, waits, or is cancelled.

use super::lab::{Bench, Lab, Value, ask, run};
use crate::prim::real::Ordering::Relaxed as Count;
use crate::prim::{Arc, Lock, model, thread};
use crate::task::{Body, Header, Orders, TaskError};
use std::pin::Pin;
use std::task::{Context, Poll};

type Plain = Lab<false, true>;

/// What one who asks has shown, and what came of it.
#[derive(Clone, Copy, Default)]
struct Sheet {
    shown: bool,
    answered: bool,
}

/// Answers whoever asks, and ends when it is cancelled.
struct Answers {
    sheets: Arc<Lock<[Sheet; 2]>>,
    bench: std::sync::Arc<Bench>,
}

impl Body for Answers {
    type Output = Value;
    const CANCELLED_BY_POLL: bool = true;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, orders: Orders) -> Poll<Value> {
        if orders.is_asked() {
            let task = Header::of_waker(cx.waker()).expect("a waker of ours");
            // SAFETY: the task runs.
            unsafe { Header::answer(task) }; // first, or it would take back what somebody asks after it has looked
            for sheet in &mut *self.sheets.lock() {
                sheet.answered |= sheet.shown;
            }
        }
        if orders.is_cancelled() { Poll::Ready(self.bench.value(1)) } else { Poll::Pending }
    }
}

/// A task that answers, and those who ask it: each shows its sheet first.
fn asked_by(askers: usize, cancelled: bool) {
    let bench = Bench::new();
    let sheets = Arc::new(Lock::new([Sheet::default(); 2]));
    let body = Answers { sheets: sheets.clone(), bench: bench.clone() };
    let (runnable, mut handle) = bench.emplace::<Plain, _>(body);
    let task = runnable.task();
    let askers: Vec<_> = (0..askers)
        .map(|number| {
            let (sheets, task) = (sheets.clone(), task.clone());
            thread::spawn(move || {
                sheets.lock()[number].shown = true;
                task.ask();
            })
        })
        .collect();
    run(runnable);
    if cancelled {
        task.cancel();
    }
    bench.run_queue();
    askers.into_iter().for_each(|asker| asker.join().unwrap());
    bench.run_queue();
    if cancelled {
        assert!(task.is_finished(), "that it was asked does not keep it from ending");
    } else {
        let seen = *sheets.lock();
        assert!(seen.iter().all(|sheet| sheet.answered == sheet.shown), "who asks gets an answer");
        assert!(!task.is_asked(), "and then nobody asks any more");
        task.cancel();
        bench.run_queue();
    }
    assert!(matches!(ask(&mut handle), Poll::Ready(Ok(1) | Err(TaskError::Cancelled))));
    drop((handle, task));
    assert_eq!(bench.tally.freed.load(Count), 1, "the cell was freed");
}

// Whenever two ask, before the poll, during it or after it, each has an answer that was written after it asked.
//
// mutation: asking-does-not-wake-who-runs
// - in crates/core/src/task/state.rs: `now => (Woken::Nothing, Some(now.0 | ASKED | SCHEDULED)),`
// + `now => (Woken::Nothing, Some(now.0 | ASKED)),`
//
// mutation: asking-does-not-wake-who-waits
// - in crates/core/src/task/state.rs: `(Woken::Submit, Some(now.0 | ASKED | RUNNING)),`
// + `(Woken::Nothing, Some(now.0 | ASKED)),`
//
// mutation: the-answer-takes-nothing-back
// - in crates/core/src/task/state.rs: `self.0.fetch_and(!ASKED, Relaxed);`
// + ``
//
// mutation: the-poll-is-not-told
// - in crates/core/src/task/raw.rs: `cell.poll(header, before.orders())`
// + `cell.poll(header, Orders::NONE)`
#[test]
fn model_who_asks_gets_an_answer() {
    model(|| asked_by(2, false));
}

// A cancellation and a question at the same time: neither takes the other away.
//
// mutation: asking-forgets-the-cancellation
// - in crates/core/src/task/state.rs: `now => (Woken::Nothing, Some(now.0 | ASKED | SCHEDULED)),`
// + `now => (Woken::Nothing, Some((now.0 | ASKED | SCHEDULED) & !CANCELLED)),`
#[test]
fn model_who_is_asked_is_cancelled() {
    model(|| asked_by(1, true));
}
