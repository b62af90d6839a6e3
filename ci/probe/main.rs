//! What `ci/callgrind` counts: locks that are free, locks that are waited for, and tasks that are joined, on one thread.

use ropewalk::Runtime;
use ropewalk::sync::{Mutex, RwLock, Semaphore};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

const ROUNDS: usize = 500;

fn main() {
    let runtime = Runtime::builder().worker_threads(0).build().unwrap();
    let (mutex, lock, semaphore) = (Mutex::new(0), RwLock::new(0), Semaphore::new(1));
    probe(&runtime, &mutex, &lock, &semaphore); // what happens once happens here
    probe(&runtime, &mutex, &lock, &semaphore);
    assert_eq!(*mutex.try_lock().unwrap(), 2 * 2 * ROUNDS);
}

/// Only this is counted.
#[inline(never)]
fn probe(runtime: &Runtime, mutex: &Mutex<usize>, lock: &RwLock<usize>, semaphore: &Semaphore) {
    for _ in 0..ROUNDS {
        *now(mutex.lock()) += 1;
        *now(lock.write()) += 1;
        assert!(*now(lock.read()) > 0);
        drop(now(semaphore.acquire()).unwrap());
    }
    for _ in 0..ROUNDS {
        waits(now(mutex.lock()), mutex.lock());
        waits(now(lock.read()), lock.write());
        waits(now(lock.write()), lock.read());
        waits(now(semaphore.acquire()), semaphore.acquire());
    }
    runtime.block_on(async {
        for _ in 0..ROUNDS {
            let task = ropewalk::spawn(async { *mutex_of().lock().await });
            assert_eq!(task.await.unwrap(), 7);
        }
    });
    *now(mutex.lock()) += ROUNDS;
}

/// A mutex that tasks may use.
fn mutex_of() -> &'static Mutex<usize> {
    static MUTEX: Mutex<usize> = Mutex::new(7);
    &MUTEX
}

/// It is ready at once.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("nobody else is here"),
    }
}

/// It waits until what is held is dropped.
fn waits<H, F: Future>(held: H, future: F) {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut cx).is_pending());
    drop(held);
    assert!(future.as_mut().poll(&mut cx).is_ready());
}
