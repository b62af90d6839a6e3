//! Plays random operations on a channel and checks each answer by the rules.

use super::rules::{Kind, Rules, Sent};
use crate::account::{self, End};
use ropewalk_core::channel::{
    self, Permit, Receiver, Recv, RecvError, Reserve, Send, SendError, Sender, TryRecvError, TrySendError,
};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake};

/// What became of the values: each is dropped once.
#[derive(Default)]
struct Ledger {
    made: Cell<u64>,
    dropped: RefCell<Vec<u32>>,
}

#[derive(Debug)]
struct Value(u64, Rc<Ledger>);
impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} made", self.made.get())
    }
}
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Drop for Value {
    fn drop(&mut self) {
        self.1.dropped.borrow_mut()[self.0 as usize] += 1;
    }
}

#[derive(Default)]
struct Bell(AtomicUsize);
impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A future that is played with.
struct Played<F> {
    future: Pin<Box<F>>,
    bell: Arc<Bell>,
    /// How often the bell had rung when it was polled last.
    heard: usize,
    polled: bool,
    done: bool,
    /// The number of the value it sends.
    value: u64,
}

impl<F> Played<F> {
    fn is_called(&self) -> bool {
        self.bell.0.load(SeqCst) > self.heard
    }
}
impl<F> Drop for Played<F> {
    fn drop(&mut self) {
        let dropped = || End::of_dropped(self.polled, self.is_called());
        account::ended(if self.done { End::Completed } else { dropped() });
    }
}

impl<F: Future> Played<F> {
    fn new(future: F, value: u64) -> Self {
        account::made();
        Self { future: Box::pin(future), bell: Arc::default(), heard: 0, polled: false, done: false, value }
    }
    /// Polls, now and then with another waker.
    fn poll(&mut self, other_waker: bool) -> Poll<F::Output> {
        if other_waker {
            self.bell = Arc::default();
        }
        (self.heard, self.polled) = (self.bell.0.load(SeqCst), true);
        let outcome = self.future.as_mut().poll(&mut Context::from_waker(&self.bell.clone().into()));
        self.done = outcome.is_ready();
        outcome
    }
}

/// Those who wait, and those of them who were called.
fn waiting<F: Future>(all: &[Played<F>]) -> (usize, usize) {
    let polled = all.iter().filter(|one| one.polled);
    (polled.clone().count(), polled.filter(|one| one.is_called()).count())
}

pub struct Player {
    // What borrows comes first.
    sends: Vec<Played<Send<'static, Value>>>,
    reserves: Vec<Played<Reserve<'static, Value>>>,
    permits: Vec<Permit<'static, Value>>,
    recvs: Vec<Played<Recv<'static, Value>>>,
    sender: Rc<Sender<Value>>,
    receiver: Rc<Receiver<Value>>,
    kind: Kind,
    rules: Rules,
    ledger: Rc<Ledger>,
    random: u64,
    seed: u64,
}

impl Player {
    pub fn new(kind: Kind, seed: u64) -> Self {
        let (sender, receiver) = match kind {
            Kind::Bounded(capacity) => channel::bounded(capacity),
            Kind::Unbounded => channel::unbounded(),
        };
        Self {
            sends: vec![],
            reserves: vec![],
            permits: vec![],
            recvs: vec![],
            sender: Rc::new(sender),
            receiver: Rc::new(receiver),
            kind,
            rules: Rules::new(kind),
            ledger: Rc::default(),
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            seed,
        }
    }

    /// A number below `limit`.
    fn draw(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % limit
    }

    fn value(&self) -> Value {
        let number = self.ledger.made.get();
        self.ledger.made.set(number + 1);
        self.ledger.dropped.borrow_mut().push(0);
        Value(number, self.ledger.clone())
    }

    fn sender(&self) -> &'static Sender<Value> {
        // SAFETY: what borrows from it is dropped before it: in `end`, and by the order of the fields.
        unsafe { &*Rc::as_ptr(&self.sender) }
    }
    fn receiver(&self) -> &'static Receiver<Value> {
        // SAFETY: as above.
        unsafe { &*Rc::as_ptr(&self.receiver) }
    }

    pub fn step(&mut self) {
        match self.draw(100) {
            0..10 => self.try_send(),
            10..20 => self.try_recv(),
            20..28 => {
                let value = self.value();
                let number = value.0;
                self.sends.push(Played::new(self.sender().send(value), number));
            }
            28..36 => self.recvs.push(Played::new(self.receiver().recv(), 0)),
            36..50 => self.poll_send(),
            50..64 => self.poll_recv(),
            64..70 => self.drop_send(),
            70..76 => self.drop_recv(),
            76..79 => self.recv_many(),
            79..82 => self.reserves.push(Played::new(self.sender().reserve(), 0)),
            82..88 => self.poll_reserve(),
            88..90 => self.drop_reserve(),
            90..93 => self.use_permit(),
            93..96 => self.drop_permit(),
            96..99 => drop((self.sender.as_ref().clone(), self.receiver.as_ref().clone())),
            _ if self.draw(6) == 0 => self.close(),
            _ => {}
        }
        self.check();
    }

    fn try_send(&mut self) {
        let value = self.value();
        let number = value.0;
        match self.sender().try_send(value) {
            Ok(()) => assert!(self.rules.try_send(number), "seed {}", self.seed),
            Err(TrySendError::Full(value)) => {
                assert!(value.0 == number && !self.rules.closed && !self.rules.try_send(number));
            }
            Err(TrySendError::Closed(value)) => assert!(value.0 == number && self.rules.closed),
        }
    }

    fn try_recv(&mut self) {
        let expected = match self.rules.try_recv() {
            Some(number) => Ok(number),
            None if self.rules.closed => Err(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        };
        assert_eq!(self.receiver().try_recv().map(|value| value.0), expected, "seed {}", self.seed);
    }

    /// One of those, if there are any.
    fn pick(&mut self, count: usize) -> Option<usize> {
        (count > 0).then(|| self.draw(count))
    }

    fn poll_send(&mut self) {
        let Some(at) = self.pick(self.sends.len()) else { return };
        let other_waker = self.draw(5) == 0;
        let send = &mut self.sends[at];
        let (number, offered) = (send.value, send.polled);
        let sent = send.poll(other_waker);
        let expected = self.rules.poll_send(number, offered);
        let fits = match (&sent, expected) {
            (Poll::Pending, Sent::Waits) | (Poll::Ready(Ok(())), Sent::Yes) => true,
            (Poll::Ready(Err(SendError(value))), Sent::Refused) => value.0 == number,
            _ => false,
        };
        assert!(fits, "seed {}: {sent:?}, not {expected:?}", self.seed);
        if sent.is_ready() {
            self.sends.swap_remove(at);
        }
    }

    fn drop_send(&mut self) {
        let Some(at) = self.pick(self.sends.len()) else { return };
        let mut send = self.sends.swap_remove(at);
        let had = !send.polled || self.kind != Kind::Bounded(0) || self.rules.withdraw(send.value);
        if self.draw(2) == 0 {
            let back = send.future.as_mut().into_value();
            assert_eq!(back.map(|value| value.0), had.then_some(send.value), "seed {}", self.seed);
        }
    }

    fn poll_recv(&mut self) {
        let Some(at) = self.pick(self.recvs.len()) else { return };
        let other_waker = self.draw(5) == 0;
        let recv = &mut self.recvs[at];
        let waited = recv.polled;
        let received = recv.poll(other_waker).map(|received| received.map(|value| value.0));
        let expected = match self.rules.try_recv() {
            Some(number) => Poll::Ready(Ok(number)),
            None if self.rules.closed => Poll::Ready(Err(RecvError)),
            None => Poll::Pending,
        };
        assert_eq!(received, expected, "seed {}", self.seed);
        match (waited, received.is_ready()) {
            (false, false) => self.rules.come(),
            (true, true) => self.rules.go(),
            _ => {}
        }
        if received.is_ready() {
            self.recvs.swap_remove(at);
        }
    }

    fn drop_recv(&mut self) {
        let Some(at) = self.pick(self.recvs.len()) else { return };
        if self.recvs.swap_remove(at).polled {
            self.rules.go();
        }
    }

    fn recv_many(&mut self) {
        let (max, mut into) = (self.draw(6) + 1, Vec::new());
        let polled = Played::new(self.receiver().recv_many(&mut into, max), 0).poll(false);
        let expected: Vec<u64> = std::iter::from_fn(|| self.rules.try_recv()).take(max).collect();
        let count = match expected.len() {
            0 if self.rules.closed => Poll::Ready(Err(RecvError)),
            0 => Poll::Pending,
            count => Poll::Ready(Ok(count)),
        };
        assert_eq!(polled, count, "seed {}", self.seed);
        assert!(into.iter().map(|value| value.0).eq(expected), "seed {}", self.seed);
    }

    fn poll_reserve(&mut self) {
        let Some(at) = self.pick(self.reserves.len()) else { return };
        let other_waker = self.draw(5) == 0;
        match self.reserves[at].poll(other_waker) {
            Poll::Pending => return assert!(!self.rules.closed && !self.rules.try_reserve()),
            Poll::Ready(Err(SendError(()))) => assert!(self.rules.closed),
            Poll::Ready(Ok(permit)) => {
                assert!(self.rules.try_reserve());
                self.permits.push(permit);
            }
        }
        self.reserves.swap_remove(at);
    }

    fn drop_reserve(&mut self) {
        if let Some(at) = self.pick(self.reserves.len()) {
            self.reserves.swap_remove(at);
        }
    }

    fn use_permit(&mut self) {
        let Some(at) = self.pick(self.permits.len()) else { return };
        let value = self.value();
        let number = value.0;
        let sent = self.permits.swap_remove(at).send(value);
        assert_eq!(sent.is_ok(), self.rules.redeem(number), "seed {}", self.seed);
        assert!(sent.is_ok() || sent.is_err_and(|error| error.0.0 == number));
    }

    fn drop_permit(&mut self) {
        if let Some(at) = self.pick(self.permits.len()) {
            drop(self.permits.swap_remove(at));
            self.rules.give_back();
        }
    }

    fn close(&mut self) {
        assert_eq!(self.receiver().close(), !self.rules.closed);
        self.rules.close();
    }

    /// The counts agree, and whoever can go on was called.
    fn check(&self) {
        let seed = self.seed;
        assert_eq!(self.sender().len(), self.rules.len(), "seed {seed}");
        assert_eq!(self.sender().is_closed(), self.rules.closed, "seed {seed}");
        let (waiting_recvs, called_recvs) = waiting(&self.recvs);
        let values = if self.rules.closed { waiting_recvs } else { self.rules.values() };
        assert!(called_recvs >= values.min(waiting_recvs), "seed {seed}: a receiver sleeps");
        let (waiting_reserves, called_reserves) = waiting(&self.reserves);
        let (mut waits, mut called) = (waiting_reserves, called_reserves);
        if self.kind != Kind::Bounded(0) {
            let (waiting_sends, called_sends) = waiting(&self.sends);
            (waits, called) = (waits + waiting_sends, called + called_sends);
        }
        let room = if self.rules.closed { waits } else { self.rules.room() };
        assert!(called >= room.min(waits), "seed {seed}: a sender sleeps");
    }

    /// Drops everything in some order; then every value was dropped once.
    pub fn end(mut self) {
        let ledger = self.ledger.clone();
        if self.draw(2) == 0 {
            self.sends.clear();
            self.permits.clear();
        }
        (self.recvs, self.reserves, self.sends, self.permits) = (vec![], vec![], vec![], vec![]);
        let seed = self.seed;
        drop(self);
        let dropped = ledger.dropped.borrow();
        assert!(dropped.iter().all(|times| *times == 1), "seed {seed}: {dropped:?}");
        account::found(dropped.len() as u64);
    }
}
