//! Figures: what a stop of the tour found, typed once. The table for people and the JSON for machines are both made from
//! it, so they cannot disagree.

use crate::json::Json;
use ropewalk::WorkerState;
use std::time::Duration;

/// One figure, in its base unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Count(u64),
    /// Per second.
    Rate(f64),
    /// Nanoseconds.
    Nanos(f64),
    Bytes(f64),
    /// A small number with a fraction.
    Ratio(f64),
    /// A part of a whole: 1 is all of it.
    Share(f64),
    Text(String),
    /// There is no such figure here.
    Absent,
}

impl Value {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn time(time: Duration) -> Self {
        Self::Nanos(time.as_nanos() as f64)
    }

    /// `time` divided among `parts`.
    pub(crate) fn share(time: Duration, parts: u64) -> Self {
        Self::Nanos(time.as_nanos() as f64 / parts.max(1) as f64)
    }

    /// How many of `things` there were in a second.
    pub(crate) fn rate(things: u64, time: Duration) -> Self {
        Self::Rate(things as f64 / time.as_secs_f64().max(1e-9))
    }

    fn json(&self) -> Json {
        match self {
            Self::Count(count) => Json::Whole(*count),
            Self::Rate(value)
            | Self::Nanos(value)
            | Self::Bytes(value)
            | Self::Ratio(value)
            | Self::Share(value) => Json::Real(*value),
            Self::Text(text) => Json::text(text),
            Self::Absent => Json::Null,
        }
    }
}

/// What the figures below it are. The key names the unit: `_ns`, `_per_s`, `_bytes`; counts have none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) key: &'static str,
    pub(crate) heading: &'static str,
    /// What the figure means, shown where there is room.
    pub(crate) note: &'static str,
}

impl Column {
    pub(crate) const fn new(key: &'static str, heading: &'static str) -> Self {
        Self { key, heading, note: "" }
    }

    pub(crate) const fn noted(key: &'static str, heading: &'static str, note: &'static str) -> Self {
        Self { key, heading, note }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Value>>,
    /// Shown with one line for each column: for tables with more columns than rows.
    pub(crate) turned: bool,
}

impl Table {
    pub(crate) fn new(title: &'static str, columns: impl IntoIterator<Item = Column>) -> Self {
        Self { title, columns: columns.into_iter().collect(), rows: Vec::new(), turned: false }
    }

    pub(crate) fn turned(mut self) -> Self {
        self.turned = true;
        self
    }

    pub(crate) fn row(&mut self, values: impl IntoIterator<Item = Value>) {
        let row: Vec<_> = values.into_iter().collect();
        assert_eq!(row.len(), self.columns.len(), "a row of {:?} has a value for each column", self.title);
        self.rows.push(row);
    }

    fn json(&self) -> Json {
        let entries = |row: &Vec<Value>| {
            Json::map(self.columns.iter().zip(row).map(|(column, value)| (column.key, value.json())))
        };
        Json::map([("title", Json::text(self.title)), ("rows", Json::list(self.rows.iter().map(entries)))])
    }
}

/// What workers were doing, moment by moment: a line for each worker.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub(crate) title: &'static str,
    pub(crate) workers: Vec<Vec<WorkerState>>,
    /// What was asked for at certain moments.
    pub(crate) marks: Vec<(usize, String)>,
}

impl Timeline {
    /// The letter a state has in JSON and in plain text.
    pub(crate) fn letter(state: WorkerState) -> char {
        match state {
            WorkerState::Busy => '#',
            WorkerState::Idle => '-',
            WorkerState::Polling => '~',
            WorkerState::Retiring => 'r',
            WorkerState::Vacant => '.',
        }
    }

    fn json(&self) -> Json {
        let line = |states: &Vec<WorkerState>| {
            Json::text(states.iter().map(|state| Self::letter(*state)).collect::<String>())
        };
        let marks = self
            .marks
            .iter()
            .map(|(at, what)| Json::map([("at", Json::Whole(*at as u64)), ("what", Json::text(what))]));
        Json::map([
            ("title", Json::text(self.title)),
            ("legend", Json::text("# busy, - idle, ~ polling, r retiring, . vacant")),
            ("workers", Json::list(self.workers.iter().map(line))),
            ("marks", Json::list(marks)),
        ])
    }
}

/// Something that must hold.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) what: String,
    pub(crate) held: bool,
}

/// Everything a stop has to show, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    pub(crate) tables: Vec<Table>,
    pub(crate) timeline: Option<Timeline>,
    pub(crate) checks: Vec<Check>,
}

impl Findings {
    pub(crate) fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    pub(crate) fn check(&mut self, held: bool, what: impl Into<String>) {
        self.checks.push(Check { what: what.into(), held });
    }

    pub(crate) fn held(&self) -> bool {
        self.checks.iter().all(|check| check.held)
    }

    /// The entries of the stop's JSON object that come from here.
    pub(crate) fn json(&self) -> Vec<(String, Json)> {
        let check =
            |check: &Check| Json::map([("what", Json::text(&check.what)), ("held", Json::Bool(check.held))]);
        let mut entries = vec![
            ("tables".to_owned(), Json::list(self.tables.iter().map(Table::json))),
            ("checks".to_owned(), Json::list(self.checks.iter().map(check))),
        ];
        entries.extend(self.timeline.iter().map(|timeline| ("timeline".to_owned(), timeline.json())));
        entries
    }
}
