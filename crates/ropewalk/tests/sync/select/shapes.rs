//! What can be written, and what it means.

use crate::kit::{Gate, on_every_kind, strand_in};
use ropewalk::time::sleep;
use ropewalk::{Runtime, block_on, select, select_wait, spawn, yield_now};
use std::cell::{Cell, RefCell};
use std::future::{IntoFuture, Ready, pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn the_first_that_is_ready_wins_and_its_value_is_the_macros() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            let late = Gate::new();
            select! {
                () = late.passed() => 1,
                n = async { yield_now().await; 2 } => n,
                () = pending() => 3,
            }
        });
        assert_eq!(runtime.block_on(task).unwrap(), 2);
    });
}

#[test]
fn an_output_that_does_not_fit_disables_its_branch() {
    block_on(async {
        let dropped = Rc::new(());
        let held = dropped.clone();
        let n = select! {
            biased;
            Some(n) = async move { let _held = held; None::<u32> } => n,
            Ok(n) | Err(n) = async { yield_now().await; Err::<u32, u32>(7) } => {
                assert_eq!(Rc::strong_count(&dropped), 1, "a branch that is over is dropped");
                n
            }
        };
        assert_eq!(n, 7);
    });
}

#[test]
fn every_kind_of_pattern() {
    struct Pair {
        left: String,
        right: [u8; 2],
    }
    block_on(async {
        let text = select! {
            Pair { left, right: [a, mut b] } = ready(Pair { left: "x".into(), right: [1, 2] }) => {
                b += a;
                format!("{left}{b}")
            }
        };
        assert_eq!(text, "x3");
        let n =
            select! { ref all @ (1..=3 | 9, ref word) = ready((9, String::from("w"))) => all.0 + word.len() };
        assert_eq!(n, 10);
        let mut taken = select! { ref mut word = ready(String::from("w")) => std::mem::take(word) };
        taken.push('!');
        assert_eq!(taken, "w!");
        assert_eq!(select! { _ = ready(()) => 5 }, 5);
    });
}

#[test]
fn a_false_condition_disables_a_branch_before_anything_is_evaluated() {
    fn never() -> Ready<u32> {
        panic!("not evaluated")
    }
    block_on(async {
        let order = RefCell::new(Vec::new());
        fn say<T>(order: &RefCell<Vec<&'static str>>, what: &'static str, answer: T) -> T {
            order.borrow_mut().push(what);
            answer
        }
        let order = &order;
        let n = select! {
            n = never(), if say(order, "no", false) => n,
            n = ready(say(order, "first", 1)), if say(order, "yes", true) => n,
            n = ready(say(order, "second", 1)), if say(order, "also", true) => { n }
        };
        assert_eq!(n, 1);
        assert_eq!(*order.borrow(), ["no", "yes", "also", "first", "second"]);
    });
}

#[test]
fn conditions_may_read_what_futures_change() {
    block_on(async {
        let (mut turns, mut done) = (0, false);
        while !done {
            select! {
                () = async { turns += 1 }, if turns < 3 => {}
                () = async { done = true }, if turns == 3 => {}
            }
        }
        assert_eq!(turns, 3);
    });
}

#[test]
fn else_runs_when_all_are_disabled() {
    block_on(async {
        let on = |flag: bool| async move {
            select! {
                Some(n) = ready(None) => n,
                n = async { yield_now().await; 1 }, if flag => n,
                else => 2,
            }
        };
        assert_eq!((on(true).await, on(false).await), (1, 2));
        // It comes before a default or a timeout.
        assert_eq!(select! { Some(n) = ready(None) => n, default => 3, else => 4 }, 4);
        assert_eq!(select! { Some(n) = ready(None) => n, else => 4, timeout(LONG) => 3 }, 4);
        // And without it those count.
        assert_eq!(select! { Some(n) = ready(None) => n, default => 3 }, 3);
        assert_eq!(select! { Some(n) = ready(None) => n, timeout(Duration::from_millis(1)) => 3 }, 3);
    });
}

#[test]
fn without_else_it_panics_where_it_stands() {
    let panic = catch_unwind(|| {
        block_on(async {
            select! { 1 = ready(2) => {} }
        })
    })
    .unwrap_err();
    let message = panic.downcast_ref::<&str>().unwrap();
    assert_eq!(*message, "ropewalk: select!: all branches are disabled, and there is no `else`");
}

#[test]
fn default_is_a_look() {
    block_on(async {
        assert_eq!(select! { n = pending::<u32>() => n, default => 2 }, 2);
        assert_eq!(select! { n = ready(1) => n, default => 2 }, 1);
    });
    assert_eq!(select_wait! { n = pending::<u32>() => n, default => { 2 } }, 2);
    assert_eq!(select_wait! { n = ready(1) => n, default => { 2 } }, 1);
}

#[test]
fn a_timeout_is_over_in_its_time_and_a_ready_branch_wins_over_it() {
    let runtime = Runtime::builder().paused(true).build().unwrap();
    runtime.block_on(async {
        let late = select! { () = sleep(LONG) => false, timeout(LONG / 2) => true };
        assert!(late);
        let late = select! { () = sleep(LONG / 2) => false, timeout(LONG) => true };
        assert!(!late);
        assert_eq!(select! { n = ready(1) => n, timeout(Duration::ZERO) => 2 }, 1);
        assert_eq!(select! { n = pending::<u32>() => n, timeout(Duration::ZERO) => 2 }, 2);
        assert_eq!(select! { timeout(Duration::from_secs(1)) => 3 }, 3);
    });
}

#[test]
fn arms_are_code_of_the_function_around() {
    async fn returns() -> u32 {
        let n = select! { () = ready(()) => return 1, n = pending::<u32>() => n };
        n + 1
    }
    async fn asks() -> Result<u32, std::num::ParseIntError> {
        let n: u32 = select! { text = ready("x") => text.parse()?, n = pending::<u32>() => n };
        Ok(n)
    }
    async fn breaks() -> u32 {
        let mut n = 0;
        let found = 'outer: loop {
            loop {
                n += 1;
                select! {
                    () = ready(()), if n < 3 => continue,
                    _ = ready(n), if n == 3 => break,
                    n = ready(n), if n > 3 => break 'outer n,
                }
            }
        };
        found * 10
    }
    block_on(async {
        assert_eq!(returns().await, 1);
        assert!(asks().await.is_err());
        assert_eq!(breaks().await, 40);
        let inner = select! { () = ready(()) => select! { n = ready(5) => n, default => 0 } };
        assert_eq!(inner, 5);
    });
}

#[test]
fn arms_may_use_what_the_futures_had_borrowed() {
    /// An output that borrows, and whose destructor uses what it borrows.
    struct Borrowing<'a>(&'a mut Vec<u32>);
    impl Drop for Borrowing<'_> {
        fn drop(&mut self) {
            self.0.push(99);
        }
    }
    block_on(async {
        let mut log = vec![];
        for n in 0..3 {
            select! {
                biased;
                borrowing = ready(Borrowing(&mut log)), if n == 0 => borrowing.0.push(7),
                n = ready(n), if n == 1 => log.push(n),
                default => log.push(8),
            }
        }
        assert_eq!(log, [7, 99, 1, 8]);
    });
}

#[test]
fn the_others_are_dropped_before_the_arm_runs() {
    struct Flag<'a>(&'a Cell<u32>);
    impl Drop for Flag<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    async fn loser(dropped: &Cell<u32>) {
        let _flag = Flag(dropped);
        pending::<()>().await;
    }
    block_on(async {
        for winner_first in [true, false] {
            let dropped = Cell::new(0);
            let winner = async {
                let _flag = Flag(&dropped);
                yield_now().await;
            };
            let seen = if winner_first {
                select! { () = winner => dropped.get(), () = loser(&dropped) => 0, () = loser(&dropped) => 0 }
            } else {
                select! { () = loser(&dropped) => 0, () = loser(&dropped) => 0, () = winner => dropped.get() }
            };
            assert_eq!(seen, 3);
        }
        let dropped = Cell::new(0);
        assert_eq!(select! { () = loser(&dropped) => 9, default => dropped.get() }, 1);
    });
}

#[test]
fn a_future_kept_outside_goes_on_where_it_was() {
    block_on(async {
        let mut steps = 0;
        let mut work = pin!(async {
            for _ in 0..3 {
                yield_now().await;
            }
            "done"
        });
        let done = loop {
            select! {
                biased;
                done = work.as_mut() => break done,
                () = ready(()) => steps += 1,
            }
        };
        assert_eq!((done, steps), ("done", 3));
        let mut handle = spawn(async { 5 });
        assert_eq!(select! { n = &mut handle => n.unwrap() }, 5);
    });
}

#[test]
fn whatever_becomes_a_future_will_do() {
    struct Later(u32);
    impl IntoFuture for Later {
        type Output = u32;
        type IntoFuture = Ready<u32>;
        fn into_future(self) -> Ready<u32> {
            ready(self.0)
        }
    }
    assert_eq!(
        block_on(async {
            select! { n = Later(3) => n }
        }),
        3
    );
}

#[test]
fn a_wait_works_on_threads_strands_and_in_polls() {
    fn look() -> u32 {
        let task = spawn(async {
            yield_now().await;
            4
        });
        let n = select_wait! {
            n = task => n.unwrap(),
            () = pending() => 0,
        };
        select_wait! {
            biased;
            () = pending() => 0,
            timeout(Duration::from_micros(100)) => n,
        }
    }
    assert_eq!(look(), 4);
    on_every_kind(|kind| {
        let runtime = kind.build();
        assert_eq!(runtime.block_on(strand_in(&runtime, look)).unwrap(), 4);
        let task = runtime.spawn(async { look() });
        assert_eq!(runtime.block_on(task).unwrap(), 4);
    });
}

#[test]
fn a_panic_in_a_branch_is_the_callers_and_drops_the_others() {
    let held = Rc::new(());
    let other = held.clone();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        block_on(async {
            select! {
                biased;
                () = async move { let _held = other; pending().await } => {}
                () = async { panic!("on purpose") } => {}
            }
        })
    }));
    assert_eq!(*panic.unwrap_err().downcast_ref::<&str>().unwrap(), "on purpose");
    assert_eq!(Rc::strong_count(&held), 1);
}

#[test]
fn sixty_four_branches() {
    macro_rules! sixty_four {
        ($at:expr; $($n:literal)*) => { block_on(async { select! { $($n = async { if $n == $at { $n } else { pending().await } } => { $n + 1000 })* } }) };
    }
    for at in [0, 31, 63] {
        let n = sixty_four!(at; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63);
        assert_eq!(n, at + 1000);
    }
}
