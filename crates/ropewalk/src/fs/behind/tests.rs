//! Writing behind under races: everything that was accepted is written, once, in order, by one at a time.

use super::*;
use ropewalk_core::block_on_simple;
use ropewalk_core::prim::{AtomicBool, Ordering, model, thread};
use std::future::poll_fn;

/// Keeps what is written, and finds out if two write at once.
struct Paper {
    busy: AtomicBool,
    text: Lock<Vec<u8>>,
    fails: bool,
}

impl Target for Paper {
    fn write_all(&self, _: u64, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        assert!(!self.busy.swap(true, Ordering::AcqRel), "two drain at once");
        self.text.lock().extend_from_slice(bytes);
        self.busy.store(false, Ordering::Release);
        if self.fails { Err((0, io::ErrorKind::StorageFull.into())) } else { Ok(()) }
    }

    fn explain(&self, error: io::Error, lost: usize) -> io::Error {
        io::Error::new(error.kind(), lost.to_string())
    }
}

fn paper(fails: bool) -> Arc<Behind<Paper>> {
    Arc::new(Behind::new(Paper { busy: AtomicBool::new(false), text: Lock::new(Vec::new()), fails }))
}

/// Accepts `bytes`; whether somebody has to drain.
fn accept(behind: &Arc<Behind<Paper>>, bytes: &[u8]) -> bool {
    match behind.offer(bytes, 0, false, &mut None) {
        Offer::Accepted { count, ask } => {
            assert_eq!(count, bytes.len());
            ask
        }
        other => panic!("{other:?}"),
    }
}

// mutation: behind-goes-idle-with-something-pending
// - in crates/ropewalk/src/fs/behind.rs: `let is_over = state.pending.is_empty();`
// + `let is_over = true;`
// mutation: behind-is-idle-while-somebody-drains
// - in crates/ropewalk/src/fs/behind.rs: `state.phase = Phase::Draining;`
// + `state.phase = Phase::Idle;`
// mutation: behind-calls-nobody
// - in crates/ropewalk/src/fs/behind.rs: `waiting.into_iter().for_each(wake_safely);`
// + `drop(waiting);`
#[test]
fn model_behind_accepts_while_it_drains() {
    model(|| {
        let behind = paper(false);
        assert!(accept(&behind, b"a"));
        let there = behind.clone();
        let thread = thread::spawn(move || there.drain());
        if accept(&behind, b"b") {
            behind.drain();
        }
        block_on_simple(poll_fn(|cx| behind.poll_idle(cx))).unwrap();
        assert_eq!(*behind.target.text.lock(), b"ab");
        thread.join().unwrap();
    });
}

// Two come to drain, as at the end of a process.
//
// mutation: behind-two-drain
// - in crates/ropewalk/src/fs/behind.rs: `let asked = state.phase == Phase::Asked;`
// + `let asked = state.phase != Phase::Idle;`
#[test]
fn model_behind_is_drained_by_one() {
    model(|| {
        let behind = paper(false);
        assert!(accept(&behind, b"a"));
        let there = behind.clone();
        let thread = thread::spawn(move || there.drain());
        behind.finish();
        assert_eq!(*behind.target.text.lock(), b"a");
        thread.join().unwrap();
    });
}

// One writes a piece and does not come back for the next one: the lock that it would need is not to be had any more. Whoever ends
// the process does it.
//
// mutation: behind-ends-with-something-asked-for
// - in crates/ropewalk/src/fs/behind.rs: `Phase::Asked => {}`
// + `Phase::Asked => return,`
// mutation: behind-does-not-tell-the-last-one
// - in crates/ropewalk/src/fs/behind.rs: `let told = is_over || state.is_last;`
// + `let told = is_over;`
#[test]
fn model_behind_is_finished_though_one_who_wrote_does_not_come_back() {
    model(|| {
        let behind = paper(false);
        assert!(accept(&behind, b"a"));
        let there = behind.clone();
        let thread = thread::spawn(move || {
            there.step(&mut Vec::new(), |rewind, bytes| there.target.write_all(rewind, bytes));
        });
        accept(&behind, b"b");
        behind.finish();
        assert_eq!(*behind.target.text.lock(), b"ab");
        thread.join().unwrap();
    });
}

// Whatever is accepted around a failure: the error is told once, and says of how much it speaks.
//
// mutation: behind-forgets-what-was-behind-the-error
// - in crates/ropewalk/src/fs/behind.rs: `self.target.explain(error, unwritten + behind.len())`
// + `self.target.explain(error, unwritten)`
#[test]
fn model_behind_tells_of_an_error_once() {
    model(|| {
        let behind = paper(true);
        assert!(accept(&behind, b"a"));
        let there = behind.clone();
        let thread = thread::spawn(move || there.drain());
        let refused = match behind.offer(b"b", 0, false, &mut None) {
            Offer::Refused(error) => Some(error),
            Offer::Accepted { ask, .. } => {
                assert!(!ask, "it is not idle before the error is told");
                None
            }
            Offer::Full => panic!("there is room"),
        };
        thread.join().unwrap();
        let later = block_on_simple(poll_fn(|cx| behind.poll_idle(cx)));
        match (refused, later) {
            (Some(error), Ok(())) => assert_eq!(error.to_string(), "1"),
            (None, Err(error)) => assert_eq!(error.to_string(), "2"),
            other => panic!("{other:?}"),
        }
    });
}
