//! What is to be written of a trace, line by line.

use super::data::{Event, Poll, SleepPlace, SpanRecord, Trace, TrackKind, What};
use super::wakes::WokenBy;
use crate::task::TaskId;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::panic::Location;
use std::time::Duration;

/// One line of the file.
pub(super) struct Line<'a> {
    pub(super) at: u64,
    /// Slices come before what happens in them.
    rank: u8,
    /// Of those, the longest first.
    pub(super) took: u64,
    pub(super) track: usize,
    pub(super) entry: Entry<'a>,
}

pub(super) enum Entry<'a> {
    Poll(&'a Poll),
    /// Where; `None`: it still sleeps.
    Park(Option<SleepPlace>),
    Io(u64),
    Timers(u64),
    /// A slice for a wake-up that happened in no other, or in one that went on for long after it.
    Alone(bool),
    FlowStart {
        id: usize,
        task: TaskId,
        by: WokenBy,
        new: bool,
    },
    FlowEnd {
        id: usize,
        new: bool,
    },
    /// A wake-up that led nowhere, yet.
    Woke {
        task: TaskId,
        spawned_at: &'static Location<'static>,
        new: bool,
    },
    Steal {
        task: TaskId,
        from: usize,
        count: u32,
    },
    Queue {
        whose: &'a str,
        tasks: u32,
    },
    PoolQueue {
        pool: &'a str,
        tasks: u32,
    },
    Span(&'a SpanRecord),
    SpanBegins {
        span: &'a SpanRecord,
        key: String,
    },
    SpanEnds {
        span: &'a SpanRecord,
        key: String,
    },
}

const SLICE: u8 = 0;
const INSIDE: u8 = 1;
/// What ends comes before what begins at the same time.
const ENDS: u8 = 0;

impl Trace {
    /// All of it, in the order of time.
    pub(super) fn lines(&self) -> Vec<Line<'_>> {
        let mut lines = Vec::new();
        for (track, one) in self.tracks.iter().enumerate() {
            one.events.iter().for_each(|event| self.add_event(track, event, &mut lines));
        }
        self.add_wakes(&mut lines);
        self.add_spans(&mut lines);
        lines.sort_by_key(|line| (line.at, line.rank, Reverse(line.took)));
        lines
    }

    fn add_event<'a>(&'a self, track: usize, event: &'a Event, lines: &mut Vec<Line<'a>>) {
        let at = nanos(event.at);
        let took = nanos(event.end().unwrap_or(self.until)).saturating_sub(at);
        let mut add = |rank, entry| lines.push(Line { at, rank, took, track, entry });
        match &event.what {
            What::Poll(poll) => add(SLICE, Entry::Poll(poll)),
            What::Park { place, .. } => add(SLICE, Entry::Park(*place)),
            What::Io { count, .. } => add(SLICE, Entry::Io(*count)),
            What::Timers { count, .. } => add(SLICE, Entry::Timers(*count)),
            What::Steal { task, from, count } => {
                add(INSIDE, Entry::Steal { task: *task, from: *from, count: *count });
            }
            What::Queues { here, outside } => {
                if let TrackKind::Worker { pool, .. } = &self.tracks[track].kind {
                    add(INSIDE, Entry::Queue { whose: &self.tracks[track].name, tasks: *here });
                    add(INSIDE, Entry::PoolQueue { pool, tasks: *outside });
                }
            }
            What::Wake { .. } => {} // `add_wakes`
        }
    }

    fn add_wakes<'a>(&'a self, lines: &mut Vec<Line<'a>>) {
        let wakes = self.wakes();
        let led: HashMap<(TaskId, Duration), usize> = wakes
            .iter()
            .enumerate()
            .filter(|(_, wake)| wake.ran.is_some())
            .map(|(id, wake)| ((wake.task, wake.at), id))
            .collect();
        for (track, one) in self.tracks.iter().enumerate() {
            let mut covered = 0; // until when something goes on here
            for event in &one.events {
                let at = nanos(event.at);
                let What::Wake { task, spawned_at, new } = event.what else {
                    if !matches!(event.what, What::Steal { .. } | What::Queues { .. }) {
                        covered = covered.max(nanos(event.end().unwrap_or(self.until)));
                    }
                    continue;
                };
                let line = |rank, took, entry| Line { at, rank, took, track, entry };
                let Some(&id) = led.get(&(task, event.at)).filter(|id| wakes[**id].track == track) else {
                    lines.push(line(INSIDE, 0, Entry::Woke { task, spawned_at, new }));
                    continue;
                };
                // Arrows are drawn from where a slice ends: that must not be after the poll which they lead to has begun.
                let ran_before_end = wakes[id].ran.is_some_and(|(_, ran)| nanos(ran) < covered);
                if at >= covered || ran_before_end {
                    lines.push(line(SLICE, 1, Entry::Alone(new)));
                    covered = covered.max(at + 1);
                }
                lines.push(line(INSIDE, 0, Entry::FlowStart { id, task, by: wakes[id].by, new }));
                if let Some((track, ran)) = wakes[id].ran {
                    let entry = Entry::FlowEnd { id, new };
                    lines.push(Line { at: nanos(ran), rank: INSIDE, took: 0, track, entry });
                }
            }
        }
    }

    fn add_spans<'a>(&'a self, lines: &mut Vec<Line<'a>>) {
        // Until when spans go on, one inside the other, for each task and each set of them that is.
        let mut lanes: HashMap<(Option<TaskId>, usize), Vec<Vec<u64>>> = HashMap::new();
        let jobs: Vec<Vec<(u64, u64)>> =
            self.tracks.iter().map(|track| self.jobs(&track.kind, &track.events)).collect();
        for span in &self.spans {
            let (at, end) = (nanos(span.at), self.end_of(span));
            let owner = (span.task, if span.task.is_some() { 0 } else { span.track });
            let lanes = lanes.entry(owner).or_default();
            let lane = lanes.iter_mut().position(|lane| {
                while lane.last().is_some_and(|outer| *outer <= at) {
                    lane.pop();
                }
                lane.last().is_none_or(|outer| end <= *outer)
            });
            let lane = lane.unwrap_or_else(|| {
                lanes.push(Vec::new());
                lanes.len() - 1
            });
            lanes[lane].push(end);
            let line = |at, rank, took, entry| Line { at, rank, took, track: span.track, entry };
            let stays = span.ended_on.is_none_or(|track| track == span.track);
            if span.task.is_none() && lane == 0 && stays && self.fits(span, &jobs[span.track]) {
                lines.push(line(at, SLICE, end - at, Entry::Span(span)));
                continue;
            }
            let whose =
                span.task.map_or_else(|| format!("thread {}", span.track), |task| format!("task {task}"));
            let key = if lane == 0 { whose } else { format!("{whose}.{lane}") };
            lines.push(line(at, INSIDE, end - at, Entry::SpanBegins { span, key: key.clone() }));
            lines.push(line(end, ENDS, u64::MAX - (end - at), Entry::SpanEnds { span, key }));
        }
    }

    fn end_of(&self, span: &SpanRecord) -> u64 {
        nanos(span.took.map_or(self.until, |took| span.at + took)).max(nanos(span.at) + 1)
    }

    /// When jobs ran on a thread's track.
    fn jobs(&self, kind: &TrackKind, events: &[Event]) -> Vec<(u64, u64)> {
        let of = |event: &Event| (nanos(event.at), nanos(event.end().unwrap_or(self.until)));
        match kind {
            TrackKind::Worker { .. } => Vec::new(),
            TrackKind::Thread => {
                events.iter().filter(|event| matches!(event.what, What::Poll(_))).map(of).collect()
            }
        }
    }

    /// Whether it can be drawn among the jobs of its thread: in one, or while there is none.
    fn fits(&self, span: &SpanRecord, jobs: &[(u64, u64)]) -> bool {
        let (at, end) = (nanos(span.at), self.end_of(span));
        let next = jobs.partition_point(|(from, _)| *from <= at);
        let before = next.checked_sub(1).map(|last| jobs[last]);
        let beside = jobs.get(next).is_none_or(|(from, _)| end <= *from);
        self.tracks[span.track].kind == TrackKind::Thread
            && before.map_or(beside, |(_, to)| end <= to || to <= at && beside)
    }
}

pub(super) fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}
