//! pingpong: two tasks send one message to and fro over two channels of capacity one. One operation is one hop: a message
//! sent and received. On one worker; on two, placed by the runtime; and forced onto two (pingpong_cross), for which the
//! limit is two threads that pass a cache line to and fro.

mod ropewalk;

use crate::channels::{self, BlockingChannel, Channel, crossbeam, flume, kanal, may, smol, std, tokio};
use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};
use crate::steal::pass_line;
use crate::tasks::{Ropewalk, Tasks, Tokio};
use crate::units::{Coroutines, Threads, Units};

/// Wherever the runtime puts them.
pub fn placed(peer: Peer, workers: usize, meter: Meter) -> Option<Sample> {
    let tokio = || Tokio::of(peer, workers);
    Some(match peer {
        Peer::Ropewalk | Peer::RopewalkCt => {
            together::<_, channels::ropewalk::Of<1>>(Ropewalk::of(peer, workers), meter)
        }
        Peer::TokioMt | Peer::TokioCt => together::<_, tokio::Bounded<1>>(tokio(), meter),
        Peer::Flume => together::<_, flume::Of<1>>(tokio(), meter),
        Peer::Kanal => together::<_, kanal::Of<1>>(tokio(), meter),
        Peer::Smol => together::<_, smol::Of<1>>(peers::smol(workers), meter),
        Peer::SmolStatic => together::<_, smol::Of<1>>(peers::smol_static(workers), meter),
        Peer::May => between_units::<_, may::Spsc>(Coroutines::new(workers), meter),
        _ => return None,
    })
}

/// Two workers, one for each: two runtimes of one worker, or threads.
pub fn cross(peer: Peer, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk => ropewalk::cross(&peers::ropewalk(2), meter),
        Peer::TokioMt => {
            between::<_, tokio::Bounded<1>>(Tokio::multi_thread(1), Tokio::multi_thread(1), meter)
        }
        Peer::TokioCt => between::<_, tokio::Bounded<1>>(Tokio::current_thread(), Tokio::driven(), meter),
        Peer::Flume => between::<_, flume::Of<1>>(Tokio::multi_thread(1), Tokio::multi_thread(1), meter),
        Peer::Kanal => between::<_, kanal::Of<1>>(Tokio::multi_thread(1), Tokio::multi_thread(1), meter),
        Peer::Smol => between::<_, smol::Of<1>>(peers::smol(1), peers::smol(1), meter),
        Peer::SmolStatic => between::<_, smol::Of<1>>(peers::smol_static(1), peers::smol_static(1), meter),
        Peer::Crossbeam => between_units::<_, crossbeam::Of<1>>(Threads, meter),
        Peer::Std => between_units::<_, std::Bounded<1>>(Threads, meter),
        Peer::Limit => meter.measure(|hops| pass_line(hops / 2)),
        _ => return None,
    })
}

fn together<R: Tasks, C: Channel>(runtime: R, meter: Meter) -> Sample {
    between::<R, C>(runtime, runtime, meter)
}

fn between<R: Tasks, C: Channel>(here: R, there: R, meter: Meter) -> Sample {
    meter.measure(|hops| {
        let (ping, pings) = C::pair();
        let (pong, pongs) = C::pair();
        here.run(async move {
            let other = there.spawn(answer::<C>(pings, pong));
            serve::<C>(ping, pongs, hops / 2).await;
            other.await;
        });
    })
}

/// Sends, and waits for the answer.
async fn serve<C: Channel>(ping: C::Sender, mut pongs: C::Receiver, rallies: u64) {
    for rally in 0..rallies {
        C::send(&ping, rally).await;
        assert_eq!(C::recv(&mut pongs).await, Some(rally));
    }
}

/// Answers until there is nothing more to answer.
async fn answer<C: Channel>(mut pings: C::Receiver, pong: C::Sender) {
    while let Some(rally) = C::recv(&mut pings).await {
        C::send(&pong, rally).await;
    }
}

fn between_units<U: Units, C: BlockingChannel>(units: U, meter: Meter) -> Sample {
    meter.measure(|hops| {
        let (ping, pings) = C::pair();
        let (pong, pongs) = C::pair();
        let server = move || {
            for rally in 0..hops / 2 {
                C::send(&ping, rally);
                assert_eq!(C::recv(&pongs), Some(rally));
            }
        };
        let answerer = move || {
            while let Some(rally) = C::recv(&pings) {
                C::send(&pong, rally);
            }
        };
        let (server, answerer) = (units.spawn(server), units.spawn(answerer));
        server();
        answerer();
    })
}
