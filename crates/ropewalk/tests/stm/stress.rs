//! Many at once: nothing is lost, and nobody ever sees a state that was not there.

use crate::kit::guarded;
use ropewalk::stm::{TVar, TxResult, atomically, stats};
use ropewalk::{Runtime, Wait, strand};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().worker_threads(workers).build().unwrap()
}

/// Numbers that look random, the same each time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn transfer(
    accounts: &[TVar<i64>],
    random: &mut Random,
) -> impl FnMut(&mut ropewalk::stm::Tx) -> TxResult<()> {
    let (from, to, amount) =
        (random.below(accounts.len()), random.below(accounts.len()), random.below(100) as i64);
    move |tx| {
        tx.modify(&accounts[from], |balance| *balance -= amount)?;
        tx.modify(&accounts[to], |balance| *balance += amount)
    }
}

/// Tasks, strands and threads move money about; who adds up all accounts meanwhile always finds what was there at first.
#[test]
fn a_bank_whose_total_is_always_the_same() {
    const ACCOUNTS: usize = 20;
    const EACH: u64 = 3_000;
    for workers in [1, 2, 16] {
        guarded(format!("{workers} workers"), || {
            let runtime = runtime(workers);
            let accounts: Arc<Vec<TVar<i64>>> = Arc::new((0..ACCOUNTS).map(|_| TVar::new(1_000)).collect());
            let total = 1_000 * ACCOUNTS as i64;
            let tasks: Vec<_> = (0..8)
                .map(|seed| {
                    let accounts = accounts.clone();
                    runtime.spawn(async move {
                        let mut random = Random(seed);
                        for _ in 0..EACH {
                            atomically(transfer(&accounts, &mut random)).await;
                        }
                    })
                })
                .collect();
            let audits = Arc::new(AtomicU64::new(0));
            let auditor = runtime.spawn({
                let (accounts, audits) = (accounts.clone(), audits.clone());
                async move {
                    for _ in 0..EACH / 10 {
                        let sum = atomically(|tx| {
                            accounts.iter().try_fold(0, |sum, account| TxResult::Ok(sum + tx.read(account)?))
                        });
                        assert_eq!(sum.await, total);
                        audits.fetch_add(1, Relaxed);
                    }
                }
            });
            thread::scope(|s| {
                for seed in 100..102 {
                    let accounts = accounts.clone();
                    s.spawn(move || {
                        let mut random = Random(seed);
                        (0..EACH).for_each(|_| atomically(transfer(&accounts, &mut random)).wait());
                    });
                }
                runtime.run(|| {
                    strand::scope(|s| {
                        for seed in 200..204 {
                            let accounts = &accounts;
                            drop(s.spawn(move || {
                                let mut random = Random(seed);
                                (0..EACH).for_each(|_| atomically(transfer(accounts, &mut random)).wait());
                            }));
                        }
                        s.join_all();
                    });
                });
            });
            tasks.into_iter().for_each(|task| task.wait().unwrap());
            auditor.wait().unwrap();
            assert_eq!(accounts.iter().map(TVar::get).sum::<i64>(), total);
            assert_eq!(audits.load(Relaxed), EACH / 10);
        });
    }
}

/// A body that relies on what always holds would divide by zero, or index out of bounds, if it ever saw a half.
#[test]
fn no_attempt_sees_what_was_not_there() {
    guarded("zombies", || {
        // Always: `at` is less than the length of `list`, and left + right == 100.
        let list = TVar::new(vec![1_u32]);
        let (at, left, right) = (TVar::new(0_usize), TVar::new(50_u32), TVar::new(50_u32));
        let stop = AtomicBool::new(false);
        thread::scope(|s| {
            for seed in 0..2 {
                let (list, at, left, right, stop) = (&list, &at, &left, &right, &stop);
                s.spawn(move || {
                    let mut random = Random(seed);
                    while !stop.load(Relaxed) {
                        let (length, part) = (1 + random.below(20), random.below(101) as u32);
                        atomically(|tx| {
                            tx.write(list, vec![1; length])?;
                            tx.write(at, length - 1)?;
                            tx.write(left, part)?;
                            tx.write(right, 100 - part)
                        })
                        .wait();
                    }
                });
            }
            let attempts = AtomicU64::new(0);
            for _ in 0..5_000 {
                atomically(|tx| {
                    attempts.fetch_add(1, Relaxed);
                    let at = tx.read(&at)?;
                    let one = tx.read_with(&list, |list| list[at])?;
                    let (right, left) = (tx.read(&right)?, tx.read(&left)?);
                    assert_eq!(one / (left + right - 99), 1);
                    Ok(())
                })
                .wait();
            }
            stop.store(true, Relaxed);
        });
    });
}

/// Of two on call, one may leave; both look whether the other one stays.
#[test]
fn no_write_skew() {
    guarded("write skew", || {
        for _ in 0..2_000 {
            let on_call = [TVar::new(true), TVar::new(true)];
            let leave = |me: usize| {
                let [mine, other] = [&on_call[me], &on_call[1 - me]];
                atomically(|tx| if tx.read(other)? { tx.write(mine, false) } else { Ok(()) }).wait();
            };
            thread::scope(|s| {
                s.spawn(|| leave(0));
                leave(1);
            });
            assert_eq!(on_call.iter().filter(|one| one.get()).count(), 1);
        }
    });
}

/// A value goes away and comes back while a transaction is under way: that is a change.
#[test]
fn a_value_that_comes_back_is_another_one() {
    let (variable, mut attempts) = (TVar::new(1), 0);
    atomically(|tx| {
        attempts += 1;
        let seen = tx.read(&variable)?;
        if attempts == 1 {
            thread::scope(|s| {
                s.spawn(|| {
                    for value in [2, 1] {
                        atomically(|tx| tx.write(&variable, value)).wait();
                    }
                });
            });
        }
        tx.write(&variable, seen + 10)
    })
    .wait();
    assert!(attempts >= 2 && variable.get() == 11);
}

/// What reads a thousand variables comes to an end beside those that write one all the time.
#[test]
fn a_long_one_beside_many_short_ones() {
    guarded("long and short", || {
        let variables: Vec<TVar<u64>> = (0..1_000).map(|_| TVar::new(0)).collect();
        let stop = AtomicBool::new(false);
        thread::scope(|s| {
            for seed in 0..3 {
                let (variables, stop) = (&variables, &stop);
                s.spawn(move || {
                    let mut random = Random(seed);
                    while !stop.load(Relaxed) {
                        let at = random.below(variables.len());
                        atomically(|tx| tx.modify(&variables[at], |value| *value += 1)).wait();
                    }
                });
            }
            let before = stats();
            for _ in 0..30 {
                atomically(|tx| {
                    let mut sum = 0;
                    for variable in &variables {
                        sum += tx.read(variable)?;
                    }
                    tx.write(&variables[0], sum)
                })
                .wait();
            }
            stop.store(true, Relaxed);
            assert!(stats().commits >= before.commits + 30);
        });
    });
}

/// Variables come and go with their values while others read them.
#[test]
fn variables_inside_of_variables() {
    guarded("variables in variables", || {
        let outer: TVar<TVar<String>> = TVar::new(TVar::new("0".to_owned()));
        let stop = AtomicBool::new(false);
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    while !stop.load(Relaxed) {
                        let text = atomically(|tx| {
                            let inner = tx.read(&outer)?;
                            tx.read(&inner)
                        });
                        text.wait().parse::<u32>().unwrap();
                    }
                });
            }
            for number in 0..20_000_u32 {
                atomically(|tx| match number % 3 {
                    0 => tx.write(&outer, TVar::new(number.to_string())),
                    1 => tx.read(&outer)?.is_same(&outer.get()).then_some(()).map_or_else(|| tx.retry(), Ok),
                    _ => {
                        let inner = tx.read(&outer)?;
                        tx.write(&inner, number.to_string())
                    }
                })
                .wait();
            }
            stop.store(true, Relaxed);
        });
    });
}
