//! The locks: at every step what is held is compatible, and in the end everything is free.

use super::driver::{Random, Subject, run};
use ropewalk_core::sync::{
    Barrier, Condvar, MappedMutexGuard, Mutex, MutexGuard, OwnedMutexGuard, OwnedRwLockReadGuard,
    OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore,
    SemaphorePermit,
};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

type Operation<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

#[test]
fn mutex() {
    run::<TheMutex>("Mutex");
}

struct TheMutex(Arc<Mutex<(u32, u32)>>);

#[derive(Debug)]
enum Locked<'a> {
    Plain(#[allow(dead_code)] MutexGuard<'a, (u32, u32)>),
    Part(#[allow(dead_code)] MappedMutexGuard<'a, u32>),
    Owned(#[allow(dead_code)] OwnedMutexGuard<(u32, u32)>),
}

impl Subject for TheMutex {
    type Held<'a> = Locked<'a>;
    const HELD: &str = "locks";

    fn new(_: &mut Random) -> Self {
        Self(Arc::new(Mutex::new((0, 0))))
    }
    fn start<'a>(&'a self, random: &mut Random) -> Operation<'a, Locked<'a>> {
        match random.below(3) {
            0 => Box::pin(async { Locked::Plain(self.0.lock().await) }),
            1 => Box::pin(async { Locked::Part(MutexGuard::map(self.0.lock().await, |pair| &mut pair.1)) }),
            _ => Box::pin(async { Locked::Owned(self.0.clone().lock_owned().await) }),
        }
    }
    fn act<'a>(&'a self, _: &mut Random, held: &mut Vec<Locked<'a>>) {
        held.extend(self.0.try_lock().ok().map(Locked::Plain));
    }
    fn check(&self, held: &[Locked<'_>]) {
        assert!(held.len() <= 1, "{held:?}");
    }
    fn end(&self) {
        assert!(self.0.try_lock().is_ok() && Arc::strong_count(&self.0) == 1);
    }
}

#[test]
fn rwlock() {
    run::<TheRwLock>("RwLock");
}

struct TheRwLock(Arc<RwLock<u32>>);

#[derive(Debug)]
enum RwLocked<'a> {
    Read(#[allow(dead_code)] RwLockReadGuard<'a, u32>),
    ReadOwned(#[allow(dead_code)] OwnedRwLockReadGuard<u32>),
    Write(RwLockWriteGuard<'a, u32>),
    WriteOwned(#[allow(dead_code)] OwnedRwLockWriteGuard<u32>),
}

impl Subject for TheRwLock {
    type Held<'a> = RwLocked<'a>;
    const HELD: &str = "locks";

    fn new(_: &mut Random) -> Self {
        Self(Arc::new(RwLock::new(0)))
    }
    fn start<'a>(&'a self, random: &mut Random) -> Operation<'a, RwLocked<'a>> {
        match random.below(6) {
            0 | 1 => Box::pin(async { RwLocked::Read(self.0.read().await) }),
            2 => Box::pin(async { RwLocked::ReadOwned(self.0.clone().read_owned().await) }),
            3 | 4 => Box::pin(async { RwLocked::Write(self.0.write().await) }),
            _ => Box::pin(async { RwLocked::WriteOwned(self.0.clone().write_owned().await) }),
        }
    }
    fn act<'a>(&'a self, random: &mut Random, held: &mut Vec<RwLocked<'a>>) {
        match held.pop() {
            Some(RwLocked::Write(guard)) => held.push(RwLocked::Read(RwLockWriteGuard::downgrade(guard))),
            other => held.extend(other),
        }
        if random.once_in(2) {
            held.extend(self.0.try_read().ok().map(RwLocked::Read));
        }
    }
    fn check(&self, held: &[RwLocked<'_>]) {
        let writes = |guard: &&RwLocked<'_>| matches!(guard, RwLocked::Write(_) | RwLocked::WriteOwned(_));
        let writers = held.iter().filter(writes).count();
        assert!(writers == 0 || held.len() == 1, "{held:?}");
    }
    fn end(&self) {
        assert!(self.0.try_write().is_ok() && Arc::strong_count(&self.0) == 1);
    }
}

#[test]
fn semaphore() {
    run::<TheSemaphore>("Semaphore");
}

struct TheSemaphore {
    semaphore: Arc<Semaphore>,
    /// Permits that were made and not forgotten.
    made: Cell<usize>,
}

#[derive(Debug)]
enum Has<'a> {
    Permits(SemaphorePermit<'a>),
    Owned(OwnedSemaphorePermit),
    Nothing,
}

impl Has<'_> {
    fn count(&self) -> usize {
        match self {
            Has::Permits(permits) => permits.permits(),
            Has::Owned(permits) => permits.permits(),
            Has::Nothing => 0,
        }
    }
}

impl Subject for TheSemaphore {
    type Held<'a> = Has<'a>;
    const HELD: &str = "permits";

    fn new(random: &mut Random) -> Self {
        let made = random.below(6);
        Self { semaphore: Arc::new(Semaphore::new(made)), made: Cell::new(made) }
    }
    fn start<'a>(&'a self, random: &mut Random) -> Operation<'a, Has<'a>> {
        let largest = 1 + random.below(5);
        let n = 1 + random.below(largest);
        if random.once_in(3) {
            let owned = self.semaphore.clone().acquire_many_owned(n);
            Box::pin(async { owned.await.map_or(Has::Nothing, Has::Owned) })
        } else {
            let acquire = self.semaphore.acquire_many(n);
            Box::pin(async { acquire.await.map_or(Has::Nothing, Has::Permits) })
        }
    }
    fn act<'a>(&'a self, random: &mut Random, held: &mut Vec<Has<'a>>) {
        match (random.below(8), held.pop()) {
            (0, top) => {
                held.extend(top);
                self.semaphore.add_permits(2).unwrap();
                self.made.set(self.made.get() + 2);
            }
            (1, top) => {
                held.extend(top);
                self.made.set(self.made.get() - self.semaphore.forget_permits(1));
            }
            (2, Some(Has::Permits(permits))) => {
                self.made.set(self.made.get() - permits.permits());
                permits.forget();
            }
            (3 | 4, Some(Has::Permits(mut permits))) => {
                held.extend(permits.split(1).map(Has::Permits));
                held.push(Has::Permits(permits));
            }
            (5, top) if random.once_in(10) => {
                held.extend(top);
                self.semaphore.close();
            }
            (_, top) => {
                held.extend(top);
                held.extend(self.semaphore.try_acquire().ok().map(Has::Permits));
            }
        }
    }
    fn check(&self, held: &[Has<'_>]) {
        let held: usize = held.iter().map(Has::count).sum();
        assert!(held + self.semaphore.available_permits() <= self.made.get(), "{held} {:?}", self.semaphore);
    }
    /// Somebody may want more than there is.
    fn relieve(&self) {
        self.semaphore.add_permits(5).unwrap();
        self.made.set(self.made.get() + 5);
    }
    fn end(&self) {
        assert_eq!(self.semaphore.available_permits(), self.made.get());
        assert_eq!(Arc::strong_count(&self.semaphore), 1);
    }
}

#[test]
fn condvar() {
    run::<TheCondvar>("Condvar");
}

/// Tickets are put in one at a time, each with one notification: none may be left while somebody waits for one.
struct TheCondvar {
    tickets: Mutex<usize>,
    filled: Condvar,
}

impl Subject for TheCondvar {
    type Held<'a> = ();
    const HELD: &str = "tickets";

    fn new(_: &mut Random) -> Self {
        Self { tickets: Mutex::new(0), filled: Condvar::new() }
    }
    fn start<'a>(&'a self, random: &mut Random) -> Operation<'a, ()> {
        if random.once_in(2) {
            return Box::pin(async { self.put().await });
        }
        Box::pin(async {
            let guard = self.tickets.lock().await;
            *self.filled.wait_while(guard, |tickets| *tickets == 0).await -= 1;
        })
    }
    fn act(&self, random: &mut Random, _: &mut Vec<()>) {
        if random.once_in(4) {
            self.filled.notify_all();
        }
    }
    fn check(&self, _: &[()]) {}
    fn relieve(&self) {
        let (mut put, mut cx) =
            (Box::pin(self.put()), std::task::Context::from_waker(std::task::Waker::noop()));
        assert!(put.as_mut().poll(&mut cx).is_ready(), "nobody holds the mutex");
    }
    fn end(&self) {
        assert!(self.tickets.try_lock().is_ok());
        assert!(!self.filled.notify_one(), "nobody is in the queue");
    }
}

impl TheCondvar {
    async fn put(&self) {
        *self.tickets.lock().await += 1;
        self.filled.notify_one();
    }
}

#[test]
fn barrier() {
    run::<TheBarrier>("Barrier");
}

struct TheBarrier {
    barrier: Barrier,
    parties: usize,
    present: Cell<usize>,
    passed: Cell<usize>,
    led: Cell<usize>,
}

/// Counts who is present, as the barrier should.
struct Present<'a>(&'a TheBarrier, usize);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        if self.1 == self.0.led.get() {
            self.0.present.set(self.0.present.get() - 1);
        }
    }
}

impl Subject for TheBarrier {
    type Held<'a> = ();
    const HELD: &str = "passages";

    fn new(random: &mut Random) -> Self {
        let parties = 1 + random.below(5);
        Self {
            barrier: Barrier::new(parties),
            parties,
            present: Cell::new(0),
            passed: Cell::new(0),
            led: Cell::new(0),
        }
    }
    fn start<'a>(&'a self, _: &mut Random) -> Operation<'a, ()> {
        Box::pin(async {
            self.present.set(self.present.get() + 1);
            let present = Present(self, self.led.get());
            if self.barrier.wait().await.is_leader() {
                assert_eq!(self.present.get(), self.parties, "all are there");
                self.present.set(0);
                self.led.set(self.led.get() + 1);
            } else {
                assert!(present.1 < self.led.get(), "its round is over");
            }
            self.passed.set(self.passed.get() + 1);
        })
    }
    fn check(&self, _: &[()]) {
        assert!(self.present.get() < self.parties);
    }
    /// The others who are missing come.
    fn relieve(&self) {
        let waits: Vec<_> = (self.present.get()..self.parties)
            .map(|_| {
                let mut wait = self.start(&mut Random::of(0));
                let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
                let _may_be_the_last_one = wait.as_mut().poll(&mut cx);
                wait
            })
            .collect();
        drop(waits);
    }
    fn end(&self) {
        assert_eq!(self.present.get(), 0);
        assert!(self.passed.get() >= self.led.get());
    }
}
