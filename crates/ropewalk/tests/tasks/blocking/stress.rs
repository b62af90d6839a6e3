//! Jobs are pushed, cancelled and awaited while threads time out all the time: every account is exact.

use crate::kit::{self, Probe, RuntimeKind, until};
use ropewalk::{TaskError, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

const PUSHERS: u64 = 4;
const JOBS: u64 = 3_000;

fn push(runtime: &ropewalk::Handle, seed: u64, ran: &Arc<AtomicU64>) -> [u64; 2] {
    let (mut random, mut ended) = (seed, [0; 2]);
    for number in 0..JOBS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let ran = ran.clone();
        let job = runtime.spawn_blocking(move || {
            ran.fetch_add(1, SeqCst);
            number
        });
        match random % 8 {
            0 => job.cancel(),
            1 => thread::sleep(Duration::from_micros(random >> 8 & 63)), // long enough for a thread to time out
            2 => drop(job.abort_handle()),
            _ => {}
        }
        match job.wait() {
            Ok(value) => {
                assert_eq!(value, number);
                ended[0] += 1;
            }
            Err(TaskError::Cancelled) => ended[1] += 1,
            Err(other) => panic!("{other}"),
        }
    }
    ended
}

fn stress(keep_alive: Duration, most: usize) {
    let probe = Probe::new();
    let builder = RuntimeKind::Threads(1).builder().blocking_threads(0, most).clock(probe.clock());
    let runtime = builder.blocking_keep_alive(keep_alive).build().unwrap();
    let ran = Arc::new(AtomicU64::new(0));
    let ended: Vec<_> = thread::scope(|scope| {
        let push = |seed| {
            let (handle, ran) = (runtime.handle(), &ran);
            scope.spawn(move || push(&handle, seed, ran))
        };
        let pushers: Vec<_> = (1..=PUSHERS).map(push).collect();
        pushers.into_iter().map(|pusher| pusher.join().unwrap()).collect()
    });
    let [values, cancelled] = [0, 1].map(|at| ended.iter().map(|ended| ended[at]).sum::<u64>());
    assert_eq!(values + cancelled, PUSHERS * JOBS);
    assert_eq!(ran.load(SeqCst), values, "what ran gave a value, and what was cancelled did not run");
    until("all threads have left", || runtime.metrics().blocking.threads == 0);
    let blocking = runtime.metrics().blocking;
    assert_eq!((blocking.queued, blocking.running, blocking.idle), (0, 0, 0));
    assert_eq!(blocking.started, blocking.ended);
    assert!(blocking.finished >= values && blocking.finished <= PUSHERS * JOBS, "{blocking:?}");
    drop(runtime);
    probe.assert_freed();
}

#[test]
fn jobs_come_while_threads_time_out() {
    for keep_alive in [0, 5, 50] {
        for most in [1, 3] {
            let name = format!("keep-alive {keep_alive} us, {most} threads");
            kit::guarded(name, || stress(Duration::from_micros(keep_alive), most));
        }
    }
}
