//! Events race with those who clear and those who wait.

use super::*;
use ropewalk_core::prim::{self, AtomicBool, AtomicUsize, UnsafeCell, thread};
use std::future::Future;
use std::sync::Arc;
use std::task::Wake;

const THIS: u32 = 7;

fn readiness() -> Arc<Readiness> {
    let readiness = Readiness::new();
    readiness.begin(THIS, Ready::NONE);
    Arc::new(readiness)
}

/// Counts how often it was woken.
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn bell() -> (Arc<Bell>, Waker) {
    let bell = Arc::new(Bell(AtomicUsize::new(0)));
    (bell.clone(), bell.into())
}

/// A kernel with one byte to read, and a driver that tells of it.
struct Kernel {
    readiness: Arc<Readiness>,
    byte: AtomicBool,
    payload: UnsafeCell<u32>,
}

// SAFETY: `payload` is written before the event and read after its readiness was seen; that is what the models check.
unsafe impl Sync for Kernel {}
// SAFETY: as above.
unsafe impl Send for Kernel {}

impl Kernel {
    fn new(ready: Ready) -> Arc<Self> {
        let readiness = readiness();
        readiness.begin(THIS, ready);
        Arc::new(Self { readiness, byte: AtomicBool::new(false), payload: UnsafeCell::new(0) })
    }

    fn arrive(&self) {
        // SAFETY: nobody reads it before the event.
        self.payload.with_mut(|payload| unsafe { *payload = 5 });
        self.byte.swap(true, Ordering::Relaxed);
        self.readiness.event(THIS, Ready::READABLE);
    }

    fn read(&self) -> bool {
        self.byte.swap(false, Ordering::Relaxed)
    }
}

/// An event comes between the attempt that would block and the clearing: it is not forgotten.
// mutation: clear-whatever-came
// - in crates/ropewalk/src/drive/io/readiness.rs: `(Snapshot(now).tick() == seen.tick()).then_some(now & !u64::from(gone))`
// + `Some(now & !u64::from(gone) | u64::from(seen.0 == 1 << 62))`
// mutation: event-without-tick
// - in crates/ropewalk/src/drive/io/readiness.rs: `let next_tick = now.wrapping_add(TICK) & TICKS;`
// + `let next_tick = now & TICKS;`
#[test]
fn model_an_event_races_with_clearing() {
    prim::model(|| {
        let kernel = Kernel::new(Ready::READABLE);
        let there = kernel.clone();
        let driver = thread::spawn(move || there.arrive());
        let mut got = false;
        let seen = kernel.readiness.look();
        if kernel.read() {
            got = true;
        } else {
            kernel.readiness.clear(seen, Interest::READABLE, true);
        }
        driver.join().unwrap();
        if !got {
            assert!(kernel.readiness.look().ready().is_readable(), "the event is forgotten");
            assert!(kernel.read());
        }
    });
}

/// Somebody waits in the slot while the event comes: it sees it, or is woken. What was written before the event is there.
// mutation: slot-announced-before-the-waker-is-there
// - in crates/ropewalk/src/drive/io/readiness.rs: `let seen = Snapshot(self.word.fetch_or(SLOT[direction as usize], Ordering::AcqRel)); // E3`
// + `let seen = Snapshot(self.word.load(Ordering::Acquire)); self.word.fetch_or(SLOT[direction as usize], Ordering::AcqRel);`
// mutation: event-does-not-release
// - in crates/ropewalk/src/drive/io/readiness.rs: `if let Ok(before) = self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next) {`
// + `if let Ok(before) = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {`
// mutation: slot-not-woken
// - in crates/ropewalk/src/drive/io/readiness.rs: `wakers.into_iter().flatten().for_each(wake_safely);`
// + `drop(wakers);`
#[test]
fn model_an_event_races_with_a_wait_in_the_slot() {
    prim::model(|| {
        let kernel = Kernel::new(Ready::NONE);
        let there = kernel.clone();
        let driver = thread::spawn(move || there.arrive());
        let (bell, waker) = bell();
        let mut cx = Context::from_waker(&waker);
        let first = kernel.readiness.poll_slot(&mut cx, Direction::Read);
        if first.is_ready() {
            // SAFETY: it was written before the event.
            assert_eq!(kernel.payload.with(|payload| unsafe { *payload }), 5);
        }
        driver.join().unwrap();
        if first.is_pending() {
            assert_eq!(bell.0.load(Ordering::SeqCst), 1, "woken once");
        }
        assert!(kernel.readiness.poll_slot(&mut cx, Direction::Read).is_ready());
        assert!(kernel.readiness.poll_slot(&mut cx, Direction::Write).is_pending(), "the other direction");
    });
}

fn poll_read(readiness: &Readiness, wait: Pin<&mut Wait<'_>>, waker: &Waker) -> Poll<Option<Snapshot>> {
    readiness.poll_queue(wait, &mut Context::from_waker(waker), Interest::READABLE)
}

/// The same in the queue.
// mutation: queue-announced-too-late
// - in crates/ropewalk/src/drive/io/readiness.rs: `let now = Snapshot(self.word.fetch_or(QUEUE, Ordering::AcqRel)); // E3: under the queue's lock`
// + `let now = Snapshot(self.word.load(Ordering::Acquire));`
// mutation: queue-not-woken
// - in crates/ropewalk/src/drive/io/readiness.rs: `if announced & QUEUE != 0 {`
// + `if announced & QUEUE == 1 {`
#[test]
fn model_an_event_races_with_a_wait_in_the_queue() {
    prim::model(|| {
        let readiness = readiness();
        let there = readiness.clone();
        let driver = thread::spawn(move || there.event(THIS, Ready::READABLE));
        let (bell, waker) = bell();
        let mut wait = std::pin::pin!(readiness.wait());
        let first = poll_read(&readiness, wait.as_mut(), &waker);
        driver.join().unwrap();
        if first.is_pending() {
            assert_eq!(bell.0.load(Ordering::SeqCst), 1, "woken once");
            assert!(poll_read(&readiness, wait.as_mut(), &waker).is_ready());
        }
        assert!(readiness.look().ready().is_readable());
    });
}

/// One of two waiters is dropped while the event wakes them: the other one hears of it all the same.
// mutation: the-first-in-the-queue-is-enough
// - in crates/ropewalk/src/drive/io/readiness.rs: `|| self.queue.wake_all_after(|| ())));`
// + `|| usize::from(self.queue.wake_last_or(|| ()))));`
#[test]
fn model_an_event_races_with_the_drop_of_a_waiter() {
    prim::model(|| {
        let readiness = readiness();
        let (bell, waker) = bell();
        let mut stays = Box::pin(readiness.wait());
        assert!(poll_read(&readiness, stays.as_mut(), &waker).is_pending());
        let mut last = Box::pin(readiness.wait());
        assert!(poll_read(&readiness, last.as_mut(), Waker::noop()).is_pending());
        let there = readiness.clone();
        let driver = thread::spawn(move || there.event(THIS, Ready::READABLE));
        {
            let mut goes = Box::pin(readiness.wait());
            let _either = poll_read(&readiness, goes.as_mut(), Waker::noop());
        }
        driver.join().unwrap();
        assert_eq!(bell.0.load(Ordering::SeqCst), 1);
        assert!(stays.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    });
}

/// The runtime goes down while somebody is about to wait: it is told, or woken.
// mutation: the-end-wakes-nobody
// - in crates/ropewalk/src/drive/io/readiness.rs: `self.change(generation, OVER, |_| true);`
// + `self.change(generation, OVER, |_| false);`
// mutation: the-end-settles-nothing
// - in crates/ropewalk/src/drive/io/readiness.rs: `self.is_over() || self.ready().satisfies(interest)`
// + `self.ready().satisfies(interest)`
#[test]
fn model_the_end_races_with_waiting() {
    prim::model(|| {
        let readiness = readiness();
        let there = readiness.clone();
        let closer = thread::spawn(move || there.end(THIS));
        let (bell, waker) = bell();
        let mut cx = Context::from_waker(&waker);
        let first = readiness.poll_slot(&mut cx, Direction::Write);
        closer.join().unwrap();
        assert!(first.is_ready() || bell.0.load(Ordering::SeqCst) == 1);
        let Poll::Ready(seen) = readiness.poll_slot(&mut cx, Direction::Write) else { panic!("it is over") };
        assert!(seen.is_over());
    });
}

/// The slot goes to the next registration while an event of the last one is under way: it reaches nobody.
// mutation: event-for-anybody
// - in crates/ropewalk/src/drive/io/readiness.rs: `(Snapshot(now).generation() == generation).then_some(rest | add | next_tick)`
// + `Some(rest | add | next_tick | u64::from(generation == u32::MAX))`
#[test]
fn model_a_late_event_races_with_the_next_registration() {
    prim::model(|| {
        let readiness = readiness();
        let there = readiness.clone();
        let driver = thread::spawn(move || there.event(THIS, Ready::READ_CLOSED));
        readiness.end(THIS);
        readiness.begin(THIS + 1, Ready::NONE);
        driver.join().unwrap();
        assert!(readiness.look().ready().is_none(), "another one's event");
    });
}

#[cfg(not(any(loom, shuttle)))]
mod plain {
    use super::*;

    #[test]
    fn a_stream_that_was_closed_stays_readable_when_it_is_used_up() {
        let readiness = readiness();
        readiness.event(THIS, Ready::READABLE | Ready::READ_CLOSED);
        let seen = readiness.look();
        assert!(readiness.clear(seen, Interest::READABLE, false));
        assert!(readiness.look().ready().is_readable());
        assert!(readiness.clear(seen, Interest::READABLE, true), "unless it would block");
        assert!(readiness.look().ready().is_none());
    }

    #[test]
    fn the_last_waker_in_a_slot_is_woken() {
        let readiness = readiness();
        let ((old, old_waker), (new, new_waker)) = (bell(), bell());
        for waker in [&old_waker, &new_waker] {
            assert!(readiness.poll_slot(&mut Context::from_waker(waker), Direction::Read).is_pending());
        }
        readiness.event(THIS, Ready::WRITABLE);
        assert_eq!(new.0.load(Ordering::SeqCst), 0, "the other direction");
        readiness.event(THIS, Ready::READABLE);
        assert_eq!((old.0.load(Ordering::SeqCst), new.0.load(Ordering::SeqCst)), (0, 1));
    }

    #[test]
    fn the_tick_wraps_without_touching_the_generation() {
        let readiness = readiness();
        readiness.word.fetch_or(TICKS, Ordering::Relaxed);
        let before = readiness.look();
        readiness.event(THIS, Ready::READABLE);
        let after = readiness.look();
        assert_eq!((after.generation(), after.tick()), (THIS, 0));
        assert!(!readiness.clear(before, Interest::READABLE, true));
    }
}
