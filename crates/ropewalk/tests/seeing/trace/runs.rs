//! Polls, sleeps, steals, spans, jobs.

use super::{burn, check, count, polls_of, runtime, settled, yields};
use ropewalk::trace::{PollEnd, PollKind, TrackKind, What, WokenBy, span};
use ropewalk::{
    Runtime, Wait, channel, spawn, spawn_blocking, spawn_local, strand, task, time::sleep, yield_now,
};
use std::sync::mpsc;
use std::time::Duration;

#[test]
fn every_poll_of_a_task_is_there_with_its_end() {
    let runtime = runtime(1);
    let task = runtime.spawn(async {
        yields(10).await;
        sleep(Duration::from_millis(2)).await;
        burn(Duration::from_millis(1));
    });
    let id = task.id().unwrap();
    runtime.block_on(task).unwrap();
    let trace = settled(&runtime);
    check(&trace);
    let polls = polls_of(&trace, id);
    let ends: Vec<_> = polls.iter().map(|(_, _, poll)| poll.ended.unwrap()).collect();
    assert_eq!(ends[..10], [PollEnd::Yielded; 10]);
    assert_eq!(ends[10..], [PollEnd::Waits, PollEnd::Done]);
    let (_, _, last) = polls.last().unwrap();
    assert!(last.took.unwrap() >= Duration::from_millis(1), "{last:?}");
    assert!(last.spawned_at.file().ends_with("runs.rs") && last.kind == PollKind::Task, "{last:?}");
    assert!(polls[11].1 - polls[10].1 >= Duration::from_millis(2), "it slept in between");
}

#[test]
fn no_poll_is_missing_and_none_is_there_twice() {
    let runtime = runtime(2);
    let tasks: Vec<_> = (0..50).map(|_| runtime.spawn(yields(100))).collect();
    let ids: Vec<_> = tasks.iter().map(|task| task.id().unwrap()).collect();
    tasks.into_iter().for_each(|task| task.wait().unwrap());
    all_end(&runtime);
    let trace = settled(&runtime);
    check(&trace);
    for id in ids {
        assert_eq!(polls_of(&trace, id).len(), 101);
    }
    assert_eq!(trace.polls().count() as u64, runtime.metrics().total(|worker| worker.polls));
}

/// A task that waits in the middle of a poll gives its worker away: that is not its time.
#[test]
fn a_wait_inside_a_poll_ends_a_slice() {
    let runtime = runtime(1);
    let (send, receive) = channel::bounded::<u32>(1);
    let task = runtime.spawn(async move { receive.recv().wait().unwrap() });
    let (id, other) = (task.id().unwrap(), runtime.spawn(async { burn(Duration::from_millis(2)) }));
    other.wait().unwrap();
    let waker = runtime.spawn(async move { send.send(7).await.unwrap() });
    let waker_id = waker.id().unwrap();
    assert_eq!(runtime.block_on(task).unwrap(), 7);
    waker.wait().unwrap();
    let trace = settled(&runtime);
    check(&trace);
    let polls = polls_of(&trace, id);
    let seen: Vec<_> = polls.iter().map(|(_, _, poll)| (poll.resumed, poll.ended.unwrap())).collect();
    assert_eq!(seen, [(false, PollEnd::Parked), (true, PollEnd::Done)]);
    let wakes = trace.wakes();
    let woken = wakes.iter().find(|wake| wake.task == id && !wake.new).expect("it was woken");
    assert_eq!((woken.by, woken.ran), (WokenBy::Task(waker_id), Some((polls[1].0, polls[1].1))));
}

#[test]
fn strands_local_tasks_jobs_and_roots_are_what_they_are() {
    let runtime = runtime(1);
    let task = runtime.spawn(async {
        let strand = strand::Builder::new().name("weaver").spawn(strand::yield_now);
        let ids = (
            strand.id().unwrap(),
            spawn_local(yields(1)).unwrap(),
            spawn_blocking(|| burn(Duration::from_millis(1))),
        );
        let (strand_id, local, job) = ids;
        let (local_id, job_id) = (local.id().unwrap(), job.id().unwrap());
        strand.await.unwrap();
        local.await.unwrap();
        job.await.unwrap();
        (strand_id, local_id, job_id)
    });
    let (strand, local, job) = runtime.block_on(task).unwrap();
    let trace = settled(&runtime);
    check(&trace);
    let kinds = [strand, local, job].map(|id| polls_of(&trace, id)[0].2.kind);
    assert_eq!(kinds, [PollKind::Strand, PollKind::Task, PollKind::Job]);
    assert_eq!((trace.name(strand), trace.name(local)), (Some("weaver"), None));
    let (track, _, ran) = polls_of(&trace, job)[0].clone();
    assert_eq!(trace.tracks[track].kind, TrackKind::Thread);
    assert!(ran.took.unwrap() >= Duration::from_millis(1) && ran.ended == Some(PollEnd::Done), "{ran:?}");

    let hosted = ropewalk::Runtime::builder().worker_threads(0).record(1024).build().unwrap();
    hosted.block_on(async { spawn(yields(3)).await.unwrap() });
    let trace = settled(&hosted);
    check(&trace);
    assert!(trace.polls().any(|(_, _, poll)| poll.kind == PollKind::Root));
    assert_eq!(trace.polls().filter(|(_, _, poll)| poll.kind == PollKind::Task).count(), 4);
}

#[test]
fn names_of_tasks_that_have_ended_are_known() {
    let runtime = runtime(1);
    let task = task::Builder::new().name("short lived").spawn_on(&runtime.handle(), async {});
    let alive =
        task::Builder::new().name("still here").spawn_on(&runtime.handle(), std::future::pending::<()>());
    let (ended, alive) = (task.id().unwrap(), (alive.id().unwrap(), alive));
    runtime.block_on(task).unwrap();
    let trace = runtime.trace();
    assert_eq!((trace.name(ended), trace.name(alive.0)), (Some("short lived"), Some("still here")));
    assert!(trace.to_chrome().contains("\"name\":\"short lived\""));
}

/// What runs while somebody looks has no end yet.
#[test]
fn a_poll_and_a_sleep_under_way_are_seen() {
    let runtime = runtime(2);
    let ((begin, begun), (release, held)) = (mpsc::channel(), mpsc::channel::<()>());
    let task = runtime.spawn(async move {
        begin.send(()).unwrap();
        held.recv().unwrap_err();
    });
    begun.recv().unwrap();
    let sleeps =
        |trace: &ropewalk::trace::Trace| count(trace, |what| matches!(what, What::Park { took: None, .. }));
    let trace = loop {
        let trace = runtime.trace();
        if sleeps(&trace) == 1 {
            break trace;
        }
        std::thread::yield_now();
    };
    check(&trace);
    let (_, _, poll) = polls_of(&trace, task.id().unwrap()).pop().unwrap();
    assert_eq!((poll.took, poll.ended), (None, None));
    assert!(trace.to_chrome().contains("\"ended\":\"runs\""));
    drop(release);
    task.wait().unwrap();
}

/// Waits until no task is alive.
fn all_end(runtime: &ropewalk::Runtime) {
    while runtime.metrics().pools[0].alive > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn sleeps_and_timers_are_there() {
    let runtime = runtime(1);
    // The time begins when it runs: until then a new thread may take its time.
    runtime.block_on(runtime.spawn(async { sleep(Duration::from_millis(50)).await })).unwrap();
    let trace = settled(&runtime);
    check(&trace);
    let slept = |what: &What| match what {
        What::Park { took: Some(took), .. } => *took,
        _ => Duration::ZERO,
    };
    let events = || trace.tracks.iter().flat_map(|track| &track.events);
    let asleep: Duration = events().map(|event| slept(&event.what)).sum();
    assert!(asleep > Duration::from_millis(3), "{asleep:?}");
    assert_eq!(count(&trace, |what| matches!(what, What::Timers { count: 1, .. })), 1);
    let woken = trace.wakes().into_iter().find(|wake| !wake.new).unwrap();
    assert!(woken.by == WokenBy::Timer && woken.ran.is_some(), "by the clock: {woken:?}");
}

/// One worker spawns, and holds its thread until another one has run what it could get.
#[test]
fn steals_are_there() {
    let runtime = runtime(2);
    let task = runtime.spawn(async {
        let tasks: Vec<_> = (0..16).map(|_| spawn(async {})).collect();
        while !tasks[..15].iter().all(|task| task.is_finished()) {
            std::hint::spin_loop();
        }
    });
    runtime.block_on(task).unwrap();
    all_end(&runtime);
    let trace = settled(&runtime);
    check(&trace);
    let stolen = count(&trace, |what| matches!(what, What::Steal { count: 1.., from: 0..2, .. }));
    assert!(stolen > 0);
    assert_eq!(stolen as u64, runtime.metrics().total(|worker| worker.steals + worker.lifo_steals));
}

/// A worker looks around after 61 polls: then most of them are still queued.
#[test]
fn queues_are_there() {
    let runtime = runtime(1);
    let task = runtime.spawn(async {
        let tasks: Vec<_> = (0..200).map(|_| spawn(async {})).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    runtime.block_on(task).unwrap();
    let trace = settled(&runtime);
    assert!(count(&trace, |what| matches!(what, What::Queues { here: 1.., .. })) > 0);
}

#[cfg(unix)]
#[test]
fn events_of_the_driver_wake_those_who_wait_for_them() {
    use ropewalk::net::{TcpListener, TcpStream};
    let runtime = runtime(1);
    let (client, server) = runtime
        .block_on(runtime.spawn(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let server = spawn(async move { listener.accept().await.unwrap().0 });
            yields(3).await; // it waits
            (spawn(TcpStream::connect(address)).await.unwrap().unwrap(), server.await.unwrap())
        }))
        .unwrap();
    let trace = settled(&runtime);
    check(&trace);
    assert!(count(&trace, |what| matches!(what, What::Io { count: 1.., .. })) > 0);
    assert!(trace.wakes().iter().any(|wake| !wake.new && wake.by == WokenBy::Io && wake.ran.is_some()));
    drop((client, server));
}

#[test]
fn spans_belong_to_their_task_or_their_thread() {
    let runtime = runtime(2);
    let task = runtime.spawn(async {
        let outer = span("outer");
        sleep(Duration::from_millis(1)).await;
        let inner = span("inner");
        yield_now().await;
        drop(outer); // not one inside the other
        burn(Duration::from_micros(100));
        drop(inner);
    });
    let id = task.id().unwrap();
    runtime.block_on(async {
        let _root = span("root");
        let _nested = span("nested");
        task.await.unwrap();
    });
    runtime.block_on(runtime.spawn_blocking(|| drop(span("in a job")))).unwrap();
    let trace = settled(&runtime);
    check(&trace);
    let find = |name: &str| trace.spans.iter().find(|span| span.name == name).unwrap();
    let (outer, inner) = (find("outer"), find("inner"));
    assert_eq!((outer.task, inner.task), (Some(id), Some(id)));
    assert!(outer.took.unwrap() >= Duration::from_millis(1) && outer.at < inner.at);
    assert!(outer.at + outer.took.unwrap() < inner.at + inner.took.unwrap());
    for name in ["root", "nested", "in a job"] {
        let span = find(name);
        assert_eq!((span.task, &trace.tracks[span.track].kind), (None, &TrackKind::Thread), "{span:?}");
        assert!(span.took.is_some());
    }
    // What cannot be drawn one inside the other is kept apart.
    let keys = ["\"ph\":\"b\",\"id2\":{\"local\":\"task ", ".1\"},\"cat\":\"span\",\"name\":\"inner\""];
    assert!(keys.iter().all(|key| trace.to_chrome().contains(key)), "{}", trace.to_chrome());
}

#[test]
fn a_span_that_is_not_recorded_is_nothing() {
    let runtime = ropewalk::Runtime::builder().worker_threads(1).build().unwrap();
    let early = runtime.block_on(runtime.spawn(async { span("early") })).unwrap();
    runtime.record(1024).unwrap();
    drop(early);
    assert!(runtime.trace().spans.iter().all(|span| span.name != "early"));
}

#[test]
fn a_span_belongs_to_its_own_runtime() {
    let (silent, other) = (Runtime::builder().worker_threads(1).build().unwrap(), runtime(1));
    silent.block_on(async {
        let _root = span("elsewhere");
        spawn(async { drop(span("elsewhere")) }).await.unwrap();
    });
    silent.block_on(silent.spawn_blocking(|| drop(span("elsewhere")))).unwrap();
    let spans = other.trace().spans;
    assert!(spans.iter().all(|span| span.name != "elsewhere"), "{spans:?}");
}
