//! A task is about to wait, and its worker has nothing else to do: then it may look for what it waits for a little longer.

use super::worker::Worker;
use crate::context;
use std::cell::Cell;

/// How often a worker looks whether the right to spin is free again: its holder is about to see what it waits for.
const GRACE: usize = 24;

/// Found by so many looks, it may come in a stream: then who chases it takes each piece from the hands of who makes it, and
/// it is better to suspend until some of it has gathered.
const AT_ONCE: u32 = 1;
/// What such a find counts against the others, how much of that is a stream, and how many waits then go their usual way.
const WEIGHT: i32 = 4;
const STREAM: i32 = 16;
const LET_PASS: i32 = -1024;

/// How soon the tasks of a worker found lately what they lingered for. Below zero: so many waits to let pass.
#[derive(Debug, Default)]
pub(crate) struct Habit(Cell<i32>);

impl Habit {
    /// Whether what is waited for comes one by one.
    fn allows(&self) -> bool {
        let score = self.0.get();
        if score < 0 {
            self.0.set(score + 1);
        }
        score >= 0
    }

    fn found_after(&self, looks: u32) {
        let score = if looks <= AT_ONCE { self.0.get() + WEIGHT } else { (self.0.get() - 1).max(0) };
        self.0.set(if score < STREAM { score } else { LET_PASS });
    }
}

/// Makes this runtime the one that answers `ropewalk_core::linger::until`.
pub(crate) fn install() {
    ropewalk_core::linger::install(until);
}

fn until(ready: &mut dyn FnMut() -> bool) -> bool {
    // Who is alone has nobody to wait for in this way; that is all it takes to find out.
    context::with_worker(|worker| worker.is_some_and(|worker| !worker.is_alone() && worker.linger(ready)))
}

impl Worker {
    /// Spins until `ready`, as the one spinner of the pool and only while that pays off. What else there is to do ends it.
    #[inline(never)]
    fn linger(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        if self.frame.current.get().is_none() || self.has_own() || self.any_work() {
            return false;
        }
        if !self.habit.allows() || !self.linger_credit.allows() {
            return false;
        }
        let (mut is_ready, mut looks) = (false, 0);
        let mut look = || {
            looks += 1;
            is_ready = ready();
            is_ready
        };
        let mut right = None;
        for _ in 0..GRACE {
            right = self.pool.idle.try_spin(self.index());
            if right.is_some() || look() {
                break;
            }
            std::hint::spin_loop();
        }
        if right.is_some() {
            self.linger_credit.spin(|| look() || self.any_work());
        }
        if is_ready {
            self.habit.found_after(looks);
        }
        is_ready
    }
}
