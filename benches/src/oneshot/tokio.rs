//! tokio's oneshot channel.

use super::OneShot;
use tokio::sync::oneshot;

pub struct Channel;

impl OneShot for Channel {
    async fn pass(message: u64) -> u64 {
        let (sender, receiver) = oneshot::channel();
        sender.send(message).expect("there is a receiver");
        receiver.await.expect("it was sent")
    }
}
