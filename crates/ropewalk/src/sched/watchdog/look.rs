//! What the watchdog sees of a pool, from one look to the next.

use super::super::pool::Pool;
use super::super::station::Station;
use super::stall::{self, Reports, Stall};
use super::{is_busy, thread};
use crate::inspect::TaskInfo;
use crate::metrics::LongPoll;
use crate::runtime::{complain, hire};
use ropewalk_core::prim::real::Ordering::Relaxed;
use ropewalk_core::task::TaskId;
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long stand-ins stay after somebody was last held for too long.
const STAY: Duration = Duration::from_secs(1);
/// A poll that takes so many times as long as others may have to wait is reported; before that somebody comes, and no words are made.
const WORTH_A_WORD: u32 = 5;
/// Of so many hogs it is known that they were reported.
const KNOWN: usize = 64;
/// So long after a task another one that was spawned at the same place is not reported.
const SAME_PLACE: Duration = Duration::from_secs(1);
/// So long after a walk over all tasks there is none only to know who is in a poll that is long, but not the longest.
const WALKS_APART: Duration = Duration::from_secs(1);
/// So many polls tell how long one takes.
const MANY: u32 = 8;

pub(super) struct Look {
    pool: *const Pool,
    workers: Vec<Seen>,
    /// How often each worker has looked around.
    looks: Vec<u64>,
    /// The thread of each worker whose slices were shortened.
    threads: Vec<Option<u32>>,
    stand_ins: usize,
    looked: Option<Instant>,
    /// Somebody is in a poll that is longer than a tick.
    has_long_poll: bool,
    /// When somebody was last held for too long.
    last_held: Option<Instant>,
    /// Tasks that were reported: where they are in memory, and where and when.
    known: VecDeque<(usize, &'static Location<'static>, Instant)>,
    /// When it was last found out whose a long poll is.
    walked: Option<Instant>,
    reports: Reports,
}

/// What was seen of a worker.
#[derive(Clone, Copy)]
struct Seen {
    polls: u64,
    /// How long its polls took lately, on average. `None`: there were few, or it slept.
    usual: Option<Duration>,
    /// Since when it is in that poll, about (`estimate`). `None`: it is in none.
    since: Option<Instant>,
    /// What its thread had spent of the processor's time when it was first seen in that poll, and when that was.
    spent: Option<(Duration, Instant)>,
    /// Somebody was sent for it.
    is_rescued: bool,
    /// How many tasks were behind it then that others can take.
    shared: usize,
    /// It was reported, or need not be.
    is_reported: bool,
    /// Those that are delayed need not be told of.
    is_told: bool,
    /// What was next in its ring and its slot, and since when.
    next: (u64, usize),
    next_since: Option<Instant>,
    /// Whether something that could run stays on its thread; that is found out once.
    pins: Option<bool>,
    /// It is known that this one's poll is long.
    noted: Option<TaskId>,
}

impl Seen {
    const NOTHING: Self = Self {
        polls: 0,
        usual: None,
        since: None,
        spent: None,
        is_rescued: false,
        shared: 0,
        is_reported: false,
        is_told: false,
        next: (0, 0),
        next_since: None,
        pins: None,
        noted: None,
    };
}

impl Look {
    pub(super) fn new(pool: &Arc<Pool>) -> Self {
        Self {
            pool: Arc::as_ptr(pool),
            workers: Vec::new(),
            looks: Vec::new(),
            threads: Vec::new(),
            stand_ins: 0,
            looked: None,
            has_long_poll: false,
            last_held: None,
            known: VecDeque::new(),
            walked: None,
            reports: Reports::default(),
        }
    }

    pub(super) fn is_of(&self, pool: &Arc<Pool>) -> bool {
        self.pool == Arc::as_ptr(pool)
    }

    pub(super) fn has_stand_ins(&self) -> bool {
        self.stand_ins > 0
    }

    /// Somebody was in a poll at the last look that was longer than a tick.
    pub(super) fn has_long_poll(&self) -> bool {
        self.has_long_poll
    }

    /// Somebody was held for too long, and not long ago: who burnt once does so again.
    pub(super) fn had_hogs(&self, now: Instant) -> bool {
        self.last_held.is_some_and(|last| now.saturating_duration_since(last) <= STAY)
    }

    /// It was called: what runs now has just begun.
    pub(super) fn begin_anew(&mut self) {
        self.looked = None;
    }

    /// When the next poll will have been too long, if it goes on. One that has just begun is probably over soon: it is left to the next tick.
    pub(super) fn is_due(&self, pool: &Pool, now: Instant) -> Option<Instant> {
        let (config, young) = (&pool.config, pool.config.tick() / 4);
        let since = self.workers.iter().filter(|seen| !seen.is_rescued).filter_map(|seen| seen.since);
        let old = since.filter(|since| now.saturating_duration_since(*since) >= young);
        let thresholds = [config.preempt_threshold, config.rescue_threshold];
        let due = old.flat_map(|since| thresholds.map(|threshold| since + threshold));
        // Whether one that was not seen before it was too long had a core all the time is known when it is seen again.
        let threshold = config.rescue_threshold;
        let is_late =
            |seen: &&Seen| !seen.is_rescued && seen.since.is_some_and(|since| now >= since + threshold);
        let late = self.workers.iter().filter(is_late).filter_map(|seen| seen.spent);
        due.chain(late.map(|(_, first_seen)| first_seen + threshold / 4)).filter(|due| *due > now).min()
    }

    pub(super) fn look(&mut self, pool: &Arc<Pool>, now: Instant) {
        let (threshold, tick) = (pool.config.preempt_threshold, pool.config.tick());
        // If it was long ago, a poll that is new now may be, too; but not that long, to be fair to it.
        let before = self.looked.replace(now).map_or(now, |before| now - tick.min(now - before));
        let (mut held_up, mut occupied) = (Vec::new(), 0);
        self.has_long_poll = false;
        self.mind_looks(pool);
        for station in pool.stations() {
            let Some(held) = self.held(station, before, now) else { continue };
            if !threshold.is_zero() && held >= threshold {
                station.hold.ask_to_yield(self.workers[station.index].polls);
            }
            self.note_long(pool, station, held, now);
            self.has_long_poll |= held > tick;
            occupied += usize::from(held >= pool.config.rescue_threshold / 2);
            if self.is_too_long(pool, station, held, now) {
                held_up.push((station, held));
            }
        }
        // Others see to sockets, timers and what comes from outside, unless all of them are in a long poll, too. Who sleeps may not know that it
        // is wanted: the one that was in the driver is held.
        let (anybody_free, mut stuck) = (occupied < pool.active(), 0);
        if anybody_free && !held_up.is_empty() && awaits_somebody(pool) {
            pool.notify();
        }
        if !held_up.is_empty() {
            pool.make_owed_calls();
        }
        for (station, _) in &held_up {
            if self.holds_up(pool, station, now) || !anybody_free && awaits_somebody(pool) {
                stuck += 1;
                self.rescue(pool, station);
            }
        }
        self.adjust(pool, held_up.len(), stuck, now);
        self.mind_slices(pool);
        for station in pool.stations() {
            let is_stuck = self.is_rescued(station);
            if station.hold.is_stuck() != is_stuck {
                station.hold.set_stuck(is_stuck);
            }
            if is_stuck {
                pool.seize(station);
                pool.send_back(station);
            }
        }
        if stuck > 0 {
            pool.notify(); // somebody takes what waits in slots, which nobody was woken for
        }
        held_up.iter().for_each(|(station, held)| self.tell(pool, station, *held, now)); // help comes first
    }

    /// A worker that was awake, and has not looked around since the last tick, does before its next poll: polls are long.
    fn mind_looks(&mut self, pool: &Pool) {
        self.looks.resize(pool.stations().count().max(self.looks.len()), 0);
        for (station, seen) in pool.stations().zip(&mut self.looks) {
            let looks = station.counters.looks.get();
            if std::mem::replace(seen, looks) == looks && is_busy(station) {
                station.counters.look_now();
            }
        }
    }

    /// Reports a stall; and who is delayed by it, as soon as there is somebody, once.
    fn tell(&mut self, pool: &Pool, station: &Station, held: Duration, now: Instant) {
        let seen = &mut self.workers[station.index];
        if !seen.is_rescued || held < pool.config.rescue_threshold.saturating_mul(WORTH_A_WORD) {
            return;
        }
        if !std::mem::replace(&mut seen.is_reported, true) {
            seen.is_told = true; // unless it is news
            let shared = seen.shared;
            if let Some(running) = self.is_news(pool, station, now) {
                let stall = Stall { station, running, held, shared };
                self.workers[station.index].is_told = stall.report(pool, &mut self.reports);
            }
        } else if !seen.is_told && !station.inbox.is_empty() {
            seen.is_told = true;
            stall::report_delayed(pool, station);
        }
    }

    /// As many stand-ins as workers are stuck, and for as long as anybody is held up now and then.
    fn adjust(&mut self, pool: &Arc<Pool>, held_up: usize, stuck: usize, now: Instant) {
        if held_up > 0 {
            self.last_held = Some(now);
        }
        let wanted = if self.had_hogs(now) { self.stand_ins.max(stuck) } else { 0 };
        if wanted == self.stand_ins {
            return;
        }
        self.stand_ins = wanted;
        pool.reinforced.store(wanted > 0, Relaxed);
        if let Err(error) = pool.reinforce(wanted, hire) {
            complain(format_args!("no stand-in for a worker of pool {}: {error}", pool.name));
        }
    }

    /// Hogs and stand-ins share the cores in short slices, as long as there are any: they are more than there are cores.
    fn mind_slices(&mut self, pool: &Pool) {
        let any = self.has_stand_ins();
        self.threads.resize(pool.stations().count().max(self.threads.len()), None);
        for (station, shortened) in pool.stations().zip(&mut self.threads) {
            let thread = station.thread();
            let wanted = thread.filter(|_| any);
            let before = std::mem::replace(shortened, wanted);
            if before == wanted {
                continue;
            }
            match (wanted, before.filter(|before| thread == Some(*before))) {
                (Some(thread), _) => thread::set_slice(thread, thread::SLICE),
                (None, Some(thread)) => thread::set_slice(thread, Duration::ZERO),
                (None, None) => {} // it is gone
            }
        }
    }

    /// Somebody is sent for the worker at `station`.
    fn rescue(&mut self, pool: &Pool, station: &Station) {
        let seen = &mut self.workers[station.index];
        if !std::mem::replace(&mut seen.is_rescued, true) {
            seen.shared = station.queued() + usize::from(!station.lifo.is_empty());
            pool.rescues.add_shared(1);
        }
    }

    /// Who it is that holds the worker, if it was not reported before: each task is once, and of those that were spawned at one place not
    /// all. The inner `None`: it has ended meanwhile.
    fn is_news(&mut self, pool: &Pool, station: &Station, now: Instant) -> Option<Option<TaskInfo>> {
        let task = station.hold.current().addr();
        if self.known.iter().any(|(known, ..)| *known == task) {
            return None;
        }
        let running = TaskInfo::running_at(pool, station);
        let Some(place) = running.as_ref().map(|running| running.spawned_at) else { return Some(None) };
        let lately = |(_, other, at): &(usize, _, Instant)| *other == place && now - *at < SAME_PLACE;
        let another = self.known.iter().any(lately);
        self.known.truncate(KNOWN - 1);
        self.known.push_front((task, place, now));
        (!another).then_some(running)
    }

    /// Somebody was sent for it, and it is in the same poll.
    fn is_rescued(&self, station: &Station) -> bool {
        self.workers.get(station.index).is_some_and(|seen| seen.is_rescued)
    }

    /// For how long the worker at `station` is in the same poll, about; `before` was the last look.
    fn held(&mut self, station: &Station, before: Instant, now: Instant) -> Option<Duration> {
        if self.workers.len() <= station.index {
            self.workers.resize(station.index + 1, Seen::NOTHING);
        }
        let seen = &mut self.workers[station.index];
        let polls = station.counters.polls.get();
        if !is_busy(station) || station.hold.current().is_null() {
            *seen = Seen::NOTHING;
            return None;
        }
        if seen.polls != polls || seen.since.is_none() {
            let begun = polls.wrapping_sub(seen.polls).min(u64::from(u32::MAX)) as u32;
            let since = Some(estimate(before, now, begun, seen.usual));
            let usual = (seen.since.is_some() && begun >= MANY).then(|| (now - before) / begun);
            *seen = Seen { polls, usual, since, ..Seen::NOTHING };
        }
        let next = (station.taken(), station.lifo.address());
        if std::mem::replace(&mut seen.next, next) != next || seen.next_since.is_none() {
            seen.next_since = Some(before);
        }
        seen.since.map(|since| now - since)
    }

    /// Whether somebody should come if anything waits.
    fn is_too_long(&mut self, pool: &Pool, station: &Station, held: Duration, now: Instant) -> bool {
        let threshold = pool.config.rescue_threshold;
        if threshold.is_zero() {
            return false;
        }
        let seen = &mut self.workers[station.index];
        let thread = station.thread();
        let spent = thread.and_then(thread::cpu_time);
        seen.spent = seen.spent.or(spent.map(|spent| (spent, now)));
        if station.hold.asks_for_rescue(seen.polls) {
            return true;
        }
        let has_run =
            spent.zip(seen.spent).is_none_or(|(spent, first)| has_had_a_core(first, spent, now, threshold));
        held >= threshold && (has_run || thread.and_then(thread::is_runnable) != Some(true))
    }

    /// Whether something is queued at `station`, and nobody has taken any of it for too long: others do, if they find the time.
    fn holds_up(&mut self, pool: &Pool, station: &Station, now: Instant) -> bool {
        let seen = &mut self.workers[station.index];
        let pins = *seen.pins.get_or_insert_with(|| {
            station.pinned.load(Relaxed) > 0 && !TaskInfo::held_up_at(pool, station).is_empty()
        });
        let is_any = station.queued() > 0 || !station.lifo.is_empty();
        let patience = match station.hold.asks_for_rescue(seen.polls) {
            true => Duration::ZERO,
            false => pool.config.rescue_threshold,
        };
        let is_served = seen.next_since.is_some_and(|since| now - since < patience);
        pins || !station.inbox.is_empty() || is_any && !is_served
    }

    /// The longest polls of the pool so far.
    fn note_long(&mut self, pool: &Pool, station: &Station, held: Duration, now: Instant) {
        if held <= pool.config.tick() {
            return; // it may have been seen once
        }
        let seen = &mut self.workers[station.index];
        let longest = {
            let mut longest = pool.longest_polls.lock();
            if seen.noted.is_some_and(|task| longest.lengthen(task, held)) {
                return;
            }
            // Who it is takes a walk over all tasks: not each time.
            let is_time =
                self.walked.is_none_or(|walked| now.saturating_duration_since(walked) >= WALKS_APART);
            longest.is_beaten_by(held) || is_time && longest.has_room_for(held)
        };
        if longest && let Some(task) = TaskInfo::running_at(pool, station) {
            (seen.noted, self.walked) = (Some(task.id), Some(now));
            pool.longest_polls.lock().put(LongPoll { time: held, task });
        }
    }
}

/// Whether a thread that has spent so much of the processor's time by now, and so much when it was first seen in a poll, has run for most of the time
/// in between, or at least for long. If it was not seen before, nobody knows: the watchdog may be late because it waited for a core itself.
fn has_had_a_core(first: (Duration, Instant), spent: Duration, now: Instant, threshold: Duration) -> bool {
    let (ran, since) = (spent.saturating_sub(first.0), now.saturating_duration_since(first.1));
    !since.is_zero() && ran >= (since / 2).min(threshold / 2)
}

/// Since when a worker is in a poll that it was not in `before`, at the last look: polls that were over when it began took as long as usual. If
/// nothing is known of them, for half of the time.
fn estimate(before: Instant, now: Instant, begun: u32, usual: Option<Duration>) -> Instant {
    let between = now - before;
    let earlier = usual.map_or(between / 2, |usual| usual.saturating_mul(begun.saturating_sub(1)));
    before + earlier.min(between)
}

/// Whether anything waits for a worker, no matter which.
fn awaits_somebody(pool: &Pool) -> bool {
    !pool.injector.is_empty() || pool.seam.is_free() && pool.awaits_anything()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// How many microseconds ago a poll began, if the last look was `between` microseconds ago and so many have begun since.
    fn ago(between: u64, begun: u32, usual: Option<u64>) -> u128 {
        let (before, micros) = (Instant::now(), Duration::from_micros);
        let now = before + micros(between);
        (now - estimate(before, now, begun, usual.map(micros))).as_micros()
    }

    #[test]
    fn a_poll_is_as_old_as_what_came_before_it_leaves_time_for() {
        assert_eq!(ago(1_500, 1, Some(10)), 1_500, "it was the first");
        assert_eq!(ago(1_500, 51, Some(10)), 1_000, "fifty took 500");
        assert_eq!(ago(1_500, 151, Some(10)), 0);
        assert_eq!(ago(1_500, 10_000, Some(10)), 0, "they were shorter than usual");
        assert_eq!(ago(1_500, u32::MAX, Some(u64::MAX / 2_000_000)), 0);
        assert_eq!(ago(1_500, 7, None), 750, "nothing is known of them");
        assert_eq!((ago(0, 1, None), ago(1_500, 0, Some(10))), (0, 1_500), "or was not counted yet");
    }

    #[test]
    fn who_waits_for_a_core_has_not_run() {
        let (begun, micros) = (Instant::now(), Duration::from_micros);
        let first = (micros(5_000), begun);
        let has_run = |ran: u64, since: u64| {
            has_had_a_core(first, micros(5_000 + ran), begun + micros(since), micros(2_000))
        };
        assert!(!has_run(0, 0), "it was not seen before");
        assert_eq!([has_run(0, 4_000), has_run(400, 4_000)], [false; 2]);
        assert_eq!([has_run(1_300, 1_300), has_run(300, 500), has_run(1_000, 4_000)], [true; 3]);
    }
}
