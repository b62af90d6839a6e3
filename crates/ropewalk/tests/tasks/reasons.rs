//! Why a task waits: one test per reason, and what is shown when there are several, or none.

use crate::kit;
use ropewalk::channel;
#[cfg(unix)]
use ropewalk::net::UnixStream;
use ropewalk::sync::{
    Barrier, CancellationToken, Condvar, Mutex, Notify, OnceCell, RateLimiter, RwLock, Semaphore,
};
use ropewalk::time::{interval, sleep, timeout};
use ropewalk::{
    Blocked, Pool, Reason, Runtime, TaskGroup, Wait, join, select, spawn, spawn_blocking, task, thread,
};
use std::cell::RefCell;
use std::future::{Future, pending, poll_fn, ready};
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

fn runtime() -> Runtime {
    Runtime::builder().worker_threads(0).observe(true).build().unwrap()
}

thread_local! {
    /// What the tests of this thread have seen so far.
    static SEEN: RefCell<Vec<Reason>> = const { RefCell::new(Vec::new()) };
}

/// What the task of that name waits for.
fn blocked(runtime: &Runtime, name: &str) -> Option<Blocked> {
    let tasks = runtime.tasks();
    let named = |seen: &&ropewalk::Observed| seen.name.as_deref() == Some(name);
    let observed = tasks.iter().filter_map(|task| task.observed.as_ref()).find(named).expect("it is alive");
    SEEN.with_borrow_mut(|seen| seen.extend(observed.blocked.map(|blocked| blocked.reason)));
    observed.blocked
}

/// What a task waits for that runs this future.
#[track_caller]
fn reason<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Blocked {
    reason_in(&runtime(), future)
}

#[track_caller]
fn reason_in<T: Send + 'static>(
    runtime: &Runtime,
    future: impl Future<Output = T> + Send + 'static,
) -> Blocked {
    let _task = task::Builder::new().name("subject").spawn_on(&runtime.handle(), future);
    runtime.run_until_stalled().unwrap();
    blocked(runtime, "subject").expect("it waits")
}

#[test]
fn sleep_is_a_reason() {
    let at = reason(async { sleep(LONG).await });
    assert_eq!((at.reason, at.others), (Reason::Sleep, 0));
    assert_ne!(at.what, 0, "where the timer is");
    let ticking = reason(async {
        let mut ticks = interval(LONG);
        ticks.tick().await;
        ticks.tick().await;
    });
    assert_eq!(ticking.reason, Reason::Sleep);
}

#[test]
fn join_is_a_reason_and_says_which_task() {
    let runtime = runtime();
    let endless = runtime.spawn(pending::<()>());
    let id = endless.id().unwrap();
    let _task = task::Builder::new().name("joins").spawn_on(&runtime.handle(), async { drop(endless.await) });
    runtime.run_until_stalled().unwrap();
    let blocked = blocked(&runtime, "joins").unwrap();
    assert_eq!((blocked.reason, blocked.what as u64), (Reason::Join, id.get()));
}

#[test]
fn group_is_a_reason() {
    let next = reason(async {
        let mut group = TaskGroup::new();
        group.spawn(pending::<()>());
        group.join_next().await;
    });
    let all = reason(async {
        drop(ropewalk::task_group(|group| drop(group.spawn(pending::<()>()))).await);
    });
    assert_eq!((next.reason, all.reason), (Reason::Group, Reason::Group));
}

#[test]
fn a_blocking_job_is_a_reason() {
    let (runtime, (let_go, held)) = (runtime(), mpsc::channel::<()>());
    let at = reason_in(&runtime, async move {
        drop(spawn_blocking(move || held.recv().is_err()).await);
    });
    assert_eq!(at.reason, Reason::Blocking);
    drop(let_go);
}

#[test]
fn a_thread_is_a_reason() {
    let (runtime, (let_go, held)) = (runtime(), mpsc::channel::<()>());
    let at = reason_in(&runtime, async move {
        let thread = thread::spawn(move || held.recv().is_err()).unwrap();
        drop(thread.await);
    });
    assert_eq!(at.reason, Reason::Thread);
    drop(let_go);
}

#[test]
fn a_pool_that_shrinks_is_a_reason() {
    let (runtime, (let_go, held), (begins, begun)) = (runtime(), mpsc::channel::<()>(), mpsc::channel());
    let pool = Pool::builder().name("small").build(&runtime.handle()).unwrap();
    let busy = pool.spawn(async move {
        begins.send(()).unwrap();
        held.recv().is_err() // in its poll: its worker cannot leave
    });
    begun.recv().unwrap();
    let at = reason_in(&runtime, async move { pool.shutdown().await });
    assert_eq!(at.reason, Reason::Thread);
    drop((let_go, busy));
}

/// The same for what the system decides about: it is driven until it waits.
#[cfg(unix)]
fn reason_soon<T: Send + 'static>(
    runtime: &Runtime,
    future: impl Future<Output = T> + Send + 'static,
) -> Blocked {
    let _task = task::Builder::new().name("subject").spawn_on(&runtime.handle(), future);
    let mut at = None;
    kit::until("it waits", || {
        runtime.run_until_stalled().unwrap();
        at = blocked(runtime, "subject");
        at.is_some()
    });
    at.unwrap()
}

#[cfg(unix)]
#[test]
fn input_is_a_reason_and_says_of_which_file() {
    use std::os::fd::AsRawFd;
    let runtime = runtime();
    let (ours, _theirs) = runtime.block_on(async { UnixStream::pair() }).unwrap();
    let file = ours.as_raw_fd() as usize;
    let at = reason_soon(&runtime, async move { ours.read(&mut [0; 8]).await });
    assert_eq!((at.reason, at.what, at.others), (Reason::Input, file, 0));
    let (ours, _theirs) = runtime.block_on(async { UnixStream::pair() }).unwrap();
    assert_eq!(reason_soon(&runtime, async move { ours.readable().await }).reason, Reason::Input);
}

#[cfg(unix)]
#[test]
fn output_is_a_reason_and_says_of_which_file() {
    use std::os::fd::AsRawFd;
    let runtime = runtime();
    let (ours, _theirs) = runtime.block_on(async { UnixStream::pair() }).unwrap();
    let file = ours.as_raw_fd() as usize;
    // Nobody reads: at some point the buffers are full.
    let at = reason_soon(&runtime, async move { while ours.write(&[7; 4096]).await.is_ok() {} });
    assert_eq!((at.reason, at.what, at.others), (Reason::Output, file, 0));
}

#[test]
fn a_mutex_is_a_reason_and_says_which() {
    let lock: &'static Mutex<()> = Box::leak(Box::default());
    let _held = lock.try_lock().unwrap();
    let at = reason(async { lock.lock().await });
    assert_eq!((at.reason, at.others), (Reason::Mutex, 0));
    let from = &raw const *lock as usize;
    assert!((from..from + 128).contains(&at.what), "the address is in the mutex");
}

#[test]
fn reading_and_writing_are_reasons() {
    let lock: &'static RwLock<()> = Box::leak(Box::default());
    let held = lock.try_write().unwrap();
    assert_eq!(reason(async { lock.read().await }).reason, Reason::RwLockRead);
    drop(held);
    let _held = lock.try_read().unwrap();
    assert_eq!(reason(async { lock.write().await }).reason, Reason::RwLockWrite);
}

#[test]
fn a_semaphore_is_a_reason() {
    let none: &'static Semaphore = Box::leak(Box::new(Semaphore::new(0)));
    assert_eq!(reason(async { none.acquire().await }).reason, Reason::Semaphore);
}

#[test]
fn a_transaction_is_a_reason() {
    let nothing = ropewalk::stm::TMVar::<u8>::empty();
    assert_eq!(
        reason(async move { ropewalk::stm::atomically(|tx| nothing.take(tx)).await }).reason,
        Reason::Transaction
    );
}

#[test]
fn a_notification_is_a_reason() {
    let notify: &'static Notify = Box::leak(Box::default());
    assert_eq!(reason(async { notify.notified().await }).reason, Reason::Notify);
}

#[test]
fn a_barrier_is_a_reason() {
    let barrier: &'static Barrier = Box::leak(Box::new(Barrier::new(2)));
    assert_eq!(reason(async { barrier.wait().await }).reason, Reason::Barrier);
}

#[test]
fn a_condition_is_a_reason() {
    let (lock, changed): (&'static Mutex<()>, &'static Condvar) =
        (Box::leak(Box::default()), Box::leak(Box::default()));
    assert_eq!(reason(async { changed.wait(lock.lock().await).await }).reason, Reason::Condvar);
}

#[test]
fn the_initialisation_by_another_is_a_reason() {
    let (runtime, cell): (_, &'static OnceCell<()>) = (runtime(), Box::leak(Box::default()));
    let _initialises = runtime.spawn(async { cell.get_or_init(pending).await });
    let at = reason_in(&runtime, async { cell.get_or_init(pending).await });
    assert_eq!(at.reason, Reason::Once);
}

#[test]
fn a_cancellation_is_a_reason() {
    let token = CancellationToken::new();
    assert_eq!(reason(async move { token.cancelled().await }).reason, Reason::Cancellation);
}

#[test]
fn a_rate_limit_is_a_reason() {
    let limit = RateLimiter::new(1, LONG).unwrap();
    let at = reason(async move {
        limit.acquire().await;
        limit.acquire().await;
    });
    assert_eq!(at.reason, Reason::RateLimit);
}

#[test]
fn sending_is_a_reason_for_every_kind_of_channel() {
    for capacity in [0, 1] {
        let at = reason(async move {
            let (sender, _receiver) = channel::bounded(capacity);
            for n in 0..2 {
                sender.send(n).await.unwrap();
            }
        });
        assert_eq!(at.reason, Reason::Send, "capacity {capacity}");
    }
    let at = reason(async {
        let (sender, _receiver) = channel::bounded(1);
        let _one = sender.reserve().await;
        let _other: Result<channel::Permit<'_, u8>, _> = sender.reserve().await;
    });
    assert_eq!(at.reason, Reason::Send);
}

#[test]
fn receiving_is_a_reason_for_every_kind_of_channel() {
    for (sender, receiver) in [channel::bounded::<u8>(0), channel::bounded(1), channel::unbounded()] {
        let at = reason(async move { assert!(receiver.recv().await.is_err()) });
        assert_eq!(at.reason, Reason::Recv);
        drop(sender);
    }
}

#[test]
fn a_oneshot_a_broadcast_and_a_watch_are_reasons() {
    let (_sender, receiver) = channel::oneshot::channel::<()>();
    assert_eq!(reason(receiver).reason, Reason::Oneshot);
    let (mut sender, _receiver) = channel::oneshot::channel::<()>();
    assert_eq!(reason(async move { sender.closed().await }).reason, Reason::Oneshot);
    let (_sender, mut receiver) = channel::broadcast::channel::<()>(1);
    let mut stream = Box::pin(receiver.resubscribe().into_stream());
    assert_eq!(reason(async move { receiver.recv().await }).reason, Reason::Broadcast);
    assert_eq!(reason(poll_fn(move |cx| stream.as_mut().poll_next(cx))).reason, Reason::Broadcast);
    let (_sender, mut receiver) = channel::watch::channel(());
    let mut stream = Box::pin(receiver.clone().into_stream());
    assert_eq!(reason(async move { receiver.changed().await }).reason, Reason::Watch);
    let second = async move {
        poll_fn(|cx| stream.as_mut().poll_next(cx)).await; // the present value
        poll_fn(|cx| stream.as_mut().poll_next(cx)).await
    };
    assert_eq!(reason(second).reason, Reason::Watch);
}

#[test]
fn what_says_nothing_is_other() {
    let at = reason(pending::<()>());
    assert_eq!((at.reason, at.what, at.others), (Reason::Other, 0, 0));
}

#[test]
fn of_several_the_last_is_shown_and_the_others_are_counted() {
    let at = reason(async {
        let _endless = join!(sleep(LONG), spawn(pending::<()>()), sleep(LONG));
    });
    assert_eq!(at.others, 2);
    let at = reason(async {
        select! { biased; _ = spawn(pending::<()>()) => {}, () = sleep(LONG) => {} }
    });
    assert_eq!((at.reason, at.others), (Reason::Sleep, 1));
}

#[test]
fn a_limit_is_not_what_is_waited_for() {
    let at = reason(async { drop(timeout(LONG, spawn(pending::<()>())).await) });
    assert_eq!((at.reason, at.others), (Reason::Join, 0));
    let at = reason(async {
        select! { _ = spawn(pending::<()>()) => {}, timeout(LONG) => {} }
    });
    assert_eq!((at.reason, at.others), (Reason::Join, 0));
}

#[test]
fn what_a_select_gave_up_is_forgotten() {
    let at = reason(async {
        select! { biased; () = sleep(LONG) => {}, () = ready(()) => {} }
        pending::<()>().await
    });
    assert_eq!((at.reason, at.others), (Reason::Other, 0));
}

#[test]
fn a_poll_starts_without_reasons() {
    let runtime = runtime();
    let first = runtime.spawn(async {});
    let _task = task::Builder::new().name("subject").spawn_on(&runtime.handle(), async {
        let _ended = first.await;
        pending::<()>().await
    });
    runtime.run_until_stalled().unwrap();
    assert_eq!(blocked(&runtime, "subject").unwrap().reason, Reason::Other);
}

#[test]
fn a_used_up_budget_is_no_reason() {
    let at = reason(async {
        for _ in 0..1000 {
            task::consume_budget().await;
        }
        // The budget of this poll is used up to some part; nothing was waited for.
        pending::<()>().await
    });
    assert_eq!(at.reason, Reason::Other);
}

#[test]
fn a_task_that_runs_or_is_queued_waits_for_nothing() {
    let runtime = runtime();
    let handle = runtime.handle();
    let task = task::Builder::new().name("subject").spawn_on(&handle, {
        let handle = handle.clone();
        async move {
            let mut nap = std::pin::pin!(sleep(LONG));
            poll_fn(|cx| Poll::Ready(nap.as_mut().poll(cx).is_ready())).await; // notes, and goes on
            let tasks = handle.tasks();
            tasks[0].observed.as_ref().unwrap().blocked
        }
    });
    assert!(blocked(&runtime, "subject").is_none(), "queued");
    assert_eq!(runtime.block_on(task).unwrap(), None, "running");
}

#[test]
fn a_wait_inside_a_poll_shows_its_reason_until_it_is_over() {
    let runtime = runtime();
    let (open, mut opened) = (std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)), None);
    let gate = open.clone();
    let _task = task::Builder::new().name("subject").spawn_on(&runtime.handle(), async move {
        sleep(Duration::from_nanos(1)).wait();
        let waits_for = spawn(poll_fn(move |_| {
            if gate.load(std::sync::atomic::Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
        }));
        let _ended = waits_for.wait();
        pending::<()>().await;
    });
    // The timer is over after some turns.
    while opened.is_none_or(|blocked: Blocked| blocked.reason == Reason::Sleep) {
        runtime.run_until_stalled().unwrap();
        opened = blocked(&runtime, "subject");
    }
    assert_eq!(opened.unwrap().reason, Reason::Join);
}

#[test]
fn a_job_that_waits_shows_its_reason() {
    let runtime = Runtime::builder().worker_threads(1).observe(true).build().unwrap();
    let (say, heard) = mpsc::channel();
    let endless = runtime.spawn(pending::<()>());
    let id = endless.id().unwrap();
    let abort = endless.abort_handle();
    let handle = runtime.handle();
    let job = runtime.spawn_blocking(move || {
        say.send(task::id().unwrap()).unwrap();
        assert!(endless.wait().is_err());
    });
    let job_id = heard.recv().unwrap();
    let seen = loop {
        let tasks = handle.tasks();
        let job = tasks.iter().find(|task| task.id == job_id).expect("it is alive");
        if let Some(blocked) = job.observed.as_ref().unwrap().blocked {
            break blocked;
        }
        std::thread::yield_now();
    };
    assert_eq!((seen.reason, seen.what as u64), (Reason::Join, id.get()));
    abort.cancel();
    runtime.block_on(job).unwrap();
}

#[test]
fn a_strand_that_waits_shows_its_reason() {
    let runtime = runtime();
    let lock: &'static Mutex<()> = Box::leak(Box::default());
    let held = lock.try_lock().unwrap();
    let strand = kit::strand_in(&runtime, || drop(lock.lock().wait()));
    let id = strand.id().unwrap();
    runtime.run_until_stalled().unwrap();
    let seen = || {
        let tasks = runtime.tasks();
        let strand = tasks.iter().find(|task| task.id == id).expect("it is alive");
        strand.observed.as_ref().unwrap().blocked.map(|blocked| (blocked.reason, blocked.others))
    };
    assert_eq!(seen(), Some((Reason::Mutex, 0)));
    drop(held);
    runtime.block_on(strand).unwrap();
}

#[test]
fn a_local_task_shows_its_reason_also_in_a_group() {
    let runtime = runtime();
    runtime.block_on(async {
        let local = ropewalk::spawn_local(async { sleep(LONG).await }).unwrap();
        let mut group = TaskGroup::new();
        group.spawn_local(pending::<()>()).unwrap();
        ropewalk::yield_now().await;
        let tasks = ropewalk::Handle::current().tasks();
        let reasons: Vec<_> = tasks
            .iter()
            .filter_map(|task| task.observed.as_ref()?.blocked)
            .map(|blocked| blocked.reason)
            .collect();
        assert_eq!(reasons.len(), 2, "{tasks:?}");
        assert!(reasons.contains(&Reason::Sleep) && reasons.contains(&Reason::Other), "{tasks:?}");
        drop(local);
    });
}

/// Runs the tests of single reasons again and compares what they saw with what there is: a reason without a test fails here.
#[cfg(unix)]
#[test]
fn every_reason_has_its_test() {
    let tests: [fn(); _] = [
        what_says_nothing_is_other,
        sleep_is_a_reason,
        join_is_a_reason_and_says_which_task,
        group_is_a_reason,
        a_mutex_is_a_reason_and_says_which,
        reading_and_writing_are_reasons,
        a_semaphore_is_a_reason,
        a_transaction_is_a_reason,
        a_notification_is_a_reason,
        a_barrier_is_a_reason,
        a_condition_is_a_reason,
        the_initialisation_by_another_is_a_reason,
        a_cancellation_is_a_reason,
        a_rate_limit_is_a_reason,
        sending_is_a_reason_for_every_kind_of_channel,
        receiving_is_a_reason_for_every_kind_of_channel,
        a_oneshot_a_broadcast_and_a_watch_are_reasons,
        a_blocking_job_is_a_reason,
        a_thread_is_a_reason,
        a_pool_that_shrinks_is_a_reason,
        input_is_a_reason_and_says_of_which_file,
        output_is_a_reason_and_says_of_which_file,
    ];
    SEEN.take();
    tests.into_iter().for_each(|test| test());
    let seen = SEEN.take();
    let untested: Vec<_> = Reason::ALL.into_iter().filter(|reason| !seen.contains(reason)).collect();
    assert_eq!(untested, [], "reasons without a test");
    assert!(Reason::ALL.into_iter().enumerate().all(|(at, reason)| reason as usize == at));
}

#[test]
fn since_when_by_the_runtimes_clock() {
    let runtime = Runtime::builder().paused(true).observe(true).build().unwrap();
    runtime.block_on(async {
        let _task = task::Builder::new().name("subject").spawn(async { drop(spawn(pending::<()>()).await) });
        ropewalk::yield_now().await;
        ropewalk::yield_now().await;
        ropewalk::time::advance(Duration::from_secs(5)).await.unwrap();
        let tasks = ropewalk::Handle::current().tasks();
        let seen = tasks.iter().find_map(|task| task.observed.as_ref().filter(|seen| seen.name.is_some()));
        let blocked = seen.unwrap().blocked.unwrap();
        assert_eq!(blocked.since, Duration::from_secs(5));
        assert!(blocked.to_string().contains("a task (id "), "{blocked}");
    });
}

#[test]
fn lean_tasks_show_their_state_only() {
    let runtime = Runtime::builder().worker_threads(0).build().unwrap();
    let _lean = runtime.spawn(sleep(LONG));
    runtime.run_until_stalled().unwrap();
    let tasks = runtime.tasks();
    assert_eq!((tasks.len(), tasks[0].state), (1, "waiting"));
    assert!(tasks[0].observed.is_none());
}

#[test]
fn the_text_names_reason_and_task() {
    let runtime = runtime();
    let _task = task::Builder::new().name("napper").spawn_on(&runtime.handle(), async { sleep(LONG).await });
    runtime.run_until_stalled().unwrap();
    let text = runtime.tasks()[0].to_string();
    assert!(
        text.contains("\"napper\" in main: waiting") && text.contains("waits for a moment at 0x"),
        "{text}"
    );
}
