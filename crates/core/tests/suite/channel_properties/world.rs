//! A channel with its handles and futures, the model beside it, and what became of the values.

use super::Op;
use crate::channels::rules::{Kind, Rules, Sent};
use ropewalk_core::channel::{self, Receiver, RecvError, Sender, TryRecvError, TrySendError};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What became of each value.
#[derive(Debug, Default)]
struct Ledger(RefCell<Vec<Entry>>);

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    fate: Option<Fate>,
    drops: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Received,
    GivenBack,
}

#[derive(Debug)]
struct Value(u64, Rc<Ledger>);

impl Value {
    fn new(ledger: &Rc<Ledger>) -> Self {
        let mut entries = ledger.0.borrow_mut();
        entries.push(Entry::default());
        Self(entries.len() as u64 - 1, ledger.clone())
    }
    /// It is in our hands again. Returns its number.
    fn ends(self, fate: Fate) -> u64 {
        let before = self.1.0.borrow_mut()[self.0 as usize].fate.replace(fate);
        assert_eq!(before, None, "value {} is there twice", self.0);
        self.0
    }
}
impl Drop for Value {
    fn drop(&mut self) {
        self.1.0.borrow_mut()[self.0 as usize].drops += 1;
    }
}

/// The rules, and what they do not know: how many handles there are, and which values nobody gets.
struct Model {
    rules: Rules,
    senders: usize,
    receivers: usize,
    dropped: Vec<u64>,
}

impl Model {
    fn sender_gone(&mut self) {
        self.senders -= 1;
        if self.senders == 0 {
            self.rules.close();
        }
    }
    fn receiver_gone(&mut self) {
        self.receivers -= 1;
        if self.receivers == 0 {
            self.rules.close();
            self.dropped.extend(std::iter::from_fn(|| self.rules.try_recv()));
        }
    }
}

enum Outcome {
    Sent(Result<(), Value>),
    Received(Result<Vec<Value>, RecvError>),
}

/// What the model says about a poll.
#[derive(Debug)]
enum Expected {
    Waits,
    /// Or refused.
    Sent(bool),
    /// None: there are no more.
    Received(Vec<u64>),
}

#[derive(Clone, Copy, Debug)]
enum What {
    Send,
    Reserve,
    /// At most so many.
    Recv(usize),
}

/// A future that owns a handle of its own.
struct Operation {
    future: Pin<Box<dyn Future<Output = Outcome>>>,
    what: What,
    /// The value it has to send.
    number: u64,
    polled: bool,
    /// It has a permit.
    holds: Rc<Cell<bool>>,
}

pub struct World {
    kind: Kind,
    senders: Vec<Sender<Value>>,
    receivers: Vec<Receiver<Value>>,
    operations: Vec<Operation>,
    model: Model,
    ledger: Rc<Ledger>,
}

fn pick(at: u8, count: usize) -> Option<usize> {
    (count > 0).then(|| at as usize % count)
}

/// Pending once.
async fn pause() {
    let mut polled = false;
    poll_fn(|_| if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

impl World {
    pub fn new(kind: Kind) -> Self {
        let (sender, receiver) = match kind {
            Kind::Bounded(capacity) => channel::bounded(capacity),
            Kind::Unbounded => channel::unbounded(),
        };
        let model = Model { rules: Rules::new(kind), senders: 1, receivers: 1, dropped: vec![] };
        let (senders, receivers) = (vec![sender], vec![receiver]);
        Self { kind, senders, receivers, operations: vec![], model, ledger: Rc::default() }
    }

    pub fn step(&mut self, op: Op) {
        let _done_if_there_is_one = match op {
            Op::TrySend(at) | Op::Send(at) | Op::Reserve(at) | Op::CloneSender(at) | Op::DropSender(at) => {
                pick(at, self.senders.len()).map(|at| self.step_of_sender(op, at))
            }
            Op::TryRecv(at)
            | Op::Recv(at)
            | Op::RecvMany(at, _)
            | Op::CloneReceiver(at)
            | Op::DropReceiver(at) => pick(at, self.receivers.len()).map(|at| self.step_of_receiver(op, at)),
            Op::Poll(at) => pick(at, self.operations.len()).map(|at| self.poll(at)),
            Op::Drop(at) => pick(at, self.operations.len()).map(|at| self.drop(at)),
            Op::Close(true, at) => {
                pick(at, self.senders.len()).map(|at| self.senders[at].close()).map(|now| self.closed(now))
            }
            Op::Close(false, at) => pick(at, self.receivers.len())
                .map(|at| self.receivers[at].close())
                .map(|now| self.closed(now)),
        };
    }

    fn step_of_sender(&mut self, op: Op, at: usize) {
        let sender = &self.senders[at];
        match op {
            Op::TrySend(_) => self.try_send(at),
            Op::Send(_) => {
                let (sender, value) = (sender.clone(), Value::new(&self.ledger));
                let number = value.0;
                let send = async move { Outcome::Sent(sender.send(value).await.map_err(|error| error.0)) };
                self.start(What::Send, number, Rc::default(), send);
            }
            Op::Reserve(_) => {
                let (sender, value) = (sender.clone(), Value::new(&self.ledger));
                let (number, holds) = (value.0, Rc::new(Cell::new(false)));
                let has_it = holds.clone();
                self.start(What::Reserve, number, holds, async move {
                    let Ok(permit) = sender.reserve().await else { return Outcome::Sent(Err(value)) };
                    has_it.set(true);
                    pause().await;
                    Outcome::Sent(permit.send(value).map_err(|error| error.0))
                });
            }
            Op::CloneSender(_) => {
                self.senders.push(sender.clone());
                self.model.senders += 1;
            }
            _ => {
                drop(self.senders.swap_remove(at));
                self.model.sender_gone();
            }
        }
    }

    fn step_of_receiver(&mut self, op: Op, at: usize) {
        let receiver = &self.receivers[at];
        match op {
            Op::TryRecv(_) => self.try_recv(at),
            Op::Recv(_) => {
                let receiver = receiver.clone();
                let recv = async move { Outcome::Received(receiver.recv().await.map(|value| vec![value])) };
                self.start(What::Recv(1), 0, Rc::default(), recv);
            }
            Op::RecvMany(_, max) => {
                let receiver = receiver.clone();
                self.start(What::Recv(max), 0, Rc::default(), async move {
                    let mut into = Vec::new();
                    let count = receiver.recv_many(&mut into, max).await;
                    assert_eq!(count.unwrap_or(0), into.len());
                    Outcome::Received(count.map(|_| into))
                });
            }
            Op::CloneReceiver(_) => {
                self.receivers.push(receiver.clone());
                self.model.receivers += 1;
            }
            _ => {
                drop(self.receivers.swap_remove(at));
                self.model.receiver_gone();
            }
        }
    }

    fn start(
        &mut self,
        what: What,
        number: u64,
        holds: Rc<Cell<bool>>,
        future: impl Future<Output = Outcome> + 'static,
    ) {
        match what {
            What::Recv(_) => self.model.receivers += 1,
            _ => self.model.senders += 1,
        }
        self.operations.push(Operation { future: Box::pin(future), what, number, polled: false, holds });
    }

    fn closed(&mut self, now: bool) {
        assert_eq!(now, !self.model.rules.closed, "whether this call closed it");
        self.model.rules.close();
    }

    fn try_send(&mut self, at: usize) {
        let value = Value::new(&self.ledger);
        let (number, rules) = (value.0, &mut self.model.rules);
        match self.senders[at].try_send(value) {
            Ok(()) => assert!(rules.try_send(number)),
            Err(TrySendError::Full(value)) => {
                assert!(!rules.closed && !rules.try_send(number));
                assert_eq!(value.ends(Fate::GivenBack), number);
            }
            Err(TrySendError::Closed(value)) => {
                assert!(rules.closed);
                assert_eq!(value.ends(Fate::GivenBack), number);
            }
        }
    }

    fn try_recv(&mut self, at: usize) {
        let expected = match self.model.rules.try_recv() {
            Some(number) => Ok(number),
            None if self.model.rules.closed => Err(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        };
        assert_eq!(self.receivers[at].try_recv().map(|value| value.ends(Fate::Received)), expected);
    }

    fn poll(&mut self, at: usize) {
        let one = &mut self.operations[at];
        let (before, held) = (std::mem::replace(&mut one.polled, true), one.holds.get());
        let outcome = one.future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let (number, holds, rules) = (one.number, one.holds.get(), &mut self.model.rules);
        let is_receiver = matches!(one.what, What::Recv(_));
        let expected = match one.what {
            What::Send => match rules.poll_send(number, before) {
                Sent::Waits => Expected::Waits,
                sent => Expected::Sent(sent == Sent::Yes),
            },
            What::Reserve if held => Expected::Sent(rules.redeem(number)),
            What::Reserve if rules.closed => Expected::Sent(false),
            What::Reserve => {
                assert_eq!(holds, rules.try_reserve(), "a permit");
                Expected::Waits
            }
            What::Recv(max) => {
                let values: Vec<u64> = std::iter::from_fn(|| rules.try_recv()).take(max).collect();
                let waits = values.is_empty() && !rules.closed;
                match (before, waits) {
                    (false, true) => rules.come(),
                    (true, false) => rules.go(),
                    _ => {}
                }
                if waits { Expected::Waits } else { Expected::Received(values) }
            }
        };
        match (outcome, expected) {
            (Poll::Pending, Expected::Waits) => return,
            (Poll::Ready(Outcome::Sent(Ok(()))), Expected::Sent(true)) => {}
            (Poll::Ready(Outcome::Sent(Err(value))), Expected::Sent(false)) => {
                assert_eq!(value.ends(Fate::GivenBack), number);
            }
            (Poll::Ready(Outcome::Received(got)), Expected::Received(values)) => {
                assert_eq!(got.is_err(), values.is_empty());
                let got = got.unwrap_or_default().into_iter();
                assert!(got.map(|value| value.ends(Fate::Received)).eq(values));
            }
            (outcome, expected) => panic!("ready: {}, but {expected:?}", outcome.is_ready()),
        }
        drop(self.operations.swap_remove(at));
        if is_receiver { self.model.receiver_gone() } else { self.model.sender_gone() }
    }

    fn drop(&mut self, at: usize) {
        let Operation { future, what, number, polled, holds } = self.operations.swap_remove(at);
        let (model, meeting) = (&mut self.model, self.kind == Kind::Bounded(0));
        match what {
            What::Recv(_) if polled => model.rules.go(),
            What::Recv(_) => {}
            // A receiver has it, and the sender did not notice yet.
            What::Send if polled && meeting && !model.rules.withdraw(number) => {}
            What::Send => model.dropped.push(number),
            What::Reserve => {
                if holds.get() {
                    model.rules.give_back();
                }
                model.dropped.push(number);
            }
        }
        drop(future);
        if matches!(what, What::Recv(_)) { model.receiver_gone() } else { model.sender_gone() }
    }

    pub fn check(&self) {
        let model = &self.model;
        let capacity = if let Kind::Bounded(capacity) = self.kind { Some(capacity) } else { None };
        let expected = (model.rules.len(), model.rules.closed, model.senders, model.receivers, capacity);
        for one in &self.senders {
            let seen = (one.len(), one.is_closed(), one.sender_count(), one.receiver_count(), one.capacity());
            assert_eq!((seen, one.is_empty()), (expected, expected.0 == 0));
        }
        for one in &self.receivers {
            let seen = (one.len(), one.is_closed(), one.sender_count(), one.receiver_count(), one.capacity());
            assert_eq!((seen, one.is_empty()), (expected, expected.0 == 0));
        }
    }

    /// Drops what is left. Then every value was received, given back or dropped, as the model says, and once.
    pub fn end(mut self) {
        while !self.operations.is_empty() {
            self.drop(0);
            self.check();
        }
        while !self.senders.is_empty() {
            self.step(Op::DropSender(0));
            self.check();
        }
        while !self.receivers.is_empty() {
            self.step(Op::DropReceiver(0));
        }
        for (number, entry) in self.ledger.0.borrow().iter().enumerate() {
            assert_eq!(entry.drops, 1, "value {number}: {entry:?}");
            let nobody_got_it = self.model.dropped.contains(&(number as u64));
            assert_eq!(entry.fate.is_none(), nobody_got_it, "value {number}: {entry:?}");
        }
    }
}
