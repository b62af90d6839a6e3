//! What the page shows, as JSON. `version` changes when a field goes or means something else; fields may be added without that.

use crate::__json::Json;
use crate::dump::{Dump, DumpedTask};
use crate::inspect::TaskInfo;
use crate::runtime::Handle;
use crate::task::TaskId;
use crate::{DumpOptions, Histogram, Metrics, PoolMetrics, WorkerMetrics, WorkerState};
use std::collections::HashSet;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const VERSION: u64 = 1;

/// For what, and for how long.
type Waits = Option<(String, Duration)>;

/// Of the runtime `shown`: figures, and as many as `most` of the tasks in which `wanted` is found. Rates go by `uptime_ms`, which is that of
/// the figures and does not jump as the clock on the wall may.
pub(super) fn json(shown: &Handle, begun: Instant, walk: &DumpOptions, most: usize, wanted: &str) -> Json {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let program = std::env::args_os().next().map(std::path::PathBuf::from);
    let program =
        program.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    let (metrics, uptime) = (shown.metrics(), begun.elapsed());
    let capabilities = [
        ("backtraces", Json::Bool(cfg!(all(feature = "backtraces", target_os = "linux")))),
        ("observed", Json::Bool(shown.config().observe)),
    ];
    let mut whole = vec![
        ("version", Json::Whole(VERSION)),
        ("program", Json::text(program.unwrap_or_default())),
        ("pid", Json::Whole(std::process::id().into())),
        ("ended", Json::Bool(shown.has_ended())),
        ("at_ms", Json::Whole(at.as_millis() as u64)),
        ("uptime_ms", millis(uptime)),
        ("capabilities", Json::map(capabilities)),
    ];
    whole.extend(figures(&metrics));
    whole.push(("tasks", tasks(shown, walk, most, wanted)));
    Json::map(whole)
}

fn millis(time: Duration) -> Json {
    Json::Real(time.as_micros() as f64 / 1e3)
}

fn nanos(time: Duration) -> Json {
    Json::Whole(time.as_nanos() as u64)
}

fn optional<T>(value: Option<T>, json: impl FnOnce(T) -> Json) -> Json {
    value.map_or(Json::Null, json)
}

fn figures(metrics: &Metrics) -> Vec<(&'static str, Json)> {
    let blocking = &metrics.blocking;
    let blocking = [
        ("threads", blocking.threads as u64),
        ("idle", blocking.idle as u64),
        ("queued", blocking.queued as u64),
        ("running", blocking.running as u64),
        ("finished", blocking.finished),
    ];
    let mut figures = vec![
        ("pools", Json::list(metrics.pools.iter().map(pool))),
        ("blocking", Json::map(blocking.map(|(name, value)| (name, Json::Whole(value))))),
        ("unhandled_panics", Json::Whole(metrics.unhandled_panics)),
        ("refused_waits", Json::Whole(metrics.refused_waits)),
    ];
    #[cfg(unix)]
    {
        let io = &metrics.io;
        let driver = optional(io.driver, |driver| Json::text(format!("{driver:?}").to_lowercase()));
        let io = [
            ("driver", driver),
            ("why", Json::text(&io.why)),
            ("registered", Json::Whole(io.registered)),
            ("polls", Json::Whole(io.polls)),
            ("events", Json::Whole(io.events)),
        ];
        figures.push(("io", Json::map(io)));
    }
    figures
}

fn pool(pool: &PoolMetrics) -> Json {
    let gauges = [
        ("alive", pool.alive),
        ("strands", pool.strands),
        ("injected", pool.injected as u64),
        ("active", pool.active as u64),
        ("stand_ins", pool.stand_ins as u64),
        ("retiring", pool.retiring as u64),
        ("searching", pool.searching as u64),
        ("sleeping", pool.sleeping as u64),
        ("timers", pool.timers as u64),
        ("rescues", pool.rescues),
    ];
    let longest = Json::list(pool.longest_polls.iter().map(|longest| {
        Json::map([
            ("ns", nanos(longest.time)),
            ("task", Json::Whole(longest.task.id.get())),
            ("name", optional(longest.task.name.as_deref(), Json::text)),
            ("kind", Json::text(longest.task.kind)),
            ("spawned_at", Json::text(longest.task.spawned_at.to_string())),
        ])
    }));
    let mut all = vec![("name", Json::text(&pool.name))];
    all.extend(gauges.map(|(name, value)| (name, Json::Whole(value))));
    all.extend([
        ("longest_polls", longest),
        ("poll_time", histogram(&pool.poll_time())),
        ("wake_to_run", histogram(&pool.wake_to_run())),
        ("workers", Json::list(pool.workers.iter().map(worker))),
    ]);
    Json::map(all)
}

fn histogram(histogram: &Histogram) -> Json {
    let buckets = histogram.buckets().filter(|(_, count)| *count > 0);
    let buckets = buckets.map(|(end, count)| Json::list([optional(end, nanos), Json::Whole(count)]));
    Json::map([
        ("count", Json::Whole(histogram.count())),
        ("mean_ns", nanos(histogram.mean())),
        ("p50_ns", nanos(histogram.quantile(0.5))),
        ("p99_ns", nanos(histogram.quantile(0.99))),
        ("p999_ns", nanos(histogram.quantile(0.999))),
        ("max_ns", nanos(histogram.max())),
        ("buckets", Json::list(buckets)),
    ])
}

fn worker(worker: &WorkerMetrics) -> Json {
    let state = match worker.state {
        WorkerState::Busy => "busy",
        WorkerState::Idle => "idle",
        WorkerState::Polling => "polling",
        WorkerState::Retiring => "retiring",
        WorkerState::Vacant => "vacant",
    };
    let figures = [
        ("queued", worker.queued as u64),
        ("pinned", worker.pinned as u64),
        ("parked_stacks", worker.parked_stacks as u64),
        ("polls", worker.polls),
        ("spawned", worker.spawned),
        ("finished", worker.finished),
        ("lifo_hits", worker.lifo_hits),
        ("injected", worker.injected),
        ("overflows", worker.overflows),
        ("searches", worker.searches),
        ("steals", worker.steals),
        ("lifo_steals", worker.lifo_steals),
        ("spins", worker.spins),
        ("spin_hits", worker.spin_hits),
        ("parks", worker.parks),
        ("wakes", worker.wakes),
        ("asides", worker.asides),
        ("budget_yields", worker.budget_yields),
        ("preemptions", worker.preemptions),
        ("waits_in_poll", worker.waits_in_poll),
        ("held", worker.held),
        ("timers_fired", worker.timers_fired),
        ("strands_started", worker.strands_started),
        ("strands_ended", worker.strands_ended),
    ];
    let figures = figures.map(|(name, value)| (name, Json::Whole(value)));
    Json::map([("state", Json::text(state))].into_iter().chain(figures))
}

/// Those in which `wanted` is found, with those that they stem from.
fn tasks(shown: &Handle, walk: &DumpOptions, most: usize, wanted: &str) -> Json {
    let (some, wanted) = (shown.dump_with(walk), wanted.to_lowercase());
    let alive = some.pools.iter().map(|pool| pool.tasks()).sum();
    let is_whole = !some.cut_short && some.tasks.len() as u64 >= alive;
    // Whose number is searched for is listed, however many there are that have it in their text.
    let exact = wanted.parse().ok().map(TaskId::new);
    let (dump, counted) = match wanted.is_empty() {
        true => (some, Some(alive)),
        false if is_whole => (some, None),
        // Some of those that are alike are missing there: all are looked at.
        false => {
            let is_wanted = |info: &TaskInfo| is_in(info, &wanted, Dump::waits_alone(info));
            let (dump, matching) = Dump::search(&shown.shared, walk, &is_wanted, exact);
            (dump, Some(matching))
        }
    };
    let waits = dump.waits();
    let text = |task: &DumpedTask| waits(task).map(|(text, _)| text);
    let is_found = |task: &&DumpedTask| wanted.is_empty() || is_in(&task.info, &wanted, text(task));
    let found: Vec<_> = dump.tasks.iter().filter(is_found).map(|task| task.info.id).collect();
    let matching = counted.unwrap_or(found.len() as u64);
    let mut ids: HashSet<_> = found.iter().copied().take(most).collect();
    ids.extend(found.iter().filter(|id| Some(**id) == exact));
    // In the order of the tree parents come first: going back, each is known before its own parent is looked at.
    for task in dump.tasks.iter().rev() {
        if ids.contains(&task.info.id) {
            ids.extend(task.info.parent);
        }
    }
    let list =
        dump.tasks.iter().filter(|task| ids.contains(&task.info.id)).map(|task| one(task, waits(task)));
    let list: Vec<_> = list.collect();
    Json::map([
        ("alive", Json::Whole(alive)),
        ("matching", Json::Whole(matching)),
        ("cut_short", Json::Bool(dump.cut_short)),
        ("listed", Json::Whole(list.len() as u64)),
        ("list", Json::List(list)),
    ])
}

/// Whether a text, in lower case, is found in anything that is shown of it.
fn is_in(info: &TaskInfo, wanted: &str, waits_for: Option<String>) -> bool {
    let shown = [info.kind, info.state, &info.pool, info.name.as_deref().unwrap_or_default()];
    let has = |text: &str| text.to_lowercase().contains(wanted);
    shown.into_iter().any(has)
        || has(&info.id.to_string())
        || has(&info.spawned_at.to_string())
        || waits_for.is_some_and(|text| has(&text))
}

fn one(task: &DumpedTask, waits: Waits) -> Json {
    let (info, seen) = (&task.info, task.info.observed.as_ref());
    Json::map([
        ("id", Json::Whole(info.id.get())),
        ("kind", Json::text(info.kind)),
        ("name", optional(info.name.as_deref(), Json::text)),
        ("pool", Json::text(&info.pool)),
        ("state", Json::text(info.state)),
        ("pinned", Json::Bool(info.pinned)),
        ("spawned_at", Json::text(info.spawned_at.to_string())),
        ("parent", optional(info.parent, |parent| Json::Whole(parent.get()))),
        ("age_ms", optional(seen, |seen| millis(seen.age))),
        ("polls", optional(seen, |seen| Json::Whole(seen.polls))),
        ("busy_ns", optional(seen, |seen| nanos(seen.busy))),
        ("waits_ms", optional(waits.as_ref(), |(_, since)| millis(*since))),
        ("waits_for", optional(waits, |(text, _)| Json::text(text))),
    ])
}
