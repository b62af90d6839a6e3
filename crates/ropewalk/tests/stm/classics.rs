//! Problems that everybody knows, and those of the documents that Ropewalk grew from.

use crate::kit::guarded;
use ropewalk::stm::{TMVar, TVar, atomically};
use ropewalk::{Runtime, Wait, strand};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

fn runtime() -> Runtime {
    Runtime::builder().worker_threads(4).build().unwrap()
}

/// A counter bumped by two fibers.
#[test]
fn a_counter_bumped_by_two() {
    let (runtime, counter) = (runtime(), TVar::new(0));
    runtime.run(|| {
        strand::scope(|s| {
            for _ in 0..2 {
                drop(s.spawn(|| {
                    (0..1_000).for_each(|_| atomically(|tx| tx.modify(&counter, |count| *count += 1)).wait());
                }));
            }
            s.join_all();
        });
    });
    assert_eq!(counter.get(), 2_000);
}

/// Or else, over a variable that is empty.
#[test]
fn or_else_over_an_empty_variable() {
    let (empty, fallback) = (TMVar::<i32>::empty(), TVar::new(42));
    assert_eq!(atomically(|tx| tx.or_else(|tx| empty.take(tx), |tx| tx.read(&fallback))).wait(), 42);
    atomically(|tx| empty.put(tx, 7)).wait();
    assert_eq!(atomically(|tx| tx.or_else(|tx| empty.take(tx), |tx| tx.read(&fallback))).wait(), 7);
}

/// Each takes both forks at once, or waits for both: nobody starves with one in the hand.
#[test]
fn philosophers_dine() {
    const SEATS: usize = 5;
    const MEALS: u32 = 200;
    guarded("dinner", || {
        let runtime = runtime();
        let forks: Arc<[TMVar<()>; SEATS]> = Arc::new(std::array::from_fn(|_| TMVar::new(())));
        let held: Arc<[AtomicU32; SEATS]> = Arc::default();
        let philosophers: Vec<_> = (0..SEATS)
            .map(|seat| {
                let (forks, held) = (forks.clone(), held.clone());
                runtime.spawn(async move {
                    let mine = [seat, (seat + 1) % SEATS];
                    for _ in 0..MEALS {
                        atomically(|tx| mine.iter().try_for_each(|fork| forks[*fork].take(tx))).await;
                        mine.iter().for_each(|fork| assert_eq!(held[*fork].fetch_add(1, SeqCst), 0));
                        ropewalk::yield_now().await;
                        mine.iter().for_each(|fork| assert_eq!(held[*fork].fetch_sub(1, SeqCst), 1));
                        atomically(|tx| mine.iter().try_for_each(|fork| forks[*fork].put(tx, ()))).await;
                    }
                })
            })
            .collect();
        philosophers.into_iter().for_each(|one| one.wait().unwrap());
    });
}

/// A group that gathers: so many come in, and go out together when they are let.
#[derive(Clone)]
struct Group {
    size: usize,
    /// How many places are left, and the gates of those that are coming.
    now: TVar<(usize, Gate, Gate)>,
}

/// Lets so many pass as it is told.
#[derive(Clone)]
struct Gate(TVar<usize>);

impl Gate {
    fn new() -> Self {
        Self(TVar::new(0))
    }

    async fn pass(&self) {
        atomically(|tx| {
            let left = tx.read(&self.0)?;
            tx.check(left > 0)?;
            tx.write(&self.0, left - 1)
        })
        .await;
    }

    /// Opens it for so many, and waits until they have passed.
    async fn operate(&self, count: usize) {
        atomically(|tx| tx.write(&self.0, count)).await;
        atomically(|tx| {
            let left = tx.read(&self.0)?;
            tx.check(left == 0)
        })
        .await;
    }
}

impl Group {
    fn new(size: usize) -> Self {
        Self { size, now: TVar::new((size, Gate::new(), Gate::new())) }
    }

    async fn join(&self) -> (Gate, Gate) {
        atomically(|tx| {
            let (left, inside, outside) = tx.read(&self.now)?;
            tx.check(left > 0)?;
            tx.write(&self.now, (left - 1, inside.clone(), outside.clone()))?;
            Ok((inside, outside))
        })
        .await
    }

    /// All of them are there: their gates, and new ones for the next.
    fn full(&self, tx: &mut ropewalk::stm::Tx) -> ropewalk::stm::TxResult<(usize, Gate, Gate)> {
        let (left, inside, outside) = tx.read(&self.now)?;
        tx.check(left == 0)?;
        tx.write(&self.now, (self.size, Gate::new(), Gate::new()))?;
        Ok((self.size, inside, outside))
    }
}

/// Santa sleeps until nine reindeer are back, or three of the elves want to ask something; reindeer come first.
#[test]
fn santa_claus() {
    const ROUNDS: usize = 40;
    guarded("the north pole", || {
        let (runtime, reindeer, elves) = (runtime(), Group::new(9), Group::new(3));
        let done: Arc<[AtomicU32; 2]> = Arc::default();
        let mut helpers = Vec::new();
        for (kind, group, count) in [(0, &reindeer, 9), (1, &elves, 10)] {
            for _ in 0..count {
                let (group, done) = (group.clone(), done.clone());
                helpers.push(runtime.spawn(async move {
                    loop {
                        let (inside, outside) = group.join().await;
                        inside.pass().await;
                        done[kind].fetch_add(1, SeqCst);
                        outside.pass().await;
                    }
                }));
            }
        }
        let rounds = runtime.spawn(async move {
            let mut rounds = [0, 0];
            for _ in 0..ROUNDS {
                let (size, inside, outside) =
                    atomically(|tx| tx.or_else(|tx| reindeer.full(tx), |tx| elves.full(tx))).await;
                inside.operate(size).await;
                outside.operate(size).await;
                rounds[usize::from(size == 3)] += 1;
            }
            rounds
        });
        let [deliveries, meetings] = rounds.wait().unwrap();
        assert_eq!(deliveries + meetings, ROUNDS);
        helpers.iter().for_each(|helper| helper.cancel());
        helpers.into_iter().for_each(|helper| assert!(helper.wait().is_err()));
        assert_eq!(done[0].load(SeqCst) as usize, 9 * deliveries);
        assert_eq!(done[1].load(SeqCst) as usize, 3 * meetings);
    });
}
