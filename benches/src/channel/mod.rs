//! channel: so many tasks send as fast as they can to so many that receive, over one channel; two workers. One operation is
//! one message from end to end.

use crate::channels::{self, BlockingChannel, Channel, crossbeam, flume, kanal, may, smol, std, tokio};
use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};
use crate::tasks::{Ropewalk, Tasks, Tokio};
use crate::units::{Coroutines, Threads, Units};

const WORKERS: usize = 2;

/// How many send and how many receive.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    pub senders: usize,
    pub receivers: usize,
}

/// A channel of this capacity; zero: without a bound.
pub fn run<const CAPACITY: usize>(peer: Peer, flow: Flow, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk | Peer::RopewalkCt => {
            between_tasks::<_, channels::ropewalk::Of<CAPACITY>>(Ropewalk::of(peer, WORKERS), flow, meter)
        }
        Peer::TokioMt | Peer::TokioCt if CAPACITY == 0 => {
            between_tasks::<_, tokio::Unbounded>(Tokio::of(peer, WORKERS), flow, meter)
        }
        Peer::TokioMt | Peer::TokioCt => {
            between_tasks::<_, tokio::Bounded<CAPACITY>>(Tokio::of(peer, WORKERS), flow, meter)
        }
        Peer::Flume => between_tasks::<_, flume::Of<CAPACITY>>(Tokio::of(peer, WORKERS), flow, meter),
        Peer::Kanal => between_tasks::<_, kanal::Of<CAPACITY>>(Tokio::of(peer, WORKERS), flow, meter),
        Peer::Smol => between_tasks::<_, smol::Of<CAPACITY>>(peers::smol(WORKERS), flow, meter),
        Peer::SmolStatic => between_tasks::<_, smol::Of<CAPACITY>>(peers::smol_static(WORKERS), flow, meter),
        Peer::Crossbeam => between_units::<_, crossbeam::Of<CAPACITY>>(Threads, flow, meter),
        Peer::Std if CAPACITY == 0 => between_units::<_, std::Unbounded>(Threads, flow, meter),
        Peer::Std => between_units::<_, std::Bounded<CAPACITY>>(Threads, flow, meter),
        Peer::May if CAPACITY == 0 => on_may(flow, meter),
        _ => return None,
    })
}

fn on_may(flow: Flow, meter: Meter) -> Sample {
    let units = Coroutines::new(WORKERS);
    match flow {
        Flow { senders: 1, receivers: 1 } => between_units::<_, may::Spsc>(units, flow, meter),
        Flow { receivers: 1, .. } => between_units::<_, may::Mpsc>(units, flow, meter),
        _ => between_units::<_, may::Mpmc>(units, flow, meter),
    }
}

fn between_tasks<R: Tasks, C: Channel>(runtime: R, flow: Flow, meter: Meter) -> Sample {
    meter.measure(|messages| runtime.run(pass_all::<R, C>(runtime, flow, messages))).into_rate()
}

async fn pass_all<R: Tasks, C: Channel>(runtime: R, flow: Flow, messages: u64) {
    let (senders, receivers) = C::open(flow.senders, flow.receivers);
    let receivers: Vec<_> = receivers.into_iter().map(|end| runtime.spawn(receive_all::<C>(end))).collect();
    let each = messages / flow.senders as u64;
    let senders: Vec<_> = senders.into_iter().map(|end| runtime.spawn(send_all::<C>(end, each))).collect();
    for sender in senders {
        sender.await;
    }
    let mut received = 0;
    for receiver in receivers {
        received += receiver.await;
    }
    assert_eq!(received, messages);
}

async fn send_all<C: Channel>(sender: C::Sender, messages: u64) {
    for message in 0..messages {
        C::send(&sender, message).await;
    }
}

async fn receive_all<C: Channel>(mut receiver: C::Receiver) -> u64 {
    let mut received = 0;
    while C::recv(&mut receiver).await.is_some() {
        received += 1;
    }
    received
}

fn between_units<U: Units, C: BlockingChannel>(units: U, flow: Flow, meter: Meter) -> Sample {
    let pass_all = move |messages: u64| {
        let (senders, receivers) = C::open(flow.senders, flow.receivers);
        let receive = |end| units.spawn(move || receive_here::<C>(end));
        let receivers: Vec<_> = receivers.into_iter().map(receive).collect();
        let each = messages / flow.senders as u64;
        let send = |end| units.spawn(move || (0..each).for_each(|message| C::send(&end, message)));
        let senders: Vec<_> = senders.into_iter().map(send).collect();
        senders.into_iter().for_each(|join| join());
        assert_eq!(receivers.into_iter().map(|join| join()).sum::<u64>(), messages);
    };
    meter.measure(|messages| units.spawn(move || pass_all(messages))()).into_rate()
}

fn receive_here<C: BlockingChannel>(receiver: C::Receiver) -> u64 {
    let mut received = 0;
    while C::recv(&receiver).is_some() {
        received += 1;
    }
    received
}
