//! may's channels, between coroutines. None of them has a bound.

use super::{BlockingChannel, Ends, both, one};
use may::sync::{mpmc, mpsc, spsc};

pub struct Spsc;
pub struct Mpsc;
pub struct Mpmc;

impl BlockingChannel for Spsc {
    type Sender = spsc::Sender<u64>;
    type Receiver = spsc::Receiver<u64>;

    fn open(senders: usize, receivers: usize) -> Ends<Self::Sender, Self::Receiver> {
        assert_eq!((senders, receivers), (1, 1), "this channel has one end of each");
        let (sender, receiver) = spsc::channel();
        (vec![sender], vec![receiver])
    }

    fn send(sender: &Self::Sender, message: u64) {
        sender.send(message).expect("there is a receiver");
    }

    fn recv(receiver: &Self::Receiver) -> Option<u64> {
        receiver.recv().ok()
    }
}

impl BlockingChannel for Mpsc {
    type Sender = mpsc::Sender<u64>;
    type Receiver = mpsc::Receiver<u64>;

    fn open(senders: usize, receivers: usize) -> Ends<Self::Sender, Self::Receiver> {
        one(mpsc::channel(), senders, receivers)
    }

    fn send(sender: &Self::Sender, message: u64) {
        sender.send(message).expect("there is a receiver");
    }

    fn recv(receiver: &Self::Receiver) -> Option<u64> {
        receiver.recv().ok()
    }
}

impl BlockingChannel for Mpmc {
    type Sender = mpmc::Sender<u64>;
    type Receiver = mpmc::Receiver<u64>;

    fn open(senders: usize, receivers: usize) -> Ends<Self::Sender, Self::Receiver> {
        both(mpmc::channel(), senders, receivers)
    }

    fn send(sender: &Self::Sender, message: u64) {
        sender.send(message).expect("there is a receiver");
    }

    fn recv(receiver: &Self::Receiver) -> Option<u64> {
        receiver.recv().ok()
    }
}
