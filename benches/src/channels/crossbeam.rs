//! crossbeam-channel, between threads.

use super::{BlockingChannel, Ends, both};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

/// Of this capacity; zero: without a bound.
pub struct Of<const CAPACITY: usize>;

impl<const CAPACITY: usize> BlockingChannel for Of<CAPACITY> {
    type Sender = Sender<u64>;
    type Receiver = Receiver<u64>;

    fn open(senders: usize, receivers: usize) -> Ends<Self::Sender, Self::Receiver> {
        both(if CAPACITY == 0 { unbounded() } else { bounded(CAPACITY) }, senders, receivers)
    }

    fn send(sender: &Self::Sender, message: u64) {
        sender.send(message).expect("there is a receiver");
    }

    fn recv(receiver: &Self::Receiver) -> Option<u64> {
        receiver.recv().ok()
    }
}
