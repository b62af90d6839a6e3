//! A slate on which one thread asks, and another one writes the answer: in a signal handler, so without a lock, and perhaps too late.
//!
//! ```text
//!   63                             2  1    0
//!   | who is asked, 62 bits         | state |
//!
//! IDLE --(ask)--> ASKED --(begin)--> WRITING --(end)--> WRITTEN --(read)--> IDLE
//!                   +------(withdraw: it took too long)-------------------> IDLE
//! ```
//!
//! # Invariants
//!
//! - **SL1** Lines are written while the state is WRITING, by the one who is asked: who is asked and the state are one word, so a signal that
//!   comes late, when somebody else is asked, finds that it is not meant.
//! - **SL2** Lines are read while it is WRITTEN, by who asked. There is one of those at a time.
//! - **SL3** Who has begun to write is not disturbed: until it has ended, nobody is asked.

use ropewalk_core::prim::{AtomicU64, AtomicUsize, Ordering::*};

const IDLE: u64 = 0;
const ASKED: u64 = 1;
const WRITING: u64 = 2;
const WRITTEN: u64 = 3;
const STATE: u64 = 3;
const WHO_SHIFT: u32 = 2;

pub(super) struct Slate<const LINES: usize> {
    word: AtomicU64,
    length: AtomicUsize,
    lines: [AtomicUsize; LINES],
}

impl<const LINES: usize> Slate<LINES> {
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new() -> Self {
        Self {
            word: AtomicU64::new(IDLE),
            length: AtomicUsize::new(0),
            lines: [const { AtomicUsize::new(0) }; LINES],
        }
    }
    #[cfg(any(loom, shuttle))]
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU64::new(IDLE),
            length: AtomicUsize::new(0),
            lines: std::array::from_fn(|_| AtomicUsize::new(0)),
        }
    }

    /// Asks `who`; an answer that nobody has read is forgotten. False: somebody is still writing.
    pub(super) fn ask(&self, who: u32) -> bool {
        let before = self.word.load(Acquire); // what was written before is no more
        if before & STATE == WRITING {
            return false;
        }
        let asked = u64::from(who) << WHO_SHIFT | ASKED;
        self.word.compare_exchange(before, asked, AcqRel, Relaxed).is_ok()
    }

    /// By who may be asked: what `write` gives for each line, until it gives nothing more.
    pub(super) fn answer(&self, who: u32, write: impl FnOnce(&mut dyn FnMut(usize) -> bool)) {
        let who = u64::from(who) << WHO_SHIFT;
        if self.word.compare_exchange(who | ASKED, who | WRITING, Acquire, Relaxed).is_err() {
            return;
        }
        let mut length = 0;
        write(&mut |line| {
            if let Some(place) = self.lines.get(length) {
                place.store(line, Relaxed);
                length += 1;
            }
            length < LINES
        });
        self.length.store(length, Relaxed);
        self.word.store(who | WRITTEN, Release);
    }

    pub(super) fn is_written(&self) -> bool {
        self.word.load(Acquire) & STATE == WRITTEN
    }

    /// What was written, if it was; otherwise who is asked need not answer any more.
    pub(super) fn read(&self) -> Option<Vec<usize>> {
        let now = self.word.load(Relaxed);
        if now & STATE == ASKED && self.word.compare_exchange(now, IDLE, Relaxed, Relaxed).is_ok() {
            return None;
        }
        if !self.is_written() {
            return None;
        }
        let lines = self.lines[..self.length.load(Relaxed)].iter().map(|line| line.load(Relaxed)).collect();
        self.word.store(IDLE, Release);
        Some(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_core::prim::{self, Arc, thread};

    #[cfg(not(any(loom, shuttle)))]
    #[test]
    fn who_is_asked_answers_and_nobody_else() {
        let slate = Slate::<2>::new();
        let answer = |who, lines: &[usize]| {
            slate.answer(who, |write| {
                lines.iter().all(|line| write(*line));
            });
        };
        answer(7, &[1]);
        assert!(!slate.is_written(), "nobody has asked");
        assert!(slate.ask(7));
        answer(8, &[1]);
        assert!(!slate.is_written(), "another one was");
        answer(7, &[1, 2, 3]);
        assert_eq!(slate.read(), Some(vec![1, 2]), "there is room for two");
        assert!(slate.ask(7) && slate.read().is_none());
        answer(7, &[1]);
        assert_eq!(slate.read(), None, "it was too late");
        assert!(slate.ask(7));
        answer(7, &[]);
        assert!(slate.ask(8), "what nobody has read is forgotten");
        answer(8, &[4]);
        assert_eq!(slate.read(), Some(vec![4]));
    }

    /// One is asked, and takes too long; then another one is.
    // mutation: slate-who-comes-late-answers-for-another
    // - in crates/ropewalk/src/sched/watchdog/slate.rs: `if self.word.compare_exchange(who | ASKED, who | WRITING, Acquire, Relaxed).is_err() {`
    // + `let now = self.word.load(Acquire); if now & STATE != ASKED || self.word.compare_exchange(now, who | WRITING, Acquire, Relaxed).is_err() {`
    // mutation: slate-is-taken-from-who-writes
    // - in crates/ropewalk/src/sched/watchdog/slate.rs: `if before & STATE == WRITING {`
    // + `if before & STATE == WRITING && before == 0 {`
    // mutation: slate-is-written-before-its-lines
    // - in crates/ropewalk/src/sched/watchdog/slate.rs: `self.word.store(who | WRITTEN, Release);`
    // + `self.word.store(who | WRITTEN, Relaxed);`
    // mutation: slate-is-read-before-it-is-written
    // - in crates/ropewalk/src/sched/watchdog/slate.rs: `if !self.is_written() {`
    // + `if now == IDLE {`
    #[test]
    fn model_a_slate_has_the_answer_of_who_was_asked() {
        prim::deep_model(3, || {
            let slate = Arc::new(Slate::<2>::new());
            let write = |slate: &Slate<2>, who: u32| {
                slate.answer(who, |write| {
                    [who; 2].iter().all(|line| write(*line as usize));
                });
            };
            let answers = [1, 2].map(|who| {
                let slate = slate.clone();
                thread::spawn(move || write(&slate, who))
            });
            for who in [1, 2] {
                if slate.ask(who)
                    && let Some(lines) = slate.read()
                {
                    assert_eq!(lines, [who as usize; 2], "of who was asked, and whole");
                }
            }
            answers.into_iter().for_each(|answer| answer.join().unwrap());
        });
    }
}
