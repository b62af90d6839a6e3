//! Channels: values from those who have them to those who want them. Each is written once, for tasks, strands and
//! threads alike: whoever waits is a [`Waker`](core::task::Waker).
//!
//! - [`bounded`] and [`unbounded`]: queues with any number of senders and receivers; each value is received once.
//!   `bounded(0)` has no room: a sender waits for a receiver.
//! - [`oneshot`]: one value, once.
//! - [`broadcast`]: each value is received by everybody who listens; who is too slow is told what it missed.
//! - [`watch`]: the latest value, and who looks is told when it has changed.
//!
//! Every receiver but that of a `oneshot`, which is a future, becomes a stream by its `into_stream`.

#[cfg(feature = "alloc")]
pub mod broadcast;
#[cfg(feature = "alloc")]
pub mod oneshot;
#[cfg(feature = "alloc")]
pub mod watch;

mod bounded;
mod calls;
mod error;
mod mpmc;
mod queries;
mod receiver;
mod rendezvous;
mod sender;
mod tied;
mod unbounded;
mod word;

pub use error::{RecvError, SendError, SendTimeoutError, TryRecvError, TrySendError};
pub use mpmc::{MAX_CAPACITY, bounded, unbounded};
pub use receiver::{IntoStream, Receiver, Recv, RecvMany};
pub use sender::{Permit, Reserve, Send, Sender, WeakSender};
