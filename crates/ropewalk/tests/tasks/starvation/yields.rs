//! A yielded task goes behind everything then runnable on its worker.

use super::rig::{Bounds, Rig, draw, yield_for_ever};
use ropewalk::{TaskHandle, Wait, spawn, spawn_local, yield_now};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// Tasks, half of them local, that know of each other who is runnable. They wake one another at random, yield or wait to
/// be woken; and each one that yielded checks, when it has its turn, that all who were runnable then have had theirs.
struct Crowd {
    members: Vec<Member>,
    over: AtomicBool,
    overtaken: Mutex<Vec<String>>,
}

#[derive(Default)]
struct Member {
    bell: Mutex<Option<Waker>>,
    runnable: AtomicBool,
    polls: AtomicU64,
}

impl Member {
    fn wake(&self) {
        if let Some(waker) = &*self.bell.lock().unwrap() {
            self.runnable.store(true, Relaxed);
            waker.wake_by_ref();
        }
    }
}

impl Crowd {
    fn new(count: usize) -> Self {
        let members = (0..count).map(|_| Member::default()).collect();
        Self { members, over: AtomicBool::new(false), overtaken: Mutex::default() }
    }

    fn start(self: Arc<Self>, me: usize, seed: u64) {
        let mut random = seed * 1_000 + me as u64;
        let mut before_me: Vec<(usize, u64)> = Vec::new();
        self.members[me].runnable.store(true, Relaxed);
        let life = poll_fn(move |cx| {
            let member = &self.members[me];
            member.runnable.store(false, Relaxed);
            member.polls.fetch_add(1, Relaxed);
            self.check(me, &before_me);
            before_me.clear();
            if self.over.load(Relaxed) {
                return Poll::Ready(());
            }
            *member.bell.lock().unwrap() = Some(cx.waker().clone());
            for _ in 0..draw(&mut random, 3) {
                let other = draw(&mut random, self.members.len() as u64) as usize;
                if other != me {
                    self.members[other].wake();
                }
            }
            if me != 0 && draw(&mut random, 3) == 0 {
                return Poll::Pending; // until somebody wakes it
            }
            before_me = self.runnable_now();
            member.runnable.store(true, Relaxed);
            assert!(pin!(yield_now()).poll(cx).is_pending());
            Poll::Pending
        });
        if me.is_multiple_of(2) { drop(spawn(life)) } else { drop(spawn_local(life).unwrap()) }
    }

    fn runnable_now(&self) -> Vec<(usize, u64)> {
        let runnable = self.members.iter().enumerate().filter(|(_, member)| member.runnable.load(Relaxed));
        runnable.map(|(other, member)| (other, member.polls.load(Relaxed))).collect()
    }

    fn check(&self, me: usize, before_me: &[(usize, u64)]) {
        for (other, polls) in before_me {
            if self.members[*other].polls.load(Relaxed) == *polls {
                self.overtaken.lock().unwrap().push(format!("{me} overtook {other}"));
            }
        }
    }
}

#[test]
fn nobody_who_yielded_overtakes_anybody() {
    for seed in 1..=30 {
        let mut rig = Rig::new(1, Bounds::DEFAULT.builder());
        let crowd = Arc::new(Crowd::new(20));
        let made = crowd.clone();
        let starter = rig.runtime.spawn(async move {
            (0..20).for_each(|me| made.clone().start(me, seed));
        });
        rig.tick_until_done(&starter);
        rig.tick_times(5_000);
        assert_eq!(*crowd.overtaken.lock().unwrap(), [""; 0], "seed {seed}");
        crowd.over.store(true, Relaxed);
        crowd.members.iter().for_each(Member::wake);
        rig.runtime.run_until_stalled().unwrap();
    }
}

/// Local and free tasks that only yield take turns in one fixed order.
#[test]
fn yields_of_local_and_free_tasks_go_round_in_order() {
    let mut rig = Rig::new(1, Bounds::with_interval(7).builder());
    let starter = rig.runtime.spawn(async {
        let start = |number: usize| match number % 3 {
            0 => spawn_local(yield_for_ever()).unwrap(),
            _ => spawn(yield_for_ever()),
        };
        (0..50).map(start).collect::<Vec<_>>()
    });
    rig.tick_until_done(&starter);
    let tasks = starter.wait().unwrap();
    let first_round: Vec<u64> = (0..tasks.len()).map(|_| rig.tick()).collect();
    assert_eq!(first_round.iter().collect::<BTreeSet<_>>().len(), tasks.len(), "each ran once");
    for _ in 0..100 {
        let round: Vec<u64> = (0..tasks.len()).map(|_| rig.tick()).collect();
        assert_eq!(round, first_round);
    }
    tasks.iter().for_each(TaskHandle::cancel);
    rig.runtime.run_until_stalled().unwrap();
}
