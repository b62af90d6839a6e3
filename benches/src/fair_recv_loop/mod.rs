//! fair_recv_loop: a task receives from a channel that is never empty (what it takes it puts back), and beside it on the
//! same worker a ticker sleeps for a millisecond again and again. One operation is one tick; the figures say how late it
//! was. Whoever never lets the ticker run is stopped from outside after a while, and that is how late its only tick is.

use crate::channels::{self, BlockingChannel, Channel, may, smol, std as std_channels, tokio};
use crate::late::{Watch, record};
use crate::meter::{Sample, Speed};
use crate::peers::Peer;
use crate::timed::{self, Timed};
use crate::units::{Coroutines, Threads, Units};
use ropewalk_core::prim::real::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(1);
const CAPACITY: usize = 128;
const MESSAGES: u64 = 64;

static OVER: AtomicBool = AtomicBool::new(false);

pub fn run(peer: Peer, speed: Speed) -> Option<Sample> {
    let span = speed.pick(Duration::from_secs(3), Duration::from_millis(200));
    thread::spawn(move || {
        thread::sleep(span);
        OVER.store(true, Relaxed);
    });
    let mut sample = match peer {
        Peer::Ropewalk => on_tasks::<_, channels::ropewalk::Of<CAPACITY>>(timed::Ropewalk::new(1)),
        Peer::RopewalkCt => on_tasks::<_, channels::ropewalk::Of<CAPACITY>>(timed::Ropewalk::new(0)),
        Peer::TokioMt => on_tasks::<_, tokio::Bounded<CAPACITY>>(timed::Tokio::multi_thread(1)),
        Peer::TokioCt => on_tasks::<_, tokio::Bounded<CAPACITY>>(timed::Tokio::current_thread()),
        Peer::Smol => on_tasks::<_, smol::Of<CAPACITY>>(timed::Smol::new(1)),
        Peer::Std => on_units::<_, std_channels::Bounded<CAPACITY>>(Threads, thread::sleep),
        Peer::May => on_units::<_, may::Spsc>(Coroutines::new(1), ::may::coroutine::sleep),
        _ => return None,
    };
    sample.cpu_ns_per_op = None; // a core, always
    Some(sample)
}

fn on_tasks<R: Timed, C: Channel>(runtime: R) -> Sample {
    let (sender, mut receiver) = C::pair();
    runtime.detach(async move {
        for message in 0..MESSAGES {
            C::send(&sender, message).await;
        }
        while !OVER.load(Relaxed) {
            let message = C::recv(&mut receiver).await.expect("it is never empty");
            C::send(&sender, message).await;
        }
    });
    let (watch, mut due) = (Watch::start(), Instant::now() + TICK);
    runtime.run(async move {
        loop {
            R::sleep(TICK).await;
            record(due);
            if OVER.load(Relaxed) {
                break;
            }
            due = Instant::now() + TICK;
        }
    });
    watch.stop()
}

fn on_units<U: Units, C: BlockingChannel>(units: U, sleep: fn(Duration)) -> Sample {
    let (sender, receiver) = C::pair();
    let loops = units.spawn(move || {
        (0..MESSAGES).for_each(|message| C::send(&sender, message));
        while !OVER.load(Relaxed) {
            let message = C::recv(&receiver).expect("it is never empty");
            C::send(&sender, message);
        }
    });
    let (watch, mut due) = (Watch::start(), Instant::now() + TICK);
    let ticks = units.spawn(move || {
        loop {
            sleep(TICK);
            record(due);
            if OVER.load(Relaxed) {
                break;
            }
            due = Instant::now() + TICK;
        }
    });
    ticks();
    let sample = watch.stop();
    loops();
    sample
}
