//! Signals between tasks and threads: notify, oneshot, watch, broadcast, once, cancellation, and the rate limiter.

mod fair;
mod rate;

use crate::kit::{self, on_every_kind};
use ropewalk::channel::{broadcast, oneshot, watch};
use ropewalk::sync::{CancellationToken, Notify, OnceCell};
use ropewalk::{Wait, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Runs `body` on a plain thread.
fn thread<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> std::thread::JoinHandle<T> {
    std::thread::spawn(body)
}

#[test]
fn a_task_and_a_thread_notify_each_other() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let (ping, pong) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let other = (ping.clone(), pong.clone());
        let peer = thread(move || {
            for _ in 0..200 {
                other.0.notified().wait();
                other.1.notify_one();
            }
        });
        runtime.block_on(async {
            for _ in 0..200 {
                ping.notify_one();
                pong.notified().await;
            }
        });
        peer.join().unwrap();
    });
}

#[test]
fn waiters_of_all_kinds_are_let_through_at_once() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let start = Arc::new(Notify::new());
        let waiting = Arc::new(AtomicUsize::new(0));
        let enter = |start: Arc<Notify>, waiting: Arc<AtomicUsize>| async move {
            let notified = start.notified();
            waiting.fetch_add(1, SeqCst);
            notified.await;
        };
        let tasks: Vec<_> = (0..8).map(|_| runtime.spawn(enter(start.clone(), waiting.clone()))).collect();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let enter = enter(start.clone(), waiting.clone());
                thread(move || enter.wait())
            })
            .collect();
        runtime.block_on(async {
            kit::until_async("all wait", || waiting.load(SeqCst) == 11).await;
            start.notify_waiters();
            for task in tasks {
                task.await.unwrap();
            }
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn answers_by_oneshot_from_tasks_to_threads_and_back() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let (questions, asked) = std::sync::mpsc::channel::<(u32, oneshot::Sender<u32>)>();
        let answerer = thread(move || {
            for (question, answer) in asked {
                let _the_asker_may_be_gone = answer.send(question * 2);
            }
        });
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let (answer, receiver) = oneshot::channel();
                questions.send((number, answer)).unwrap();
                runtime.spawn(async move {
                    if number % 7 == 0 {
                        return None; // asks and does not want to know
                    }
                    Some(receiver.await.unwrap())
                })
            })
            .collect();
        let answers = runtime.block_on(async {
            let mut answers = Vec::new();
            for task in tasks {
                answers.push(task.await.unwrap());
            }
            answers
        });
        for (number, answer) in (0..).zip(answers) {
            assert_eq!(answer, (number % 7 != 0).then_some(number * 2));
        }
        drop(questions);
        answerer.join().unwrap();
    });
}

#[test]
fn watchers_of_all_kinds_see_values_in_order_and_the_last_one() {
    const LAST: u32 = 500;
    async fn follow(mut values: watch::Receiver<u32>) -> u32 {
        let mut seen = *values.borrow();
        while values.changed().await.is_ok() {
            let now = *values.borrow_and_update();
            assert!(now >= seen, "{now} after {seen}");
            seen = now;
        }
        seen
    }
    on_every_kind(|kind| {
        let runtime = kind.build();
        let (sender, values) = watch::channel(0);
        let tasks: Vec<_> = (0..4).map(|_| runtime.spawn(follow(values.clone()))).collect();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let values = values.clone();
                thread(move || follow(values).wait())
            })
            .collect();
        drop(values);
        runtime.block_on(async move {
            for value in 1..=LAST {
                sender.send(value).unwrap();
                if value % 50 == 0 {
                    yield_now().await;
                }
            }
            drop(sender);
            for task in tasks {
                assert_eq!(task.await.unwrap(), LAST);
            }
        });
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), LAST));
    });
}

#[test]
fn what_a_broadcast_receiver_got_and_missed_is_everything() {
    const COUNT: u64 = 2_000;
    async fn listen(mut values: broadcast::Receiver<u64>) -> (u64, u64) {
        let (mut next, mut got, mut missed) = (0, 0, 0);
        loop {
            match values.recv().await {
                Ok(value) => {
                    assert_eq!(value, next, "in order, and the count of missed ones is exact");
                    (next, got) = (next + 1, got + 1);
                }
                Err(broadcast::RecvError::Lagged(count)) => (next, missed) = (next + count, missed + count),
                Err(broadcast::RecvError::Closed) => return (got, missed),
            }
        }
    }
    on_every_kind(|kind| {
        let runtime = kind.build();
        let (sender, first) = broadcast::channel(16);
        let tasks: Vec<_> = (0..3).map(|_| runtime.spawn(listen(sender.subscribe()))).collect();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let receiver = sender.subscribe();
                thread(move || listen(receiver).wait())
            })
            .collect();
        drop(first);
        runtime.block_on(async move {
            for value in 0..COUNT {
                sender.send(value).unwrap();
                if value % 10 == 0 {
                    yield_now().await;
                }
            }
            drop(sender);
            for task in tasks {
                let (got, missed) = task.await.unwrap();
                assert_eq!(got + missed, COUNT);
            }
        });
        for thread in threads {
            let (got, missed) = thread.join().unwrap();
            assert_eq!(got + missed, COUNT);
        }
    });
}

#[test]
fn one_initialiser_for_tasks_and_threads() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let (cell, made) = (Arc::new(OnceCell::new()), Arc::new(AtomicUsize::new(0)));
        let get = |cell: Arc<OnceCell<usize>>, made: Arc<AtomicUsize>| async move {
            *cell
                .get_or_init(|| async {
                    yield_now().await;
                    made.fetch_add(1, SeqCst)
                })
                .await
        };
        let tasks: Vec<_> = (0..8).map(|_| runtime.spawn(get(cell.clone(), made.clone()))).collect();
        let thread = thread({
            let get = get(cell.clone(), made.clone());
            move || get.wait()
        });
        runtime.block_on(async {
            // A task that is cancelled while it makes the value leaves it to another.
            for (number, task) in tasks.into_iter().enumerate() {
                if number == 0 {
                    task.cancel();
                } else {
                    assert_eq!(task.await.unwrap(), 0);
                }
            }
        });
        assert_eq!((thread.join().unwrap(), made.load(SeqCst)), (0, 1));
    });
}

#[test]
fn a_tree_of_tokens_stops_tasks_and_threads() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let server = CancellationToken::new();
        let tasks: Vec<_> = (0..16)
            .map(|_| {
                let request = server.child_token();
                runtime.spawn(async move {
                    let part = request.child_token();
                    part.run_until_cancelled(std::future::pending::<()>()).await
                })
            })
            .collect();
        let thread = thread({
            let token = server.child_token();
            move || token.cancelled().wait()
        });
        let alone = server.child_token();
        runtime.block_on(async {
            alone.cancel();
            yield_now().await;
            assert!(tasks.iter().all(|task| !task.is_finished()));
            server.cancel();
            for task in tasks {
                assert_eq!(task.await.unwrap(), None);
            }
        });
        thread.join().unwrap();
    });
}
