//! mutex: tasks lock a mutex, add one to what it holds, and unlock it. One operation is one acquisition. Alone (free); as
//! eight tasks on two workers (shared); and as eight that yield while they hold it (yielding).

mod may;
mod parking_lot;
mod ropewalk;
mod smol;
mod std;
mod tokio;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};
use crate::tasks::{self, Ropewalk, Tasks, Tokio};
use crate::units::{self, Coroutines, Threads, Units};
use ::std::ops::DerefMut;
use ::std::sync::Arc;

/// A mutex that is awaited: the future is the peer's own, as where somebody writes `mutex.lock().await`.
trait Lock: Send + Sync + 'static {
    fn new() -> Self;

    fn lock(&self) -> impl Future<Output = impl DerefMut<Target = u64> + Send> + Send;
}

/// A mutex that blocks.
trait BlockingLock: Send + Sync + 'static {
    fn new() -> Self;

    fn lock(&self) -> impl DerefMut<Target = u64>;
}

/// How many lock it, and whether they yield while they hold it.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    pub tasks: u64,
    pub yielding: bool,
}

pub fn run(peer: Peer, workers: usize, crowd: Crowd, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk | Peer::RopewalkCt => {
            by_tasks::<_, ropewalk::Mutex>(Ropewalk::of(peer, workers), crowd, meter)
        }
        Peer::TokioMt | Peer::TokioCt => by_tasks::<_, tokio::Mutex>(Tokio::of(peer, workers), crowd, meter),
        Peer::Smol => by_tasks::<_, smol::Mutex>(peers::smol(workers), crowd, meter),
        Peer::SmolStatic => by_tasks::<_, smol::Mutex>(peers::smol_static(workers), crowd, meter),
        Peer::May => by_units::<_, may::Mutex>(Coroutines::new(workers), crowd, meter),
        Peer::Std => by_units::<_, std::Mutex>(Threads, crowd, meter),
        Peer::ParkingLot => by_units::<_, parking_lot::Mutex>(Threads, crowd, meter),
        _ => return None,
    })
}

fn by_tasks<R: Tasks, L: Lock>(runtime: R, crowd: Crowd, meter: Meter) -> Sample {
    meter.measure(|acquisitions| {
        let lock = Arc::new(L::new());
        let each = acquisitions / crowd.tasks;
        let locks = lock.clone();
        runtime.run(async move {
            tasks::all(runtime, crowd.tasks, |_| lock_in_turn::<R, L>(locks.clone(), each, crowd.yielding))
                .await;
            assert_eq!(*lock.lock().await, acquisitions);
        });
    })
}

async fn lock_in_turn<R: Tasks, L: Lock>(lock: Arc<L>, times: u64, yielding: bool) {
    for _ in 0..times {
        let mut held = lock.lock().await;
        *held += 1;
        if yielding {
            R::yield_now().await;
        }
    }
}

fn by_units<U: Units, L: BlockingLock>(units: U, crowd: Crowd, meter: Meter) -> Sample {
    meter.measure(|acquisitions| {
        let lock = Arc::new(L::new());
        let each = acquisitions / crowd.tasks;
        units::all(units, crowd.tasks, |_| {
            let lock = lock.clone();
            move || {
                for _ in 0..each {
                    let mut held = lock.lock();
                    *held += 1;
                    if crowd.yielding {
                        U::yield_now();
                    }
                }
            }
        });
        assert_eq!(*lock.lock(), acquisitions);
    })
}
