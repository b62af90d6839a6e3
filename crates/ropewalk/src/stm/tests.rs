//! Models of the protocols; what transactions do is tested in `tests/stm`.

use super::*;
use ropewalk_core::block_on_simple;
use ropewalk_core::prim::{self, Arc, AtomicUsize, Ordering::*, UnsafeCell, thread};

/// Without a model checker they are all in one space, and some count what is left in it: so one after the other.
fn model(f: impl Fn() + Sync + Send + 'static) {
    let _alone = alone();
    prim::deep_model(3, f); // with 2, loom does not find what half of the mutations do
}

fn alone() -> impl Sized {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    (!cfg!(any(loom, shuttle))).then(|| ALONE.lock())
}

#[cfg(not(any(loom, shuttle)))]
mod floor {
    use super::super::floor::{Floor, WaitsForFloor};
    use super::alone;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn who_asked_first_has_it_first() {
        let _alone = alone();
        let cx = &mut Context::from_waker(Waker::noop());
        let floor = Floor::take().expect("nobody else is there");
        let [mut first, mut second, mut only_waits] = [true, true, false].map(WaitsForFloor::new);
        assert!(
            [&mut first, &mut second, &mut only_waits].into_iter().all(|waits| waits.poll(cx).is_pending())
        );
        drop(floor);
        assert!(second.poll(cx).is_pending(), "it lets the first one go first");
        assert!(matches!(only_waits.poll(cx), Poll::Ready(None)));
        let Poll::Ready(Some(floor)) = first.poll(cx) else { panic!("it is the first") };
        assert!(second.poll(cx).is_pending());
        drop((floor, first));
        assert!(second.poll(cx).is_ready());
    }

    #[test]
    fn who_asked_first_and_does_not_come_is_passed() {
        let _alone = alone();
        let cx = &mut Context::from_waker(Waker::noop());
        let [mut set_aside, mut second, mut third] = [true; 3].map(WaitsForFloor::new);
        while second.poll(cx).is_pending() {}
        drop(second);
        assert!(third.poll(cx).is_ready(), "who has not come is not waited for again");
        let floor = Floor::take();
        assert!(set_aside.poll(cx).is_pending() && third.poll(cx).is_pending());
        drop(floor);
        assert!(set_aside.poll(cx).is_ready(), "who comes back is the first again");
        drop(set_aside);
        assert!(third.poll(cx).is_ready(), "who has given up is not waited for");
    }
}

fn add(variable: &TVar<u32>, by: u32) {
    block_on_simple(atomically(|tx| tx.modify(variable, |value| *value += by)));
}

/// Somebody who sets both to 1, at one moment.
fn sets_both(left: &TVar<u32>, right: &TVar<u32>) -> thread::JoinHandle<()> {
    let (left, right) = (left.clone(), right.clone());
    thread::spawn(move || {
        block_on_simple(atomically(|tx| {
            tx.write(&left, 1)?;
            tx.write(&right, 1)
        }));
    })
}

/// In every attempt, also those that will be in vain.
fn sees_both_or_none(tx: &mut Tx, left: &TVar<u32>, right: &TVar<u32>) -> TxResult<()> {
    let seen = (tx.read(left)?, tx.read(right)?);
    assert_eq!(seen.0, seen.1);
    Ok(())
}

// mutation: stm-commit-does-not-look-at-what-it-read
// - in crates/ropewalk/src/stm/commit.rs: `if read.is_so(false) {`
// + `if read.version < u64::MAX {`
// mutation: stm-locks-whatever-it-is
// - in crates/ropewalk/src/stm/word.rs: `self.0.compare_exchange(seen.0, seen.0 | LOCKED, SeqCst, Relaxed).is_ok()`
// + `{ self.0.store(seen.0 | LOCKED, Release); true }`
// mutation: stm-own-lock-hides-a-change
// - in crates/ropewalk/src/stm/commit.rs: `Some(own) => own.before.version() == read.version,`
// + `Some(own) => own.before.version() < u64::MAX,`
// mutation: stm-version-comes-back
// - in crates/ropewalk/src/stm/commit.rs: `let moment = latest.max(now) + 1;`
// + `let moment = now + 1;`
#[test]
fn model_stm_two_that_count_lose_nothing() {
    model(|| {
        let counter = TVar::new(0);
        let other = counter.clone();
        let thread = thread::spawn(move || {
            add(&other, 1);
            add(&other, 2); // the version is not the one before
        });
        add(&counter, 4);
        thread.join().unwrap();
        assert_eq!(counter.get(), 7);
    });
}

// mutation: stm-reads-under-a-lock
// - in crates/ropewalk/src/stm/var.rs: `let same = self.word.load().is_free_at(before.version()) && !before.is_locked();`
// + `let same = self.word.load().version() == before.version();`
// mutation: stm-reads-what-is-later
// - in crates/ropewalk/src/stm/tx.rs: `&& (version < self.before || self.is_now())`
// + `&& (version < self.before || !self.is_doomed())`
// mutation: stm-does-not-look-at-the-others
// - in crates/ropewalk/src/stm/tx.rs: `let now = reads.len() < FEW && !self.is_doomed() && reads.iter().all(|read| read.is_so(false));`
// + `let now = reads.len() < FEW && !self.is_doomed();`
// mutation: stm-publishes-before-the-value
// - in crates/ropewalk/src/stm/commit.rs: `let old = core.value.load(Relaxed);`
// + `core.word.publish(moment); let old = core.value.load(Relaxed);`
#[test]
fn model_stm_no_attempt_sees_a_half() {
    model(|| {
        let (left, right) = (TVar::new(0), TVar::new(0));
        let thread = sets_both(&left, &right);
        block_on_simple(atomically(|tx| sees_both_or_none(tx, &left, &right)));
        thread.join().unwrap();
    });
}

// mutation: stm-takes-the-start-for-now
// - in crates/ropewalk/src/stm/tx.rs: `self.before = 1;`
// + `self.before += 1;`
#[test]
fn model_stm_versions_of_others_say_nothing() {
    model(|| {
        let (first, copy) = (TVar::new(0), TVar::new(0));
        add(&first, 1); // later than the clock
        let (a, b) = (first.clone(), copy.clone());
        let thread = thread::spawn(move || {
            add(&a, 1); // later still; the copy is not
            block_on_simple(atomically(|tx| {
                let seen = tx.read(&a)?;
                tx.write(&b, seen)
            }));
        });
        block_on_simple(atomically(|tx| {
            let seen = (tx.read(&first)?, tx.read(&copy)?);
            assert!(seen.1 <= seen.0, "{seen:?}");
            Ok(())
        }));
        thread.join().unwrap();
    });
}

// mutation: stm-catches-up-without-looking
// - in crates/ropewalk/src/stm/tx.rs: `if let Some(read) = reads.iter().find(|read| !read.is_so(self.alone)).copied() {`
// + `if let Some(read) = reads.iter().find(|read| !read.is_so(self.alone)).copied().filter(|_| self.before == u64::MAX) {`
// mutation: stm-catches-up-with-a-time-that-was-not-shown
// - in crates/ropewalk/src/stm/tx.rs: `space().clock.reach(latest)`
// + `latest`
// mutation: stm-catches-up-without-a-barrier
// - in crates/ropewalk/src/stm/tx.rs: `fence(SeqCst); // it has seen a time (C1)`
// + `// no fence`
#[test]
fn model_stm_who_reads_much_catches_up() {
    model(|| {
        let [first, left, right] = [0, 0, 0].map(TVar::new);
        add(&first, 1); // later than the clock
        let thread = sets_both(&left, &right);
        block_on_simple(atomically(|tx| {
            (0..3).try_for_each(|_| tx.read(&first).map(drop))?; // so the others are many
            sees_both_or_none(tx, &left, &right)
        }));
        thread.join().unwrap();
    });
}

// mutation: stm-looks-at-the-clock-too-early
// - in crates/ropewalk/src/stm/clock.rs: `fence(SeqCst); // to loom, a SeqCst exchange and load are no more than AcqRel ones`
// + `// no fence`
// mutation: stm-moment-is-not-later
// - in crates/ropewalk/src/stm/commit.rs: `let moment = latest.max(now) + 1;`
// + `let moment = latest + 1;`
#[test]
fn model_stm_who_has_seen_a_time_sees_the_locks() {
    model(|| {
        let (left, right) = (TVar::new(0), TVar::new(0));
        let thread = sets_both(&left, &right);
        space().clock.reach(1); // before that commit looks at the clock, or after
        block_on_simple(atomically(|tx| sees_both_or_none(tx, &left, &right)));
        thread.join().unwrap();
    });
}

// mutation: stm-commits-do-not-see-each-other
// - in crates/ropewalk/src/stm/clock.rs: `fence(SeqCst); // to loom, a SeqCst exchange and load are no more than AcqRel ones`
// + `// no fence`
// mutation: stm-reader-is-not-checked
// - in crates/ropewalk/src/stm/commit.rs: `None => read.is_so(patient),`
// + `None => true,`
#[test]
fn model_stm_no_write_skew() {
    model(|| {
        let (on, other_on) = (TVar::new(1), TVar::new(1));
        let (a, b) = (on.clone(), other_on.clone());
        // Each goes off duty if the other one stays.
        let off = |mine: &TVar<u32>, others: &TVar<u32>| {
            block_on_simple(atomically(|tx| if tx.read(others)? > 0 { tx.write(mine, 0) } else { Ok(()) }));
        };
        let thread = thread::spawn(move || off(&a, &b));
        off(&other_on, &on);
        thread.join().unwrap();
        assert_eq!(on.get() + other_on.get(), 1);
    });
}

// mutation: stm-watch-does-not-look-again
// - in crates/ropewalk/src/stm/watch.rs: `if !core.word.watch().is_free_at(read.version) {`
// + `if core.word.watch().version() == u64::MAX {`
// mutation: stm-watch-trusts-a-locked-word
// - in crates/ropewalk/src/stm/watch.rs: `if !core.word.watch().is_free_at(read.version) {`
// + `if core.word.watch().version() != read.version {`
// mutation: stm-commit-does-not-call
// - in crates/ropewalk/src/stm/commit.rs: `write.before.is_watched()`
// + `false`
// mutation: stm-watches-after-the-mark
// - in crates/ropewalk/src/stm/watch.rs: `core.watchers.lock().push(watch.watcher.clone());`
// + `let _ = core.word.watch(); thread_yields(); core.watchers.lock().push(watch.watcher.clone()); watch.variables.push(kept); continue; fn thread_yields() { ropewalk_core::prim::thread::yield_now() }`
#[test]
fn model_stm_a_change_is_never_missed() {
    model(|| {
        let flag = TVar::new(0);
        let set = flag.clone();
        let thread = thread::spawn(move || add(&set, 1));
        block_on_simple(atomically(|tx| {
            let seen = tx.read(&flag)?;
            tx.check(seen == 1)
        }));
        thread.join().unwrap();
    });
}

/// Counts those that are alive; loom sees who looks at it meanwhile.
struct Alive(Arc<AtomicUsize>, UnsafeCell<bool>);

// SAFETY: all look, and one alive it; whether that comes after is what is tested.
unsafe impl Sync for Alive {}

impl Alive {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, AcqRel);
        Self(alive.clone(), UnsafeCell::new(true))
    }
    fn look(&self) {
        // SAFETY: as above.
        assert!(self.1.with(|alive| unsafe { *alive }));
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        // SAFETY: as above.
        self.1.with_mut(|alive| unsafe { *alive = false });
        self.0.fetch_sub(1, AcqRel);
    }
}

// mutation: stm-value-is-dropped-at-once
// - in crates/ropewalk/src/stm/presence.rs: `if !self.slots().any(|slot| slot.started_before(moment)) {`
// + `if moment > 0 {`
// mutation: stm-reader-does-not-announce-itself
// - in crates/ropewalk/src/stm/presence.rs: `store_before_loads(&self.announced, (start + 1) << 1);`
// + `self.announced.store((start + 1) << 1, Release);`
// mutation: stm-remains-are-left
// - in crates/ropewalk/src/stm/presence.rs: `self.announced.swap(0, AcqRel) & AWAITED != 0`
// + `self.announced.swap(0, AcqRel) == AWAITED`
// mutation: stm-who-leaves-does-not-release
// - in crates/ropewalk/src/stm/presence.rs: `self.announced.swap(0, AcqRel) & AWAITED != 0`
// + `self.announced.swap(0, Relaxed) & AWAITED != 0`
// mutation: stm-who-collects-leaves-the-rest
// - in crates/ropewalk/src/stm/presence.rs: `if slot.mark(start) {`
// + `if start < u64::MAX {`
// mutation: stm-who-is-there-is-not-marked
// - in crates/ropewalk/src/stm/presence.rs: `let marked = self.announced.compare_exchange(plain, plain | AWAITED, AcqRel, Acquire);`
// + `let marked = self.announced.compare_exchange(plain, plain, AcqRel, Acquire);`
#[test]
fn model_stm_a_value_is_dropped_when_nobody_looks_at_it() {
    model(|| {
        let alive = Arc::new(AtomicUsize::new(0));
        let variable = TVar::new(Alive::new(&alive));
        let (other, count) = (variable.clone(), alive.clone());
        let thread = thread::spawn(move || {
            block_on_simple(atomically(|tx| tx.write(&other, Alive::new(&count))));
        });
        block_on_simple(atomically(|tx| tx.read_with(&variable, Alive::look)));
        thread.join().unwrap();
        assert_eq!(alive.load(Acquire), 1, "the old one is dropped as soon as both are done");
        drop(variable);
        assert_eq!(alive.load(Acquire), 0);
    });
}

// mutation: stm-variable-is-dropped-with-its-last-handle
// - in crates/ropewalk/src/stm/var.rs: `if space.presence.is_anybody_there() {`
// + `if space.presence.is_anybody_there() && false {`
#[test]
fn model_stm_a_variable_outlives_who_has_read_it() {
    model(|| {
        let alive = Arc::new(AtomicUsize::new(0));
        let inner = TVar::new(Alive::new(&alive));
        let handle = inner.clone();
        let thread = thread::spawn(move || drop(handle));
        let mut inner = Some(inner);
        block_on_simple(atomically(|tx| {
            let inner = inner.take().expect("nobody disturbs it");
            tx.read_with(&inner, Alive::look)?;
            drop(inner); // perhaps the last one
            assert_eq!(alive.load(Acquire), 1, "it is still ours to look at");
            Ok(())
        }));
        thread.join().unwrap();
        assert_eq!(alive.load(Acquire), 0);
    });
}

// mutation: stm-floor-is-not-respected
// - in crates/ropewalk/src/stm/clock.rs: `if word & ALONE != 0 && !alone {`
// + `if word & ALONE != 0 && !alone && word == 0 {`
#[test]
fn model_stm_who_has_the_floor_commits_at_once() {
    model(|| {
        let (read, written) = (TVar::new(0), TVar::new(0));
        let (a, b) = (read.clone(), written.clone());
        let thread = thread::spawn(move || {
            block_on_simple(atomically(|tx| {
                tx.modify(&a, |value| *value += 1)?;
                tx.modify(&b, |value| *value += 1)
            }));
        });
        {
            let start = loop {
                match space().clock.take() {
                    Some(start) => break start,
                    None => thread::yield_now(),
                }
            };
            let mut tx = Tx::begin(Some(start));
            let seen = tx.read(&read).expect("no conflict");
            tx.write(&written, seen + 10).unwrap();
            tx.commit().expect("no conflict");
            tx.is_over = true;
            drop(tx);
            space().clock.give_back();
            space().waiting_for_floor.wake_all();
        }
        thread.join().unwrap();
        assert_eq!(read.get(), 1);
        let written = written.get();
        assert!(written == 11, "{written}: either it came first, and was seen, or it came after");
    });
}

// mutation: stm-alone-is-impatient
// - in crates/ropewalk/src/stm/log.rs: `if !patient || !word.is_locked() {`
// + `if patient || !patient {`
// mutation: stm-alone-does-not-wait-for-a-lock
// - in crates/ropewalk/src/stm/var.rs: `if looks > IMPATIENCE && !patient {`
// + `if looks > IMPATIENCE {`
#[test]
fn model_stm_who_has_the_floor_waits_for_locks() {
    model(|| {
        let (read, written) = (TVar::new(0), TVar::new(0));
        let (a, b) = (read.clone(), written.clone());
        // A commit that is refused, step by step.
        let thread = thread::spawn(move || {
            let seen = [b.core().lock(true).unwrap(), a.core().lock(true).unwrap()];
            let _refused_or_not = space().clock.look(false);
            [&b, &a].into_iter().zip(seen).for_each(|(variable, seen)| variable.core().word.restore(seen));
        });
        let mut tx = Tx::begin(space().clock.take());
        let seen = tx.read(&read).expect("no conflict");
        tx.write(&written, seen + 10).unwrap();
        tx.commit().expect("no conflict");
        tx.is_over = true;
        drop(tx);
        space().clock.give_back();
        thread.join().unwrap();
        assert_eq!(written.get(), 10);
    });
}
