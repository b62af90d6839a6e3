//! `join!` and `try_join!`.

use crate::kit::on_every_kind;
use ropewalk::{Wait, block_on, join, spawn, task, try_join, yield_now};
use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

async fn after(turns: u32, value: u32) -> u32 {
    for _ in 0..turns {
        yield_now().await;
    }
    value
}

#[test]
fn all_of_them_in_the_order_of_writing() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async { join!(after(3, 1), spawn(after(2, 2)), async { "three" },) });
        let (one, two, three) = runtime.block_on(task).unwrap();
        assert_eq!((one, two.unwrap(), three), (1, 2, "three"));
    });
    block_on(async {
        assert_eq!(join!(after(0, 1)), (1,));
        let () = join!();
    });
    assert_eq!(async { join!(after(1, 1), after(0, 2)) }.wait(), (1, 2));
}

#[test]
fn they_may_share_what_is_around_them_and_await_on_their_own() {
    block_on(async {
        let log = Cell::new(0);
        let step = |n| {
            let log = &log;
            async move {
                for _ in 0..n {
                    log.set(log.get() + 1);
                    yield_now().await;
                }
            }
        };
        join!(step(3), step(4));
        assert_eq!(log.get(), 7);
    });
}

#[test]
fn the_first_error_is_given_and_the_others_are_dropped_before() {
    block_on(async {
        let held = Rc::new(());
        let other = held.clone();
        let endless = async move {
            let _other = other;
            pending::<Result<(), u32>>().await
        };
        let failing = async {
            yield_now().await;
            Err::<(), u32>(4)
        };
        assert_eq!(try_join!(endless, failing, async { Ok(1) }), Err(4));
        assert_eq!(Rc::strong_count(&held), 1);
        assert_eq!(try_join!(async { Ok::<_, u32>(1) }, async { Ok("two") }), Ok((1, "two")));
    });
}

#[test]
fn an_error_may_be_asked_for() {
    async fn sum(a: &str, b: &str) -> Result<u32, std::num::ParseIntError> {
        let (a, b) = try_join!(async { a.parse::<u32>() }, async { b.parse::<u32>() })?;
        Ok(a + b)
    }
    block_on(async {
        assert_eq!(sum("1", "2").await, Ok(3));
        assert!(sum("1", "x").await.is_err());
    });
}

#[test]
fn one_that_uses_up_every_budget_does_not_starve_the_others() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            let over = AtomicBool::new(false);
            let greedy = async {
                while !over.load(Relaxed) {
                    task::consume_budget().await;
                }
            };
            let modest = async {
                for _ in 0..10 {
                    task::consume_budget().await;
                    yield_now().await;
                }
                over.store(true, Relaxed);
            };
            join!(greedy, modest);
        });
        runtime.block_on(task).unwrap();
    });
}

#[test]
fn a_hundred_and_one_inside_another() {
    macro_rules! hundred {
        ($($n:literal)*) => { join!($(after($n % 3, $n),)*) };
    }
    block_on(async {
        let all = hundred!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99);
        assert_eq!((all.0, all.50, all.99), (0, 50, 99));
        assert_eq!(join!(async { join!(after(1, 1), after(2, 2)) }, after(3, 3)), ((1, 2), 3));
    });
}
