//! event_hop: two tasks wake each other in turn through events; one worker. One operation is one hop: an event given and
//! awaited.

mod ropewalk;
mod smol;
mod tokio;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};
use crate::tasks::{Ropewalk, Tasks, Tokio};
use std::sync::Arc;

const WORKERS: usize = 1;

/// An event that one task awaits and another one gives.
trait Event: Send + Sync + Default + 'static {
    fn give(&self);

    /// Waits until it is given after this was first polled.
    fn arrived(&self) -> impl Future<Output = ()> + Send;

    /// Listens to this one, gives the other one, then waits.
    fn give_and_await(&self, other: &Self) -> impl Future<Output = ()> + Send;
}

pub fn run(peer: Peer, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk | Peer::RopewalkCt => on::<_, ropewalk::Notify>(Ropewalk::of(peer, WORKERS), meter),
        Peer::TokioMt | Peer::TokioCt => on::<_, tokio::Notify>(Tokio::of(peer, WORKERS), meter),
        Peer::Smol => on::<_, smol::Event>(peers::smol(WORKERS), meter),
        Peer::SmolStatic => on::<_, smol::Event>(peers::smol_static(WORKERS), meter),
        _ => return None,
    })
}

fn on<R: Tasks, E: Event>(runtime: R, meter: Meter) -> Sample {
    meter.measure(|hops| {
        let events = Arc::new([E::default(), E::default()]);
        runtime.run(async move {
            let other = runtime.spawn(hop::<E>(events.clone(), 1, hops / 2));
            events[0].arrived().await; // the other one listens now
            hop(events, 0, hops / 2).await;
            other.await;
        });
    })
}

async fn hop<E: Event>(events: Arc<[E; 2]>, me: usize, rallies: u64) {
    for _ in 0..rallies {
        events[me].give_and_await(&events[1 - me]).await;
    }
    events[1 - me].give();
}
