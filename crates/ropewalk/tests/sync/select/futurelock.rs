//! A future that is kept outside of `select!` and has a place in a queue while nobody polls it. What `docs/choosing.md`
//! says of each primitive is shown here. The runtime has no threads: it is stalled when nobody can go on.

use ropewalk::channel::{bounded, broadcast, unbounded, watch};
use ropewalk::sync::{Barrier, CancellationToken, Mutex, Notify, OnceCell, RateLimiter, RwLock, Semaphore};
use ropewalk::time::advance;
use ropewalk::{Runtime, TaskHandle, select, spawn, yield_now};
use std::future::{Future, poll_fn, ready};
use std::pin::{Pin, pin};
use std::task::Poll;

fn hosted() -> Runtime {
    Runtime::builder().worker_threads(0).build().unwrap()
}

fn leak<L>(thing: L) -> &'static L {
    Box::leak(Box::new(thing))
}

async fn yields(times: usize) {
    for _ in 0..times {
        yield_now().await;
    }
}

/// Whether the task is over when nobody can go on any more.
fn ends<T>(runtime: &Runtime, task: &TaskHandle<T>) -> bool {
    runtime.run_until_stalled().unwrap();
    task.is_finished()
}

/// Waits with `kept` in a `select!`; another branch wins, and its arm waits for `arm` while nobody polls `kept`. `late`:
/// the arm asks some time later.
async fn set_aside<K: Future, A: Future>(mut kept: Pin<&mut K>, arm: A, late: bool) -> A::Output {
    select! {
        biased;
        _ = kept.as_mut() => panic!("there is nothing for it yet"),
        () = ready(()) => {
            yields(if late { 6 } else { 0 }).await;
            arm.await
        }
    }
}

/// One task holds the thing; another queues for it with a future that it keeps, and then, in an arm, with a second one.
/// The thing is given back after that, or before the arm asks. True: the arm got it, and the one that was kept did then.
fn arm_gets<L, H, K, A>(
    thing: L,
    hold: fn(&'static L) -> H,
    keep: fn(&'static L) -> K,
    ask: fn(&'static L) -> A,
    given_back_first: bool,
) -> bool
where
    L: Send + Sync + 'static,
    H: Future<Output: Send> + Send + 'static,
    K: Future<Output: Send> + Send + 'static,
    A: Future<Output: Send> + Send + 'static,
{
    let (thing, runtime) = (leak(thing), hosted());
    drop(runtime.spawn(async move {
        let held = hold(thing).await;
        yields(if given_back_first { 2 } else { 6 }).await;
        drop(held);
    }));
    let task = runtime.spawn(async move {
        yield_now().await;
        let mut kept = pin!(keep(thing));
        drop(set_aside(kept.as_mut(), ask(thing), given_back_first).await);
        drop(kept.await);
    });
    ends(&runtime, &task)
}

#[test]
fn an_arm_overtakes_the_future_of_its_own_task() {
    for first in [true, false] {
        let lock = || RwLock::new(());
        assert!(
            arm_gets(Mutex::new(()), |m| m.lock(), |m| m.lock(), |m| m.lock(), first),
            "a mutex, {first}"
        );
        assert!(
            arm_gets(Semaphore::new(1), |s| s.acquire(), |s| s.acquire(), |s| s.acquire(), first),
            "a permit, {first}"
        );
        assert!(arm_gets(lock(), |l| l.write(), |l| l.write(), |l| l.write(), first), "to write, {first}");
        assert!(arm_gets(lock(), |l| l.write(), |l| l.read(), |l| l.read(), first), "to read, {first}");
        assert!(
            arm_gets(lock(), |l| l.write(), |l| l.write(), |l| l.read(), first),
            "to read first, {first}"
        );
        assert!(
            arm_gets(lock(), |l| l.write(), |l| l.read(), |l| l.write(), first),
            "to write first, {first}"
        );
    }
}

/// Somebody else behind a waiter that was called has nobody to wake it, until that one comes or is dropped.
#[test]
fn those_who_sleep_behind_it_sleep_until_it_comes_or_is_dropped() {
    for is_dropped in [true, false] {
        let (runtime, lock, go_on) = (hosted(), leak(Mutex::new(())), leak(Notify::new()));
        let held = lock.try_lock().unwrap();
        let keeper = runtime.spawn(async move {
            let mut kept = Box::pin(lock.lock());
            set_aside(kept.as_mut(), go_on.notified(), false).await;
            if !is_dropped {
                drop(kept.await);
            }
        });
        runtime.run_until_stalled().unwrap();
        let sleeper = runtime.spawn(async { drop(lock.lock().await) });
        assert!(!ends(&runtime, &sleeper));
        drop(held); // calls the one that is kept
        assert!(!ends(&runtime, &sleeper), "nobody woke it");
        assert!(lock.try_lock().is_ok(), "but it is free, for who asks");
        go_on.notify_one();
        assert!(ends(&runtime, &sleeper) && keeper.is_finished());
    }
}

/// Newcomers take what a waiter was called for 255 times. Then it is kept for that one.
#[test]
fn it_is_overtaken_so_often_and_not_more() {
    let (runtime, lock, go_on) = (hosted(), leak(Mutex::new(())), leak(Notify::new()));
    let held = lock.try_lock().unwrap();
    let keeper = runtime.spawn(async {
        let mut kept = pin!(lock.lock());
        set_aside(kept.as_mut(), go_on.notified(), false).await;
        drop(kept.await);
    });
    runtime.run_until_stalled().unwrap();
    drop(held);
    for overtaken in 0..255 {
        assert!(lock.try_lock().is_ok(), "after {overtaken}");
    }
    assert!(lock.try_lock().is_err());
    let last = runtime.spawn(async { drop(lock.lock().await) });
    assert!(!ends(&runtime, &last), "it is kept for the first");
    go_on.notify_one();
    assert!(ends(&runtime, &last) && keeper.is_finished());
}

/// A waiter that missed its call is granted the lock by the next release. It has it then, and does not know: its own task waits
/// for ever, and so do all others, until it is dropped.
#[test]
fn what_was_granted_is_not_overtaken() {
    let (runtime, lock) = (hosted(), leak(Mutex::new(())));
    let held = lock.try_lock().unwrap();
    let keeper = runtime.spawn(async {
        let mut kept = pin!(lock.lock());
        assert!(poll_fn(|cx| Poll::Ready(kept.as_mut().poll(cx))).await.is_pending());
        yield_now().await;
        drop(set_aside(kept.as_mut(), lock.lock(), false).await); // woken by its call, `kept` comes too late
    });
    assert!(runtime.try_tick().unwrap(), "it is in line");
    drop(held); // calls it
    let faster = lock.try_lock().unwrap();
    assert!(!ends(&runtime, &keeper), "it missed its call, and its arm waits");
    drop(faster); // grants it the lock
    let other = runtime.spawn(async { drop(lock.lock().await) });
    assert!(!ends(&runtime, &keeper), "its arm waits for what it has itself");
    assert!(lock.try_lock().is_err() && !other.is_finished(), "and so do all others");
    keeper.cancel();
    assert!(ends(&runtime, &other), "dropped, it passed the lock on");
}

/// Several who are served by one release: all but the last are granted their permits. There is enough for the arm, but
/// not for one that wants all of it.
#[test]
fn one_of_several_that_are_served_together_has_its_permits() {
    let (runtime, semaphore) = (hosted(), leak(Semaphore::new(2)));
    let held = semaphore.try_acquire_many(2).unwrap();
    let keeper = runtime.spawn(async {
        let mut kept = pin!(semaphore.acquire());
        drop(set_aside(kept.as_mut(), semaphore.acquire(), false).await); // behind it in line, and served with it
        let all = semaphore.acquire_many(2).await; // nobody polls `kept` meanwhile
        drop((all, kept));
    });
    runtime.run_until_stalled().unwrap();
    drop(held);
    assert!(!ends(&runtime, &keeper), "one permit is not seen by who has it");
    assert_eq!(semaphore.available_permits(), 1);
    keeper.cancel();
    runtime.run_until_stalled().unwrap();
    assert_eq!(semaphore.available_permits(), 2);
}

/// The usual way: what `select!` owns is gone before the arm runs.
#[test]
fn what_is_given_to_select_leaves_its_queue_before_the_arm_runs() {
    let runtime = Runtime::builder().worker_threads(0).build().unwrap();
    let lock: &'static Mutex<()> = Box::leak(Box::default());
    drop(runtime.spawn(async {
        let _held = lock.lock().await;
        for _ in 0..4 {
            yield_now().await;
        }
    }));
    let task = runtime.spawn(async {
        yield_now().await;
        select! {
            biased;
            _ = lock.lock() => panic!("it is held by the other task"),
            () = ready(()) => drop(lock.lock().await),
        }
    });
    runtime.run_until_stalled().unwrap();
    assert!(task.is_finished());
}

/// A value is nobody's before it is received, whoever was called for it.
#[test]
fn a_value_is_received_by_who_looks() {
    for channel in [|| bounded(4), || bounded(1), || bounded(0), unbounded] {
        for late in [true, false] {
            let (runtime, (sender, receiver)) = (hosted(), channel());
            let name = format!("{:?}, late: {late}", sender.capacity());
            drop(runtime.spawn(async move {
                yields(if late { 2 } else { 6 }).await;
                sender.send(1).await.unwrap();
                sender.send(2).await.unwrap();
            }));
            let task = runtime.spawn(async move {
                let mut kept = pin!(receiver.recv());
                let first = set_aside(kept.as_mut(), receiver.recv(), late).await;
                (first, kept.await)
            });
            assert!(ends(&runtime, &task), "{name}");
            assert_eq!(ropewalk::wait(task).unwrap(), (Ok(1), Ok(2)), "{name}");
        }
    }
}

/// Room is nobody's before something is put there.
#[test]
fn room_is_for_who_looks() {
    for size in [1, 4] {
        for late in [true, false] {
            let (runtime, (sender, receiver)) = (hosted(), bounded(size));
            (0..size).for_each(|_| sender.try_send(0).unwrap());
            let task = runtime.spawn(async move {
                let mut kept = pin!(sender.send(2));
                set_aside(kept.as_mut(), sender.send(1), late).await.unwrap();
                kept.await.unwrap();
            });
            let receiving = runtime.spawn(async move {
                yields(if late { 2 } else { 6 }).await;
                let mut received = Vec::new();
                for _ in 0..size + 2 {
                    received.push(receiver.recv().await.unwrap());
                }
                received
            });
            assert!(ends(&runtime, &task) && receiving.is_finished(), "{size}, late: {late}");
            assert_eq!(ropewalk::wait(receiving).unwrap()[size..], [1, 2]);
        }
    }
}

/// A reserved place of one that is set aside is no place yet.
#[test]
fn room_is_not_reserved_for_who_does_not_look() {
    for late in [true, false] {
        let (runtime, (sender, receiver)) = (hosted(), bounded(1));
        sender.try_send(0).unwrap();
        let task = runtime.spawn(async move {
            let mut kept = pin!(sender.reserve());
            set_aside(kept.as_mut(), sender.reserve(), late).await.unwrap().send(1).unwrap();
            kept.await.unwrap().send(2).unwrap();
        });
        let receiving = runtime.spawn(async move {
            yields(if late { 2 } else { 6 }).await;
            (receiver.recv().await, receiver.recv().await, receiver.recv().await)
        });
        assert!(ends(&runtime, &task) && receiving.is_finished(), "late: {late}");
        assert_eq!(ropewalk::wait(receiving).unwrap(), (Ok(0), Ok(1), Ok(2)));
    }
}

/// Another receiver that sleeps in line behind the one that was called is not woken for the same value.
#[test]
fn a_receiver_that_sleeps_behind_it_sleeps_until_it_comes_or_is_dropped() {
    for is_dropped in [true, false] {
        let (runtime, (sender, receiver), go_on) = (hosted(), bounded(4), leak(Notify::new()));
        let own = receiver.clone();
        let keeper = runtime.spawn(async move {
            let mut kept = Box::pin(own.recv());
            set_aside(kept.as_mut(), go_on.notified(), false).await;
            if is_dropped { None } else { Some(kept.await) }
        });
        runtime.run_until_stalled().unwrap();
        let other = receiver.clone();
        let sleeper = runtime.spawn(async move { other.recv().await });
        runtime.run_until_stalled().unwrap();
        sender.try_send(1).unwrap(); // calls the one that is kept
        assert!(!ends(&runtime, &sleeper));
        go_on.notify_one();
        assert_eq!(ends(&runtime, &sleeper), is_dropped);
        assert!(keeper.is_finished());
    }
}

/// A notification is given to one waiter: an arm that waits too needs another one.
#[test]
fn a_notification_stays_with_who_was_notified() {
    for late in [true, false] {
        let (runtime, notify) = (hosted(), leak(Notify::new()));
        let keeper = runtime.spawn(async move {
            let mut kept = pin!(notify.notified());
            set_aside(kept.as_mut(), notify.notified(), late).await;
            kept.await;
        });
        assert!(runtime.try_tick().unwrap(), "it is in line");
        notify.notify_one();
        assert!(!ends(&runtime, &keeper), "late: {late}: the one that is kept has it");
        notify.notify_one();
        assert!(ends(&runtime, &keeper), "late: {late}: one each");
    }
}

/// Dropped, it passes its notification on, to the arm of its own task as well.
#[test]
fn a_notification_goes_on_when_its_owner_is_dropped() {
    let (runtime, notify) = (hosted(), leak(Notify::new()));
    let keeper = runtime.spawn(async {
        let mut kept = Box::pin(notify.notified());
        set_aside(kept.as_mut(), ready(()), true).await;
        let mut next = pin!(notify.notified());
        assert!(!next.as_mut().enable());
        drop(kept);
        next.await;
    });
    assert!(runtime.try_tick().unwrap(), "it is in line");
    notify.notify_one();
    assert!(ends(&runtime, &keeper));
}

/// A task waits with a future that it keeps, and in an arm for the same; then `event` comes.
fn arm_hears<K, A>(kept: K, arm: A, event: impl FnOnce()) -> bool
where
    K: Future<Output: Send> + Send + 'static,
    A: Future<Output: Send> + Send + 'static,
{
    let runtime = hosted();
    let task = runtime.spawn(async move {
        let mut kept = Box::pin(kept);
        drop(set_aside(kept.as_mut(), arm, false).await);
        drop(kept.await);
    });
    assert!(!ends(&runtime, &task), "there is nothing to hear yet");
    event();
    ends(&runtime, &task)
}

#[test]
fn what_all_hear_is_kept_from_nobody() {
    let (sender, mut first) = watch::channel(0);
    let mut second = first.clone();
    let heard =
        arm_hears(async move { first.changed().await }, async move { second.changed().await }, || {
            sender.send(1).unwrap();
        });
    assert!(heard, "a change");
    let (sender, mut first) = broadcast::channel(2);
    let mut second = first.resubscribe();
    let heard = arm_hears(async move { first.recv().await }, async move { second.recv().await }, || {
        assert_eq!(sender.send(1), Ok(2));
    });
    assert!(heard, "a value for all");
    let (sender, receiver) = broadcast::channel(2);
    let streams = [receiver.resubscribe(), receiver].map(|receiver| {
        let mut stream = Box::pin(receiver.into_stream());
        poll_fn(move |cx| stream.as_mut().poll_next(cx))
    });
    let [first, second] = streams;
    assert!(arm_hears(first, second, || assert_eq!(sender.send(1), Ok(2))), "the same in a stream");
    let token = leak(CancellationToken::new());
    assert!(arm_hears(token.cancelled(), token.cancelled(), || token.cancel()), "a cancellation");
    let barrier = leak(Barrier::new(3));
    let third = || {
        let runtime = hosted();
        let third = runtime.spawn(async { barrier.wait().await });
        assert!(ends(&runtime, &third));
    };
    assert!(arm_hears(async { barrier.wait().await }, async { barrier.wait().await }, third), "a barrier");
}

#[test]
fn an_initialisation_that_is_set_aside_keeps_all_waiting() {
    let (runtime, cell, go_on) = (hosted(), leak(OnceCell::new()), leak(Notify::new()));
    let keeper = runtime.spawn(async move {
        let mut kept = Box::pin(cell.get_or_init(|| async {
            yield_now().await;
            1
        }));
        set_aside(kept.as_mut(), go_on.notified(), false).await;
    });
    runtime.run_until_stalled().unwrap();
    let other = runtime.spawn(async { *cell.get_or_init(|| ready(2)).await });
    assert!(!ends(&runtime, &other), "the first one is at it");
    go_on.notify_one(); // and it is dropped
    assert!(ends(&runtime, &other) && keeper.is_finished());
    assert_eq!(cell.get(), Some(&2));
}

#[ropewalk::test(paused)]
async fn the_first_in_line_for_a_rate_keeps_those_behind_it_waiting() {
    const SECOND: std::time::Duration = std::time::Duration::from_secs(1);
    let limiter = leak(RateLimiter::new(1, SECOND).unwrap());
    limiter.acquire().await;
    let mut kept = Box::pin(limiter.acquire());
    set_aside(kept.as_mut(), ready(()), false).await;
    let behind = spawn(limiter.acquire());
    yield_now().await;
    advance(10 * SECOND).await.unwrap();
    yields(10).await;
    assert!(!behind.is_finished());
    drop(kept);
    behind.await.unwrap();
}
