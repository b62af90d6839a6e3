//! The tables.

use super::read::{Id, Line, Recording};
use crate::figure::{Column, Findings, Table, Value};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Everything there is to say, with the `top` longest of each.
pub(super) fn of(recording: &Recording<'_>, top: usize) -> Findings {
    let names = names(recording);
    let mut findings = Findings::default();
    findings.table(overview(recording));
    findings.table(workers(recording));
    findings.table(longest_polls(recording, top));
    wake_to_run(recording, &names, top).into_iter().for_each(|table| findings.table(table));
    findings.table(places(recording, top));
    spans(recording, top).into_iter().for_each(|table| findings.table(table));
    findings
}

/// What each task is called.
fn names<'a>(recording: &'a Recording<'_>) -> HashMap<u64, &'a str> {
    polls(recording).filter_map(|line| Some((line.args.task?, &*line.name))).collect()
}

fn polls<'a, 'b>(recording: &'a Recording<'b>) -> impl Iterator<Item = &'a Line<'b>> {
    recording.lines.iter().filter(|line| line.is_slice("poll"))
}

fn time(nanos: u64) -> Value {
    Value::Nanos(nanos as f64)
}

fn from(recording: &Recording<'_>) -> u64 {
    recording.lines.iter().map(Line::at).min().unwrap_or(recording.until)
}

/// A file may say anything: what is too much stays at the most.
fn total(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

/// A sum over those slices or instants.
fn sum(recording: &Recording<'_>, of: impl Fn(&Line<'_>) -> Option<u64>) -> Value {
    Value::Count(total(recording.lines.iter().filter_map(of)))
}

fn overview(recording: &Recording<'_>) -> Table {
    let mut table = Table::new(
        "the recording",
        [
            Column::new("program", "program"),
            Column::noted("span_ns", "time span", "from the oldest event until it was taken"),
            Column::noted("complete_ns", "complete", "of that, on all tracks"),
            Column::noted("tracks", "tracks", "workers, and other threads"),
            Column::noted("polls", "polls", ""),
            Column::noted("wakes", "wake-ups", "and spawns, that led to a poll"),
            Column::noted("steals", "steals", ""),
            Column::noted("stolen", "stolen", "tasks"),
            Column::noted("io_events", "I/O events", ""),
            Column::noted("timers", "timers", ""),
            Column::noted("lost", "lost", "events that were overwritten"),
        ],
    )
    .turned();
    let instants =
        |cat: &'static str| recording.lines.iter().filter(move |line| line.ph == "i" && line.cat == cat);
    table.row([
        Value::text(&recording.program),
        time(recording.until.saturating_sub(from(recording))),
        time(recording.until.saturating_sub(recording.complete_since.max(from(recording)))),
        Value::Count(recording.tracks.len() as u64),
        Value::Count(polls(recording).count() as u64),
        Value::Count(recording.lines.iter().filter(|line| line.ph == "s").count() as u64),
        Value::Count(instants("steal").count() as u64),
        Value::Count(total(instants("steal").filter_map(|line| line.args.count))),
        sum(recording, |line| line.args.events),
        sum(recording, |line| line.args.timers),
        Value::Count(total(recording.lost.values().copied())),
    ]);
    table
}

fn workers(recording: &Recording<'_>) -> Table {
    let mut table = Table::new(
        "who did how much",
        [
            Column::new("track", "track"),
            Column::new("seen_ns", "seen for"),
            Column::new("busy", "in polls"),
            Column::new("parked", "asleep"),
            Column::new("in_driver", "in the driver"),
            Column::new("polls", "polls"),
            Column::new("steals", "steals"),
            Column::new("io_events", "I/O"),
            Column::new("lost", "lost"),
        ],
    );
    for (tid, name) in &recording.tracks {
        let lines = || recording.lines.iter().filter(|line| line.tid == *tid);
        let slices = |cat: &'static str| lines().filter(move |line| line.is_slice(cat));
        let seen = recording.until.saturating_sub(lines().map(Line::at).min().unwrap_or(recording.until));
        let share = |took: u64| match seen {
            0 => Value::Absent,
            seen => Value::Share(took as f64 / seen as f64),
        };
        table.row([
            Value::text(name),
            time(seen),
            share(total(slices("poll").map(Line::took))),
            share(total(slices("park").map(Line::took))),
            share(total(slices("park").filter(|line| line.args.driver == Some(true)).map(Line::took))),
            Value::Count(slices("poll").count() as u64),
            Value::Count(lines().filter(|line| line.cat == "steal").count() as u64),
            Value::Count(total(slices("io").filter_map(|line| line.args.events))),
            recording.lost.get(name).map_or(Value::Absent, |lost| Value::Count(*lost)),
        ]);
    }
    table
}

fn task(id: Option<u64>) -> Value {
    id.map_or(Value::Absent, Value::Count)
}

fn longest_polls(recording: &Recording<'_>, top: usize) -> Table {
    let mut table = Table::new(
        "longest polls",
        [
            Column::new("took_ns", "took"),
            Column::new("task", "task"),
            Column::new("name", "name"),
            Column::new("spawned", "spawned at"),
            Column::new("at_ns", "at"),
            Column::new("track", "on"),
            Column::new("ended", "and then"),
        ],
    );
    let mut polls: Vec<_> = polls(recording).collect();
    polls.sort_by_key(|line| Reverse(line.took()));
    for line in polls.into_iter().take(top) {
        let text =
            |text: &Option<std::borrow::Cow<'_, str>>| Value::text(text.as_deref().unwrap_or_default());
        table.row([
            time(line.took()),
            task(line.args.task),
            Value::text(&*line.name),
            text(&line.args.spawned),
            time(line.at()),
            Value::text(recording.track(line.tid)),
            text(&line.args.ended),
        ]);
    }
    table
}

/// How long tasks waited for their turn, and the longest of these waits.
fn wake_to_run(recording: &Recording<'_>, names: &HashMap<u64, &str>, top: usize) -> [Table; 2] {
    let flows = |phase: &'static str| {
        recording.lines.iter().filter(move |line| line.ph == phase && line.cat == "wake")
    };
    let arrivals: HashMap<&Id<'_>, &Line<'_>> =
        flows("f").filter_map(|line| Some((line.id()?, line))).collect();
    let mut waits: Vec<(u64, &Line<'_>, &Line<'_>)> = flows("s")
        .filter_map(|line| {
            let ran = *arrivals.get(line.id()?)?;
            Some((ran.at().saturating_sub(line.at()), line, ran))
        })
        .collect();
    waits.sort_by_key(|(waited, ..)| *waited);
    let mut figures = Table::new(
        "from wake-up to run",
        [
            Column::new("count", "wake-ups"),
            Column::new("p50_ns", "p50"),
            Column::new("p99_ns", "p99"),
            Column::new("max_ns", "max"),
        ],
    );
    let quantile = |part: f64| {
        let at = (part * waits.len() as f64).ceil() as usize;
        waits.get(at.saturating_sub(1)).map_or(Value::Absent, |(waited, ..)| time(*waited))
    };
    figures.row([Value::Count(waits.len() as u64), quantile(0.5), quantile(0.99), quantile(1.0)]);
    let mut longest = Table::new(
        "longest waits for a turn",
        [
            Column::new("waited_ns", "waited"),
            Column::new("task", "task"),
            Column::new("name", "name"),
            Column::new("by", "woken by"),
            Column::new("at_ns", "at"),
            Column::new("from", "from"),
            Column::new("track", "ran on"),
        ],
    );
    for (waited, wake, ran) in waits.iter().rev().take(top) {
        let name = |id: Option<u64>| id.and_then(|id| names.get(&id)).copied();
        let by = match &wake.args.by {
            Some(Id::Number(by)) => format!("{by} {}", name(Some(*by)).unwrap_or_default()),
            Some(Id::Text(by)) => by.to_string(),
            None => String::new(),
        };
        longest.row([
            time(*waited),
            task(wake.args.task),
            Value::text(name(wake.args.task).unwrap_or_default()),
            Value::text(by.trim_end()),
            time(wake.at()),
            Value::text(recording.track(wake.tid)),
            Value::text(recording.track(ran.tid)),
        ]);
    }
    [figures, longest]
}

/// What was counted of a place, or of a span.
#[derive(Default)]
struct Tally {
    count: u64,
    total: u64,
    longest: u64,
}

impl Tally {
    fn add(&mut self, took: u64) {
        self.count += 1;
        self.total = self.total.saturating_add(took);
        self.longest = self.longest.max(took);
    }

    fn values(&self) -> [Value; 3] {
        [Value::Count(self.count), time(self.total), time(self.longest)]
    }
}

fn tallied<'a>(entries: impl Iterator<Item = (&'a str, u64)>, top: usize) -> Vec<(&'a str, Tally)> {
    let mut tallies: HashMap<&str, Tally> = HashMap::new();
    entries.for_each(|(key, took)| tallies.entry(key).or_default().add(took));
    let mut tallies: Vec<_> = tallies.into_iter().collect();
    tallies.sort_by_key(|(key, tally)| (Reverse(tally.total), *key));
    tallies.truncate(top);
    tallies
}

fn places(recording: &Recording<'_>, top: usize) -> Table {
    let mut table = Table::new(
        "where the time went",
        [
            Column::new("spawned", "spawned at"),
            Column::new("polls", "polls"),
            Column::new("busy_ns", "in all"),
            Column::new("longest_ns", "longest"),
        ],
    );
    let entries = polls(recording).map(|line| (line.args.spawned.as_deref().unwrap_or("?"), line.took()));
    for (place, tally) in tallied(entries, top) {
        table.row([Value::text(place)].into_iter().chain(tally.values()));
    }
    table
}

/// Spans of the user's, if there are any.
fn spans(recording: &Recording<'_>, top: usize) -> Option<Table> {
    let mut open: HashMap<&Id<'_>, Vec<u64>> = HashMap::new();
    let mut found: Vec<(&str, u64)> = Vec::new();
    for line in recording.lines.iter().filter(|line| line.cat == "span") {
        match (&*line.ph, line.id()) {
            ("X", _) => found.push((&line.name, line.took())),
            ("b", Some(id)) => open.entry(id).or_default().push(line.at()),
            ("e", Some(id)) => {
                if let Some(begun) = open.get_mut(id).and_then(Vec::pop) {
                    found.push((&line.name, line.at().saturating_sub(begun)));
                }
            }
            _ => {}
        }
    }
    if found.is_empty() {
        return None;
    }
    let mut table = Table::new(
        "spans",
        [
            Column::new("name", "name"),
            Column::new("count", "how often"),
            Column::new("total_ns", "in all"),
            Column::new("longest_ns", "longest"),
        ],
    );
    for (name, tally) in tallied(found.into_iter(), top) {
        table.row([Value::text(name)].into_iter().chain(tally.values()));
    }
    Some(table)
}
