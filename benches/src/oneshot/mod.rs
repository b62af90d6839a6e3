//! oneshot: a task makes a channel for one message, sends it and receives it, again and again; one worker. One operation is
//! all three.

mod ropewalk;
mod smol;
mod tokio;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};
use crate::tasks::{Ropewalk, Tasks, Tokio};

const WORKERS: usize = 1;

/// A channel that is used once.
trait OneShot: 'static {
    /// Sends the message through a new one.
    fn pass(message: u64) -> impl Future<Output = u64> + Send;
}

pub fn run(peer: Peer, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk | Peer::RopewalkCt => on::<_, ropewalk::Channel>(Ropewalk::of(peer, WORKERS), meter),
        Peer::TokioMt | Peer::TokioCt => on::<_, tokio::Channel>(Tokio::of(peer, WORKERS), meter),
        Peer::Smol => on::<_, smol::Channel>(peers::smol(WORKERS), meter),
        Peer::SmolStatic => on::<_, smol::Channel>(peers::smol_static(WORKERS), meter),
        _ => return None,
    })
}

fn on<R: Tasks, C: OneShot>(runtime: R, meter: Meter) -> Sample {
    meter.measure(|messages| {
        runtime.run(async move {
            for message in 0..messages {
                assert_eq!(C::pass(message).await, message);
            }
        });
    })
}
