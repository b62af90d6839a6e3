//! Signals beside tasks that compute in polls of less than a millisecond: what counts is how many of these polls begin between a
//! signal and the turn of the task that listens. With looks after a number of polls only, that was sixty.

use crate::listening::of_ones_own;
use crate::send;
use ropewalk::Runtime;
use ropewalk::signal::unix::signal;
use ropewalk::yield_now;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_micros(300);
const TIMES: usize = 15;
/// The system takes a moment to bring a signal to the thread that hands it on; a third of what it took before.
const FEW: usize = 20;

#[test]
fn a_signal_beside_short_hogs() {
    for workers in [0, 1, 2] {
        let runtime = Runtime::builder().worker_threads(workers).build().unwrap();
        let (polls, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for _ in 0..2 {
            let (polls, over) = (polls.clone(), over.clone());
            drop(runtime.spawn(async move {
                while !over.load(Relaxed) {
                    polls.fetch_add(1, Relaxed);
                    let begun = Instant::now();
                    while begun.elapsed() < POLL {
                        std::hint::spin_loop();
                    }
                    yield_now().await;
                }
            }));
        }
        let kind = of_ones_own(14);
        let sends = polls.clone();
        let listener = runtime.spawn(async move {
            let mut listener = signal(kind).unwrap();
            let mut waits = Vec::new();
            for _ in 0..TIMES {
                let polls = sends.clone();
                let sender = thread::spawn(move || {
                    let enough = polls.load(Relaxed) + 4; // the listener waits by then
                    while polls.load(Relaxed) < enough {
                        thread::yield_now();
                    }
                    let before = polls.load(Relaxed);
                    send(kind);
                    before
                });
                listener.recv().await;
                let now = sends.load(Relaxed);
                waits.push(now - sender.join().unwrap().min(now));
            }
            waits
        });
        let mut waits = runtime.block_on(listener).unwrap();
        over.store(true, Relaxed);
        waits.sort_unstable();
        assert!(waits[TIMES / 2] <= FEW, "{workers} workers: waited for {waits:?} polls");
    }
}
