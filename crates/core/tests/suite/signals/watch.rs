//! `watch`: the latest value, and what each receiver has seen of it.

use super::{Census, Citizen, Dice, poll_once, steps, wakes_all_who_wait};
use crate::account;
use ropewalk_core::channel::watch::{Receiver, RecvError, Sender, channel};
use std::task::Poll;

/// What a simple model knows: the value, the number of changes, and per receiver the number it has seen.
struct Model {
    value: u64,
    changes: i64,
    seen: Vec<Option<i64>>,
}

impl Model {
    fn receivers(&self) -> usize {
        self.seen.iter().flatten().count()
    }

    fn change(&mut self, value: u64) {
        (self.value, self.changes) = (value, self.changes + 1);
    }

    /// What `changed` must say now, if anything.
    fn changed(&self, id: usize, open: bool) -> Option<Result<(), RecvError>> {
        match self.seen[id] == Some(self.changes) {
            false => Some(Ok(())),
            true => (!open).then_some(Err(RecvError)),
        }
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
fn watch_does_what_a_simple_model_does() {
    let (mut salt, mut done) = (10, 0);
    let limit = steps();
    while done < limit {
        let census = Census::default();
        let (sender, receiver) = channel(census.citizen(0));
        let mut world = World {
            census,
            dice: Dice::new(salt),
            model: Model { value: 0, changes: 0, seen: vec![Some(0), None, None, None] },
            senders: vec![sender],
            receivers: vec![Some(receiver), None, None, None],
        };
        let life = 50 + world.dice.below(300);
        (0..life).for_each(|step| world.step(step as u64));
        world.senders.clear();
        world.receivers.clear();
        assert_eq!(world.census.alive(), 0);
        (salt, done) = (salt + 1, done + life);
    }
    account::report("watch", "values");
}

impl World {
    fn step(&mut self, number: u64) {
        let id = self.dice.below(self.receivers.len());
        match self.dice.below(16) {
            0..=5 => self.send(number),
            6 => self.receivers(id),
            7 => self.senders(),
            _ => self.look(id),
        }
        let alive = usize::from(!self.senders.is_empty() || self.model.receivers() > 0);
        assert_eq!(self.census.alive(), alive, "one value as long as there is a channel");
    }

    fn send(&mut self, number: u64) {
        let way = self.dice.below(4);
        let Some(sender) = self.senders.last() else { return };
        let value = self.census.citizen(number);
        match way {
            0 => match sender.send(value) {
                Ok(()) => self.model.change(number),
                Err(back) => assert!(back.0.1 == number && self.model.receivers() == 0),
            },
            1 => {
                assert_eq!(sender.send_replace(value).1, self.model.value);
                self.model.change(number);
            }
            2 => {
                sender.send_modify(|slot| *slot = value);
                self.model.change(number);
            }
            _ => {
                let does = number.is_multiple_of(2);
                let did = sender.send_if_modified(|slot| {
                    if does {
                        *slot = value;
                    }
                    does
                });
                assert_eq!(did, does);
                if does {
                    self.model.change(number);
                }
            }
        }
    }

    /// A receiver comes or goes.
    fn receivers(&mut self, id: usize) {
        if self.receivers[id].take().is_some() {
            self.model.seen[id] = None;
            return;
        }
        let other = self.dice.below(self.receivers.len());
        if let Some(original) = &self.receivers[other] {
            self.receivers[id] = Some(original.clone());
            self.model.seen[id] = self.model.seen[other];
        } else if let Some(sender) = self.senders.last() {
            self.receivers[id] = Some(sender.subscribe());
            self.model.seen[id] = Some(self.model.changes);
        }
    }

    fn senders(&mut self) {
        match self.dice.below(12) {
            0 => drop(self.senders.pop()),
            1..=2 => self.senders.extend(self.senders.last().cloned()),
            _ => {}
        }
        if let Some(sender) = self.senders.last() {
            assert_eq!(
                (sender.sender_count(), sender.receiver_count()),
                (self.senders.len(), self.model.receivers())
            );
            let closed = poll_once(sender.closed());
            assert_eq!(closed.is_ready(), self.model.receivers() == 0);
        }
    }

    fn look(&mut self, id: usize) {
        let (way, open) = (self.dice.below(6), !self.senders.is_empty());
        let expected = self.receivers[id].is_some().then(|| self.model.changed(id, open));
        let (Some(receiver), Some(expected)) = (&mut self.receivers[id], expected) else { return };
        let now = Some(self.model.changes);
        match way {
            0 => {
                let value = receiver.borrow();
                assert_eq!((value.1, value.has_changed()), (self.model.value, self.model.seen[id] != now));
            }
            1 => {
                assert_eq!(receiver.borrow_and_update().1, self.model.value);
                self.model.seen[id] = now;
            }
            2 => {
                receiver.mark_unchanged();
                self.model.seen[id] = now;
            }
            3 => assert_eq!(
                receiver.has_changed(),
                expected.map_or(Ok(false), |changed| changed.map(|()| true))
            ),
            4 => {
                let value = self.model.value;
                let waited = receiver.wait_for(|it| it.1 == value && value.is_multiple_of(2));
                let ready = poll_once(waited).map(|it| it.map(|it| it.1).ok());
                let nothing = if open { Poll::Pending } else { Poll::Ready(None) };
                assert_eq!(ready, if value.is_multiple_of(2) { Poll::Ready(Some(value)) } else { nothing });
                self.model.seen[id] = now;
            }
            _ => {
                // Dropped after one poll: a change that was not told is not seen.
                let changed = poll_once(receiver.changed());
                assert_eq!(changed, expected.map_or(Poll::Pending, Poll::Ready));
                if changed == Poll::Ready(Ok(())) {
                    self.model.seen[id] = now;
                }
            }
        }
    }
}

/// Whoever waits is woken by each change, and by the end.
#[test]
fn every_change_wakes_all_who_wait() {
    let mut dice = Dice::new(11);
    for _ in 0..steps() / 100 {
        let (sender, receiver) = channel(0);
        let wait = || {
            let mut receiver = receiver.clone();
            async move { receiver.changed().await }
        };
        wakes_all_who_wait(&mut dice, wait, |dice, _| {
            if dice.one_in(2) {
                sender.send(1).unwrap();
                Ok(())
            } else {
                drop(sender);
                Err(RecvError)
            }
        });
    }
    account::report("watch, all who wait", "values");
}
