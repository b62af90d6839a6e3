//! fair_burner: two tasks do nothing but burn 50 ms of CPU time and yield, on two workers, and beside them are ten tickers of a
//! millisecond. One operation is one tick; the figures say how late it was.

use crate::meter::{Sample, Speed};
use crate::peers::Peer;
use crate::stalls::{self, TICKERS, burn, is_over};
use crate::timed::{self, Timed};
use crate::units::{Coroutines, Threads, Units};
use std::thread;
use std::time::Duration;

const WORKERS: usize = 2;
const BURNERS: usize = 2;

pub fn run(peer: Peer, speed: Speed) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk => on_tasks(timed::Ropewalk::new(WORKERS), speed),
        Peer::TokioMt => on_tasks(timed::Tokio::multi_thread(WORKERS), speed),
        Peer::Smol => on_tasks(timed::Smol::new(WORKERS), speed),
        Peer::Std => on_units(Threads, thread::sleep, speed),
        Peer::May => on_units(Coroutines::new(WORKERS), may::coroutine::sleep, speed),
        _ => return None,
    })
}

fn on_tasks<R: Timed>(runtime: R, speed: Speed) -> Sample {
    let start_tickers =
        |plan| (0..TICKERS).for_each(|number| runtime.detach(stalls::task::<R>(plan, number)));
    stalls::measure(speed, start_tickers, || {
        for _ in 0..BURNERS {
            runtime.detach(async {
                while !is_over() {
                    burn();
                    R::yield_now().await;
                }
            });
        }
    })
}

fn on_units<U: Units>(units: U, sleep: fn(Duration), speed: Speed) -> Sample {
    let start_tickers = |plan| {
        for number in 0..TICKERS {
            drop(units.spawn(move || stalls::unit(plan, number, sleep)));
        }
    };
    stalls::measure(speed, start_tickers, || {
        for _ in 0..BURNERS {
            drop(units.spawn(|| {
                while !is_over() {
                    burn();
                    U::yield_now();
                }
            }));
        }
    })
}
