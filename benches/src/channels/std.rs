//! std's mpsc channels, between threads.

use super::{BlockingChannel, Ends, one};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

pub struct Bounded<const CAPACITY: usize>;
pub struct Unbounded;

impl<const CAPACITY: usize> BlockingChannel for Bounded<CAPACITY> {
    type Sender = SyncSender<u64>;
    type Receiver = Receiver<u64>;

    fn open(senders: usize, receivers: usize) -> Ends<Self::Sender, Self::Receiver> {
        one(sync_channel(CAPACITY), senders, receivers)
    }

    fn send(sender: &Self::Sender, message: u64) {
        sender.send(message).expect("there is a receiver");
    }

    fn recv(receiver: &Self::Receiver) -> Option<u64> {
        receiver.recv().ok()
    }
}

impl BlockingChannel for Unbounded {
    type Sender = Sender<u64>;
    type Receiver = Receiver<u64>;

    fn open(senders: usize, receivers: usize) -> Ends<Self::Sender, Self::Receiver> {
        one(channel(), senders, receivers)
    }

    fn send(sender: &Self::Sender, message: u64) {
        sender.send(message).expect("there is a receiver");
    }

    fn recv(receiver: &Self::Receiver) -> Option<u64> {
        receiver.recv().ok()
    }
}
