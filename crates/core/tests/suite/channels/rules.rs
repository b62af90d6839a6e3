//! What a channel does, said as plainly as possible.

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bounded(usize),
    Unbounded,
}

/// A value by its number, and whether its sender may still take it back.
#[derive(Clone, Copy, Debug)]
struct Entry {
    value: u64,
    offered: bool,
}

#[derive(Debug)]
pub struct Rules {
    kind: Kind,
    queue: VecDeque<Entry>,
    /// Permits that are out.
    promised: usize,
    /// Receivers that wait at a rendezvous.
    present: usize,
    pub closed: bool,
}

/// What a poll of a `Send` is to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Yes,
    Waits,
    Refused,
}

impl Rules {
    pub fn new(kind: Kind) -> Self {
        Self { kind, queue: VecDeque::new(), promised: 0, present: 0, closed: false }
    }

    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// For how many more values, or permits, there is room.
    pub fn room(&self) -> usize {
        let places = match self.kind {
            Kind::Bounded(0) => self.present,
            Kind::Bounded(places) => places,
            Kind::Unbounded => usize::MAX,
        };
        if self.closed { 0 } else { places.saturating_sub(self.queue.len() + self.promised) }
    }

    /// How many values can be received.
    pub fn values(&self) -> usize {
        self.queue.iter().filter(|entry| !self.closed || !entry.offered).count()
    }

    pub fn try_send(&mut self, value: u64) -> bool {
        let room = self.room() > 0;
        if room {
            self.queue.push_back(Entry { value, offered: false });
        }
        room
    }

    /// A poll of a `Send`; `offered`: it laid its value down before.
    pub fn poll_send(&mut self, value: u64, offered: bool) -> Sent {
        let lies = self.queue.iter().any(|entry| entry.value == value);
        match (self.kind, offered) {
            (Kind::Bounded(0), true) if !lies => Sent::Yes,
            _ if self.closed => {
                self.withdraw(value);
                Sent::Refused
            }
            (Kind::Bounded(0), true) => Sent::Waits,
            (Kind::Bounded(0), false) => {
                self.queue.push_back(Entry { value, offered: true });
                Sent::Waits
            }
            _ if self.try_send(value) => Sent::Yes,
            _ => Sent::Waits,
        }
    }

    /// A `Send` is dropped. Returns whether it had the value.
    pub fn withdraw(&mut self, value: u64) -> bool {
        let before = self.queue.len();
        self.queue.retain(|entry| entry.value != value);
        self.queue.len() < before
    }

    pub fn try_recv(&mut self) -> Option<u64> {
        let at = self.queue.iter().position(|entry| !self.closed || !entry.offered)?;
        self.queue.remove(at).map(|entry| entry.value)
    }

    pub fn try_reserve(&mut self) -> bool {
        let room = self.room() > 0;
        self.promised += usize::from(room);
        room
    }

    /// A permit is used. Whether it was good.
    pub fn redeem(&mut self, value: u64) -> bool {
        self.promised -= 1;
        if !self.closed {
            self.queue.push_back(Entry { value, offered: false });
        }
        !self.closed
    }

    pub fn give_back(&mut self) {
        self.promised -= 1;
    }

    /// A receiver begins to wait.
    pub fn come(&mut self) {
        self.present += 1;
    }

    /// It does not wait any more.
    pub fn go(&mut self) {
        self.present -= 1;
    }

    pub fn close(&mut self) {
        self.closed = true;
    }
}
