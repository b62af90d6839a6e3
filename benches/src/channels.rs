//! The peers' channels behind two traits, one for those that tasks await and one for those that block a thread or a
//! coroutine, so that one source serves all of them. Go has sources of its own. Every message is a `u64`.

pub mod crossbeam;
pub mod flume;
pub mod kanal;
pub mod may;
pub mod ropewalk;
pub mod smol;
pub mod std;
pub mod tokio;

/// The ends of a channel: as many of each as were asked for.
pub type Ends<S, R> = (Vec<S>, Vec<R>);

/// A kind of channel whose ends are awaited.
pub trait Channel: 'static {
    type Sender: Send + 'static;
    type Receiver: Send + 'static;

    fn open(senders: usize, receivers: usize) -> Ends<Self::Sender, Self::Receiver>;

    /// The receiver is still there.
    fn send(sender: &Self::Sender, message: u64) -> impl Future<Output = ()> + Send;

    /// `None`: all senders are gone.
    fn recv(receiver: &mut Self::Receiver) -> impl Future<Output = Option<u64>> + Send;

    /// One end of each.
    fn pair() -> (Self::Sender, Self::Receiver) {
        let (mut senders, mut receivers) = Self::open(1, 1);
        (senders.remove(0), receivers.remove(0))
    }
}

/// A kind of channel whose ends block.
pub trait BlockingChannel: 'static {
    type Sender: Send + 'static;
    type Receiver: Send + 'static;

    fn open(senders: usize, receivers: usize) -> Ends<Self::Sender, Self::Receiver>;

    fn send(sender: &Self::Sender, message: u64);

    fn recv(receiver: &Self::Receiver) -> Option<u64>;

    fn pair() -> (Self::Sender, Self::Receiver) {
        let (mut senders, mut receivers) = Self::open(1, 1);
        (senders.remove(0), receivers.remove(0))
    }
}

/// The ends of a channel both of whose ends can be cloned.
fn both<S: Clone, R: Clone>((sender, receiver): (S, R), senders: usize, receivers: usize) -> Ends<S, R> {
    (vec![sender; senders], vec![receiver; receivers])
}

/// The ends of a channel with one receiver.
fn one<S: Clone, R>((sender, receiver): (S, R), senders: usize, receivers: usize) -> Ends<S, R> {
    assert_eq!(receivers, 1, "this channel has one receiver");
    (vec![sender; senders], vec![receiver])
}
