//! `oneshot`: where the value is, and that it is somewhere.

use super::{Census, Citizen, Counter, Dice, poll_with, steps};
use crate::account::{self, End};
use ropewalk_core::channel::oneshot::{Receiver, RecvError, Sender, TryRecvError, channel};
use std::pin::Pin;
use std::task::{Poll, Waker};

/// What a simple model knows.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Value {
    /// The sender may still send.
    Open,
    Sent,
    /// There will be none: the sender is gone, or the receiver had closed.
    Never,
}

#[test]
fn one_value_is_received_or_given_back_or_dropped() {
    let (mut dice, census) = (Dice::new(2), Census::default());
    for round in 0..steps() / 8 {
        one_life(&mut dice, &census, round as u64);
        assert_eq!(census.alive(), 0, "round {round}");
    }
    account::report("oneshot", "values");
}

fn one_life(dice: &mut Dice, census: &Census, id: u64) {
    let (sender, receiver) = channel();
    let (mut sender, mut receiver) = (Some(sender), Some(receiver));
    let (mut value, mut closed, mut polled) = (Value::Open, false, false);
    account::made();
    let gone = |end: Option<Receiver<Citizen>>, value, closed, polled| {
        let Some(end) = end else { return };
        let dropped = || End::of_dropped(polled, closed || value != Value::Open);
        account::ended(if end.is_terminated() { End::Completed } else { dropped() });
    };
    for _ in 0..dice.below(10) {
        match dice.below(12) {
            0..=1 => {
                if let Some(end) = sender.take() {
                    let refused = closed || receiver.is_none();
                    match end.send(census.citizen(id)) {
                        Ok(()) => assert!(!refused),
                        Err(back) => assert!(refused && back.1 == id),
                    }
                    value = if refused { Value::Never } else { Value::Sent };
                }
            }
            2 => {
                let was_there = sender.take().is_some();
                value = if was_there { Value::Never } else { value };
            }
            3 => closed |= look_closed(&mut sender, closed || receiver.is_none()),
            4 => gone(receiver.take(), value, closed, polled),
            5 => {
                if let Some(end) = &mut receiver {
                    end.close();
                    closed |= value == Value::Open;
                }
            }
            6..=7 => try_recv(&mut receiver, &mut value, closed),
            _ => {
                polled = true;
                poll(&mut receiver, &mut value, closed);
            }
        }
    }
    drop(sender);
    gone(receiver, value, closed, polled);
}

/// Returns `false`: a look closes nothing.
fn look_closed(sender: &mut Option<Sender<Citizen>>, closed: bool) -> bool {
    if let Some(end) = sender {
        assert_eq!(end.is_closed(), closed);
        assert_eq!(poll_with(Box::pin(end.closed()).as_mut(), Waker::noop()).is_ready(), closed);
    }
    false
}

fn expected(value: Value, closed: bool) -> Option<bool> {
    match value {
        Value::Sent => Some(true),
        Value::Never => Some(false),
        Value::Open => closed.then_some(false),
    }
}

fn try_recv(receiver: &mut Option<Receiver<Citizen>>, value: &mut Value, closed: bool) {
    let Some(end) = receiver else { return };
    match (end.try_recv(), expected(*value, closed)) {
        (Ok(_), Some(true)) => *value = Value::Never,
        (Err(TryRecvError::Closed), Some(false)) | (Err(TryRecvError::Empty), None) => {}
        (got, expected) => panic!("{got:?}, but {expected:?}"),
    }
}

fn poll(receiver: &mut Option<Receiver<Citizen>>, value: &mut Value, closed: bool) {
    let Some(end) = receiver.as_mut().filter(|end| !end.is_terminated()) else { return };
    match (poll_with(Pin::new(end), Waker::noop()), expected(*value, closed)) {
        (Poll::Ready(Ok(_)), Some(true)) => *value = Value::Never,
        (Poll::Ready(Err(RecvError)), Some(false)) | (Poll::Pending, None) => {}
        (got, expected) => panic!("{got:?}, but {expected:?}"),
    }
}

/// Two threads, one per end: each does something at random, at the same time.
#[test]
fn ends_on_two_threads_account_for_every_value() {
    let census = Census::default();
    let rounds = steps() / 10;
    let (give, take) = std::sync::mpsc::sync_channel::<Receiver<Citizen>>(64);
    let there = {
        let mut dice = Dice::new(3);
        std::thread::spawn(move || {
            take.into_iter().map(|end| usize::from(end_receiver(end, &mut dice))).sum::<usize>()
        })
    };
    let (mut dice, mut sent) = (Dice::new(4), 0);
    for id in 0..rounds {
        let (mut sender, receiver) = channel();
        give.send(receiver).unwrap();
        if dice.one_in(4) {
            let _looked = poll_with(Box::pin(sender.closed()).as_mut(), Waker::noop());
        }
        for _ in 0..dice.below(50) {
            std::hint::spin_loop();
        }
        if !dice.one_in(5) && sender.send(census.citizen(id as u64)).is_ok() {
            sent += 1;
        }
    }
    drop(give);
    let received = there.join().unwrap();
    assert!(received > 0 && received <= sent);
    assert_eq!(census.alive(), 0, "sent {sent}, received {received}: the rest was dropped, once");
}

fn end_receiver(mut end: Receiver<Citizen>, dice: &mut Dice) -> bool {
    let (counter, waker) = Counter::new();
    for _ in 0..dice.below(4) {
        let waker = if dice.one_in(2) { &waker } else { Waker::noop() };
        if let Poll::Ready(got) = poll_with(Pin::new(&mut end), waker) {
            return got.is_ok();
        }
    }
    match dice.below(4) {
        0 => drop(end),
        1 => {
            end.close();
            return end.try_recv().is_ok();
        }
        _ => return ropewalk_core::block_on_simple(end).is_ok(),
    }
    drop(counter);
    false
}
