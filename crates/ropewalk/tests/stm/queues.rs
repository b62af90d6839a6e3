//! What is built of variables.

use crate::kit::{guarded, until};
use ropewalk::stm::{TBQueue, TMVar, TQueue, TSemaphore, TVar, atomically, stats};
use ropewalk::{Runtime, Wait};
use std::collections::HashMap;

fn runtime() -> Runtime {
    Runtime::builder().worker_threads(4).build().unwrap()
}

const SENDERS: u32 = 4;
const EACH: u32 = 1_000;

/// Everything arrives once, and what one sender sent in its order.
fn all_arrive_in_order(received: Vec<Vec<(u32, u32)>>) {
    let mut count = 0;
    for one in received {
        let mut last: HashMap<u32, u32> = HashMap::new();
        for (sender, number) in one {
            assert!(last.insert(sender, number).is_none_or(|last| last < number));
            count += 1;
        }
    }
    assert_eq!(count, SENDERS * EACH);
}

#[test]
fn a_queue_loses_nothing_and_keeps_the_order() {
    guarded("queue", || {
        let (runtime, queue) = (runtime(), TQueue::new());
        let receivers: Vec<_> = (0..3)
            .map(|_| {
                let queue = queue.clone();
                runtime.spawn(async move {
                    let mut all = Vec::new();
                    while let Some(one) = atomically(|tx| queue.pop(tx)).await {
                        all.push(one);
                    }
                    all
                })
            })
            .collect();
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let queue = queue.clone();
                runtime.spawn(async move {
                    for number in 0..EACH {
                        atomically(|tx| queue.push(tx, Some((sender, number)))).await;
                    }
                })
            })
            .collect();
        senders.into_iter().for_each(|sender| sender.wait().unwrap());
        atomically(|tx| queue.extend(tx, [None, None, None])).wait();
        all_arrive_in_order(receivers.into_iter().map(|one| one.wait().unwrap()).collect());
        assert!(atomically(|tx| queue.is_empty(tx)).wait());
    });
}

#[test]
fn a_bounded_queue_never_holds_more() {
    const ROOM: usize = 3;
    guarded("bounded queue", || {
        let (runtime, queue) = (runtime(), TBQueue::new(ROOM));
        let receivers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                runtime.spawn(async move {
                    let mut all = Vec::new();
                    loop {
                        let (left, one) = atomically(|tx| {
                            let one = queue.pop(tx)?;
                            Ok((queue.len(tx)?, one))
                        })
                        .await;
                        assert!(left < ROOM);
                        match one {
                            Some(one) => all.push(one),
                            None => return all,
                        }
                    }
                })
            })
            .collect();
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let queue = queue.clone();
                runtime.spawn(async move {
                    for number in 0..EACH {
                        let held = atomically(|tx| {
                            queue.push(tx, Some((sender, number)))?;
                            queue.len(tx)
                        });
                        assert!((1..=ROOM).contains(&held.await));
                    }
                })
            })
            .collect();
        senders.into_iter().for_each(|sender| sender.wait().unwrap());
        (0..2).for_each(|_| atomically(|tx| queue.push(tx, None)).wait());
        all_arrive_in_order(receivers.into_iter().map(|one| one.wait().unwrap()).collect());
        let state = atomically(|tx| Ok((queue.len(tx)?, queue.is_empty(tx)?, queue.is_full(tx)?)));
        assert_eq!((state.wait(), queue.capacity()), ((0, true, false), ROOM));
    });
}

#[test]
fn queues_one_by_one() {
    let queue = TQueue::default();
    let seen = atomically(|tx| {
        assert_eq!(queue.try_pop(tx)?, None);
        queue.extend(tx, 1..=3)?;
        let first = (queue.peek(tx)?, queue.pop(tx)?);
        queue.push(tx, 4)?;
        Ok((first, queue.try_pop(tx)?, queue.drain(tx)?, queue.is_empty(tx)?))
    });
    assert_eq!(seen.wait(), ((1, 1), Some(2), vec![3, 4], true));

    let queue = TBQueue::new(2);
    let seen = atomically(|tx| {
        let pushed = (queue.try_push(tx, 'a')?, queue.try_push(tx, 'b')?, queue.try_push(tx, 'c')?);
        let full = queue.is_full(tx)?;
        Ok((pushed, full, queue.peek(tx)?, queue.try_pop(tx)?, queue.try_push(tx, 'd')?, queue.len(tx)?))
    });
    assert_eq!(seen.wait(), ((Ok(()), Ok(()), Err('c')), true, 'a', Some('a'), Ok(()), 2));
}

#[test]
fn cells_full_and_empty() {
    let cell = TMVar::default();
    let seen = atomically(|tx| {
        let empty = (cell.try_take(tx)?, cell.is_empty(tx)?, cell.try_put(tx, 1)?, cell.try_put(tx, 2)?);
        Ok((empty, cell.read(tx)?, cell.replace(tx, 3)?, cell.take(tx)?, cell.is_empty(tx)?))
    });
    assert_eq!(seen.wait(), ((None, true, Ok(()), Err(2)), 1, 1, 3, true));
    assert_eq!(format!("{:?}", TMVar::new(1)), "TMVar(Some(1))");
}

#[test]
fn a_cell_as_a_lock() {
    guarded("lock", || {
        let (runtime, lock, mut inside) = (runtime(), TMVar::new(()), 0_u32);
        let shared = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let (lock, shared) = (lock.clone(), shared.clone());
                runtime.spawn(async move {
                    for _ in 0..100 {
                        atomically(|tx| lock.take(tx)).await;
                        let now = shared.load(std::sync::atomic::Ordering::Relaxed);
                        ropewalk::yield_now().await;
                        shared.store(now + 1, std::sync::atomic::Ordering::Relaxed);
                        atomically(|tx| lock.put(tx, ())).await;
                    }
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task.wait().unwrap());
        inside += shared.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(inside, 800);
    });
}

#[test]
fn permits_of_several_kinds_all_or_none() {
    let (runtime, [few, many]) = (runtime(), [1, 2].map(TSemaphore::new));
    assert!(!atomically(|tx| few.try_acquire(tx, 2)).wait());
    let before = stats().retries;
    let waiting = runtime.spawn({
        let [few, many] = [few.clone(), many.clone()];
        atomically(move |tx| {
            many.acquire(tx, 2)?;
            few.acquire(tx, 2)
        })
    });
    until("it waits", || stats().retries > before);
    assert_eq!(
        atomically(|tx| Ok((few.available(tx)?, many.available(tx)?))).wait(),
        (1, 2),
        "and holds none"
    );
    atomically(|tx| few.release(tx, 1)).wait();
    waiting.wait().unwrap();
    assert_eq!(atomically(|tx| Ok((few.available(tx)?, many.available(tx)?))).wait(), (0, 0));
}

/// What is taken from the one is in the other, at every moment.
#[test]
fn from_one_queue_to_another() {
    guarded("two queues", || {
        let (runtime, from, to) = (runtime(), TQueue::new(), TQueue::new());
        atomically(|tx| from.extend(tx, 0..500_u32)).wait();
        let held = TVar::new(500);
        let movers: Vec<_> = (0..4)
            .map(|_| {
                let (from, to, held) = (from.clone(), to.clone(), held.clone());
                runtime.spawn(async move {
                    for _ in 0..125 {
                        atomically(|tx| {
                            let one = from.pop(tx)?;
                            to.push(tx, one)?;
                            tx.modify(&held, |held| *held -= 1)
                        })
                        .await;
                    }
                })
            })
            .collect();
        movers.into_iter().for_each(|mover| mover.wait().unwrap());
        let all = atomically(|tx| to.drain(tx)).wait();
        assert_eq!((all, held.get()), ((0..500).collect::<Vec<_>>(), 0));
    });
}
