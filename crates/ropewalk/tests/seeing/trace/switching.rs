//! On and off while all runs; how much is kept.

use super::{check, runtime, settled, yields};
use ropewalk::{Runtime, Wait, spawn};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

#[test]
fn the_newest_are_kept_and_the_others_are_counted() {
    let runtime = Runtime::builder().worker_threads(1).record(100).build().unwrap();
    runtime.block_on(runtime.spawn(yields(10_000))).unwrap();
    let last = runtime.spawn(async {});
    let id = last.id().unwrap();
    last.wait().unwrap();
    let trace = settled(&runtime);
    check(&trace);
    assert_eq!(trace.events_per_worker, 128, "the next power of two");
    let worker = &trace.tracks[0];
    assert!(worker.events.len() < 128 && worker.lost >= 9_000, "{} and {}", worker.events.len(), worker.lost);
    assert!(trace.polls().any(|(_, _, poll)| poll.task == id), "the last one is there");
    assert!(trace.complete_since() > Duration::ZERO);
    for _ in 0..1_000 {
        runtime.spawn(async {}).wait().unwrap();
    }
    let trace = runtime.trace();
    let outside = trace.tracks.iter().find(|track| track.kind == ropewalk::trace::TrackKind::Thread).unwrap();
    assert!(
        outside.events.len() <= 128 && outside.lost >= 800,
        "{} and {}",
        outside.events.len(),
        outside.lost
    );
}

#[test]
fn nothing_is_recorded_unless_it_is_wanted() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    runtime.block_on(runtime.spawn(yields(1_000))).unwrap();
    let trace = runtime.trace();
    assert!(trace.tracks.is_empty() && trace.spans.is_empty() && trace.events_per_worker == 0);
    super::chrome::check(&trace.to_chrome());
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let too_many = Runtime::builder().record((1 << 24) + 1).build().unwrap_err().to_string();
    assert_eq!(too_many, "record: 16777217 is not possible; accepted: 0 to 16777216");
    let runtime = runtime(1);
    assert_eq!(runtime.record(usize::MAX).unwrap_err().to_string().split(':').next(), Some("record"));
    runtime.block_on(runtime.spawn(async {})).unwrap();
    assert!(runtime.trace().polls().count() > 0, "it goes on as before");
}

/// More workers than cores, and everything moves: tasks, strands, timers, and the recorder itself.
#[test]
fn it_is_switched_while_all_runs() {
    let runtime = Runtime::builder().worker_threads(6).build().unwrap();
    let tasks: Vec<_> = (0..24)
        .map(|number| {
            runtime.spawn(async move {
                for turn in 0..200 {
                    let _span = ropewalk::trace::span("turn");
                    match (number + turn) % 4 {
                        0 => yields(5).await,
                        1 => spawn(yields(2)).await.unwrap(),
                        2 => ropewalk::time::sleep(Duration::from_micros(50)).await,
                        _ => drop(spawn(async {}).wait()),
                    }
                }
            })
        })
        .collect();
    let mut seen = 0;
    for turn in 0.. {
        runtime.record([64, 0, 4096, 1 << 12, 16][turn % 5]).unwrap();
        for _ in 0..4 {
            let trace = runtime.trace();
            check(&trace);
            seen += trace.polls().count();
        }
        if tasks.iter().all(|task| task.is_finished()) {
            break;
        }
    }
    tasks.into_iter().for_each(|task| task.wait().unwrap());
    assert!(seen > 0);
    runtime.record(0).unwrap();
    assert!(runtime.trace().tracks.is_empty());
    runtime.block_on(runtime.spawn(yields(1_000))).unwrap();
    assert!(runtime.trace().tracks.is_empty(), "it is off");
}

#[test]
fn pools_that_come_later_are_recorded_and_those_that_have_gone_stay() {
    let runtime = runtime(1);
    let pool = ropewalk::Pool::builder().name("late").workers(2).build(&runtime.handle()).unwrap();
    pool.spawn(yields(3)).wait().unwrap();
    pool.shutdown().wait().unwrap();
    let handle = runtime.handle();
    drop(runtime);
    let trace = handle.trace();
    check(&trace);
    let names: Vec<_> = trace.tracks.iter().map(|track| track.name.as_str()).collect();
    assert_eq!(names[..3], ["main/worker 0", "late/worker 0", "late/worker 1"]);
    assert_eq!(trace.polls().filter(|(track, _, _)| *track > 0).count(), 4);
}

/// Histograms and the recorder want to see the same polls: neither takes them from the other.
#[test]
fn together_with_histograms() {
    let runtime = Runtime::builder().worker_threads(1).record(1 << 16).histograms(true).build().unwrap();
    runtime.block_on(runtime.spawn(yields(20_000))).unwrap();
    let polls = runtime.metrics().total(|worker| worker.polls);
    assert_eq!(runtime.trace().polls().count() as u64, polls);
    assert!(runtime.metrics().poll_time().count() > polls / 2);
    runtime.record(0).unwrap();
    runtime.block_on(runtime.spawn(yields(20_000))).unwrap();
    assert!(runtime.metrics().poll_time().count() > polls);
}

/// A stack that was put away before is brought back by something that is no task of the user's: that is not shown.
#[test]
fn a_wait_that_began_before_leaves_nothing_strange() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let (send, receive) = ropewalk::channel::bounded::<u32>(1);
    let waits = runtime.spawn(async move { receive.recv().wait().unwrap() });
    while runtime.metrics().total(|worker| worker.waits_in_poll) == 0 {
        std::thread::yield_now();
    }
    runtime.record(1024).unwrap();
    while runtime.trace().polls().count() == 0 {
        runtime.spawn(async {}).wait().unwrap();
    }
    runtime.spawn(async move { send.send(7).await.unwrap() }).wait().unwrap();
    assert_eq!(waits.wait().unwrap(), 7);
    let trace = settled(&runtime);
    check(&trace);
    for event in trace.tracks.iter().flat_map(|track| &track.events) {
        if let ropewalk::trace::What::Wake { spawned_at, .. } = event.what {
            assert!(spawned_at.file().ends_with("switching.rs"), "{event:?}");
        }
    }
}

/// A long poll, written again when it ends, because its place was taken: what happened in it is missing all the same.
#[test]
fn it_is_complete_since_what_was_lost() {
    let (handle, taken) = (Arc::<OnceLock<ropewalk::Handle>>::default(), Arc::<Mutex<Vec<_>>>::default());
    let (known, traces) = (handle.clone(), taken.clone());
    let take = move |id| traces.lock().unwrap().extend(known.get().map(|handle| (id, handle.trace())));
    let runtime = Runtime::builder().worker_threads(1).record(16).after_poll(take).build().unwrap();
    handle.set(runtime.handle()).unwrap();
    let busy = runtime.spawn(async {
        for _ in 0..100 {
            drop(spawn(async {}));
        }
    });
    let id = busy.id().unwrap();
    busy.wait().unwrap();
    drop(runtime);
    let taken = taken.lock().unwrap();
    let (_, trace) = taken.iter().find(|(polled, _)| *polled == id).unwrap();
    let (_, at, poll) = trace.polls().find(|(_, _, poll)| poll.task == id).unwrap();
    assert!(trace.complete_since() > at, "{:?} and {poll:?} at {at:?}", trace.complete_since());
    assert!(trace.tracks[0].lost > 80 && trace.complete_since() <= at + poll.took.unwrap());
}

#[test]
fn it_is_not_complete_before_it_began() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let (let_on, holds) = std::sync::mpsc::channel::<()>();
    let hog = runtime.spawn(async move {
        let_on.send(()).unwrap();
        assert!(held.recv().is_err());
    });
    holds.recv().unwrap();
    let begun = runtime.trace().until;
    runtime.record(1024).unwrap();
    let trace = runtime.trace();
    assert!(trace.complete_since() > begun && trace.polls().count() == 0, "the worker does not know yet");
    drop(hold);
    hog.wait().unwrap();
    while runtime.trace().polls().count() == 0 {
        runtime.spawn(async {}).wait().unwrap();
    }
    let trace = settled(&runtime);
    check(&trace);
    assert!(trace.complete_since() > begun && trace.complete_since() < trace.until, "{trace:?}");
}

/// Who comes later has done nothing before that could be missing.
#[test]
fn it_is_complete_although_workers_came_later() {
    let runtime = runtime(1);
    let first = runtime.spawn(async {});
    let id = first.id().unwrap();
    first.wait().unwrap();
    let pool = ropewalk::Pool::builder().name("later").workers(1).build(&runtime.handle()).unwrap();
    pool.spawn(async {}).wait().unwrap();
    pool.resize(3).unwrap().wait();
    let handle = runtime.handle();
    while handle.trace().tracks.iter().filter(|track| track.name.starts_with("later")).count() < 3 {
        pool.spawn(async {}).wait().unwrap();
    }
    // Two stations that are empty when it begins anew, and are manned later.
    pool.resize(1).unwrap().wait();
    let has_woken =
        |id| move |trace: &ropewalk::trace::Trace| trace.wakes().iter().any(|wake| wake.task == id);
    assert!(has_woken(id)(&settled(&runtime)), "{:?}", runtime.trace().complete_since());
    runtime.record(0).unwrap();
    runtime.record(4096).unwrap();
    let run = |task: ropewalk::TaskHandle<()>| {
        let id = task.id().unwrap();
        task.wait().unwrap();
        id
    };
    let again = loop {
        let (there, here) = (run(pool.spawn(async {})), run(runtime.spawn(async {})));
        let trace = settled(&runtime);
        if has_woken(here)(&trace) && trace.polls().any(|(_, _, poll)| poll.task == there) {
            break here; // both workers have noticed
        }
    };
    pool.resize(3).unwrap().wait();
    for _ in 0..100 {
        pool.spawn(async {}).wait().unwrap();
    }
    assert!(has_woken(again)(&settled(&runtime)), "{:?}", runtime.trace().complete_since());
}

/// Pools that go and come again under the same name; their workers are told apart, and not all are kept.
#[test]
fn pools_of_one_name() {
    let runtime = runtime(1);
    for _ in 0..40 {
        let pool = ropewalk::Pool::builder().name("again").workers(3).build(&runtime.handle()).unwrap();
        pool.spawn(async {}).wait().unwrap();
        pool.shutdown().wait().unwrap();
    }
    let trace = settled(&runtime);
    check(&trace);
    let workers = trace.tracks.iter().filter(|track| track.name.starts_with("again/"));
    let names: Vec<_> = workers.map(|track| &track.name).collect();
    let different: std::collections::HashSet<_> = names.iter().collect();
    assert_eq!(names.len(), different.len(), "{names:?}");
    assert!((3..=70).contains(&names.len()), "{}", names.len());
}
