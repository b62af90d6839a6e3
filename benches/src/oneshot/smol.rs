//! smol has no oneshot channel; its documentation uses a bounded one.

use super::OneShot;
use smol::channel::bounded;

pub struct Channel;

impl OneShot for Channel {
    async fn pass(message: u64) -> u64 {
        let (sender, receiver) = bounded(1);
        sender.send(message).await.expect("there is a receiver");
        receiver.recv().await.expect("it was sent")
    }
}
