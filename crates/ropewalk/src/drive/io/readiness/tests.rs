//! Events race with those who clear and those who wait.

use super::*;
use ropewalk_core::prim::{self, AtomicBool, AtomicUsize, UnsafeCell, thread};
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

const SLOT: fn() -> Who = || Who::slot(Direction::Read);

/// An operation that waits to read: nothing of it is looked at but where it is.
#[repr(align(8))]
struct Reader;

impl Reader {
    fn who(&self) -> Who {
        Who::at(self, Interest::READABLE)
    }
}

fn poll(readiness: &Readiness, who: Who, waker: &Waker) -> Poll<Snapshot> {
    readiness.poll(&mut Context::from_waker(waker), who)
}

/// Somebody waits while the event comes: it sees it, or is woken. What was written before the event is there.
// mutation: announced-without-a-second-look
// - in crates/ropewalk/src/drive/io/readiness.rs: `let before = self.word.fetch_or(announced, Ordering::AcqRel); // E3`
// + `let before = self.word.load(Ordering::Acquire); self.word.fetch_or(announced, Ordering::AcqRel);`
// mutation: announced-before-the-waker-is-there
// - in crates/ropewalk/src/drive/io/readiness.rs: `        self.leave_waker(cx.waker(), who);`
// + `        self.word.fetch_or(announcement(interest), Ordering::AcqRel); self.leave_waker(cx.waker(), who); return Poll::Pending;`
// mutation: event-does-not-release
// - in crates/ropewalk/src/drive/io/readiness.rs: `if let Ok(before) = self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next)`
// + `if let Ok(before) = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)`
// mutation: nobody-is-woken
// - in crates/ropewalk/src/drive/io/readiness.rs: `if let Some(list) = taken.wake(wake_safely) {`
// + `if let Some(list) = taken.wake(drop) {`
#[test]
fn model_an_event_races_with_a_wait() {
    prim::model(|| {
        let kernel = Kernel::new(Ready::NONE);
        let there = kernel.clone();
        let driver = thread::spawn(move || there.arrive());
        let (bell, waker) = bell();
        let first = poll(&kernel.readiness, SLOT(), &waker);
        if first.is_ready() {
            // SAFETY: it was written before the event.
            assert_eq!(kernel.payload.with(|payload| unsafe { *payload }), 5);
        }
        driver.join().unwrap();
        if first.is_pending() {
            assert_eq!(bell.0.load(Ordering::SeqCst), 1, "woken once");
        }
        assert!(poll(&kernel.readiness, SLOT(), &waker).is_ready());
        let other = Who::slot(Direction::Write);
        assert!(poll(&kernel.readiness, other, &waker).is_pending(), "the other direction");
    });
}

/// Two wait, in the list and beside it, while two events come, one for each: both are woken.
// mutation: an-event-answers-for-all
// - in crates/ropewalk/src/drive/io/readiness.rs: `let rest = now & !TICKS & !told;`
// + `let rest = now & !TICKS & !(0b111 << WAITING) & !told;`
// mutation: the-list-is-not-looked-at
// - in crates/ropewalk/src/drive/io/waiting.rs: `self.others.take_if(|others| others.0.iter().any(&is_told))`
// + `self.others.take_if(|others| others.0.iter().any(&is_told) && others.0.len() > 9)`
#[test]
fn model_two_events_race_with_two_who_wait() {
    prim::model(|| {
        let readiness = readiness();
        let ((reads, reader), (writes, writer)) = (bell(), bell());
        let reading = Reader;
        assert!(poll(&readiness, reading.who(), &reader).is_pending());
        let there = readiness.clone();
        let driver = thread::spawn(move || there.event(THIS, Ready::READABLE));
        let first = poll(&readiness, Who::slot(Direction::Write), &writer);
        assert!(first.is_pending());
        readiness.event(THIS, Ready::WRITABLE);
        driver.join().unwrap();
        assert_eq!(reads.0.load(Ordering::SeqCst), 1);
        assert_eq!(writes.0.load(Ordering::SeqCst), 1);
    });
}

/// One of three who wait gives up while the event wakes them: the others hear of it all the same.
// mutation: who-gives-up-takes-another-along
// - in crates/ropewalk/src/drive/io/waiting.rs: `let at = others.iter().position(|waiter| waiter.who == who)?;`
// + `let at = others.iter().position(|waiter| waiter.who != who).unwrap_or(0);`
#[test]
fn model_an_event_races_with_one_who_gives_up() {
    prim::model(|| {
        let readiness = readiness();
        let ((first, first_waker), (last, last_waker)) = (bell(), bell());
        let readers = Box::new([0_u64; 3]);
        let who = |at: usize| Who::at(&readers[at], Interest::READABLE);
        assert!(poll(&readiness, who(0), &first_waker).is_pending());
        assert!(poll(&readiness, who(1), &last_waker).is_pending());
        let there = readiness.clone();
        let driver = thread::spawn(move || there.event(THIS, Ready::READABLE));
        let _either = poll(&readiness, who(2), Waker::noop());
        readiness.forget(who(2));
        driver.join().unwrap();
        assert_eq!(first.0.load(Ordering::SeqCst), 1);
        assert_eq!(last.0.load(Ordering::SeqCst), 1);
    });
}

/// Who gave up is gone from the list, or about to be taken out by the event (E7): nothing of it is left behind.
// mutation: who-gives-up-stays
// - in crates/ropewalk/src/drive/io/readiness.rs: `if self.look().is_awaited(who.interest()) {`
// + `if self.look().0 & announcement(who.interest()) == 1 {`
#[test]
fn model_giving_up_races_with_an_event() {
    prim::model(|| {
        let readiness = readiness();
        let (bell, waker) = bell();
        let reading = Reader;
        assert!(poll(&readiness, reading.who(), &waker).is_pending());
        let there = readiness.clone();
        let driver = thread::spawn(move || there.event(THIS, Ready::WRITE_CLOSED));
        readiness.forget(reading.who());
        driver.join().unwrap();
        drop(waker);
        assert_eq!(Arc::strong_count(&bell), 1, "its waker is left behind");
        readiness.event(THIS, Ready::READABLE);
        assert_eq!(bell.0.load(Ordering::SeqCst), 0);
    });
}

/// Who leaves its waker just when the event comes, and so need not wait, takes it back (as `Operation` does, E7).
// mutation: who-need-not-wait-stays
// - in crates/ropewalk/src/drive/io/readiness.rs: `let seen = Snapshot(before | announced);`
// + `let seen = Snapshot(before);`
#[test]
fn model_an_event_races_with_one_who_need_not_wait() {
    prim::model(|| {
        let readiness = readiness();
        let (bell, waker) = bell();
        let reading = Reader;
        let there = readiness.clone();
        let driver = thread::spawn(move || there.event(THIS, Ready::READABLE));
        let may_be_left = match poll(&readiness, reading.who(), &waker) {
            Poll::Ready(now) => now.is_awaited(Interest::READABLE),
            Poll::Pending => true,
        };
        if may_be_left {
            readiness.forget(reading.who());
        }
        driver.join().unwrap();
        drop(waker);
        assert_eq!(Arc::strong_count(&bell), 1, "its waker is left behind");
    });
}

/// The runtime goes down while somebody is about to wait: it is told, or woken.
// mutation: the-end-wakes-nobody
// - in crates/ropewalk/src/drive/io/readiness.rs: `self.change(generation, OVER, None);`
// + `self.change(generation, OVER, Some(Ready::NONE));`
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
        let first = readiness.poll(&mut cx, Who::slot(Direction::Write));
        closer.join().unwrap();
        assert!(first.is_ready() || bell.0.load(Ordering::SeqCst) == 1);
        let Poll::Ready(seen) = readiness.poll(&mut cx, Who::slot(Direction::Write)) else {
            panic!("it is over")
        };
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
            assert!(poll(&readiness, SLOT(), waker).is_pending());
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
