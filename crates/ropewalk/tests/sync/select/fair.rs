//! Who wins if several are ready.

use crate::kit::on_every_kind;
use ropewalk::{Runtime, block_on, select, select_wait, yield_now};
use std::future::ready;
use std::task::Poll;

/// How often each of four branches that are always ready wins.
async fn race(turns: usize) -> [usize; 4] {
    let mut wins = [0; 4];
    for _ in 0..turns {
        let winner = select! {
            () = ready(()) => 0,
            () = ready(()) => 1,
            () = ready(()) => 2,
            () = ready(()) => 3,
        };
        wins[winner] += 1;
    }
    wins
}

#[test]
fn each_is_as_likely_as_the_others() {
    on_every_kind(|kind| {
        let runtime = kind.builder().seed(11).build().unwrap();
        let wins = runtime.block_on(runtime.spawn(race(4000))).unwrap();
        assert!(wins.iter().all(|wins| (850..1150).contains(wins)), "{wins:?}");
    });
    let wins = block_on(race(4000));
    assert!(wins.iter().all(|wins| (850..1150).contains(wins)), "on a thread: {wins:?}");
}

#[test]
fn biased_looks_in_the_order_of_writing() {
    for _ in 0..100 {
        let n = select_wait! { biased; n = ready(1) => n, n = ready(2) => n };
        assert_eq!(n, 1);
        let n =
            select_wait! { biased; () = std::future::pending() => 0, n = ready(2) => n, n = ready(3) => n };
        assert_eq!(n, 2);
    }
}

/// Whichever it starts with, a look goes on with the next one and ends with the one before.
#[test]
fn a_look_polls_each_branch_once() {
    block_on(async {
        for _ in 0..100 {
            let mut order = Vec::new();
            let seen = std::cell::RefCell::new(&mut order);
            let branch = |n: u8| {
                let seen = &seen;
                std::future::poll_fn(move |_| {
                    seen.borrow_mut().push(n);
                    Poll::<()>::Pending
                })
            };
            select! { () = branch(0) => {}, () = branch(1) => {}, () = branch(2) => {}, default => {} }
            let start = order[0];
            assert_eq!(order, [start, (start + 1) % 3, (start + 2) % 3]);
        }
    });
}

#[test]
fn a_seed_determines_who_wins() {
    let run = |seed| {
        let runtime = Runtime::builder().hosted_workers(4).seed(seed).build().unwrap();
        let racers: Vec<_> = (0..6)
            .map(|_| {
                runtime.spawn(async {
                    let mut winners = Vec::new();
                    for _ in 0..20 {
                        yield_now().await;
                        winners
                            .push(select! { () = ready(()) => 0, () = ready(()) => 1, () = ready(()) => 2 });
                    }
                    winners
                })
            })
            .collect();
        runtime.run_until_stalled().unwrap();
        racers.into_iter().map(|racer| ropewalk::wait(racer).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

/// Who wins in the future of `block_on`, on a thread of the blocking pool and on a thread that is inside, one after the
/// other.
fn winners(runtime: &Runtime) -> Vec<u8> {
    const TURNS: usize = 40;
    fn choose() -> u8 {
        select_wait! { () = ready(()) => 0, () = ready(()) => 1, () = ready(()) => 2 }
    }
    runtime.block_on(async {
        let mut winners = Vec::new();
        for _ in 0..TURNS {
            yield_now().await; // the root enters the runtime anew for each poll
            winners.push(select! { () = ready(()) => 0, () = ready(()) => 1, () = ready(()) => 2 });
        }
        let job = ropewalk::spawn_blocking(|| std::iter::repeat_with(choose).take(TURNS).collect::<Vec<_>>());
        winners.extend(job.await.unwrap());
        let thread =
            ropewalk::thread::spawn(|| std::iter::repeat_with(choose).take(TURNS).collect::<Vec<_>>());
        winners.extend(thread.unwrap().await.unwrap());
        winners
    })
}

#[test]
fn a_seed_determines_who_wins_outside_of_workers() {
    on_every_kind(|kind| {
        let run = |seed| winners(&kind.builder().seed(seed).build().unwrap());
        let first = run(3);
        std::thread::spawn(|| block_on(race(3))).join().unwrap(); // others do not matter
        assert_eq!(first, run(3), "{kind:?}");
        assert_ne!(first, run(4), "{kind:?}");
    });
}

/// Each runtime goes on in its own sequence, whichever thread asks.
#[test]
fn runtimes_do_not_share_their_choices() {
    let build = || Runtime::builder().worker_threads(1).seed(5).build().unwrap();
    let expected = {
        let runtime = build();
        [runtime.block_on(race(50)), runtime.block_on(race(50))]
    };
    let (one, other) = (build(), build());
    let first = [one.block_on(race(50)), other.block_on(race(50))];
    let second = [other.block_on(race(50)), one.block_on(race(50))];
    assert_eq!((first, second), ([expected[0]; 2], [expected[1]; 2]));
}
