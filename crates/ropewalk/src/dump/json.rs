//! A dump as programs read it.

use super::{Alike, Backtrace, Dump, DumpedPool, DumpedTask, Frame, LockHolder};
use crate::__json::Json;
use crate::inspect::Blocked;
use crate::task::TaskId;
use std::panic::Location;
use std::time::{Duration, UNIX_EPOCH};

/// Changed when a field goes, or means something else; not when one is added.
const VERSION: u64 = 1;

impl Dump {
    /// The same as JSON, on one line. Times are in nanoseconds, ids are numbers; what is not known is `null`.
    ///
    /// | in | fields |
    /// |---|---|
    /// | the whole | `version` (1), `at_ns` (since 1970), `took_ns`, `cut_short`, `unlisted`, `pools`, `tasks`, `alike` |
    /// | `pools[]` | `name`, `workers`, `tasks`, `running`, `queued`, `waiting`, `ending`, `unobserved`, `waiting_for` (how many by [`Reason`](crate::Reason)) |
    /// | `tasks[]` | `id`, `kind`, `name`, `pool`, `state`, `pinned`, `parent`, `depth`, `alike` (a place in the list of that name), `spawned_at`, `age_ns`, `polls`, `busy_ns`, `waits_for`, `backtrace`, `no_backtrace` (why not) |
    /// | `spawned_at` | `file`, `line`, `column` |
    /// | `waits_for` | `reason` (the name of a [`Reason`](crate::Reason)), `text`, `what` (an address; of tasks, jobs, threads and descriptors the number), `others`, `since_ns`, `held_by` |
    /// | `held_by` | `id`, `name` |
    /// | `backtrace[]` | `function`, `file`, `line`; the innermost first |
    /// | `alike[]` | `pool`, `kind`, `state`, `reason`, `parent`, `spawned_at`, `count`, `listed`, `longest_ns` |
    ///
    /// `version` changes when a field goes, or means something else. Fields may be added without that.
    ///
    /// ```
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
    /// assert!(runtime.dump().to_json().starts_with("{\"version\":1,"));
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    pub fn to_json(&self) -> String {
        let at = self.at.duration_since(UNIX_EPOCH).ok();
        let whole = Json::map([
            ("version", Json::Whole(VERSION)),
            ("at_ns", optional(at, nanos)),
            ("took_ns", nanos(self.took)),
            ("cut_short", Json::Bool(self.cut_short)),
            ("unlisted", Json::Whole(self.unlisted)),
            ("pools", Json::list(self.pools.iter().map(DumpedPool::json))),
            ("tasks", Json::list(self.tasks.iter().map(DumpedTask::json))),
            ("alike", Json::list(self.alike.iter().map(Alike::json))),
        ]);
        whole.to_string()
    }
}

fn optional<T>(value: Option<T>, json: impl FnOnce(T) -> Json) -> Json {
    value.map_or(Json::Null, json)
}

fn nanos(time: Duration) -> Json {
    Json::Whole(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn id(id: TaskId) -> Json {
    Json::Whole(id.get())
}

fn place(place: &Location<'_>) -> Json {
    Json::map([
        ("file", Json::text(place.file())),
        ("line", Json::Whole(place.line().into())),
        ("column", Json::Whole(place.column().into())),
    ])
}

impl DumpedPool {
    fn json(&self) -> Json {
        let waiting_for =
            self.waiting_for.iter().map(|(reason, count)| (format!("{reason:?}"), Json::Whole(*count)));
        Json::map([
            ("name", Json::text(&self.name)),
            ("workers", Json::Whole(self.workers as u64)),
            ("tasks", Json::Whole(self.tasks())),
            ("running", Json::Whole(self.running)),
            ("queued", Json::Whole(self.queued)),
            ("waiting", Json::Whole(self.waiting)),
            ("ending", Json::Whole(self.ending)),
            ("unobserved", Json::Whole(self.unobserved())),
            ("waiting_for", Json::map(waiting_for)),
        ])
    }
}

impl DumpedTask {
    fn json(&self) -> Json {
        let (info, seen) = (&self.info, self.info.observed.as_ref());
        let blocked = seen.and_then(|seen| seen.blocked);
        let (frames, why_not) = match &self.backtrace {
            Backtrace::Frames(frames) => (Json::list(frames.iter().map(Frame::json)), Json::Null),
            Backtrace::Missing(why) => (Json::Null, Json::text(*why)),
            Backtrace::None => (Json::Null, Json::Null),
        };
        Json::map([
            ("id", id(info.id)),
            ("kind", Json::text(info.kind)),
            ("name", optional(info.name.as_deref(), Json::text)),
            ("pool", Json::text(&info.pool)),
            ("state", Json::text(info.state)),
            ("pinned", Json::Bool(info.pinned)),
            ("parent", optional(info.parent, id)),
            ("depth", Json::Whole(self.depth as u64)),
            ("alike", Json::Whole(self.alike as u64)),
            ("spawned_at", place(info.spawned_at)),
            ("age_ns", optional(seen, |seen| nanos(seen.age))),
            ("polls", optional(seen, |seen| Json::Whole(seen.polls))),
            ("busy_ns", optional(seen, |seen| nanos(seen.busy))),
            ("waits_for", optional(blocked, |blocked| self.waits_for(&blocked))),
            ("backtrace", frames),
            ("no_backtrace", why_not),
        ])
    }

    fn waits_for(&self, blocked: &Blocked) -> Json {
        Json::map([
            ("reason", Json::text(format!("{:?}", blocked.reason))),
            ("text", Json::text(blocked.reason.to_string())),
            ("what", Json::Whole(blocked.what as u64)),
            ("others", Json::Whole(blocked.others.into())),
            ("since_ns", nanos(blocked.since)),
            ("held_by", optional(self.held_by.as_ref(), LockHolder::json)),
        ])
    }
}

impl LockHolder {
    fn json(&self) -> Json {
        Json::map([("id", optional(self.id, id)), ("name", optional(self.name.as_deref(), Json::text))])
    }
}

impl Frame {
    fn json(&self) -> Json {
        Json::map([
            ("function", Json::text(&self.function)),
            ("file", optional(self.file.as_deref(), Json::text)),
            ("line", optional(self.line, |line| Json::Whole(line.into()))),
        ])
    }
}

impl Alike {
    fn json(&self) -> Json {
        Json::map([
            ("pool", Json::text(&self.pool)),
            ("kind", Json::text(self.kind)),
            ("state", Json::text(self.state)),
            ("reason", optional(self.reason, |reason| Json::text(format!("{reason:?}")))),
            ("parent", optional(self.parent, id)),
            ("spawned_at", place(self.spawned_at)),
            ("count", Json::Whole(self.count)),
            ("listed", Json::Whole(self.listed)),
            ("longest_ns", optional(self.longest, nanos)),
        ])
    }
}
