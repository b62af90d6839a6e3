//! Arrows lead from who woke to who ran.

use super::{check, polls_of, runtime, settled, yields};
use ropewalk::Runtime;
use ropewalk::trace::WokenBy;
use ropewalk::{Wait, channel, spawn};

#[test]
fn each_message_wakes_the_other_side() {
    const ROUNDS: usize = 20;
    let runtime = runtime(1);
    let ((ping, pinged), (pong, ponged)) = (channel::bounded(1), channel::bounded(1));
    let echo = runtime.spawn(async move {
        for _ in 0..ROUNDS {
            pong.send(pinged.recv().await.unwrap()).await.unwrap();
        }
    });
    let asks = runtime.spawn(async move {
        for round in 0..ROUNDS {
            ping.send(round).await.unwrap();
            assert_eq!(ponged.recv().await.unwrap(), round);
        }
    });
    let (echo_id, asks_id) = (echo.id().unwrap(), asks.id().unwrap());
    runtime.block_on(async { (echo.await.unwrap(), asks.await.unwrap()) });
    let trace = settled(&runtime);
    check(&trace);
    let wakes = trace.wakes();
    for (from, to) in [(echo_id, asks_id), (asks_id, echo_id)] {
        let led = wakes.iter().filter(|wake| wake.by == WokenBy::Task(from) && wake.task == to);
        let led: Vec<_> = led.map(|wake| wake.ran.expect("it ran")).collect();
        assert!(led.len() >= ROUNDS - 1, "{} of {ROUNDS}", led.len());
        let polls = polls_of(&trace, to);
        assert!(led.iter().all(|(track, at)| polls.iter().any(|poll| (poll.0, poll.1) == (*track, *at))));
    }
}

#[test]
fn spawns_lead_from_parent_to_child_and_from_outside() {
    let runtime = runtime(2);
    let parent = runtime.spawn(async {
        let children: Vec<_> = (0..8).map(|_| spawn(yields(1))).collect();
        let ids: Vec<_> = children.iter().map(|child| child.id().unwrap()).collect();
        for child in children {
            child.await.unwrap();
        }
        ids
    });
    let parent_id = parent.id().unwrap();
    let children = parent.wait().unwrap();
    let trace = settled(&runtime);
    check(&trace);
    let wakes = trace.wakes();
    let new = |task| wakes.iter().filter(|wake| wake.new && wake.task == task).collect::<Vec<_>>();
    let [born] = new(parent_id)[..] else { panic!("{wakes:?}") };
    assert!(born.by == WokenBy::Other && born.ran.is_some());
    assert_eq!(trace.tracks[born.track].name, std::thread::current().name().unwrap());
    for child in children {
        let [born] = new(child)[..] else { panic!("{wakes:?}") };
        assert_eq!((born.by, born.ran.is_some()), (WokenBy::Task(parent_id), true));
        assert!(born.waited().is_some());
    }
}

/// A task of one pool wakes one of another, and a thread wakes a strand at its home.
/// A poll of it has ended.
fn until_it_waits(runtime: &Runtime, task: ropewalk::TaskId) {
    while polls_of(&runtime.trace(), task).iter().all(|(_, _, poll)| poll.took.is_none()) {
        std::thread::yield_now();
    }
}

#[test]
fn across_pools_and_threads() {
    let runtime = runtime(1);
    let other = ropewalk::Pool::builder().name("other").workers(1).build(&runtime.handle()).unwrap();
    let (send, receive) = channel::bounded::<u32>(1);
    let waits = other.spawn(async move { receive.recv().await.unwrap() });
    let waits_id = waits.id().unwrap();
    until_it_waits(&runtime, waits_id);
    let wakes = runtime.spawn(async move { send.send(1).await.unwrap() });
    let wakes_id = wakes.id().unwrap();
    wakes.wait().unwrap();
    waits.wait().unwrap();
    let (send, receive) = channel::bounded::<u32>(1);
    let start = async { (ropewalk::strand::Builder::new().spawn(move || receive.recv().wait()),) };
    let (strand,) = runtime.block_on(start);
    let strand_id = strand.id().unwrap();
    until_it_waits(&runtime, strand_id);
    send.send(2).wait().unwrap();
    assert_eq!(strand.wait().unwrap(), Ok(2));
    let trace = settled(&runtime);
    check(&trace);
    let all = trace.wakes();
    let woken = all.iter().find(|wake| wake.task == waits_id && !wake.new).unwrap();
    assert_eq!(woken.by, WokenBy::Task(wakes_id));
    let names = [woken.track, woken.ran.unwrap().0].map(|track| trace.tracks[track].name.as_str());
    assert_eq!(names, ["main/worker 0", "other/worker 0"]);
    let woken = all.iter().find(|wake| wake.task == strand_id && !wake.new).unwrap();
    assert!(woken.by == WokenBy::Other && woken.ran.is_some(), "{woken:?}");
}
