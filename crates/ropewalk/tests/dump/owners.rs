//! Who holds the lock that somebody waits for: with the feature `deadlock_detection`.
#![cfg(feature = "deadlock_detection")]

use crate::{kit, line_of, named, runtime, spawn_as};
use ropewalk::sync::{Mutex, MutexGuard, OwnedMutexGuard, OwnedRwLockWriteGuard, RwLock, RwLockWriteGuard};
use ropewalk::{Runtime, Wait, channel, strand};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Who is said to hold the lock for which the second task waits, after the first has run.
fn holder(first: Task, second: Task) -> Option<String> {
    let runtime = runtime();
    let _first = spawn_as(&runtime, "first", first);
    runtime.run_until_stalled().unwrap();
    let _second = spawn_as(&runtime, "second", second);
    runtime.run_until_stalled().unwrap();
    let dump = runtime.dump();
    let holder = named(&dump, "second").held_by.clone()?;
    assert_eq!(holder.id, Some(named(&dump, "first").info.id), "{dump}");
    assert!(line_of(&dump, "second").contains("held by \"first\" (task "), "{dump}");
    holder.name
}

fn first() -> Option<String> {
    Some("first".to_owned())
}

#[test]
fn of_a_mutex() {
    let lock = Arc::new(Mutex::new((1, 2)));
    let (a, b) = (lock.clone(), lock.clone());
    let plain = holder(
        Box::pin(async move {
            let _guard = a.lock().await;
            pending::<()>().await;
        }),
        Box::pin(async move { drop(b.lock().await) }),
    );
    let (a, b) = (lock.clone(), lock.clone());
    let by_try = holder(
        Box::pin(async move {
            let _guard = a.try_lock().unwrap();
            pending::<()>().await;
        }),
        Box::pin(async move { drop(b.lock_owned().await) }),
    );
    let (a, b) = (lock.clone(), lock.clone());
    let mapped = holder(
        Box::pin(async move {
            let _part = MutexGuard::map(a.lock().await, |pair| &mut pair.0);
            pending::<()>().await;
        }),
        Box::pin(async move { drop(b.lock().await) }),
    );
    let (a, b) = (lock.clone(), lock);
    let owned = holder(
        Box::pin(async move {
            let _part = OwnedMutexGuard::map(a.lock_owned().await, |pair| &mut pair.1);
            pending::<()>().await;
        }),
        Box::pin(async move { drop(b.lock().await) }),
    );
    assert_eq!([plain, by_try, mapped, owned], [first(), first(), first(), first()]);
}

#[test]
fn of_an_rwlock_that_is_held_to_write() {
    let lock = Arc::new(RwLock::new(1));
    let (a, b) = (lock.clone(), lock.clone());
    let reader = holder(
        Box::pin(async move {
            let _guard = a.write().await;
            pending::<()>().await;
        }),
        Box::pin(async move { drop(b.read().await) }),
    );
    let (a, b) = (lock.clone(), lock.clone());
    let writer = holder(
        Box::pin(async move {
            let _guard = a.write_owned().await;
            pending::<()>().await;
        }),
        Box::pin(async move { drop(b.write_owned().await) }),
    );
    assert_eq!([reader, writer], [first(), first()]);
}

#[test]
fn readers_are_not_named_nor_is_who_was_a_writer_before() {
    let lock = Arc::new(RwLock::new(1));
    let (a, b) = (lock.clone(), lock.clone());
    let reader = holder(
        Box::pin(async move {
            let _guard = a.read().await;
            pending::<()>().await;
        }),
        Box::pin(async move { drop(b.write().await) }),
    );
    let (a, b) = (lock.clone(), lock.clone());
    let downgraded = holder(
        Box::pin(async move {
            let _guard = RwLockWriteGuard::downgrade(a.write().await);
            pending::<()>().await;
        }),
        Box::pin(async move { drop(b.write().await) }),
    );
    let (a, b) = (lock.clone(), lock);
    let owned = holder(
        Box::pin(async move {
            let _guard = OwnedRwLockWriteGuard::downgrade(a.write_owned().await);
            pending::<()>().await;
        }),
        Box::pin(async move { drop(b.write().await) }),
    );
    assert_eq!([reader, downgraded, owned], [None, None, None]);
}

#[test]
fn it_is_who_took_it_last() {
    let runtime = runtime();
    let lock = Arc::new(Mutex::new(()));
    let (release, released) = channel::bounded::<()>(1);
    let (a, b, c) = (lock.clone(), lock.clone(), lock);
    let _first = spawn_as(&runtime, "first", async move {
        let guard = a.lock().await;
        released.recv().await.unwrap();
        drop(guard);
    });
    runtime.run_until_stalled().unwrap();
    let _second = spawn_as(&runtime, "second", async move {
        let _guard = b.lock().await;
        pending::<()>().await;
    });
    let _third = spawn_as(&runtime, "third", async move { drop(c.lock().await) });
    runtime.run_until_stalled().unwrap();
    let holder = |name| named(&runtime.dump(), name).held_by.clone().map(|holder| holder.name.unwrap());
    assert_eq!([holder("second"), holder("third")], [first(), first()]);
    release.try_send(()).unwrap();
    runtime.run_until_stalled().unwrap();
    assert_eq!([holder("second"), holder("third")], [None, Some("second".to_owned())]);
}

#[test]
fn a_guard_that_another_one_drops_is_given_back() {
    let runtime = runtime();
    let lock = Arc::new(Mutex::new(()));
    let (send, receive) = channel::bounded(1);
    let (a, b, c) = (lock.clone(), lock.clone(), lock);
    let taker = runtime.spawn(async move { send.send(a.lock_owned().await).await.unwrap() });
    runtime.block_on(taker).unwrap();
    drop(receive.try_recv().unwrap());
    let held = b.try_lock().unwrap(); // by this thread
    let _waits = spawn_as(&runtime, "waits", async move { drop(c.lock().await) });
    runtime.run_until_stalled().unwrap();
    let dump = runtime.dump();
    let holder = named(&dump, "waits").held_by.clone().expect("it is known");
    assert_eq!((holder.id, holder.name.as_deref()), (None, std::thread::current().name()), "{dump}");
    assert!(line_of(&dump, "waits").contains("held by thread \""), "{dump}");
    drop(held);
}

#[test]
fn strands_and_jobs_hold_locks_too() {
    kit::guarded("strands and jobs", || {
        let runtime = Runtime::builder().worker_threads(2).observe(true).build().unwrap();
        let (locks, gate) = ([(); 2].map(|()| Arc::new(Mutex::new(()))), kit::Gate::new());
        let (of_strand, of_job) = (locks[0].clone(), locks[1].clone());
        let (held, held_too) = (gate.clone(), gate.clone());
        let holder = strand::Builder::new().name("holder").pool(&runtime.pool("main").unwrap());
        let holder = holder.spawn(move || {
            let _guard = of_strand.lock().wait();
            held.passed().wait();
        });
        let job = runtime.spawn_blocking(move || {
            let _guard = of_job.lock().wait();
            held_too.passed().wait();
        });
        let job_id = job.id();
        kit::until("both are held", || {
            locks.iter().all(|lock| lock.try_lock().is_err()) && gate.waiting() == 2
        });
        let [for_strand, for_job] = locks;
        let _first = spawn_as(&runtime, "for the strand", async move { drop(for_strand.lock().await) });
        let _second = spawn_as(&runtime, "for the job", async move { drop(for_job.lock().await) });
        let is_waiting =
            |name| named(&runtime.dump(), name).info.observed.as_ref().unwrap().blocked.is_some();
        kit::until("both wait", || is_waiting("for the strand") && is_waiting("for the job"));
        let dump = runtime.dump();
        assert_eq!(named(&dump, "for the strand").held_by.as_ref().unwrap().name.as_deref(), Some("holder"));
        assert_eq!(named(&dump, "for the job").held_by.as_ref().unwrap().id, job_id, "{dump}");
        gate.open();
        holder.join();
        job.wait().unwrap();
    });
}
