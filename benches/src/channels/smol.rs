//! async-channel, which is smol's.

use super::{Channel, Ends, both};
use smol::channel::{Receiver, Sender, bounded, unbounded};

/// Of this capacity; zero: without a bound.
pub struct Of<const CAPACITY: usize>;

impl<const CAPACITY: usize> Channel for Of<CAPACITY> {
    type Sender = Sender<u64>;
    type Receiver = Receiver<u64>;

    fn open(senders: usize, receivers: usize) -> Ends<Self::Sender, Self::Receiver> {
        both(if CAPACITY == 0 { unbounded() } else { bounded(CAPACITY) }, senders, receivers)
    }

    async fn send(sender: &Self::Sender, message: u64) {
        sender.send(message).await.expect("there is a receiver");
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await.ok()
    }
}
