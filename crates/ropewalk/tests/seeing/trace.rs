//! The flight recorder: what is recorded is what happened.

mod chrome;
mod runs;
mod switching;
mod wakes;

use ropewalk::trace::{Poll, Trace, What};
use ropewalk::{Runtime, yield_now};
use std::time::Duration;

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().worker_threads(workers).record(1 << 16).build().unwrap()
}

async fn yields(count: usize) {
    for _ in 0..count {
        yield_now().await;
    }
}

/// A poll that takes so long.
fn burn(time: Duration) {
    let begun = std::time::Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The polls of one task, in the order of time.
fn polls_of(trace: &Trace, task: ropewalk::TaskId) -> Vec<(usize, Duration, Poll)> {
    let mut polls: Vec<_> = trace
        .polls()
        .filter(|(_, _, poll)| poll.task == task)
        .map(|(track, at, poll)| (track, at, poll.clone()))
        .collect();
    polls.sort_by_key(|(_, at, _)| *at);
    polls
}

/// Once every poll has ended: who joins a task goes on before the poll that ended it is over.
fn settled(runtime: &Runtime) -> Trace {
    loop {
        let trace = runtime.trace();
        if trace.polls().all(|(_, _, poll)| poll.ended.is_some()) {
            return trace;
        }
        std::thread::yield_now();
    }
}

/// How many events there are of a kind.
fn count(trace: &Trace, wanted: impl Fn(&What) -> bool) -> usize {
    trace.tracks.iter().flat_map(|track| &track.events).filter(|event| wanted(&event.what)).count()
}

/// What is so of every trace: each track in order, slices one inside the other or one after the other, nothing in the future; and what is written of it
/// is well formed.
fn check(trace: &Trace) {
    for track in &trace.tracks {
        let mut open: Vec<Duration> = Vec::new();
        let mut before = Duration::ZERO;
        for event in &track.events {
            assert!(
                before <= event.at && event.at <= trace.until,
                "{}: {event:?} after {before:?}",
                track.name
            );
            before = event.at;
            let end = event.end().unwrap_or(trace.until);
            if end == event.at {
                continue;
            }
            while open.last().is_some_and(|outer| *outer <= event.at) {
                open.pop();
            }
            assert!(open.last().is_none_or(|outer| end <= *outer), "{}: {event:?} is cut in two", track.name);
            open.push(end);
        }
    }
    for wake in trace.wakes() {
        assert!(wake.ran.is_none_or(|(_, at)| at >= wake.at), "{wake:?}");
    }
    chrome::check(&trace.to_chrome());
}
