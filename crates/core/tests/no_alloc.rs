//! What a task costs in allocations: one for the task, and none for anything that is done with it afterwards. Locks allocate
//! nothing, whoever waits. A program of its own: it has the allocator that counts.
#![cfg(not(any(loom, shuttle)))]

use ropewalk_core::channel::oneshot;
use ropewalk_core::sync::{self, Barrier, Condvar, Notify, RwLock, Semaphore};
use ropewalk_core::task::{Ran, Runnable, TaskHandle, spawn};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// Counts the allocations of each thread, so that tests beside each other do not disturb one another.
struct Counting;

std::thread_local!(static ALLOCATIONS: Cell<usize> = const { Cell::new(0) });

// SAFETY: everything is passed on to the system's allocator; the counter is a plain cell of the thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How often `f` allocates.
fn allocations<R>(f: impl FnOnce() -> R) -> (usize, R) {
    let before = ALLOCATIONS.get();
    let result = f();
    (ALLOCATIONS.get() - before, result)
}

/// Room for one Runnable, made beforehand.
type Slot = Arc<Mutex<Option<Runnable>>>;

fn into(slot: &Slot) -> impl Fn(Runnable) + Send + Sync + 'static {
    let slot = slot.clone();
    move |runnable| assert!(slot.lock().unwrap().replace(runnable).is_none(), "queued twice")
}

/// Runs what is in the slot until nothing is.
fn run(slot: &Slot) {
    while let Some(runnable) = { slot.lock().unwrap().take() } {
        if let Ran::Woken(again) | Ran::Yielded(again) = runnable.run() {
            again.schedule();
        }
    }
}

fn poll<T>(handle: &mut TaskHandle<T>, waker: &Waker) -> Poll<T> {
    Pin::new(handle).poll(&mut Context::from_waker(waker)).map(|end| end.expect("a value"))
}

/// A task that waits, and its waker.
fn waiting(slot: &Slot) -> (TaskHandle<()>, Waker) {
    let waker = Arc::new(Mutex::new(None));
    let left = waker.clone();
    let wait = poll_fn(move |cx| {
        left.lock().unwrap().get_or_insert_with(|| cx.waker().clone());
        Poll::Pending
    });
    let handle = spawn(wait, into(slot));
    run(slot);
    let waker = waker.lock().unwrap().take().expect("it was polled");
    (handle, waker)
}

#[test]
fn a_task_is_one_allocation() {
    let slot = Slot::default();
    let push = into(&slot);
    let (count, mut handle) = allocations(|| spawn(async { 6 * 7 }, push));
    assert_eq!(count, 1);
    let (count, end) = allocations(|| {
        run(&slot);
        poll(&mut handle, Waker::noop())
    });
    assert_eq!((count, end), (0, Poll::Ready(42)));
}

#[test]
fn wakers_do_not_allocate() {
    let slot = Slot::default();
    let (handle, waker) = waiting(&slot);
    let (count, ()) = allocations(|| {
        for _ in 0..10 {
            let clone = waker.clone();
            clone.wake_by_ref();
            clone.wake_by_ref();
            run(&slot);
            clone.wake();
            run(&slot);
            drop(waker.clone());
        }
        handle.cancel();
        run(&slot);
        waker.wake_by_ref();
        drop((handle, waker));
    });
    assert_eq!(count, 0);
}

#[test]
fn a_task_that_joins_does_not_allocate() {
    let (slot, target) = (Slot::default(), Slot::default());
    let (joiner, waker) = waiting(&slot);
    let (another, other_waker) = waiting(&Slot::default());
    let mut handle = spawn(async { 6 * 7 }, into(&target));
    let (count, ()) = allocations(|| {
        assert_eq!(poll(&mut handle, &waker), Poll::Pending);
        assert_eq!(poll(&mut handle, &other_waker), Poll::Pending);
        assert_eq!(poll(&mut handle, &waker), Poll::Pending);
        run(&target);
        assert!(slot.lock().unwrap().is_some(), "the one that joins was woken");
        assert_eq!(poll(&mut handle, &waker), Poll::Ready(42));
        run(&slot);
    });
    assert_eq!(count, 0);
    drop((joiner, another));
}

#[test]
fn a_oneshot_is_one_allocation_whoever_waits() {
    let (count, received) = allocations(|| {
        let (sender, mut receiver) = oneshot::channel();
        assert!(Pin::new(&mut receiver).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        sender.send(1).unwrap();
        receiver.try_recv()
    });
    assert_eq!((count, received), (1, Ok(1)));
}

#[test]
fn notifying_and_waiting_does_not_allocate() {
    let notify = Notify::new();
    let (count, ()) = allocations(|| {
        for _ in 0..10 {
            let mut wait = std::pin::pin!(notify.notified());
            assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            notify.notify_one();
            assert!(wait.poll(&mut Context::from_waker(Waker::noop())).is_ready());
            notify.notify_waiters();
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn any_other_waker_that_joins_is_boxed() {
    let slot = Slot::default();
    let mut handle = spawn(async {}, into(&slot));
    let (count, end) = allocations(|| poll(&mut handle, Waker::noop()));
    assert_eq!((count, end), (1, Poll::Pending));
    run(&slot);
    assert_eq!(poll(&mut handle, Waker::noop()), Poll::Ready(()));
}

#[test]
fn locks_allocate_nothing() {
    let (mutex, lock, semaphore) = (sync::Mutex::new(0), RwLock::new(0), Semaphore::new(1));
    let (condvar, barrier) = (Condvar::new(), Barrier::new(2));
    let mut cx = Context::from_waker(Waker::noop());
    let (count, ()) = allocations(|| {
        let held = (mutex.try_lock().unwrap(), lock.try_write().unwrap(), semaphore.try_acquire().unwrap());
        let (mut locking, mut reading) = (pin!(mutex.lock()), pin!(lock.read()));
        let (mut acquiring, mut meeting) = (pin!(semaphore.acquire()), pin!(barrier.wait()));
        assert!(locking.as_mut().poll(&mut cx).is_pending() && reading.as_mut().poll(&mut cx).is_pending());
        assert!(acquiring.as_mut().poll(&mut cx).is_pending() && meeting.as_mut().poll(&mut cx).is_pending());
        drop(held);
        let Poll::Ready(guard) = locking.poll(&mut cx) else { panic!("it was called") };
        assert!(reading.poll(&mut cx).is_ready() && acquiring.poll(&mut cx).is_ready());
        assert!(pin!(barrier.wait()).poll(&mut cx).is_ready() && meeting.poll(&mut cx).is_ready());
        let mut waiting = pin!(condvar.wait(guard));
        assert!(waiting.as_mut().poll(&mut cx).is_pending() && condvar.notify_one());
        assert!(waiting.poll(&mut cx).is_ready());
    });
    assert_eq!(count, 0);
}
