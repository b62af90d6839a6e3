//! Guards held while a stack waits: found in debug builds.

use crate::kit::{self, KINDS, guarded, panic_of, quiet, strand_in};
use ropewalk::thread::{Mutex, RwLock, Semaphore};
use ropewalk::{Blocking, Wait, spawn, spawn_local, with_handler, yield_now};
use std::rc::Rc;
use std::sync::Arc;

/// What the wait says, with each kind of guard held.
fn complaints() -> Vec<Option<String>> {
    let (mutex, rwlock, semaphore) = (Mutex::new(()), RwLock::new(()), Semaphore::new(1));
    let wait = || panic_of(|| yield_now().wait());
    let told = vec![
        {
            let _guard = mutex.lock();
            wait()
        },
        {
            let _guard = rwlock.read();
            wait()
        },
        {
            let _guard = rwlock.write();
            wait()
        },
        {
            let _permit = semaphore.acquire();
            wait()
        },
    ];
    assert_eq!(wait(), None, "none is held any more");
    told
}

fn assert_caught(told: Vec<Option<String>>) {
    for told in told {
        match cfg!(debug_assertions) {
            true => assert!(told.unwrap().contains("drop the guard first")),
            false => assert_eq!(told, None),
        }
    }
}

#[test]
fn a_wait_with_a_guard_is_caught_on_strands_and_in_polls() {
    quiet();
    silence();
    for kind in KINDS {
        guarded(format!("{kind:?}"), || {
            let runtime = kind.build();
            assert_caught(runtime.block_on(strand_in(&runtime, complaints)).unwrap());
            assert_caught(runtime.block_on(runtime.spawn(async { complaints() })).unwrap());
        });
    }
}

/// The complaints of this file are part of it.
fn silence() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload_as_str().is_some_and(|text| text.contains("drop the guard first")) {
                usual(info);
            }
        }));
    });
}

#[test]
fn a_thread_may_wait_with_a_guard() {
    guarded("plain", || {
        assert!(complaints().into_iter().all(|told| told.is_none()), "nobody else needs the thread");
        let mutex = Mutex::new(1);
        let guard = mutex.lock();
        assert_eq!(spawn(async { 2 }).wait().unwrap() + *guard, 3);
    });
}

/// A guard counts against the stack that took it, not against others that run on the same worker meanwhile.
#[test]
#[expect(clippy::await_holding_invalid_type, reason = "that is what is tested, and that it is linted")]
fn others_on_the_worker_may_wait() {
    for kind in KINDS {
        guarded(format!("{kind:?}"), || {
            let runtime = kind.build();
            let mutex = Arc::new(Mutex::new(()));
            let kept = mutex.clone();
            // A local task that holds one over an await, which the compiler lets pass.
            let task = runtime.spawn(async move {
                let inner = async move {
                    let mutex = Rc::new(kept);
                    let _guard = mutex.lock();
                    for _ in 0..20 {
                        yield_now().await;
                    }
                };
                let inner = spawn_local(inner).unwrap();
                let waits = |_| spawn_local(async { yield_now().wait() }).unwrap();
                let others: Vec<_> = (0..4).map(waits).collect();
                for other in others {
                    other.await.unwrap();
                }
                inner.await.unwrap();
            });
            runtime.block_on(task).unwrap();
            assert!(mutex.try_lock().is_some());
        });
    }
}

/// Holding the thread with a guard is what such a guard is for.
#[test]
fn blocking_the_thread_with_a_guard_is_allowed() {
    guarded("blocking", || {
        let runtime = kit::RuntimeKind::Threads(2).build();
        let task = runtime.spawn(async {
            let mutex = Mutex::new(1);
            let guard = mutex.lock();
            with_handler(&Blocking, || spawn(async { 2 }).wait()).unwrap() + *guard
        });
        assert_eq!(runtime.block_on(task).unwrap(), 3);
    });
}
