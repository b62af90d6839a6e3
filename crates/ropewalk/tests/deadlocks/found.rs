//! What is found, and what is said of it.

use crate::kit::{on_every_kind, strand_in, until};
use crate::{hosted, of, start};
use ropewalk::sync::{Condvar, Mutex, MutexGuard, RwLock, Semaphore};
use ropewalk::{Reason, Runtime, TaskHandle, Wait, deadlock, task, thread, yield_now};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier};

fn locks() -> &'static [Mutex<()>; 2] {
    Box::leak(Box::default())
}

/// Takes the first, lets others run, and takes the second.
async fn both(first: &'static Mutex<()>, second: &'static Mutex<()>) {
    let _first = first.lock().await;
    yield_now().await;
    let _second = second.lock().await;
}

#[test]
fn two_tasks_that_lock_in_different_order() {
    let (runtime, [a, b]) = (hosted(), locks());
    start(&runtime, "order-ab", both(a, b));
    start(&runtime, "order-ba", both(b, a));
    runtime.run_until_stalled().unwrap();
    let found = of("order-ab");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].members.len(), 2);
    for member in &found[0].members {
        assert_eq!(member.reason, Reason::Mutex);
        let at = member.at.expect("where it asks for the lock");
        assert!(at.file().ends_with("found.rs"), "{at}");
        assert!(member.who.contains("spawned at") && member.who.contains("order-"), "{}", member.who);
    }
    let text = found[0].to_string();
    assert!(text.starts_with("deadlock: 2 wait for each other\n  task "), "{text}");
    assert_eq!(of("order-ab").len(), 1, "it is reported once");
}

#[test]
fn one_task_that_locks_twice_on_every_kind_of_runtime() {
    let once = std::sync::atomic::AtomicUsize::new(0);
    on_every_kind(|kind| {
        let number = once.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (name, [a, _]) = (format!("twice-{number}-"), locks());
        let runtime = kind.build();
        start(&runtime, &name, both(a, a));
        until("it is found", || {
            if kind.is_hosted() {
                runtime.run_until_stalled().unwrap();
            }
            !of(&name).is_empty()
        });
        assert_eq!(of(&name)[0].members.len(), 1);
        assert!(of(&name)[0].to_string().starts_with("deadlock: one waits for itself"));
    });
}

#[test]
fn five_philosophers() {
    let runtime = hosted();
    let forks: &'static [Mutex<()>; 5] = Box::leak(Box::default());
    for n in 0..5 {
        start(&runtime, &format!("philosopher-{n}"), both(&forks[n], &forks[(n + 1) % 5]));
    }
    runtime.run_until_stalled().unwrap();
    assert_eq!(of("philosopher-0")[0].members.len(), 5);
}

#[test]
fn a_join_and_a_lock() {
    let (runtime, [a, _]) = (hosted(), locks());
    start(&runtime, "holds-and-joins", async {
        let _guard = a.lock().await;
        let inner = task::Builder::new().name("wants").spawn(async { drop(a.lock().await) });
        let _never = inner.await;
    });
    runtime.run_until_stalled().unwrap();
    let found = of("holds-and-joins");
    let mut reasons: Vec<_> = found[0].members.iter().map(|member| member.reason).collect();
    reasons.sort_by_key(|reason| *reason as u8);
    assert_eq!(reasons, [Reason::Join, Reason::Mutex]);
    assert!(found[0].to_string().contains("waits for a task, which is task "), "{}", found[0]);
}

#[test]
fn two_tasks_that_wait_for_each_others_end() {
    let runtime = hosted();
    let handles: &'static [std::sync::Mutex<Option<TaskHandle<()>>>; 2] = Box::leak(Box::default());
    for n in 0..2 {
        let waits = task::Builder::new().name(format!("joins-{n}")).spawn_on(&runtime.handle(), async move {
            let other = loop {
                if let Some(other) = handles[1 - n].lock().unwrap().take() {
                    break other;
                }
                yield_now().await;
            };
            let _never = other.await;
        });
        *handles[n].lock().unwrap() = Some(waits);
    }
    runtime.run_until_stalled().unwrap();
    assert_eq!(of("joins-0")[0].members.len(), 2);
}

#[test]
fn readers_and_writers() {
    let runtime = hosted();
    let (lock, [other, _]): (&'static RwLock<()>, _) = (Box::leak(Box::default()), locks());
    // A writer needs all readers; one of the two needs what the writer has.
    start(&runtime, "rw-idle-reader", async {
        let _read = lock.read().await;
        std::future::pending().await
    });
    start(&runtime, "rw-reader", async {
        let _read = lock.read().await;
        yield_now().await;
        drop(other.lock().await);
    });
    start(&runtime, "rw-writer", async {
        let _other = other.lock().await;
        drop(lock.write().await);
    });
    runtime.run_until_stalled().unwrap();
    let found = of("rw-writer");
    assert_eq!((found.len(), found[0].members.len()), (1, 2));
    assert!(of("rw-idle-reader").is_empty());
    assert!(found[0].members.iter().all(|member| member.at.unwrap().file().ends_with("found.rs")));
}

#[test]
fn a_reader_that_reads_again_behind_a_writer() {
    let runtime = hosted();
    let lock: &'static RwLock<()> = Box::leak(Box::default());
    start(&runtime, "reads-again", async {
        let _first = lock.read().await;
        yield_now().await;
        let _second = lock.read().await;
    });
    start(&runtime, "writes-between", async { drop(lock.write().await) });
    runtime.run_until_stalled().unwrap();
    assert_eq!(of("reads-again")[0].members.len(), 2);
}

#[test]
fn a_downgraded_writer_is_a_reader() {
    let runtime = hosted();
    let (lock, [other, _]): (&'static RwLock<()>, _) = (Box::leak(Box::default()), locks());
    start(&runtime, "downgrades", async {
        let write = lock.write().await;
        let _read = ropewalk::sync::RwLockWriteGuard::downgrade(write);
        yield_now().await;
        drop(other.lock().await);
    });
    start(&runtime, "holds-other", async {
        let _other = other.lock().await;
        yield_now().await;
        drop(lock.write().await);
    });
    runtime.run_until_stalled().unwrap();
    assert_eq!(of("downgrades")[0].members.len(), 2);
}

#[test]
fn a_semaphore_of_one() {
    let runtime = hosted();
    let (one, [other, _]): (&'static Semaphore, _) = (Box::leak(Box::new(Semaphore::new(1))), locks());
    start(&runtime, "has-permit", async {
        let _permit = one.acquire().await;
        yield_now().await;
        drop(other.lock().await);
    });
    start(&runtime, "wants-permit", async {
        let _other = other.lock().await;
        let _permit = one.acquire().await;
    });
    runtime.run_until_stalled().unwrap();
    let reasons: Vec<_> = of("has-permit")[0].members.iter().map(|member| member.reason).collect();
    assert!(reasons.contains(&Reason::Semaphore) && reasons.contains(&Reason::Mutex), "{reasons:?}");
}

#[test]
fn a_mapped_guard_holds_its_lock() {
    let runtime = hosted();
    let (lock, [other, _]): (&'static Mutex<(u8, u8)>, _) = (Box::leak(Box::default()), locks());
    start(&runtime, "maps", async {
        let _part = MutexGuard::map(lock.lock().await, |pair| &mut pair.0);
        yield_now().await;
        drop(other.lock().await);
    });
    start(&runtime, "wants-mapped", async {
        let _other = other.lock().await;
        yield_now().await;
        drop(lock.lock().await);
    });
    runtime.run_until_stalled().unwrap();
    assert_eq!(of("maps")[0].members.len(), 2);
}

/// Where the member `name` is said to wait must be the line after the one that it tells.
fn is_told_where(name: &str, tell: impl FnOnce(&Runtime, Sender<u32>)) {
    let (runtime, (say, told)) = (hosted(), channel());
    tell(&runtime, say);
    runtime.run_until_stalled().unwrap();
    let found = of(name);
    let member = found[0].members.iter().find(|member| member.who.contains(name)).unwrap();
    let at = member.at.expect("where it asks");
    assert!(at.file().ends_with("found.rs"), "{at}");
    assert_eq!(at.line(), told.recv().unwrap() + 1, "{name}");
}

/// The one who asks need not be in the frame that first polls the future.
#[test]
fn who_asks_for_an_owned_guard_is_told_where() {
    is_told_where("asks-for-own-mutex", |runtime, say| {
        start(runtime, "asks-for-own-mutex", async move {
            let lock = Arc::new(Mutex::new(()));
            let _held = lock.lock().await;
            say.send(line!()).unwrap();
            let again = lock.clone().lock_owned();
            drop(again.await);
        });
    });
    is_told_where("asks-for-own-read", |runtime, say| {
        start(runtime, "asks-for-own-read", async move {
            let lock = Arc::new(RwLock::new(()));
            let _held = lock.write().await;
            say.send(line!()).unwrap();
            let again = lock.clone().read_owned();
            drop(again.await);
        });
    });
    is_told_where("asks-for-own-write", |runtime, say| {
        start(runtime, "asks-for-own-write", async move {
            let lock = Arc::new(RwLock::new(()));
            let _held = lock.read().await;
            say.send(line!()).unwrap();
            let again = lock.clone().write_owned();
            drop(again.await);
        });
    });
    is_told_where("asks-for-own-permit", |runtime, say| {
        start(runtime, "asks-for-own-permit", async move {
            let one = Arc::new(Semaphore::new(1));
            let _held = one.acquire().await;
            say.send(line!()).unwrap();
            let again = one.clone().acquire_owned();
            drop(again.await);
        });
    });
    is_told_where("asks-for-own-many", |runtime, say| {
        start(runtime, "asks-for-own-many", async move {
            let one = Arc::new(Semaphore::new(1));
            let _held = one.acquire().await;
            say.send(line!()).unwrap();
            let again = one.clone().acquire_many_owned(1);
            drop(again.await);
        });
    });
}

/// One that was notified wants its mutex back from somebody who wants what it holds.
#[test]
fn who_waits_for_a_condition_is_told_where() {
    static FILLED: [Condvar; 2] = [Condvar::new(), Condvar::new()];
    fn notifies(runtime: &Runtime, n: usize, lock: &'static Mutex<()>, held: &'static Mutex<()>) {
        start(runtime, &format!("notifies-{n}"), async move {
            let _lock = lock.lock().await;
            assert!(FILLED[n].notify_one());
            drop(held.lock().await);
        });
    }
    is_told_where("waits-for-condition", |runtime, say| {
        let [lock, held] = locks();
        start(runtime, "waits-for-condition", async move {
            let (_held, guard) = (held.lock().await, lock.lock().await);
            say.send(line!()).unwrap();
            let waits = FILLED[0].wait(guard);
            drop(waits.await);
        });
        notifies(runtime, 0, lock, held);
    });
    is_told_where("waits-while-condition", |runtime, say| {
        let [lock, held] = locks();
        start(runtime, "waits-while-condition", async move {
            let (_held, guard) = (held.lock().await, lock.lock().await);
            say.send(line!()).unwrap();
            let waits = FILLED[1].wait_while(guard, |()| true);
            drop(waits.await);
        });
        notifies(runtime, 1, lock, held);
    });
}

/// Threads are left behind, so they hold no runtime up.
#[test]
fn threads_with_and_without_a_cell_and_a_task() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let locks: &'static [Mutex<()>; 3] = Box::leak(Box::default());
    let all_have_one: &'static Barrier = Box::leak(Box::new(Barrier::new(3)));
    let take = move |n: usize| {
        let _first = locks[n].lock().wait();
        all_have_one.wait();
        let _second = locks[(n + 1) % 3].lock().wait();
    };
    drop(thread::Builder::new().name("our-thread").spawn(move || take(0)).unwrap());
    std::thread::Builder::new().name("plain-thread".into()).spawn(move || take(1)).unwrap();
    start(&runtime, "task-that-waits", async move { take(2) });
    until("it is found", || !of("our-thread").is_empty());
    let found = of("our-thread");
    assert_eq!(found[0].members.len(), 3);
    let text = found[0].to_string();
    assert!(text.contains("thread \"plain-thread\"") && text.contains("\"task-that-waits\""), "{text}");
    assert!(found[0].members.iter().all(|member| member.at.unwrap().file().ends_with("found.rs")), "{text}");
    std::mem::forget(runtime);
}

#[test]
fn a_thread_that_joins_one_who_needs_it() {
    let _a_runtime_installs_it = ropewalk::Handle::current(); // before anybody waits
    let [lock, _] = locks();
    let joins = move || {
        let _guard = lock.lock().wait();
        let inner =
            thread::Builder::new().name("joined-thread").spawn(move || drop(lock.lock().wait())).unwrap();
        let _never = inner.wait();
    };
    drop(thread::Builder::new().name("joining-thread").spawn(joins).unwrap());
    until("it is found", || !of("joining-thread").is_empty());
    assert!(
        of("joining-thread")[0].to_string().contains("waits for a thread, which is thread \"joined-thread\"")
    );
}

#[test]
fn a_job_and_a_strand() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let [a, b] = locks();
    let both_have_one: &'static Barrier = Box::leak(Box::new(Barrier::new(2)));
    let take = move |first: &'static Mutex<()>, second: &'static Mutex<()>| {
        let _first = first.lock().wait();
        both_have_one.wait();
        drop(second.lock().wait());
    };
    let pool = runtime.pool("main").unwrap();
    drop(task::Builder::new().name("the-job").pool(&pool).spawn_blocking(move || take(a, b)));
    drop(strand_in(&runtime, move || take(b, a)));
    until("it is found", || !of("the-job").is_empty());
    let text = of("the-job")[0].to_string();
    assert!(text.contains("job ") && text.contains("task "), "{text}");
    std::mem::forget(runtime); // neither the job nor the strand ever ends
}

#[test]
fn a_hook_is_called() {
    let (say, heard) = channel();
    let say = std::sync::Mutex::new(say);
    deadlock::on_deadlock(move |found| drop(say.lock().unwrap().send(found.clone())));
    let (runtime, [a, _]) = (hosted(), locks());
    start(&runtime, "tells-the-hook", both(a, a));
    runtime.run_until_stalled().unwrap();
    // Others are found by other tests meanwhile.
    let mine = |found: &deadlock::Deadlock| found.members[0].who.contains("tells-the-hook");
    deadlock::check();
    assert!(heard.iter().any(|found| mine(&found)), "by this check, or by the thread that looks");
}

/// Nobody asks: the thread that looks finds it by itself.
#[test]
fn it_is_found_without_being_asked_for() {
    let (runtime, [a, _]) = (Runtime::builder().worker_threads(1).build().unwrap(), locks());
    start(&runtime, "found-by-itself", both(a, a));
    let seen = || deadlock::deadlocks().iter().any(|found| found.to_string().contains("found-by-itself"));
    until("it is found", seen);
}
