//! What a transaction does with variables, alone.

use crate::kit::panic_of;
use ropewalk::stm::{TVar, TxResult, atomically, stats, try_atomically};
use ropewalk::{Runtime, Wait};

#[test]
fn reads_what_it_wrote() {
    let variable = TVar::new(1);
    let seen = atomically(|tx| {
        let first = tx.read(&variable)?;
        tx.write(&variable, first + 1)?;
        let second = tx.modify(&variable, |value| {
            *value *= 10;
            *value
        })?;
        Ok((first, second, tx.replace(&variable, 7)?, tx.read(&variable)?))
    })
    .wait();
    assert_eq!((seen, variable.get()), ((1, 20, 20, 7), 7));
}

#[test]
fn values_of_all_kinds_come_back_as_they_were() {
    fn same<T: Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static>(values: [T; 2]) {
        let [first, second] = values;
        let variable = TVar::new(first.clone());
        assert_eq!(variable.get(), first);
        let old = atomically(|tx| tx.replace(&variable, second.clone())).wait();
        assert_eq!((old, variable.get()), (first, second.clone()));
        assert_eq!(*variable.get_arc(), second);
        assert_eq!(*atomically(|tx| tx.read_arc(&variable)).wait(), second);
    }
    same([u8::MAX, 1]);
    same([i16::MIN, -1]);
    same([u64::MAX, 1 << 63]);
    same([i64::MIN, -1]);
    same([usize::MAX, 0]);
    same([f64::NEG_INFINITY, -0.5]);
    same([f32::MAX, -0.5]);
    same([true, false]);
    same(['\u{10ffff}', 'a']);
    same([(), ()]);
    same([i128::MIN, -1]);
    same([(1_u8, 2_u32), (3, 4)]);
    same([Some(1_u64), None]);
    same(["text".to_owned(), String::new()]);
    same([[7_u8; 1000], [8; 1000]]);
}

#[test]
fn many_variables_at_once() {
    let variables: Vec<TVar<usize>> = (0..500).map(TVar::new).collect();
    for round in 0..3 {
        let sum = atomically(|tx| {
            for variable in &variables {
                tx.modify(variable, |value| *value += 1)?;
            }
            // Again: what was written before is found among many.
            let mut sum = 0;
            for variable in variables.iter().rev() {
                sum += tx.modify(variable, |value| std::mem::replace(value, *value + 1))?;
            }
            Ok(sum)
        })
        .wait();
        assert_eq!(sum, (0..500).map(|number| number + 2 * round + 1).sum());
    }
    variables.iter().enumerate().for_each(|(at, variable)| assert_eq!(variable.get(), at + 6));
}

#[test]
fn what_is_read_again_and_again_does_not_fill_the_memory() {
    let variables = [TVar::new(1_u64), TVar::new(2)];
    let read = |tx: &mut ropewalk::stm::Tx| {
        (0..100_000).try_fold(0, |sum, turn| TxResult::Ok(sum + tx.read(&variables[turn % 2])?))
    };
    assert_eq!(atomically(read).wait(), 150_000);
    let shown = atomically(|tx| read(tx).map(|_| format!("{tx:?}"))).wait();
    let kept: usize = shown.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap();
    assert!(kept < 1000, "{shown}");
}

#[test]
fn or_else_undoes_the_first_and_only_that() {
    for more in [0, 40] {
        let [a, b, c] = [1, 2, 3].map(TVar::new);
        let many: Vec<TVar<i32>> = (0..more).map(TVar::new).collect();
        let seen = atomically(|tx| {
            tx.write(&a, 10)?;
            let seen = tx.or_else(
                |tx| {
                    tx.write(&a, 11)?;
                    tx.write(&a, 12)?;
                    tx.write(&b, 21)?;
                    many.iter().try_for_each(|variable| tx.write(variable, -1))?;
                    tx.or_else(
                        |tx| {
                            tx.write(&a, 13)?;
                            tx.write(&c, 31)?;
                            tx.retry()
                        },
                        |tx| {
                            assert_eq!((tx.read(&a)?, tx.read(&b)?, tx.read(&c)?), (12, 21, 3));
                            tx.write(&c, 32)?;
                            tx.retry()
                        },
                    )
                },
                |tx| {
                    many.iter().enumerate().try_for_each(|(at, variable)| {
                        assert_eq!(tx.read(variable)?, at as i32);
                        Ok(())
                    })?;
                    Ok((tx.read(&a)?, tx.read(&b)?, tx.read(&c)?))
                },
            )?;
            tx.write(&b, 22)?;
            Ok(seen)
        })
        .wait();
        assert_eq!((seen, a.get(), b.get(), c.get()), ((10, 2, 3), 10, 22, 3));
    }
}

#[test]
fn or_else_keeps_what_the_first_wrote_if_it_succeeds() {
    let [a, b] = [1, 2].map(TVar::new);
    atomically(|tx| {
        tx.write(&a, 10)?;
        tx.or_else(
            |tx| {
                tx.write(&a, 11)?;
                tx.or_else(|tx| tx.write(&b, 20), |_| unreachable!())
            },
            |_| unreachable!(),
        )?;
        tx.modify(&a, |value| *value += 1)
    })
    .wait();
    assert_eq!((a.get(), b.get()), (12, 20));
}

#[test]
fn an_error_undoes_everything() {
    let (a, b) = (TVar::new(1), TVar::new("text".to_owned()));
    let result: Result<(), &str> = try_atomically(|tx| {
        tx.write(&a, 2)?;
        tx.write(&b, "other".to_owned())?;
        Ok(Err("no"))
    })
    .wait();
    assert_eq!((result, a.get(), b.get().as_str()), (Err("no"), 1, "text"));
    let result: Result<i32, &str> = try_atomically(|tx| tx.replace(&a, 2).map(Ok)).wait();
    assert_eq!((result, a.get()), (Ok(1), 2));
}

#[test]
fn a_panic_leaves_no_trace() {
    let (number, text) = (TVar::new(1), TVar::new("text".to_owned()));
    let before = stats();
    for _ in 0..3 {
        let said = panic_of(|| {
            atomically(|tx| {
                tx.write(&number, 2)?;
                tx.or_else(
                    |tx| {
                        tx.write(&text, "other".to_owned())?;
                        if tx.read(&number)? == 2 { panic!("on purpose") } else { Ok(()) }
                    },
                    |_| Ok(()),
                )
            })
            .wait();
        });
        assert_eq!(said.as_deref(), Some("on purpose"));
        assert_eq!((number.get(), text.get().as_str()), (1, "text"));
    }
    assert!(stats().panics >= before.panics + 3);
    atomically(|tx| tx.modify(&number, |number| *number += 1)).wait();
    assert_eq!(number.get(), 2, "the next one works as ever");
}

#[test]
fn it_runs_in_tasks_on_strands_and_on_threads() {
    let counter = TVar::new(0);
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    let count = || {
        let counter = counter.clone();
        atomically(move |tx| tx.modify(&counter, |count| *count += 1))
    };
    runtime.block_on(count());
    runtime.spawn(count()).wait().unwrap();
    runtime.run(|| count().wait());
    std::thread::scope(|s| drop(s.spawn(|| count().wait())));
    count().wait();
    let in_poll = count();
    runtime.spawn(async move { in_poll.wait() }).wait().unwrap();
    assert_eq!(counter.get(), 6);
}

#[test]
fn a_future_that_is_not_polled_does_nothing() {
    let counter = TVar::new(0);
    drop(atomically(|tx| tx.write(&counter, 1)));
    assert_eq!(counter.get(), 0);
}

#[test]
fn handles_are_the_same_variable_or_not() {
    let (one, other) = (TVar::new(1), TVar::new(1));
    assert!(one.is_same(&one.clone()) && !one.is_same(&other));
    assert_eq!(format!("{one:?} {:?}", TVar::named("two", 2)), "TVar(1) TVar(two: 2)");
}

#[test]
fn a_task_that_only_commits_lets_others_run() {
    let runtime =
        Runtime::builder().worker_threads(1).rescue_threshold(std::time::Duration::ZERO).build().unwrap();
    let (counter, stop) = (TVar::new(0_u64), TVar::new(false));
    let (count, seen) = (counter.clone(), stop.clone());
    let busy = runtime.spawn(async move {
        while !atomically(|tx| {
            tx.modify(&count, |count| *count += 1)?;
            tx.read(&seen)
        })
        .await
        {}
    });
    // It would never get its turn if the other one did not yield.
    let other = runtime.spawn(async move { atomically(|tx| tx.write(&stop, true)).await });
    other.wait().unwrap();
    busy.wait().unwrap();
    assert!(counter.get() > 0);
}
