//! `Notify`: who is in line, who was chosen, whether a permit is stored.

use super::{Counter, Dice, poll_with, steps};
use crate::account::{self, End};
use ropewalk_core::block_on_simple;
use ropewalk_core::sync::{Notified, Notify};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Waker;

/// What the model knows of a waiter.
#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    /// Made in this round of `notify_waiters`, not polled.
    Made(usize),
    InLine,
    Chosen,
    Released,
    Done,
}

#[derive(Default)]
struct Model {
    line: VecDeque<usize>,
    permit: bool,
    rounds: usize,
}

struct Waiter<'a> {
    future: Pin<Box<Notified<'a>>>,
    counter: Arc<Counter>,
    waker: Waker,
    state: State,
    /// How often it should have been woken.
    woken: usize,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        account::ended(match self.state {
            State::Made(_) => End::Unpolled,
            State::InLine => End::Waiting,
            State::Chosen | State::Released => End::Chosen,
            State::Done => End::Completed,
        });
    }
}

type Waiters<'a> = Vec<Option<Waiter<'a>>>;

impl Model {
    /// Who is notified, if anybody; else the permit is stored.
    fn give(&mut self, waiters: &mut Waiters<'_>, last: bool) {
        let chosen = if last { self.line.pop_back() } else { self.line.pop_front() };
        match chosen {
            Some(id) => {
                let waiter = waiters[id].as_mut().unwrap();
                (waiter.state, waiter.woken) = (State::Chosen, waiter.woken + 1);
            }
            None => self.permit = true,
        }
    }

    fn release(&mut self, waiters: &mut Waiters<'_>) {
        self.rounds += 1;
        for id in self.line.drain(..) {
            let waiter = waiters[id].as_mut().unwrap();
            (waiter.state, waiter.woken) = (State::Released, waiter.woken + 1);
        }
    }

    /// What a poll of the waiter must do; true if it completes.
    fn poll(&mut self, id: usize, state: State) -> State {
        match state {
            State::Made(round) if round == self.rounds && !self.permit => {
                self.line.push_back(id);
                State::InLine
            }
            State::Made(round) => {
                if round == self.rounds {
                    self.permit = false;
                }
                State::Done
            }
            State::InLine => State::InLine,
            _ => State::Done,
        }
    }
}

#[test]
fn notify_does_what_a_simple_model_does() {
    let (notify, mut dice, mut model) = (Notify::new(), Dice::new(1), Model::default());
    let mut waiters: Waiters<'_> = (0..6).map(|_| None).collect();
    for _ in 0..steps() {
        let id = dice.below(waiters.len());
        match dice.below(10) {
            0 => {
                notify.notify_one();
                model.give(&mut waiters, false);
            }
            1 if dice.one_in(2) => {
                notify.notify_last();
                model.give(&mut waiters, true);
            }
            2 if dice.one_in(4) => {
                notify.notify_waiters();
                model.release(&mut waiters);
            }
            3..=4 => drop_one(&mut waiters, id, &mut model),
            _ => poll_one(&notify, &mut waiters, id, &mut model, dice.one_in(3)),
        }
        for waiter in waiters.iter().flatten() {
            assert_eq!(waiter.counter.count(), waiter.woken);
        }
    }
    waiters.clear();
    account::report("notify", "permits");
}

/// A chosen one passes its turn on; who is in line leaves it.
fn drop_one(waiters: &mut Waiters<'_>, id: usize, model: &mut Model) {
    let Some(waiter) = waiters[id].take() else { return };
    let state = waiter.state;
    drop(waiter);
    model.line.retain(|other| *other != id);
    if state == State::Chosen {
        model.give(waiters, false);
    }
}

fn poll_one<'a>(notify: &'a Notify, waiters: &mut Waiters<'a>, id: usize, model: &mut Model, enable: bool) {
    let waiter = waiters[id].get_or_insert_with(|| {
        let (counter, waker) = Counter::new();
        account::made();
        let state = State::Made(model.rounds);
        Waiter { future: Box::pin(notify.notified()), counter, waker, state, woken: 0 }
    });
    // An enabled waiter has no waker yet: so not before the first poll, or its wake-ups would not be counted.
    let ready = if enable && !matches!(waiter.state, State::Made(_)) {
        waiter.state = model.poll(id, waiter.state);
        let ready = waiter.future.as_mut().enable();
        // It left the waker that does nothing: put the other one back.
        ready || poll_with(waiter.future.as_mut(), &waiter.waker).is_ready()
    } else {
        waiter.state = model.poll(id, waiter.state);
        poll_with(waiter.future.as_mut(), &waiter.waker).is_ready()
    };
    assert_eq!(ready, waiter.state == State::Done);
}

/// One permit goes round between threads that give up at random: it is never lost and never doubled.
#[test]
fn a_permit_among_threads_that_give_up_stays_one() {
    const THREADS: usize = 4;
    let (baton, holders, rounds) = (Notify::new(), AtomicUsize::new(0), AtomicUsize::new(0));
    baton.notify_one();
    std::thread::scope(|scope| {
        for salt in 0..THREADS as u64 {
            let (baton, holders, rounds) = (&baton, &holders, &rounds);
            scope.spawn(move || {
                let mut dice = Dice::new(100 + salt);
                for _ in 0..steps() / 20 {
                    let mut wait = Box::pin(baton.notified());
                    let patience = dice.below(4);
                    let mut held = (0..patience).any(|_| poll_with(wait.as_mut(), Waker::noop()).is_ready());
                    if !held && dice.one_in(4) {
                        block_on_simple(wait.as_mut());
                        held = true;
                    }
                    drop(wait);
                    if held {
                        assert_eq!(holders.fetch_add(1, Relaxed), 0, "two have the one permit");
                        rounds.fetch_add(1, Relaxed);
                        holders.fetch_sub(1, Relaxed);
                        baton.notify_one();
                    }
                }
            });
        }
    });
    assert!(rounds.load(Relaxed) > 0);
    assert!(Box::pin(baton.notified()).as_mut().enable(), "it is still there");
    assert!(!Box::pin(baton.notified()).as_mut().enable(), "once");
}
