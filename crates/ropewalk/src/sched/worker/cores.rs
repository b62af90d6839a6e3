//! A worker for which there is no core: it stands aside for some milliseconds (`crowd.rs` has the rest of that).
//!
//! A burst of events wakes a second worker, which steals half of it. That is right if there is a core for both. If whoever
//! sends the events wants that core, or another program, then three share two: the burst is not over sooner, the sender goes
//! on later, and every task that moved has left its caches behind. The kernel knows: it counts how long each thread ran, and
//! how long it could have run and there was no core. After every [`REASONS`] thefts, but not more often than every
//! [`WINDOW`], a worker looks at both. If it waited for more than one part in [`SHARE`] of the time in which it wanted to run,
//! it stands aside: for [`FIRST`], and twice as long each time that it happens to a worker of the pool, up to [`LONGEST`], or
//! [`BLIND`] where it could not see that cores have become free. That is forgotten by half every [`HALF_LIFE`]: loads come and go, and
//! a machine that had no core for it a moment ago has none when the next burst comes.
//!
//! What keeps it from doing harm, beside what `crowd.rs` says:
//!
//! 1. It goes only with nothing of its own to do. If nobody has the driver just then, somebody who sleeps is woken for it.
//! 2. Again and again ([`nap`]) it looks whether the others get on. One that is busy, and has not made enough polls meanwhile to have looked
//!    outside (at sockets, timers, the injection queue), needs help: it is back.
//! 3. It also asks how many threads can run on the whole machine. If that has left a core free in [`FREE`] of the last eight
//!    looks, it is back.
//! 4. Tasks that pile up do not call it back: there is no core for it. Pinned tasks do, and whatever changes in the pool.

use super::Worker;
use crate::sched::park::WorkerState;
use crate::sched::recorder::Slept;
use crate::thread::{Class, set_class};
use std::cell::Cell;
use std::ffi::CStr;
use std::time::{Duration, Instant};

const REASONS: u32 = 4;
const WINDOW: Duration = Duration::from_millis(1);
const SHARE: u64 = 8;
const FIRST: Duration = Duration::from_millis(4);
const LONGEST: Duration = Duration::from_millis(1024);
const HALF_LIFE: Duration = Duration::from_secs(8);
const BLIND: Duration = Duration::from_millis(128);
pub(super) const FREE: u32 = 6;
const SHORTEST_NAP: Duration = Duration::from_millis(2);
pub(super) const LONGEST_NAP: Duration = Duration::from_millis(8);

/// How long a thread ran, and how long it waited for a core, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CoreTime {
    ran: u64,
    waited: u64,
}

impl CoreTime {
    /// Of this thread. `None`: the system does not say.
    pub(super) fn now() -> Option<Self> {
        said(c"/proc/thread-self/schedstat", Self::parse)
    }

    /// The first two numbers of a line.
    fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split_ascii_whitespace().map(str::parse);
        Some(Self { ran: numbers.next()?.ok()?, waited: numbers.next()?.ok()? })
    }

    /// Whether a thread that was at `earlier` has waited too long since.
    pub(super) fn lacked_a_core(self, earlier: Self) -> bool {
        let waited = self.waited.saturating_sub(earlier.waited);
        let wanted = waited + self.ran.saturating_sub(earlier.ran);
        waited > wanted / SHARE && wanted > WINDOW.as_nanos() as u64 / 4
    }
}

/// What the system says of itself in the first line of a file, if it does.
fn said<T>(path: &CStr, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Mode, OFlags, open};
        let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let mut line = [0; 96];
        let count = rustix::io::read(file, &mut line).ok()?;
        parse(std::str::from_utf8(&line[..count]).ok()?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (path, parse);
        None
    }
}

/// How many threads run or could run just now, on the whole machine, this one included.
pub(super) fn runnable() -> Option<usize> {
    said(c"/proc/loadavg", parse_runnable)
}

/// The number before the slash.
fn parse_runnable(line: &str) -> Option<usize> {
    line.split_ascii_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

/// How long the last worker of a pool that found no core stood aside, and until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    took: Duration,
    until: Instant,
}

impl Stay {
    /// The next one, if it begins now. `longest`: where it can be seen that cores have become free.
    pub(super) fn beginning(last: Option<Self>, now: Instant, first: Duration, longest: Duration) -> Self {
        let longest = if runnable().is_some() { longest } else { BLIND };
        let took = Self::after(last, now, first.min(longest), longest);
        Self { took, until: now + took }
    }

    pub(super) fn until(self) -> Instant {
        self.until
    }

    /// The same, over already.
    pub(super) fn cut_short(self, now: Instant) -> Self {
        Self { until: now, ..self }
    }

    /// How long the next one should be, if it begins now.
    fn after(last: Option<Self>, now: Instant, first: Duration, longest: Duration) -> Duration {
        let Some(last) = last else { return first };
        let halvings = now.saturating_duration_since(last.until).as_secs() / HALF_LIFE.as_secs();
        let remembered = last.took / 1_u32.checked_shl(halvings as u32).unwrap_or(u32::MAX);
        (2 * remembered).clamp(first, longest)
    }
}

/// How long it sleeps between two looks, if it stays away for so long. To get up takes some ten microseconds of a core that
/// others want, so whoever finds none again and again looks less often: with 2 ms in any case an echo server was 2 % slower.
fn nap(stay: Duration) -> Duration {
    (stay / 16).clamp(SHORTEST_NAP, LONGEST_NAP)
}

/// A thread that waits for its turn when it wakes up, until this is dropped. Others do not: they take the core of whoever runs
/// there, which is then late by as long as a look takes, with all it has to do.
struct Modest {
    was_normal: bool,
}

impl Modest {
    /// This thread, if it is one like most.
    fn now() -> Self {
        Self { was_normal: is_normal() && set_class(Class::Batch).is_ok() }
    }
}

impl Drop for Modest {
    fn drop(&mut self) {
        if self.was_normal {
            let _nobody_needs_a_right = set_class(Class::Normal);
        }
    }
}

/// Whether this thread is scheduled as most are.
fn is_normal() -> bool {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the call asks for a number; 0 is the calling thread.
        unsafe { libc::sched_getscheduler(0) == libc::SCHED_OTHER }
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

/// What a worker knows about its core.
#[derive(Debug, Default)]
pub(crate) struct Cores {
    thefts: Asked,
    /// The system does not say.
    unknown: Cell<bool>,
}

/// How often there was a reason to ask whether this thread has a core, and what the answer was last.
#[derive(Debug, Default)]
pub(super) struct Asked {
    reasons: Cell<u32>,
    last: Cell<Option<(Instant, CoreTime)>>,
}

impl Asked {
    /// What was before does not count.
    pub(super) fn begin_anew(&self) {
        self.last.set(None);
    }

    /// Whether this thread has waited too long for a core since it last asked; if that was just now, it does not. `None`: the system does not say.
    fn has_lacked_one(&self, now: Instant) -> Option<bool> {
        if self.last.get().is_some_and(|(at, _)| now - at < WINDOW) {
            return Some(false);
        }
        let time = CoreTime::now()?;
        let before = self.last.replace(Some((now, time)));
        Some(before.is_some_and(|(_, earlier)| time.lacked_a_core(earlier)))
    }
}

impl Worker {
    /// There was a reason to ask. Whether it is time to: every few are worth a look at the clock.
    pub(super) fn is_time_to_ask(&self, asked: &Asked) -> bool {
        let reasons = (asked.reasons.get() + 1) % REASONS;
        asked.reasons.set(reasons);
        reasons == 0 && self.threaded && !self.cores.unknown.get()
    }

    /// Whether this worker has waited too long for a core since it last asked.
    pub(super) fn has_lacked_a_core(&self, asked: &Asked, now: Instant) -> bool {
        asked.has_lacked_one(now).unwrap_or_else(|| {
            self.cores.unknown.set(true);
            false
        })
    }

    /// There was a theft, and what it brought is done: is there a core for this worker?
    pub(super) fn mind_cores(&self) {
        if self.is_time_to_ask(&self.cores.thefts) {
            self.look_for_a_core();
        }
    }

    #[cold]
    fn look_for_a_core(&self) {
        let (now, thefts) = (Instant::now(), &self.cores.thefts);
        if self.has_lacked_a_core(thefts, now) {
            self.leave_the_core(now);
            thefts.last.set(CoreTime::now().map(|time| (Instant::now(), time)));
        }
    }

    fn leave_the_core(&self, now: Instant) {
        let aside = &self.pool.aside;
        let bound = self.leave.get() || self.retiring.get() || self.closing.get();
        if bound
            || self.has_own()
            || !self.station.inbox.is_empty()
            || !aside.leave(self.index(), self.pool.active())
        {
            return;
        }
        self.stop_searching();
        self.call_homes();
        if self.pool.seam.is_free() {
            self.pool.notify();
        }
        self.station.counters.asides.bump();
        let stay = Stay::beginning(aside.last_stay(), now, FIRST, LONGEST);
        self.note_sleep(|| {
            self.stay_away(stay.until, nap(stay.took));
            Slept::Aside
        });
        self.is_back();
        aside.come_back(self.index());
        aside.note_stay(stay.cut_short(Instant::now()));
        self.look_next();
    }

    /// In naps, until then or until it is needed.
    fn stay_away(&self, until: Instant, nap: Duration) {
        let _modest = Modest::now();
        let peers = self.peers.borrow();
        let mut before = [0; u64::BITS as usize]; // among more workers none stands aside
        for (before, (peer, _)) in before.iter_mut().zip(&*peers) {
            *before = peer.counters.polls.get();
        }
        let (cores, enough) = (self.pool.config.cores, u64::from(self.pool.config.global_queue_interval));
        let mut free = 0_u8; // the last looks, a bit each
        loop {
            let nap = nap.min(until.saturating_duration_since(Instant::now()));
            if nap.is_zero() || self.station.parker.doze(nap) {
                return;
            }
            let mut is_needed = false;
            for (before, (peer, _)) in before.iter_mut().zip(&*peers) {
                let now = peer.counters.polls.get();
                let made = now - std::mem::replace(before, now);
                is_needed |= peer.parker.state() == WorkerState::Busy && made < enough;
            }
            free = free << 1 | u8::from(runnable().is_some_and(|all| all <= cores)); // this one is among them
            if is_needed || free.count_ones() >= FREE {
                return;
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_of_this_thread_grows() {
        let Some(before) = CoreTime::now() else { return eprintln!("skipped: the system does not say") };
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let after = CoreTime::now().unwrap();
        assert!(after.ran + after.waited > before.ran + before.waited, "{before:?} {after:?}");
    }

    #[test]
    fn what_is_no_pair_of_numbers_is_nothing() {
        assert_eq!(CoreTime::parse("12 34 5\n"), Some(CoreTime { ran: 12, waited: 34 }));
        for line in ["", "12", "a b c", "-1 2 3"] {
            assert_eq!(CoreTime::parse(line), None);
        }
        assert_eq!(parse_runnable("0.00 0.01 0.05 3/421 1234\n"), Some(3));
        for line in ["", "1 2 3", "1 2 3 4", "1 2 3 x/y"] {
            assert_eq!(parse_runnable(line), None);
        }
    }

    #[test]
    fn nobody_has_lacked_a_core_who_asks_for_the_first_time_or_has_just_asked() {
        let (asked, now) = (Asked::default(), Instant::now());
        let Some(first) = asked.has_lacked_one(now) else {
            return eprintln!("skipped: the system does not say");
        };
        assert!(!first);
        let never = CoreTime { ran: u64::MAX, waited: u64::MAX };
        let last = || asked.last.get().map(|(_, time)| time);
        asked.last.set(Some((now, never)));
        assert_eq!((asked.has_lacked_one(now), last()), (Some(false), Some(never)), "it was not looked");
        asked.begin_anew();
        assert_eq!(asked.has_lacked_one(now), Some(false));
        assert_ne!(last(), Some(never));
    }

    #[test]
    fn who_asks_can_run() {
        match runnable() {
            Some(all) => assert!(all >= 1),
            None => eprintln!("skipped: the system does not say"),
        }
    }

    #[test]
    fn who_waits_for_an_eighth_of_the_time_lacks_a_core() {
        let at = |ran, waited| CoreTime { ran, waited };
        assert!(at(2_000_000, 1_000_000).lacked_a_core(at(0, 0)));
        assert!(!at(2_000_000, 100_000).lacked_a_core(at(0, 0)));
        assert!(
            !at(9_000_000, 1_000_000).lacked_a_core(at(7_000_000, 900_000)),
            "what was before does not count"
        );
        assert!(!at(1_000, 1_000).lacked_a_core(at(0, 0)), "too little to tell");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn who_is_modest_for_a_while_is_as_before_afterwards() {
        // SAFETY: as in `is_normal`.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        for (class, before) in [(Class::Normal, libc::SCHED_OTHER), (Class::Batch, libc::SCHED_BATCH)] {
            set_class(class).unwrap();
            let modest = Modest::now();
            assert_eq!(policy(), libc::SCHED_BATCH);
            drop(modest);
            assert_eq!(policy(), before);
        }
    }

    #[test]
    fn it_stays_away_longer_if_it_was_away_lately() {
        let now = Instant::now();
        let last = |took| Some(Stay { took, until: now });
        let after = |last, now, longest| Stay::after(last, now, FIRST, longest);
        assert_eq!(after(None, now, LONGEST), FIRST);
        assert_eq!(after(last(FIRST), now + FIRST, LONGEST), 2 * FIRST);
        assert_eq!(after(last(LONGEST), now + FIRST, LONGEST), LONGEST);
        assert_eq!(after(last(BLIND), now + FIRST, BLIND), BLIND);
        assert_eq!(after(last(LONGEST), now + HALF_LIFE, LONGEST), LONGEST);
        assert_eq!(after(last(LONGEST), now + 3 * HALF_LIFE, LONGEST), LONGEST / 4);
        assert_eq!(after(last(LONGEST), now + 100 * HALF_LIFE, LONGEST), FIRST);
        assert_eq!([FIRST, 16 * FIRST, LONGEST].map(nap), [SHORTEST_NAP, 2 * SHORTEST_NAP, LONGEST_NAP]);
    }
}
