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
