//! Which polls are timed, and which wake-ups are: few, so that the others pay nothing. A worker that samples arms itself now and then, where it
//! looks around anyway; then the next poll and the next wake-up go the long way.
//!
//! What is timed stands for the polls since the last that was. A poll that takes long is followed by another one that is timed: that costs
//! little beside it, and long ones are what one looks for.

use super::super::histogram::Buckets;
use super::super::stamps::Stamps;
use super::Worker;
use ropewalk_core::task::Runnable;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Nanoseconds from one sample to the next, at least: it takes a hundred or two.
const APART: u64 = 40_000;
/// At most so many looks are passed over.
const MOST_LOOKS: u64 = 256;
/// Of a worker that does little between two rests, every so many rests.
const RESTS: u32 = 8;
/// A poll that takes so many nanoseconds is long.
const LONG: u64 = 10_000;
/// Of the wake-ups by one thread outside, so many are passed over at most.
const MOST_OUTSIDE: u32 = 255;

thread_local! {
    static OUTSIDE: Cell<Outside> = const { Cell::new(Outside { left: 0, stride: 0, last: 0 }) };
}

/// How far a thread is that is no worker: how many of its wake-ups are passed over, still, and each time; when one was stamped last.
#[derive(Clone, Copy)]
struct Outside {
    left: u32,
    stride: u32,
    last: u64,
}

/// What a pool whose workers sample has for it.
pub(crate) struct Samples {
    stamps: Stamps,
    start: Instant,
}

/// What a worker has measured.
#[derive(Debug)]
pub(crate) struct Histograms {
    pub(crate) poll_time: Buckets,
    pub(crate) wake_to_run: Buckets,
}

/// When the poll that runs on this stack began, for those who time it. It is put off by as long as the stack is put away.
#[derive(Clone, Copy, Default)]
pub(crate) struct Begun {
    /// By the clock of the samples.
    sampled: Option<u64>,
    /// By that of the runtime, of a task that is observed.
    observed: Option<Duration>,
}

/// How far a worker is with that.
#[derive(Default)]
pub(super) struct Sampler {
    on: Cell<bool>,
    /// It is, or something is recorded: looks are counted.
    pub(super) looked_at: Cell<bool>,
    /// The next poll is timed.
    times: Cell<bool>,
    /// The next wake-up is.
    stamps: Cell<bool>,
    /// Looks, and rests, until it is time for that; and looks since it was.
    looks: Cell<u64>,
    passed: Cell<u64>,
    rests: Cell<u32>,
    begun: Cell<Begun>,
    /// When the last poll was timed, and its number.
    last: Cell<(u64, u64)>,
}

impl Samples {
    pub(crate) fn new() -> Self {
        Self { stamps: Stamps::new(), start: Instant::now() }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// A task is woken from outside.
    #[cfg_attr(feature = "roaming", inline(never))] // TL1
    #[cfg_attr(not(feature = "roaming"), inline)]
    pub(crate) fn woken_outside(&self, task: &Runnable) {
        let passed = OUTSIDE.try_with(|outside| match outside.get() {
            Outside { left: 0, .. } => false,
            known => {
                outside.set(Outside { left: known.left - 1, ..known });
                true
            }
        });
        if passed == Ok(false) {
            self.stamp_outside(task);
        }
    }

    /// The more wake-ups there are, the more are passed over the next time.
    #[cold]
    fn stamp_outside(&self, task: &Runnable) {
        let now = self.now();
        let _thread_ends = OUTSIDE.try_with(|outside| {
            let Outside { stride, last, .. } = outside.get();
            // The clocks of two pools differ: then this is a guess, as the first one is.
            let is_soon = now.checked_sub(last).is_some_and(|passed| passed < APART);
            let stride = if is_soon { (2 * stride + 1).min(MOST_OUTSIDE) } else { stride / 2 };
            outside.set(Outside { left: stride, stride, last: now });
        });
        self.stamp(task, now);
    }

    fn stamp(&self, task: &Runnable, now: u64) {
        if self.stamps.put(task.id().get(), now) {
            task.await_run();
        }
    }
}

impl Histograms {
    pub(crate) fn new() -> Self {
        Self { poll_time: Buckets::new(), wake_to_run: Buckets::new() }
    }
}

impl Sampler {
    /// The slot is not simply open to what is woken.
    pub(super) fn stamps(&self) -> bool {
        self.stamps.get()
    }

    fn arm(&self, worker: &Worker) {
        self.times.set(true);
        self.stamps.set(true);
        worker.watching.set(true);
        worker.mind_slot();
    }
}

impl Worker {
    /// Whether this pool samples may have changed.
    pub(super) fn follow_samples(&self) {
        let (sampler, on) = (&self.sampler, self.pool.samples().is_some());
        sampler.looked_at.set(on || self.reel.is_on());
        if sampler.on.replace(on) == on {
            return;
        }
        sampler.times.set(false);
        sampler.stamps.set(false);
        sampler.last.set((self.pool.samples().map_or(0, Samples::now), self.station.counters.polls.get()));
    }

    /// It is looking around, anyway.
    #[inline]
    pub(super) fn mind_samples(&self) {
        if self.sampler.looked_at.get() {
            self.count_look();
        }
    }

    fn count_look(&self) {
        self.note_queues();
        let sampler = &self.sampler;
        if !sampler.on.get() {
            return;
        }
        sampler.passed.set(sampler.passed.get() + 1);
        match sampler.looks.get() {
            0 => sampler.arm(self),
            looks => sampler.looks.set(looks - 1),
        }
    }

    /// It is about to rest. Looks may be rare, then.
    pub(super) fn mind_samples_at_rest(&self) {
        let sampler = &self.sampler;
        if !sampler.on.get() {
            return;
        }
        let polls = self.station.counters.polls.get().wrapping_sub(sampler.last.get().1);
        let rests = sampler.rests.get();
        if polls < u64::from(self.pool.config.global_queue_interval) && rests == 0 {
            sampler.rests.set(RESTS - 1);
            sampler.arm(self);
        } else {
            sampler.rests.set(rests.saturating_sub(1));
        }
    }

    /// A task is woken here. If it is stamped, the next is not.
    #[inline]
    pub(super) fn stamp_woken(&self, task: &Runnable) {
        if self.sampler.stamps.get() {
            self.stamp_now(task);
        }
    }

    #[cold]
    #[inline(never)]
    fn stamp_now(&self, task: &Runnable) {
        self.sampler.stamps.set(false);
        if let Some(samples) = self.pool.samples() {
            samples.stamp(task, samples.now());
        }
        self.mind_slot();
    }

    /// Somebody wants to know when this one runs: now.
    #[cold]
    pub(super) fn note_run(&self, task: &Runnable) {
        task.unawait();
        if let Some(samples) = self.pool.samples()
            && let Some(woken) = samples.stamps.take(task.id().get())
        {
            self.station.histograms().wake_to_run.add(samples.now().saturating_sub(woken), 1);
        }
    }

    /// A poll begins. `observed`: when, if its task is observed.
    pub(super) fn begin_timing(&self, observed: Option<Duration>) {
        let samples = self.sampler.times.replace(false).then(|| self.pool.samples()).flatten();
        self.sampler.begun.set(Begun { sampled: samples.map(Samples::now), observed });
    }

    /// Its stack is put away in the middle: how long it ran until now, for [`resume_timing`](Self::resume_timing).
    pub(crate) fn pause_timing(&self) -> Begun {
        let Begun { sampled, observed } = self.sampler.begun.take();
        let spent = |from: u64| self.pool.samples().map_or(0, Samples::now).saturating_sub(from);
        let observed = observed.map(|from| self.pool.config.clock.now().saturating_sub(from));
        Begun { sampled: sampled.map(spent), observed }
    }

    /// It goes on, as if it had begun later.
    pub(crate) fn resume_timing(&self, spent: Begun) {
        let begun = |spent| self.pool.samples().map(|samples| samples.now().saturating_sub(spent));
        let observed = spent.observed.map(|spent| self.pool.config.clock.now().saturating_sub(spent));
        self.sampler.begun.set(Begun { sampled: spent.sampled.and_then(begun), observed });
    }

    /// The poll is over: when it began, if its task is observed.
    pub(super) fn end_timing(&self) -> Option<Duration> {
        let Begun { sampled, observed } = self.sampler.begun.take();
        sampled.into_iter().for_each(|from| self.count_poll(from));
        observed
    }

    fn count_poll(&self, from: u64) {
        let (Some(samples), sampler) = (self.pool.samples(), &self.sampler) else { return };
        let (now, polls) = (samples.now(), self.station.counters.polls.get());
        let (took, (last, before)) = (now.saturating_sub(from), sampler.last.replace((now, polls)));
        self.station.histograms().poll_time.add(took, polls.wrapping_sub(before).max(1));
        let looks = sampler.passed.replace(0) * APART / now.saturating_sub(last).max(1);
        sampler.looks.set(looks.min(MOST_LOOKS));
        sampler.times.set(took >= LONG);
    }

    /// Whether the next poll goes the long way.
    pub(super) fn is_watching(&self) -> bool {
        self.pool.is_watched() || self.sampler.times.get() || self.reel.is_on()
    }
}
