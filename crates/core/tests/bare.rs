//! What is there without any feature: no allocator, no operating system. `ci/test` runs it without features, too, so it is a program
//! of its own.
#![cfg(not(any(loom, shuttle)))]

use ropewalk_core::block_on_simple;
use ropewalk_core::sync::{Barrier, Condvar, Lazy, Mutex, Notify, OnceCell, RwLock, Semaphore};
use std::future::{Ready, ready};

/// All of them are made before anything runs.
static BARRIER: Barrier = Barrier::new(1);
static CONDVAR: Condvar = Condvar::new();
static LAZY: Lazy<u32, fn() -> Ready<u32>> = Lazy::new(|| ready(7));
static MUTEX: Mutex<u32> = Mutex::new(1);
static NOTIFY: Notify = Notify::new();
static ONCE: OnceCell<u32> = OnceCell::new();
static RWLOCK: RwLock<u32> = RwLock::new(2);
static SEMAPHORE: Semaphore = Semaphore::new(3);

#[test]
fn statics_need_no_allocator() {
    block_on_simple(async {
        assert!(BARRIER.wait().await.is_leader());
        assert!(!CONDVAR.notify_one());
        assert_eq!((LAZY.ready(), LAZY.get().await, LAZY.ready()), (None, &7, Some(&7)));
        assert_eq!(*MUTEX.lock().await, 1);
        NOTIFY.notify_one();
        NOTIFY.notified().await;
        assert_eq!(*ONCE.get_or_init(|| async { 5 }).await, 5);
        assert_eq!(*RWLOCK.read().await + *RWLOCK.read().await, 4);
        assert_eq!(SEMAPHORE.acquire_many(3).await.unwrap().permits(), 3);
    });
}

#[test]
fn a_lazy_value_may_borrow_for_its_making() {
    let base = 6;
    let lazy = Lazy::new(|| async { base * 7 });
    assert_eq!(lazy.ready(), None);
    assert_eq!(block_on_simple(lazy.get()), &42);
}
