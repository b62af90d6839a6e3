//! `broadcast`: what each receiver gets, what it misses, and what is kept for whom.

use super::{Census, Citizen, Dice, poll_once, steps, wakes_all_who_wait};
use crate::account;
use ropewalk_core::channel::broadcast::{Receiver, RecvError, Sender, TryRecvError, channel};
use std::task::Poll;

/// What a simple model knows: how many were sent, and per receiver the number it sees next.
struct Model {
    capacity: u64,
    sent: u64,
    next: Vec<Option<u64>>,
}

impl Model {
    fn oldest(&self) -> u64 {
        self.sent.saturating_sub(self.capacity)
    }

    /// What is kept: not overwritten, and somebody has yet to see it.
    fn kept(&self) -> usize {
        let first = self.next.iter().flatten().min().map_or(self.sent, |next| (*next).max(self.oldest()));
        (self.sent - first) as usize
    }

    /// What the receiver must find now.
    fn see(&mut self, id: usize, open: bool) -> Result<u64, TryRecvError> {
        let (oldest, sent) = (self.oldest(), self.sent);
        let next = self.next[id].as_mut().unwrap();
        if *next < oldest {
            let missed = oldest - *next;
            *next = oldest;
            return Err(TryRecvError::Lagged(missed));
        }
        if *next == sent {
            return Err(if open { TryRecvError::Empty } else { TryRecvError::Closed });
        }
        *next += 1;
        Ok(*next - 1)
    }
}

struct World {
    census: Census,
    dice: Dice,
    model: Model,
    senders: Vec<Sender<Citizen>>,
    receivers: Vec<Option<Receiver<Citizen>>>,
}

#[test]
fn broadcast_does_what_a_simple_model_does() {
    let (mut salt, mut done) = (20, 0);
    let limit = steps();
    while done < limit {
        let mut dice = Dice::new(salt);
        let capacity = 1 + dice.below(6);
        let (sender, receiver) = channel(capacity);
        let mut world = World {
            census: Census::default(),
            model: Model { capacity: capacity as u64, sent: 0, next: vec![Some(0), None, None, None] },
            senders: vec![sender],
            receivers: vec![Some(receiver), None, None, None],
            dice,
        };
        let life = 50 + world.dice.below(300);
        (0..life).for_each(|_| world.step());
        world.receivers.clear();
        assert_eq!(world.census.alive(), 0, "without receivers nothing is kept");
        (salt, done) = (salt + 1, done + life);
    }
    account::report("broadcast", "values");
}

impl World {
    fn step(&mut self) {
        let id = self.dice.below(self.receivers.len());
        match self.dice.below(20) {
            0..=7 => self.send(),
            8 => self.receivers(id),
            9 => self.senders(),
            _ => self.receive(id),
        }
        assert_eq!(self.census.alive(), self.model.kept());
        if let Some(sender) = self.senders.last() {
            assert_eq!(sender.len(), self.model.kept());
            assert_eq!(sender.receiver_count(), self.model.next.iter().flatten().count());
        }
        for (receiver, next) in self.receivers.iter().zip(&self.model.next) {
            assert_eq!(receiver.as_ref().map(|it| it.len() as u64), next.map(|next| self.model.sent - next));
        }
    }

    fn send(&mut self) {
        let Some(sender) = self.senders.last() else { return };
        let count = self.model.next.iter().flatten().count();
        match sender.send(self.census.citizen(self.model.sent)) {
            Ok(receivers) => {
                assert!(receivers == count && count > 0);
                self.model.sent += 1;
            }
            Err(back) => assert!(count == 0 && back.0.1 == self.model.sent),
        }
    }

    fn receivers(&mut self, id: usize) {
        if self.receivers[id].take().is_some() {
            self.model.next[id] = None;
            return;
        }
        let other = self.dice.below(self.receivers.len());
        self.receivers[id] = match (&self.receivers[other], self.senders.last()) {
            (Some(receiver), _) => Some(receiver.resubscribe()),
            (None, sender) => sender.map(Sender::subscribe),
        };
        self.model.next[id] = self.receivers[id].is_some().then_some(self.model.sent);
    }

    fn senders(&mut self) {
        match self.dice.below(12) {
            0 => drop(self.senders.pop()),
            1..=2 => self.senders.extend(self.senders.last().cloned()),
            _ => {}
        }
    }

    fn receive(&mut self, id: usize) {
        let (open, wait) = (!self.senders.is_empty(), self.dice.one_in(2));
        let Some(receiver) = &mut self.receivers[id] else { return };
        let expected = self.model.see(id, open);
        if wait {
            // Dropped after one poll: what it did not give is not taken.
            let got = poll_once(receiver.recv()).map(|got| got.map(|it| it.1));
            assert_eq!(
                got,
                match expected {
                    Ok(value) => Poll::Ready(Ok(value)),
                    Err(TryRecvError::Empty) => Poll::Pending,
                    Err(TryRecvError::Closed) => Poll::Ready(Err(RecvError::Closed)),
                    Err(TryRecvError::Lagged(count)) => Poll::Ready(Err(RecvError::Lagged(count))),
                }
            );
        } else {
            assert_eq!(receiver.try_recv().map(|it| it.1), expected);
        }
    }
}

/// Whoever waits is woken by each value, and by the end.
#[test]
fn every_value_wakes_all_who_wait() {
    let mut dice = Dice::new(21);
    for _ in 0..steps() / 100 {
        let (sender, first) = channel(1);
        let wait = || {
            let mut receiver = first.resubscribe();
            async move { receiver.recv().await }
        };
        wakes_all_who_wait(&mut dice, wait, |dice, waiting| {
            if dice.one_in(2) {
                assert_eq!(sender.send(1), Ok(1 + waiting));
                Ok(1)
            } else {
                drop(sender);
                Err(RecvError::Closed)
            }
        });
    }
    account::report("broadcast, all who wait", "values");
}

/// Threads that come, receive and leave while others send: all values are dropped.
#[test]
fn threads_that_come_and_go_leave_nothing_behind() {
    let census = Census::default();
    let (sender, first) = channel(8);
    std::thread::scope(|scope| {
        for salt in 0..3 {
            let mut receiver = first.resubscribe();
            scope.spawn(move || {
                let mut dice = Dice::new(30 + salt);
                loop {
                    match receiver.try_recv() {
                        Ok(value) => drop(value),
                        Err(TryRecvError::Closed) => break,
                        Err(_) if dice.one_in(8) => receiver = receiver.resubscribe(),
                        Err(_) => std::thread::yield_now(),
                    }
                }
            });
        }
        for salt in 0..2 {
            let (sender, census) = (sender.clone(), census.clone());
            scope.spawn(move || {
                for id in 0..steps() as u64 / 100 {
                    assert!(sender.send(census.citizen(id + salt)).is_ok());
                }
            });
        }
        drop(sender);
    });
    assert_eq!(census.alive(), 8.min(steps() / 50), "what the first has not seen");
    drop(first);
    assert_eq!(census.alive(), 0);
}
