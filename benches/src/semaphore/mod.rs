//! semaphore: tasks take the only permit of a semaphore and give it back. One operation is one acquisition. Alone (free); as
//! eight tasks on two workers (shared); and as eight that yield while they hold it (yielding).

mod may;
mod ropewalk;
mod smol;
mod tokio;

use crate::meter::{Meter, Sample};
use crate::mutex::Crowd;
use crate::peers::{self, Peer};
use crate::tasks::{self, Ropewalk, Tasks, Tokio};
use std::sync::Arc;

/// A semaphore of one permit that is awaited: the future is the peer's own.
trait OnePermit: Send + Sync + 'static {
    fn new() -> Self;

    /// Dropping what comes back gives the permit back.
    fn acquire(&self) -> impl Future<Output = impl Answer> + Send;
}

/// What a semaphore answers: a permit, if it is not closed.
trait Answer: Send {
    fn is_permit(&self) -> bool;
}

impl<P: Send, E: Send> Answer for Result<P, E> {
    fn is_permit(&self) -> bool {
        self.is_ok()
    }
}

pub fn run(peer: Peer, workers: usize, crowd: Crowd, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk | Peer::RopewalkCt => {
            by_tasks::<_, ropewalk::Semaphore>(Ropewalk::of(peer, workers), crowd, meter)
        }
        Peer::TokioMt | Peer::TokioCt => {
            by_tasks::<_, tokio::Semaphore>(Tokio::of(peer, workers), crowd, meter)
        }
        Peer::Smol => by_tasks::<_, smol::Semaphore>(peers::smol(workers), crowd, meter),
        Peer::SmolStatic => by_tasks::<_, smol::Semaphore>(peers::smol_static(workers), crowd, meter),
        Peer::May => may::run(workers, crowd, meter),
        _ => return None,
    })
}

fn by_tasks<R: Tasks, S: OnePermit>(runtime: R, crowd: Crowd, meter: Meter) -> Sample {
    meter.measure(|acquisitions| {
        let semaphore = Arc::new(S::new());
        let each = acquisitions / crowd.tasks;
        runtime.run(async move {
            let task = |_| acquire_in_turn::<R, S>(semaphore.clone(), each, crowd.yielding);
            tasks::all(runtime, crowd.tasks, task).await;
        });
    })
}

async fn acquire_in_turn<R: Tasks, S: OnePermit>(semaphore: Arc<S>, times: u64, yielding: bool) {
    for _ in 0..times {
        let held = semaphore.acquire().await;
        assert!(held.is_permit(), "it is never closed");
        if yielding {
            R::yield_now().await;
        }
        drop(held);
    }
}
