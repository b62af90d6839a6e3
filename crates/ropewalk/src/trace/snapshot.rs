//! From the tapes to a [`Trace`].

use super::data::{Event, Poll, PollEnd, PollKind, SleepPlace, SpanRecord, Trace, Track, TrackKind, What};
use crate::runtime::Shared;
use crate::sched::recorder::{self, Act, End, Noun, Slept};
use crate::task::TaskId;
use ropewalk_core::task::TaskRef;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::panic::Location;
use std::time::Duration;

/// What one worker or thread did, as it was recorded.
struct Raw {
    name: String,
    kind: TrackKind,
    events: Vec<recorder::Event>,
    lost: u64,
    /// Since when nothing is missing.
    since: u64,
}

/// Who went on when a parked stack was brought back, for each ticket: by when that was.
type Returns = HashMap<u64, Vec<(u64, u64, Place)>>;
/// Where a task was spawned.
type Place = &'static Location<'static>;

impl Trace {
    /// What the tapes of a runtime hold.
    pub(crate) fn of(shared: &Shared) -> Self {
        let recorder = &shared.recorder;
        let since = recorder.since();
        let mut raw: Vec<Raw> = recorder.reels().into_iter().map(|reel| of_worker(reel, since)).collect();
        let by = |raw: &Raw| match &raw.kind {
            TrackKind::Worker { pool, worker } => (pool != "main", pool.clone(), *worker),
            TrackKind::Thread => (true, String::new(), 0),
        };
        raw.sort_by_cached_key(by);
        number(&mut raw);
        raw.extend(of_threads(recorder.found_outside()));
        let until = recorder.now();
        // What takes time comes before what happens in it.
        let order = |event: &recorder::Event| (event.time, matches!(event.act, Act::Woken { .. }));
        raw.iter_mut().for_each(|raw| raw.events.sort_by_key(order));

        let returns = returns(&raw);
        let spans = spans(&raw);
        let tracks = raw.into_iter().map(|raw| {
            let Raw { name, kind, events, lost, since } = raw;
            let events = events.iter().filter_map(|event| translate(event, &returns)).collect();
            Track { name, kind, events, lost, since: Duration::from_nanos(since) }
        });
        Self {
            tracks: tracks.collect(),
            spans,
            started: recorder.started,
            until: Duration::from_nanos(until),
            events_per_worker: recorder.capacity(),
            names: names(shared),
        }
    }
}

/// `since`: when something was recorded first.
fn of_worker(reel: recorder::Reel, since: u64) -> Raw {
    let (events, lost) = reel.tape.copy();
    let begun = reel.tape.begun().unwrap_or(since); // who has not noticed yet is in one poll since then
    let since = begun.max(since).max(whole_since(events.first(), lost));
    let (pool, worker) = (reel.pool.to_string(), reel.worker);
    let (name, kind) = (format!("{pool}/worker {worker}"), TrackKind::Worker { pool, worker });
    Raw { name, kind, events, lost, since }
}

/// What was overwritten had happened by then. `first`: what is left of it, in the order in which it was written: when it was over, or when it
/// began, if it is not over.
fn whole_since(first: Option<&recorder::Event>, lost: u64) -> u64 {
    let written = |event: &recorder::Event| match event.act {
        Act::Poll { ended: Some((_, took)), .. }
        | Act::Parked { ended: Some((_, took)) }
        | Act::Io { took, .. }
        | Act::Timers { took, .. } => event.time + took,
        _ => event.time,
    };
    if lost == 0 { 0 } else { first.map_or(u64::MAX, written) }
}

/// A pool may come back under the name of one that has gone: then its workers have a number.
fn number(tracks: &mut [Raw]) {
    let mut known: HashMap<String, u32> = HashMap::new();
    for track in tracks {
        let times = known.entry(track.name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            track.name += &format!(" ({times})");
        }
    }
}

/// A track for each thread.
fn of_threads(found: recorder::Found) -> Vec<Raw> {
    let recorder::Found { events, since, lost, threads } = found;
    // They have one ring for all of them.
    let since = since.max(whole_since(events.first().map(|(_, event)| event), lost));
    let mut tracks: Vec<(u32, Raw)> = Vec::new();
    let mut places: HashMap<u32, usize> = HashMap::new();
    for (thread, event) in events {
        let at = *places.entry(thread).or_insert_with(|| {
            let name =
                threads.get(&thread).map_or_else(|| format!("thread {thread}"), |name| name.to_string());
            tracks.push((thread, Raw { name, kind: TrackKind::Thread, events: Vec::new(), lost, since }));
            tracks.len() - 1
        });
        tracks[at].1.events.push(event);
    }
    tracks.sort_by_key(|(thread, _)| *thread);
    tracks.into_iter().map(|(_, raw)| raw).collect()
}

fn task(id: u64) -> Option<TaskId> {
    NonZeroU64::new(id).map(TaskId::new)
}

/// A ticket's poll asks for a switch, and what runs next there is who went on.
fn returns(raw: &[Raw]) -> Returns {
    let mut returns = Returns::new();
    for track in raw {
        let mut switched = None;
        for event in &track.events {
            match event.act {
                Act::Poll { noun: Noun::Ticket, ended: Some((End::Switched, _)), .. } => {
                    switched = Some((event.id, event.time));
                }
                Act::Poll { resumed, place, .. } => {
                    if let (Some((ticket, time)), true) = (switched.take(), resumed) {
                        returns.entry(ticket).or_default().push((time, event.id, place));
                    }
                }
                _ => {}
            }
        }
    }
    returns.values_mut().for_each(|times| times.sort_unstable_by_key(|(time, ..)| *time));
    returns
}

/// What it means. `None`: nothing to those who look from outside.
fn translate(event: &recorder::Event, returns: &Returns) -> Option<Event> {
    let nanos = Duration::from_nanos;
    let what = match event.act {
        Act::Poll { noun: Noun::Ticket, .. } | Act::SpanBegins { .. } | Act::SpanEnds { .. } => return None,
        Act::Poll { place, noun, resumed, ended } => What::Poll(Poll {
            task: task(event.id)?,
            kind: match noun {
                Noun::Task => PollKind::Task,
                Noun::Strand => PollKind::Strand,
                Noun::Job => PollKind::Job,
                Noun::Root | Noun::Ticket => PollKind::Root,
            },
            spawned_at: place,
            resumed,
            took: ended.map(|(_, took)| nanos(took)),
            ended: ended.map(|(end, _)| match end {
                End::Waits | End::Switched => PollEnd::Waits,
                End::Woken => PollEnd::Woken,
                End::Yielded => PollEnd::Yielded,
                End::Done => PollEnd::Done,
                End::Parked => PollEnd::Parked,
            }),
        }),
        Act::Woken { ticket: true, .. } => {
            let (id, spawned_at) = brought_back(event, returns)?;
            What::Wake { task: task(id)?, spawned_at, new: false }
        }
        Act::Woken { place, new, ticket: false } => {
            What::Wake { task: task(event.id)?, spawned_at: place, new }
        }
        Act::Stolen { from, count } => What::Steal { task: task(event.id)?, from: from.into(), count },
        Act::Parked { ended } => What::Park {
            took: ended.map(|(_, took)| nanos(took)),
            place: ended.map(|(slept, _)| match slept {
                Slept::Driver => SleepPlace::Driver,
                Slept::StandingBy => SleepPlace::StandingBy,
                Slept::Own => SleepPlace::Own,
                Slept::Aside => SleepPlace::Aside,
                Slept::Guest => SleepPlace::Guest,
            }),
        },
        Act::Io { count, took } => What::Io { count, took: nanos(took) },
        Act::Timers { count, took } => What::Timers { count, took: nanos(took) },
        Act::Queues { here, outside } => What::Queues { here, outside },
    };
    Some(Event { at: nanos(event.time), what })
}

/// Who went on when this ticket was woken. `None`: that is not known, or nobody has, yet.
fn brought_back(event: &recorder::Event, returns: &Returns) -> Option<(u64, Place)> {
    let times = returns.get(&event.id)?;
    times.get(times.partition_point(|(time, ..)| *time < event.time)).map(|(_, task, place)| (*task, *place))
}

/// Beginnings and ends, put together.
fn spans(raw: &[Raw]) -> Vec<SpanRecord> {
    let all =
        || raw.iter().enumerate().flat_map(|(track, raw)| raw.events.iter().map(move |event| (track, event)));
    let ends: HashMap<u32, (usize, u64)> = all()
        .filter_map(|(track, event)| match event.act {
            Act::SpanEnds { number } => Some((number, (track, event.time))),
            _ => None,
        })
        .collect();
    let begun = all().filter_map(|(track, event)| match event.act {
        Act::SpanBegins { number, name } => Some((track, event, number, name)),
        _ => None,
    });
    let mut spans: Vec<(u64, u32, SpanRecord)> = begun
        .map(|(track, event, number, name)| {
            let end = ends.get(&number).filter(|(_, time)| *time >= event.time);
            let (at, took) = (Duration::from_nanos(event.time), end.map(|(_, time)| time - event.time));
            let span = SpanRecord {
                name,
                task: task(event.id),
                track,
                ended_on: end.map(|(track, _)| *track),
                at,
                took: took.map(Duration::from_nanos),
            };
            (event.time, number, span)
        })
        .collect();
    spans.sort_by_key(|(time, number, _)| (*time, *number));
    spans.into_iter().map(|(_, _, span)| span).collect()
}

fn names(shared: &Shared) -> HashMap<u64, String> {
    let ended = shared.recorder.names().into_iter().map(|(id, name)| (id, name.into_string()));
    let mut names: HashMap<u64, String> = ended.collect();
    let mut add = |task: &TaskRef| {
        names.extend(task.name().map(|name| (task.id().get(), name.to_owned())));
    };
    shared.pools().iter().for_each(|pool| pool.depot.for_each(|task| add(&task)));
    shared.blocking.jobs().iter().for_each(&mut add);
    names
}
