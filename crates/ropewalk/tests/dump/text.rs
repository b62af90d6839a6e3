//! What is written of a task: one test per thing.

use crate::{LONG, kit, line_of, named, runtime, spawn_as};
use ropewalk::channel;
#[cfg(unix)]
use ropewalk::net::UnixStream;
use ropewalk::sync::{
    Barrier, CancellationToken, Condvar, Mutex, Notify, OnceCell, RateLimiter, RwLock, Semaphore,
};
use ropewalk::time::sleep;
use ropewalk::{DumpOptions, Runtime, TaskGroup, Wait, spawn, spawn_blocking, strand, task, thread};
use std::future::{Future, pending};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// How the line of a task ends that runs this, after its time.
#[track_caller]
fn waits_for<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> String {
    let runtime = runtime();
    let _task = spawn_as(&runtime, "subject", future);
    runtime.run_until_stalled().unwrap();
    let line = line_of(&runtime.dump(), "subject");
    let (_, reason) = line.split_once(" for ").unwrap_or_else(|| panic!("no reason in {line}"));
    reason.to_owned()
}

#[test]
fn a_timer() {
    assert!(waits_for(sleep(LONG)).starts_with("a moment at 0x"));
}

#[test]
fn the_end_of_a_task_by_its_name() {
    let runtime = runtime();
    let other = spawn_as(&runtime, "other", pending::<()>());
    let id = other.id().unwrap();
    let _task = spawn_as(&runtime, "joins", other);
    runtime.run_until_stalled().unwrap();
    let line = line_of(&runtime.dump(), "joins");
    assert!(line.ends_with(&format!("for the end of \"other\" (task {id})")), "{line}");
}

#[test]
fn the_end_of_a_task_without_name() {
    let text = waits_for(async { spawn(pending::<()>()).await });
    assert!(text.starts_with("the end of task "), "{text}");
}

#[test]
fn the_end_of_a_job_and_of_a_thread() {
    let job = waits_for(async {
        let (_until_it_is_dropped, held) = mpsc::channel::<()>();
        drop(spawn_blocking(move || held.recv().is_err()).await);
    });
    assert!(job.starts_with("the end of job "), "{job}");
    let thread = waits_for(async {
        let (_until_it_is_dropped, held) = mpsc::channel::<()>();
        drop(thread::spawn(move || held.recv().is_err()).unwrap().await);
    });
    assert!(thread.starts_with("a thread (id "), "{thread}");
}

#[test]
fn a_group() {
    let text = waits_for(async {
        let mut group = TaskGroup::new();
        group.spawn(pending::<()>());
        group.join_next().await;
    });
    assert!(text.starts_with("a group at 0x"), "{text}");
}

#[test]
fn locks() {
    let mutex = waits_for(async {
        let mutex = Mutex::new(());
        let _guard = mutex.lock().await;
        drop(mutex.lock().await);
    });
    let is_known = cfg!(feature = "deadlock_detection");
    assert!(mutex.starts_with("a mutex at 0x"), "{mutex}");
    assert_eq!(mutex.contains(", held by \"subject\" (task "), is_known, "{mutex}");
    let reads = waits_for(async {
        let lock = RwLock::new(());
        let _guard = lock.write().await;
        drop(lock.read().await);
    });
    assert!(reads.starts_with("an rwlock, to read at 0x"), "{reads}");
    assert_eq!(reads.contains(", held by \"subject\" (task "), is_known, "{reads}");
    let writes = waits_for(async {
        let lock = RwLock::new(());
        let _guard = lock.read().await;
        drop(lock.write().await);
    });
    assert!(writes.starts_with("an rwlock, to write at 0x") && !writes.contains("held by"), "{writes}");
}

#[test]
fn without_the_feature_it_is_said_how_owners_are_known() {
    let runtime = runtime();
    let _task = spawn_as(&runtime, "subject", async {
        let mutex = Mutex::new(());
        let _guard = mutex.lock().await;
        drop(mutex.lock().await);
    });
    runtime.run_until_stalled().unwrap();
    let note = "note: who holds a lock is known with the feature `deadlock_detection`\n";
    let is_said = runtime.dump().to_string().contains(note);
    assert_eq!(is_said, cfg!(not(feature = "deadlock_detection")));
}

#[test]
fn signals_between_tasks() {
    let expected = [
        (waits_for(async { Semaphore::new(0).acquire().await.is_ok() }), "a semaphore at 0x"),
        (waits_for(async { Notify::new().notified().await }), "a notification at 0x"),
        (waits_for(async { Barrier::new(2).wait().await.is_leader() }), "a barrier at 0x"),
        (waits_for(async { CancellationToken::new().cancelled().await }), "a cancellation at 0x"),
        (
            waits_for(async {
                let (mutex, condvar) = (Mutex::new(()), Condvar::new());
                drop(condvar.wait(mutex.lock().await).await);
            }),
            "a condition at 0x",
        ),
        (
            waits_for(async {
                let cell = Arc::new(OnceCell::new());
                let other = cell.clone();
                let _makes = spawn(async move { *other.get_or_init(pending::<u32>).await });
                ropewalk::yield_now().await;
                *cell.get_or_init(|| async { 1 }).await
            }),
            "an initialisation at 0x",
        ),
        (
            waits_for(async {
                let limiter = RateLimiter::new(1, LONG).unwrap();
                limiter.acquire().await;
                limiter.acquire().await;
            }),
            "a rate limit at 0x",
        ),
    ];
    for (text, start) in expected {
        assert!(text.starts_with(start), "{text} does not start with {start}");
    }
}

#[test]
fn channels() {
    let (full, _keeps) = channel::bounded::<u32>(1);
    full.try_send(1).unwrap();
    let (_one, oneshot) = channel::oneshot::channel::<u32>();
    let (_all, mut broadcast) = channel::broadcast::channel::<u32>(4);
    let (_latest, mut watch) = channel::watch::channel(0);
    let (_many, receiver) = channel::unbounded::<u32>();
    let expected = [
        (waits_for(async move { full.send(2).await.is_ok() }), "room in a channel at 0x"),
        (waits_for(async move { receiver.recv().await.is_ok() }), "a message at 0x"),
        (waits_for(async move { oneshot.await.is_ok() }), "a oneshot message at 0x"),
        (waits_for(async move { broadcast.recv().await.is_ok() }), "a broadcast message at 0x"),
        (waits_for(async move { watch.changed().await.is_ok() }), "a watched change at 0x"),
    ];
    for (text, start) in expected {
        assert!(text.starts_with(start), "{text} does not start with {start}");
    }
}

#[cfg(unix)]
#[test]
fn sockets_by_their_descriptor() {
    use std::os::fd::AsRawFd;
    let runtime = runtime();
    let (near, _far) = runtime.block_on(async { UnixStream::pair().unwrap() });
    let descriptor = near.as_raw_fd();
    let _task = spawn_as(&runtime, "reads", async move { near.read(&mut [0; 8]).await.is_ok() });
    runtime.run_until_stalled().unwrap();
    let line = line_of(&runtime.dump(), "reads");
    assert!(line.ends_with(&format!(" for input (descriptor {descriptor})")), "{line}");
}

#[test]
fn what_says_nothing_and_what_waits_for_several_things() {
    assert_eq!(waits_for(pending::<()>()), "something");
    let text = waits_for(async {
        let (_keeps, receiver) = channel::unbounded::<u32>();
        ropewalk::select! {
            () = sleep(LONG) => {}
            _ = receiver.recv() => {}
        }
    });
    assert!(text.ends_with(", and 1 more"), "{text}");
}

#[test]
fn names_come_first_and_the_spawn_place_below() {
    let runtime = runtime();
    let (_task, place) = (spawn_as(&runtime, "a \"name\"\n", pending::<()>()), file!());
    runtime.run_until_stalled().unwrap();
    let text = runtime.dump().to_string();
    let at = text.lines().position(|line| line.starts_with(r#""a \"name\"\n" task "#)).expect("its line");
    let below = text.lines().nth(at + 1).unwrap();
    let is_place = below.starts_with(&format!("    spawned at {}", place.replace("text.rs", "main.rs")));
    assert!(is_place && below.ends_with(" busy") && below.contains(" ago; 1 polls, "), "{text}");
}

#[test]
fn states() {
    let runtime = runtime();
    let (open, opened) = channel::bounded::<()>(1);
    let _parent = spawn_as(&runtime, "parent", async move {
        let mut group = TaskGroup::new();
        group.spawn_as(task::Builder::new().name("child"), async move {
            strand::shield(|| ()); // it ends when it is told to, however it is cancelled
            opened.recv().await.is_ok()
        });
        std::mem::forget(group);
    });
    let _queued = spawn_as(&runtime, "queued", async {});
    let before = runtime.dump();
    assert!(line_of(&before, "queued").ends_with(": queued"), "{before}");
    assert!(before.to_string().contains("pool main: 1 worker, 2 queued\n"), "{before}");
    drop(open);
    let handle = runtime.handle();
    let own = spawn_as(&runtime, "own", async move { handle.dump() });
    let seen = runtime.block_on(own).unwrap();
    assert!(line_of(&seen, "own").ends_with(": running"), "{seen}");
}

#[test]
fn a_pool_is_summed_up_by_reason() {
    let runtime = runtime();
    let sleepers: Vec<_> = (0..3).map(|_| runtime.spawn(sleep(LONG))).collect();
    let (_keeps, receiver) = channel::unbounded::<u32>();
    let reads = runtime.spawn(async move { receiver.recv().await.is_ok() });
    runtime.run_until_stalled().unwrap();
    let dump = runtime.dump();
    let text = dump.to_string();
    assert!(text.starts_with("ropewalk: 4 tasks alive in 1 pool, found in "), "{text}");
    assert!(text.contains("\npool main: 1 worker, 4 waiting (3 for a moment; 1 for a message)\n"), "{text}");
    assert_eq!((dump.pools[0].tasks(), dump.pools[0].unobserved()), (4, 0));
    drop((sleepers, reads));
}

#[test]
fn what_is_not_observed_says_so() {
    let runtime = Runtime::builder().worker_threads(0).build().unwrap();
    let _task = runtime.spawn(sleep(LONG));
    runtime.run_until_stalled().unwrap();
    let text = runtime.dump().to_string();
    assert!(text.contains("1 waiting (1 not observed)"), "{text}");
    assert!(
        text.contains(
            "note: times and reasons are known of tasks with a name, or with Builder::observe(true)"
        )
    );
    assert!(!text.contains(" ago;"), "{text}");
}

#[test]
fn jobs_are_in_the_blocking_pool() {
    let (let_go, held) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let runtime = runtime();
    let job = runtime.spawn_blocking(move || {
        begin.send(()).unwrap();
        held.recv().is_err()
    });
    begun.recv().unwrap();
    let dump = runtime.dump();
    let blocking = dump.pools.iter().find(|pool| pool.name == "blocking").expect("it has a thread");
    assert_eq!((blocking.running, blocking.workers), (1, 1), "{dump}");
    assert!(dump.to_string().contains(" in blocking: running\n"), "{dump}");
    drop(let_go);
    assert!(job.wait().unwrap());
}

#[test]
fn times_are_those_of_the_runtimes_clock() {
    let runtime = Runtime::builder().paused(true).observe(true).build().unwrap();
    let _task = spawn_as(&runtime, "sleeper", sleep(LONG));
    runtime.block_on(async {
        ropewalk::yield_now().await;
        ropewalk::time::advance(Duration::from_millis(3200)).await.unwrap();
    });
    let dump = runtime.dump();
    assert!(line_of(&dump, "sleeper").contains(": waiting 3.2 s for a moment"), "{dump}");
    assert_eq!(named(&dump, "sleeper").info.observed.as_ref().unwrap().age, Duration::from_millis(3200));
}

#[test]
fn limits_are_said() {
    let runtime = runtime();
    let _tasks: Vec<_> = (0..20).map(|_| runtime.spawn(pending::<()>())).collect();
    let _other = spawn_as(&runtime, "other", pending::<()>());
    runtime.run_until_stalled().unwrap();
    let dump = runtime.dump_with(&DumpOptions::new().max_tasks(1));
    assert_eq!((dump.tasks.len() as u64, dump.pools[0].tasks()), (1, 21), "{dump}");
    let counted: u64 = dump.alike.iter().map(|alike| alike.count).sum();
    assert_eq!(counted + dump.unlisted, 21, "{dump}");
    assert!(dump.to_string().contains("more are counted only (DumpOptions::max_tasks)"), "{dump}");
    let none = runtime.dump_with(&DumpOptions::new().max_tasks(0));
    assert_eq!((none.tasks.len(), none.unlisted, none.pools[0].tasks()), (0, 21, 21), "{none}");
    let many: Vec<_> = (0..2000).map(|_| runtime.spawn(pending::<()>())).collect();
    let hasty = runtime.dump_with(&DumpOptions::new().time_limit(Duration::ZERO));
    assert!(hasty.cut_short && hasty.to_string().contains("note: the time was over"), "{hasty}");
    drop(many);
}

#[test]
fn a_dump_of_nothing_is_short() {
    kit::guarded("nothing", || {
        let runtime = Runtime::builder().worker_threads(2).build().unwrap();
        let text = runtime.dump().to_string();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.ends_with("pool main: 2 workers\n"), "{text}");
    });
}
