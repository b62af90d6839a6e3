//! wake_latency: a thread that is no worker wakes a task of a runtime that is asleep. One operation is one wake-up: from
//! just before the waker is called until the task runs. Two milliseconds lie between them, so that everything sleeps. The
//! limit is a thread woken by `unpark`.

mod limit;
mod may;

use crate::latency::{Latencies, since, stamp};
use crate::meter::{Sample, Speed};
use crate::peers::{self, Peer};
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicU64, Ordering};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

const WORKERS: usize = 2;
/// Long enough for every peer to stop spinning and to sleep.
const GAP: Duration = Duration::from_millis(2);

fn wakes(speed: Speed) -> usize {
    speed.pick(500, 50)
}

pub fn run(peer: Peer, speed: Speed) -> Option<Sample> {
    let count = wakes(speed);
    let receiver = async move {
        let mut latencies = Latencies::start(count);
        for _ in 0..count {
            latencies.note(Arrival.await);
        }
        latencies
    };
    let sender = thread::spawn(move || (0..count).for_each(|_| send()));
    let latencies = match peer {
        Peer::Ropewalk | Peer::RopewalkCt => {
            let rt = peers::ropewalk(if peer == Peer::Ropewalk { WORKERS } else { 0 });
            rt.block_on(rt.spawn(receiver)).unwrap()
        }
        Peer::TokioMt | Peer::TokioCt => {
            let rt = if peer == Peer::TokioMt { peers::tokio_mt(WORKERS) } else { peers::tokio_ct() };
            rt.block_on(rt.spawn(receiver)).unwrap()
        }
        Peer::Smol => smol::block_on(peers::smol(WORKERS).spawn(receiver)),
        Peer::SmolStatic => smol::block_on(peers::smol_static(WORKERS).spawn(receiver)),
        Peer::May => may::run(WORKERS, count),
        Peer::Limit => limit::run(count),
        _ => return None,
    };
    sender.join().unwrap();
    Some(latencies.finish("us", 1e3))
}

/// When the wake-up under way was sent; zero: none is.
static SENT: AtomicU64 = AtomicU64::new(0);
/// What wakes the receiver, once it waits.
static RECEIVER: Lock<Option<Call>> = Lock::new(None);

/// How a peer's receiver is woken.
type Call = Box<dyn FnOnce() + Send>;

/// Wakes the receiver when it has slept for a while.
fn send() {
    let call = loop {
        thread::sleep(GAP);
        if let Some(call) = RECEIVER.lock().take() {
            break call;
        }
    };
    SENT.store(stamp(), Ordering::Release);
    call();
}

/// How long the wake-up took, if it is there.
fn arrived() -> Option<Duration> {
    match SENT.swap(0, Ordering::AcqRel) {
        0 => None,
        sent => Some(since(sent)),
    }
}

/// Waits for a wake-up and says how long it took.
struct Arrival;

impl Future for Arrival {
    type Output = Duration;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Duration> {
        if let Some(took) = arrived() {
            return Poll::Ready(took);
        }
        let waker = cx.waker().clone();
        *RECEIVER.lock() = Some(Box::new(move || Waker::wake(waker)));
        Poll::Pending
    }
}
