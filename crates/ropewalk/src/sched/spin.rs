//! Spinning before sleeping: one thread of a group at a time, for a few microseconds, and only while it pays off. A wake-up
//! across cores costs more than such a spin; a spin that finds nothing is processor time burnt.

use ropewalk_core::prim::{AtomicUsize, Ordering::Relaxed};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The longest spin.
const SPIN: Duration = Duration::from_micros(4);
/// The most that is remembered of good times.
const MOST_CREDIT: i32 = 8;
/// After so many chances let pass it is worth another try; twice as many after each try that found nothing, up to the last.
const PAUSE: i32 = 16;
const LONGEST_PAUSE: i32 = 256;

/// Checks between two looks at the clock.
const CHECKS: u32 = 8;

/// The right to spin, of which a group of threads has one: the number of the one who has it, or [`NOBODY`].
#[derive(Debug)]
pub(crate) struct SpinRight(AtomicUsize);

const NOBODY: usize = usize::MAX;

/// Its thread may spin while this lives.
#[must_use = "spinning is allowed while this lives"]
pub(crate) struct SpinGuard<'a> {
    right: &'a SpinRight,
    who: usize,
}

impl SpinRight {
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(NOBODY))
    }

    /// The thread with the number `who` takes the right, unless somebody has it.
    pub(crate) fn try_take(&self, who: usize) -> Option<SpinGuard<'_>> {
        let free = self.0.compare_exchange(NOBODY, who, Relaxed, Relaxed).is_ok();
        free.then(|| SpinGuard { right: self, who })
    }

    /// There is something to do for `who`: if it spins, that is over as soon as it looks, and another one may begin.
    /// (Otherwise one of two who send each other things, spinning in turn, would find the right still taken and sleep.)
    pub(crate) fn end(&self, who: usize) {
        if self.0.load(Relaxed) == who {
            // Who took the right meanwhile keeps it; nothing hangs on this but a little time.
            _ = self.0.compare_exchange(who, NOBODY, Relaxed, Relaxed);
        }
    }
}

impl Drop for SpinGuard<'_> {
    fn drop(&mut self) {
        self.right.end(self.who);
    }
}

/// How well spinning paid off for one thread lately.
#[derive(Debug)]
pub(crate) struct SpinCredit {
    /// Above zero: tries it has. Else: chances let pass since the last one.
    credit: Cell<i32>,
    pause: Cell<i32>,
}

impl SpinCredit {
    pub(crate) fn new() -> Self {
        Self { credit: Cell::new(1), pause: Cell::new(PAUSE) }
    }

    /// Whether to try this time. A no counts as a chance let pass.
    pub(crate) fn allows(&self) -> bool {
        let credit = self.credit.get();
        if credit <= 0 {
            self.credit.set(if credit <= -self.pause.get() { 1 } else { credit - 1 });
        }
        credit > 0
    }

    /// Spins until `found`, or for as long as a spin may last. True: it was found.
    pub(crate) fn spin(&self, mut found: impl FnMut() -> bool) -> bool {
        let mut seen = || {
            std::hint::spin_loop();
            found()
        };
        let mut until = None;
        let hit = loop {
            if (0..CHECKS).any(|_| seen()) {
                break true;
            }
            let now = Instant::now();
            if now >= *until.get_or_insert(now + SPIN) {
                break false;
            }
        };
        self.learn(hit);
        hit
    }

    fn learn(&self, hit: bool) {
        let (credit, pause) = (self.credit.get(), self.pause.get());
        self.credit.set(if hit { (credit + 1).min(MOST_CREDIT) } else { credit - 1 });
        self.pause.set(match (hit, credit) {
            (true, _) => PAUSE,
            (false, ..=1) => (2 * pause).min(LONGEST_PAUSE),
            (false, _) => pause,
        });
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// How many chances pass until the next try.
    fn passed(credit: &SpinCredit) -> usize {
        std::iter::from_fn(|| (!credit.allows()).then_some(())).count()
    }

    #[test]
    fn who_finds_nothing_tries_less_and_less() {
        let credit = SpinCredit::new();
        let mut pauses = Vec::new();
        for _ in 0..7 {
            pauses.push(passed(&credit));
            assert!(!credit.spin(|| false));
        }
        assert_eq!(pauses, [0, 33, 65, 129, 257, 257, 257]);
        assert_eq!(passed(&credit), 257);
        assert!(credit.spin(|| true), "and at once again when it pays off");
        assert_eq!(passed(&credit), 0);
        assert!(!credit.spin(|| false) && !credit.spin(|| false));
        assert_eq!(passed(&credit), 33);
    }

    #[test]
    fn good_times_are_remembered() {
        let credit = SpinCredit::new();
        for _ in 0..100 {
            assert!(credit.allows() && credit.spin(|| true));
        }
        for _ in 0..MOST_CREDIT {
            assert!(credit.allows() && !credit.spin(|| false));
        }
        assert!(!credit.allows());
    }
}
