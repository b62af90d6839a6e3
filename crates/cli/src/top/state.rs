//! What a console says, understood. What is missing counts as nothing; what is not known is ignored.

use crate::show::plain;
use serde_json::Value;

/// The version of the answer that is understood.
pub(super) const VERSION: u64 = 1;

/// Why something is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is no console's answer.
    NoAnswer(&'static str),
    /// It is one of another version.
    Version(u64),
}

/// Times are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) program: String,
    pub(super) pid: u64,
    /// The runtime has shut down; the rest is what it was last.
    pub(super) ended: bool,
    /// Since its console began.
    pub(super) uptime: f64,
    pub(super) observed: bool,
    pub(super) alive: u64,
    pub(super) strands: u64,
    /// Ready to run, on all workers and beside them.
    pub(super) queued: u64,
    pub(super) timers: u64,
    pub(super) rescues: u64,
    pub(super) pools: usize,
    pub(super) workers: Vec<Worker>,
    pub(super) poll_time: Times,
    pub(super) wake_to_run: Times,
    pub(super) longest: Vec<Longest>,
    pub(super) blocking: Blocking,
    pub(super) driver: String,
    pub(super) registered: u64,
    pub(super) panics: u64,
    pub(super) refused_waits: u64,
    pub(super) tasks_alive: u64,
    /// What was searched for, and how many have it.
    pub(super) search: String,
    pub(super) matching: u64,
    /// There was no time to look at all.
    pub(super) cut_short: bool,
    pub(super) tasks: Vec<Task>,
    /// Of all workers, in a second; once there was an answer before.
    pub(super) polls: Option<f64>,
}

/// Counts, and what they come to in a second.
#[derive(Clone, Debug, Default)]
pub(super) struct Worker {
    pub(super) pool: String,
    pub(super) number: usize,
    pub(super) state: String,
    pub(super) queued: u64,
    pub(super) totals: Work,
    pub(super) rates: Option<Rates>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub(super) polls: u64,
    pub(super) steals: u64,
    pub(super) parks: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    pub(super) polls: f64,
    pub(super) steals: f64,
    pub(super) parks: f64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Blocking {
    pub(super) threads: u64,
    pub(super) running: u64,
    pub(super) queued: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Longest {
    pub(super) time: f64,
    pub(super) task: u64,
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) spawned_at: String,
}

/// How long something takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    pub(super) count: u64,
    pub(super) mean: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) p999: f64,
    pub(super) max: f64,
    /// The end of each range, and how many were below it; ascending.
    buckets: Vec<(f64, u64)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Task {
    pub(super) id: u64,
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) pool: String,
    pub(super) state: String,
    pub(super) pinned: bool,
    pub(super) spawned_at: String,
    pub(super) parent: Option<u64>,
    pub(super) age: Option<f64>,
    pub(super) polls: Option<u64>,
    pub(super) busy: Option<f64>,
    pub(super) waits_for: Option<String>,
    pub(super) waits: Option<f64>,
    /// Polls in a second, and the part of it that they took, lately.
    pub(super) rate: Option<f64>,
    pub(super) share: Option<f64>,
}

impl State {
    /// Reads an answer.
    pub(super) fn read(text: &[u8]) -> Result<Self, Unread> {
        let no_answer = Unread::NoAnswer;
        let all: Value = serde_json::from_slice(text).map_err(|_| no_answer("its answer is no JSON"))?;
        let pools = all["pools"].as_array().ok_or(no_answer("its answer has no pools"))?;
        let version = all["version"].as_u64().ok_or(no_answer("its answer has no version"))?;
        if version != VERSION {
            return Err(Unread::Version(version));
        }
        let sum = |name: &str| pools.iter().map(|pool| count(pool, name)).sum::<u64>();
        let workers: Vec<Worker> = pools.iter().flat_map(Worker::all).collect();
        let (tasks, blocking) = (&all["tasks"], &all["blocking"]);
        let longest = pools.iter().flat_map(|pool| list(&pool["longest_polls"]));
        let mut longest: Vec<_> = longest.filter_map(Longest::read).collect();
        longest.sort_by(|one, other| other.time.total_cmp(&one.time));
        Ok(Self {
            program: text_of(&all, "program"),
            pid: count(&all, "pid"),
            ended: all["ended"].as_bool().unwrap_or(false),
            uptime: millis(&all, "uptime_ms").unwrap_or(0.0),
            observed: all["capabilities"]["observed"].as_bool().unwrap_or(false),
            alive: sum("alive"),
            strands: sum("strands"),
            queued: sum("injected") + workers.iter().map(|worker| worker.queued).sum::<u64>(),
            timers: sum("timers"),
            rescues: sum("rescues"),
            pools: pools.len(),
            poll_time: Times::of_all(pools.iter().map(|pool| &pool["poll_time"])),
            wake_to_run: Times::of_all(pools.iter().map(|pool| &pool["wake_to_run"])),
            longest,
            workers,
            blocking: Blocking {
                threads: count(blocking, "threads"),
                running: count(blocking, "running"),
                queued: count(blocking, "queued"),
            },
            driver: text_of(&all["io"], "driver"),
            registered: count(&all["io"], "registered"),
            panics: count(&all, "unhandled_panics"),
            refused_waits: count(&all, "refused_waits"),
            tasks_alive: count(tasks, "alive"),
            search: String::new(),
            matching: count(tasks, "matching"),
            cut_short: tasks["cut_short"].as_bool().unwrap_or(false),
            tasks: list(&tasks["list"]).iter().map(Task::read).collect(),
            polls: None,
        })
    }
}

impl Worker {
    fn all(pool: &Value) -> impl Iterator<Item = Self> {
        let read = |(number, worker): (usize, &Value)| Self {
            pool: text_of(pool, "name"),
            number,
            state: text_of(worker, "state"),
            queued: count(worker, "queued"),
            totals: Work {
                polls: count(worker, "polls"),
                steals: count(worker, "steals") + count(worker, "lifo_steals"),
                parks: count(worker, "parks"),
            },
            rates: None,
        };
        list(&pool["workers"]).iter().enumerate().map(read)
    }
}

impl Longest {
    fn read(longest: &Value) -> Option<Self> {
        Some(Self {
            time: longest["ns"].as_f64()?,
            task: count(longest, "task"),
            kind: text_of(longest, "kind"),
            name: longest["name"].as_str().map(plain),
            spawned_at: text_of(longest, "spawned_at"),
        })
    }
}

impl Times {
    /// Those of several pools together. What is known of one exactly is known of several to a range.
    fn of_all<'a>(pools: impl Iterator<Item = &'a Value>) -> Self {
        let all = pools.map(Self::read).filter(|times| times.count > 0);
        all.reduce(Self::and).unwrap_or_default()
    }

    fn read(times: &Value) -> Self {
        let nanos = |name: &str| times[name].as_f64().unwrap_or(0.0);
        let bucket =
            |bucket: &Value| (bucket[0].as_f64().unwrap_or(f64::INFINITY), bucket[1].as_u64().unwrap_or(0));
        Self {
            count: count(times, "count"),
            mean: nanos("mean_ns"),
            p50: nanos("p50_ns"),
            p99: nanos("p99_ns"),
            p999: nanos("p999_ns"),
            max: nanos("max_ns"),
            buckets: list(&times["buckets"]).iter().map(bucket).collect(),
        }
    }

    fn and(self, other: Self) -> Self {
        let mut buckets = self.buckets;
        buckets.extend(other.buckets);
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (count, max) = (self.count + other.count, self.max.max(other.max));
        let mean = (self.mean * self.count as f64 + other.mean * other.count as f64) / count.max(1) as f64;
        let mut both = Self { count, mean, max, buckets, ..Self::default() };
        (both.p50, both.p99, both.p999) = (both.quantile(0.5), both.quantile(0.99), both.quantile(0.999));
        both
    }

    /// The end of the range in which it is.
    fn quantile(&self, part: f64) -> f64 {
        let (wanted, mut below) = ((part * self.count as f64).ceil() as u64, 0);
        let found = self.buckets.iter().find(|(_, count)| {
            below += count;
            below >= wanted
        });
        found.map_or(self.max, |(end, _)| end.min(self.max))
    }
}

impl Task {
    fn read(task: &Value) -> Self {
        Self {
            id: count(task, "id"),
            kind: text_of(task, "kind"),
            name: task["name"].as_str().map(plain),
            pool: text_of(task, "pool"),
            state: text_of(task, "state"),
            pinned: task["pinned"].as_bool().unwrap_or(false),
            spawned_at: text_of(task, "spawned_at"),
            parent: task["parent"].as_u64(),
            age: millis(task, "age_ms"),
            polls: task["polls"].as_u64(),
            busy: task["busy_ns"].as_f64(),
            waits_for: task["waits_for"].as_str().map(plain),
            waits: millis(task, "waits_ms"),
            rate: None,
            share: None,
        }
    }

    /// Whether `wanted`, in lower case, is found in what is shown of it.
    pub(super) fn has(&self, wanted: &str) -> bool {
        let texts = [&self.kind, &self.state, &self.pool, &self.spawned_at];
        let optional = [&self.name, &self.waits_for];
        let mut all = texts.into_iter().chain(optional.into_iter().flatten());
        all.any(|text| text.to_lowercase().contains(wanted)) || self.id.to_string().contains(wanted)
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn count(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or(0)
}

fn millis(value: &Value, name: &str) -> Option<f64> {
    value[name].as_f64().map(|millis| millis * 1e6)
}

fn text_of(value: &Value, name: &str) -> String {
    value[name].as_str().map(plain).unwrap_or_default()
}

#[cfg(test)]
mod tests;
