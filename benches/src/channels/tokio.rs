//! tokio's mpsc channels. There is no tokio channel with several receivers that share the messages.

use super::{Channel, Ends, one};
use tokio::sync::mpsc;

pub struct Bounded<const CAPACITY: usize>;
pub struct Unbounded;

impl<const CAPACITY: usize> Channel for Bounded<CAPACITY> {
    type Sender = mpsc::Sender<u64>;
    type Receiver = mpsc::Receiver<u64>;

    fn open(senders: usize, receivers: usize) -> Ends<Self::Sender, Self::Receiver> {
        one(mpsc::channel(CAPACITY), senders, receivers)
    }

    async fn send(sender: &Self::Sender, message: u64) {
        sender.send(message).await.expect("there is a receiver");
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await
    }
}

impl Channel for Unbounded {
    type Sender = mpsc::UnboundedSender<u64>;
    type Receiver = mpsc::UnboundedReceiver<u64>;

    fn open(senders: usize, receivers: usize) -> Ends<Self::Sender, Self::Receiver> {
        one(mpsc::unbounded_channel(), senders, receivers)
    }

    async fn send(sender: &Self::Sender, message: u64) {
        sender.send(message).expect("there is a receiver");
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await
    }
}
