//! Channels between tasks, strands and threads: more workers than cores, everything counted.

#![allow(clippy::async_yields_async)] // a task that starts a strand and hands out its handle

use ropewalk::channel::{self, Receiver, RecvError, SendTimeout, SendTimeoutError, Sender, TrySendError};
use ropewalk::{Runtime, Wait, spawn, strand, yield_now};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

/// Who sent it, and its number there.
type Message = (usize, u64);

/// Each kind, and a name for it.
/// A kind of channel: its name, and both ends of one.
type Kind<T> = (&'static str, (Sender<T>, Receiver<T>));

fn kinds<T>() -> [Kind<T>; 5] {
    [
        ("rendezvous", channel::bounded(0)),
        ("one place", channel::bounded(1)),
        ("three places", channel::bounded(3)),
        ("many places", channel::bounded(128)),
        ("unbounded", channel::unbounded()),
    ]
}

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().worker_threads(workers).build().unwrap()
}

/// What one receiver saw.
#[derive(Default)]
struct Seen {
    last: [Option<u64>; SENDERS],
    count: u64,
    sum: u64,
}

const SENDERS: usize = 6;
const EACH: u64 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

impl Seen {
    /// One sender's messages come in order, whoever gets them.
    fn note(&mut self, name: &str, (sender, number): Message) {
        let last = self.last[sender].replace(number);
        assert!(last.is_none_or(|last| last < number), "{name}: sender {sender}: {number} after {last:?}");
        (self.count, self.sum) = (self.count + 1, self.sum + number);
    }
}

/// All that was sent was received, once.
fn check_total(name: &str, seen: impl IntoIterator<Item = Seen>) {
    let (count, sum) = seen.into_iter().fold((0, 0), |all, one| (all.0 + one.count, all.1 + one.sum));
    assert_eq!((count, sum), (SENDERS as u64 * EACH, SENDERS as u64 * (EACH * (EACH - 1) / 2)), "{name}");
}

async fn send_all(sender: Sender<Message>, me: usize) {
    for number in 0..EACH {
        match number % 3 {
            0 => sender.reserve().await.unwrap().send((me, number)).unwrap(),
            1 => sender.send((me, number)).await.unwrap(),
            _ => {
                let mut message = (me, number);
                while let Err(TrySendError::Full(back)) = sender.try_send(message) {
                    message = back;
                    yield_now().await;
                }
            }
        }
    }
}

async fn receive_all(name: &str, receiver: Receiver<Message>) -> Seen {
    let (mut seen, mut some) = (Seen::default(), Vec::new());
    loop {
        let Some(message) = receiver.next().await else { return seen };
        seen.note(name, message);
        if receiver.recv_many(&mut some, 7).await.is_ok() {
            some.drain(..).for_each(|message| seen.note(name, message));
        }
    }
}

#[test]
fn totals_and_order_with_more_workers_than_cores() {
    let runtime = runtime(16);
    for (name, (sender, receiver)) in kinds() {
        for me in 0..SENDERS {
            drop(runtime.spawn(send_all(sender.clone(), me)));
        }
        let receivers: Vec<_> = (0..4).map(|_| runtime.spawn(receive_all(name, receiver.clone()))).collect();
        drop((sender, receiver));
        check_total(name, receivers.into_iter().map(|receiver| receiver.wait().unwrap()));
    }
}

#[test]
fn one_receiver_gets_one_total_order() {
    let runtime = runtime(4);
    for (name, (sender, receiver)) in kinds() {
        // The senders take turns by a token: what was sent before must come before.
        let clock = Arc::new(Mutex::new(0u64));
        let senders: Vec<_> = (0..3)
            .map(|_| {
                let (sender, clock) = (sender.clone(), clock.clone());
                runtime.spawn(async move {
                    let send_next = || {
                        let mut now = clock.lock().unwrap();
                        let sent = sender.try_send(*now).is_ok();
                        *now += u64::from(sent);
                        sent
                    };
                    for _ in 0..EACH / 10 {
                        while !send_next() {
                            yield_now().await;
                        }
                    }
                })
            })
            .collect();
        drop(sender);
        let receiver = runtime.spawn(async move {
            let mut expected = 0;
            while let Some(number) = receiver.next().await {
                assert_eq!(number, expected, "{name}");
                expected += 1;
            }
            expected
        });
        senders.into_iter().for_each(|sender| sender.wait().unwrap());
        assert_eq!(receiver.wait().unwrap(), 3 * (EACH / 10));
    }
}

#[test]
fn tasks_strands_and_threads_at_one_channel() {
    let runtime = runtime(2);
    for (name, (sender, receiver)) in kinds() {
        let seen: Vec<Seen> = std::thread::scope(|s| {
            for me in 0..SENDERS {
                let sender = sender.clone();
                match me % 3 {
                    0 => drop(runtime.spawn(send_all(sender, me))),
                    1 => drop(s.spawn(move || send_all(sender, me).wait())),
                    _ => drop(runtime.spawn(async move {
                        strand::spawn_local(move || {
                            (0..EACH).for_each(|n| sender.send((me, n)).wait().unwrap())
                        })
                        .unwrap()
                    })),
                }
            }
            drop(sender);
            let task = runtime.spawn(receive_all(name, receiver.clone()));
            let thread = s.spawn(move || receive_all(name, receiver).wait());
            [thread.join().unwrap(), task.wait().unwrap()].into()
        });
        check_total(name, seen);
    }
}

/// Polls a future so many times at most; `None`: it is dropped unfinished.
async fn at_most<F: Future>(polls: u64, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..polls {
        let answer = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
        if let Poll::Ready(output) = answer {
            return Some(output);
        }
        yield_now().await;
    }
    None
}

#[test]
fn futures_dropped_anywhere_lose_nothing() {
    let runtime = runtime(4);
    for (name, (sender, receiver)) in kinds() {
        let (sent, received) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        for me in 0..4u64 {
            let (sender, sent) = (sender.clone(), sent.clone());
            let dropper = async move {
                for number in 0..EACH {
                    let mut send = Box::pin(sender.send(number));
                    let accepted = match at_most((number + me) % 4, send.as_mut()).await {
                        Some(done) => done.is_ok(),
                        None => send.as_mut().into_value().is_none(),
                    };
                    sent.fetch_add(if accepted { number } else { 0 }, Relaxed);
                    if let Some(Ok(permit)) = at_most(number % 3, sender.reserve()).await
                        && number % 2 == 0
                        && permit.send(number).is_ok()
                    {
                        sent.fetch_add(number, Relaxed);
                    }
                }
            };
            drop(runtime.spawn(dropper));
        }
        drop(sender);
        let receivers: Vec<_> = (0..3u64)
            .map(|me| {
                let (receiver, received) = (receiver.clone(), received.clone());
                runtime.spawn(async move {
                    for turn in me.. {
                        match at_most(turn % 5, receiver.recv()).await {
                            Some(Ok(number)) => drop(received.fetch_add(number, Relaxed)),
                            Some(Err(RecvError)) => return,
                            None => {}
                        }
                    }
                })
            })
            .collect();
        receivers.into_iter().for_each(|receiver| receiver.wait().unwrap());
        assert_eq!(sent.load(Relaxed), received.load(Relaxed), "{name}");
    }
}

#[test]
fn aborted_tasks_leave_the_channel_in_order() {
    let runtime = runtime(4);
    for (name, (sender, receiver)) in kinds::<u64>() {
        let tasks: Vec<_> = (0..40)
            .map(|n| {
                let (sender, receiver) = (sender.clone(), receiver.clone());
                runtime.spawn(async move {
                    loop {
                        if n % 2 == 0 {
                            sender.send(n).await.unwrap();
                        } else {
                            receiver.recv().await.unwrap();
                        }
                    }
                })
            })
            .collect();
        for task in &tasks {
            std::thread::yield_now();
            task.cancel();
        }
        tasks.into_iter().for_each(|task| assert!(task.wait().is_err()));
        while receiver.try_recv().is_ok() {}
        let echo = runtime.spawn(async move { receiver.recv().await });
        assert_eq!(sender.send(99).wait(), Ok(()), "{name}");
        assert_eq!(echo.wait().unwrap(), Ok(99), "{name}");
    }
}

#[test]
fn a_receiver_that_always_finds_something_lets_others_run() {
    let runtime = Runtime::builder().worker_threads(1).rescue_threshold(Duration::ZERO).build().unwrap();
    let (sender, receiver) = channel::unbounded();
    (0..100_000u64).for_each(|n| sender.try_send(n).unwrap());
    let received = Arc::new(AtomicU64::new(0));
    let count = received.clone();
    let busy = runtime.spawn(async move {
        let other = spawn(async move {
            while !receiver.is_empty() {
                receiver.recv().await.unwrap();
                count.fetch_add(1, Relaxed);
            }
        });
        let mut seen = vec![];
        while !other.is_finished() {
            seen.push(received.load(Relaxed));
            yield_now().await;
        }
        seen
    });
    let seen = busy.wait().unwrap();
    let most = seen.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(most <= 128, "{most} messages between two turns of the other task");
    drop(sender);
}

#[test]
fn a_send_that_takes_too_long_gives_its_value_back() {
    let span = Duration::from_millis(2);
    ropewalk::block_on(async {
        for capacity in [0, 1] {
            let (sender, receiver) = channel::bounded(capacity);
            (0..capacity).for_each(|n| sender.try_send(n).unwrap());
            assert_eq!(sender.send_timeout(7, span).await, Err(SendTimeoutError::Timeout(7)));
            assert_eq!(receiver.len(), capacity, "withdrawn");
            let echo = spawn(async move { (receiver.recv().await, receiver.recv().await) });
            assert_eq!(sender.send_timeout(8, Duration::from_secs(60)).await, Ok(()));
            sender.close();
            assert_eq!(sender.send_timeout(9, span).await, Err(SendTimeoutError::Closed(9)));
            let received = echo.await.unwrap();
            let expected = if capacity == 0 { (Ok(8), Err(RecvError)) } else { (Ok(0), Ok(8)) };
            assert_eq!(received, expected);
        }
    });
}
