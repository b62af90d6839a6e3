//! A dump as people read it: pools first, then the tree. Of those that are alike, and in the same place, three are shown.

use super::human::{Number, Time};
use super::{Alike, Backtrace, Dump, DumpedPool, DumpedTask, Frame, LockHolder};
use crate::inspect::Blocked;
#[cfg(all(unix, feature = "console"))]
use crate::inspect::TaskInfo;
use crate::task::TaskId;
use ropewalk_core::blocked::Reason;
use std::collections::HashMap;
use std::fmt::{self, Formatter, Write};
use std::num::NonZeroU64;

/// So many of those that are alike are shown.
const SHOWN: u64 = 3;
/// Those that are further down the tree are shown as if they were here.
const DEEPEST: usize = 40;

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (mut total, pools) = (0, self.pools.len());
        self.pools.iter().for_each(|pool| total += pool.tasks());
        let plural = |count, one: &'static str| if count == 1 { one.to_owned() } else { format!("{one}s") };
        write!(f, "ropewalk: {} {} alive", Number(total), plural(total, "task"))?;
        writeln!(f, " in {pools} {}, found in {}", plural(pools as u64, "pool"), Time(self.took))?;
        self.pools.iter().try_for_each(|pool| writeln!(f, "{pool}"))?;
        if !self.tasks.is_empty() {
            writeln!(f)?;
            Tree::of(self).write(f)?;
        }
        self.write_notes(f)
    }
}

impl fmt::Display for DumpedPool {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (noun, workers) = (if self.name == "blocking" { "thread" } else { "worker" }, self.workers);
        write!(f, "pool {}: {workers} {noun}{}", self.name, if workers == 1 { "" } else { "s" })?;
        let states = [
            ("running", self.running),
            ("queued", self.queued),
            ("ending", self.ending),
            ("waiting", self.waiting),
        ];
        for (state, count) in states.into_iter().filter(|(_, count)| *count > 0) {
            write!(f, ", {} {state}", Number(count))?;
        }
        let known = self.waiting_for.iter().map(|(reason, count)| format!("{} for {reason}", Number(*count)));
        let unknown = Some(self.unobserved()).filter(|count| *count > 0);
        let unknown = unknown.map(|count| format!("{} not observed", Number(count)));
        let waiting: Vec<_> = known.chain(unknown).collect();
        if waiting.is_empty() { Ok(()) } else { write!(f, " ({})", waiting.join("; ")) }
    }
}

impl Dump {
    /// What a task of it waits for, as it reads after "for", and for how long; if it does, and it is known.
    #[cfg(all(unix, feature = "console"))]
    pub(crate) fn waits(&self) -> impl Fn(&DumpedTask) -> Option<(String, std::time::Duration)> {
        let tree = Tree::of(self);
        move |task| {
            let blocked = task.info.observed.as_ref()?.blocked?;
            Some((tree.what(&blocked, task.held_by.as_ref()), blocked.since))
        }
    }

    /// As [`Dump::waits`], while nobody else is known.
    #[cfg(all(unix, feature = "console"))]
    pub(crate) fn waits_alone(info: &TaskInfo) -> Option<String> {
        let blocked = info.observed.as_ref()?.blocked?;
        Some(Tree { tasks: &[], alike: &[], names: HashMap::new() }.what(&blocked, None))
    }

    /// What the reader should know of what is not there.
    fn write_notes(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut note = |text: fmt::Arguments<'_>| writeln!(f, "note: {text}");
        if self.cut_short {
            note(format_args!("the time was over before all were counted (DumpOptions::time_limit)"))?;
        }
        if self.unlisted > 0 {
            let unlisted = Number(self.unlisted);
            note(format_args!("{unlisted} more are counted only (DumpOptions::max_tasks)"))?;
        }
        if self.pools.iter().any(|pool| pool.unobserved() > 0) {
            note(format_args!(
                "times and reasons are known of tasks with a name, or with Builder::observe(true)"
            ))?;
        }
        let waits_for_lock = |task: &DumpedTask| {
            let blocked = task.info.observed.as_ref().and_then(|observed| observed.blocked);
            blocked.is_some_and(|blocked| super::is_lock(blocked.reason))
        };
        if cfg!(not(feature = "deadlock_detection")) && self.tasks.iter().any(waits_for_lock) {
            note(format_args!("who holds a lock is known with the feature `deadlock_detection`"))?;
        }
        let is_missing = |task: &DumpedTask| matches!(task.backtrace, Backtrace::Missing(super::traces::OFF));
        if self.tasks.iter().any(is_missing) {
            note(format_args!("where strands wait is shown with the feature `backtraces`, on Linux"))?;
        }
        Ok(())
    }
}

/// The tree, with what is known of those in it by their ids.
struct Tree<'a> {
    tasks: &'a [DumpedTask],
    alike: &'a [Alike],
    names: HashMap<TaskId, &'a str>,
}

/// Children of one parent: how many of each sort were there, and how many of them were shown.
#[derive(Default)]
struct Level<'a> {
    sorts: Vec<(Sort<'a>, u64, u64)>,
    places: HashMap<Sort<'a>, usize>,
}

/// Alike, and in the same place.
type Sort<'a> = (usize, Option<&'a [Frame]>);

impl<'a> Tree<'a> {
    fn of(dump: &'a Dump) -> Self {
        let names = dump.tasks.iter().filter_map(|task| Some((task.info.id, task.info.name.as_deref()?)));
        Self { tasks: &dump.tasks, alike: &dump.alike, names: names.collect() }
    }

    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let tasks = self.tasks;
        let (mut levels, mut told) = (vec![Level::default()], vec![false; self.alike.len()]);
        for (at, task) in tasks.iter().enumerate() {
            while levels.len() > task.depth + 1 {
                self.close(f, levels.pop(), &mut told, levels.len())?;
            }
            levels.resize_with(task.depth + 1, Level::default); // somebody may have taken its parents out
            let is_leaf = tasks.get(at + 1).is_none_or(|next| next.depth <= task.depth);
            if levels[task.depth].shows(task) || !is_leaf {
                self.write_task(f, task)?;
                levels[task.depth].shown(task);
            }
        }
        while let Some(level) = levels.pop() {
            self.close(f, Some(level), &mut told, levels.len())?;
        }
        Ok(())
    }

    /// The last child of a parent was written: how many more there are.
    fn close(
        &self,
        f: &mut Formatter<'_>,
        level: Option<Level<'a>>,
        told: &mut [bool],
        depth: usize,
    ) -> fmt::Result {
        for ((alike, frames), count, shown) in level.into_iter().flat_map(|level| level.sorts) {
            let Some(of) = self.alike.get(alike) else { continue };
            let beyond = if std::mem::replace(&mut told[alike], true) {
                0
            } else {
                of.count.saturating_sub(of.listed)
            };
            let more = count - shown + beyond;
            if more > 0 {
                Indented(f, depth)
                    .line(0, format_args!("... and {} more like this{}", Number(more), of.age(frames)))?;
            }
        }
        Ok(())
    }

    fn write_task(&self, f: &mut Formatter<'_>, task: &DumpedTask) -> fmt::Result {
        let (info, mut out) = (&task.info, Indented(f, task.depth));
        let mut line = self.named(info.kind, info.id, info.name.as_deref());
        let blocked = info.observed.as_ref().and_then(|observed| observed.blocked);
        let state = if info.state == "ending" { "over, but for its children" } else { info.state };
        write!(line, " in {}: {state}", info.pool)?;
        if let Some(blocked) = blocked {
            write!(line, " {} for {}", Time(blocked.since), self.what(&blocked, task.held_by.as_ref()))?;
        }
        if task.depth == 0
            && let Some(parent) = info.parent
        {
            write!(line, " (child of {parent}, which is not listed)")?;
        }
        out.line(0, format_args!("{line}"))?;
        match &info.observed {
            None => out.line(2, format_args!("spawned at {}", info.spawned_at))?,
            Some(seen) => out.line(
                2,
                format_args!(
                    "spawned at {}, {} ago; {} polls, {} busy",
                    info.spawned_at,
                    Time(seen.age),
                    Number(seen.polls),
                    Time(seen.busy)
                ),
            )?,
        }
        match &task.backtrace {
            Backtrace::Frames(frames) => {
                frames.iter().try_for_each(|frame| out.line(2, format_args!("at {frame}")))
            }
            Backtrace::Missing(super::traces::OFF) | Backtrace::None => Ok(()), // it is said once, below
            Backtrace::Missing(why) => out.line(2, format_args!("no backtrace: {why}")),
        }
    }

    /// What it waits for, as it reads after "for".
    fn what(&self, blocked: &Blocked, held_by: Option<&LockHolder>) -> String {
        let (reason, what) = (blocked.reason, blocked.what);
        let mut text = match reason {
            Reason::Join | Reason::Blocking => {
                let noun = if reason == Reason::Join { "task" } else { "job" };
                format!("the end of {}", self.by_id(noun, what as u64))
            }
            Reason::Thread => format!("{reason} (id {what})"),
            Reason::Input | Reason::Output => format!("{reason} (descriptor {what})"),
            Reason::Other if what == 0 => reason.to_string(),
            _ => format!("{reason} at {what:#x}"),
        };
        if let Some(holder) = held_by {
            text += ", held by ";
            text += &match (holder.id, &holder.name) {
                (Some(id), name) => match name {
                    Some(name) => format!("{name:?} (task {id})"),
                    None => format!("task {id}"),
                },
                (None, Some(name)) => format!("thread {name:?}"),
                (None, None) => "a thread".to_owned(),
            };
        }
        if blocked.others > 0 {
            text += &format!(", and {} more", blocked.others);
        }
        text
    }

    fn by_id(&self, noun: &str, id: u64) -> String {
        let name = NonZeroU64::new(id).and_then(|id| self.names.get(&TaskId::new(id)));
        name.map_or_else(|| format!("{noun} {id}"), |name| format!("{name:?} ({noun} {id})"))
    }

    fn named(&self, noun: &str, id: TaskId, name: Option<&str>) -> String {
        name.map_or_else(|| format!("{noun} {id}"), |name| format!("{name:?} {noun} {id}"))
    }
}

impl<'a> Level<'a> {
    fn place(&mut self, task: &'a DumpedTask) -> usize {
        let frames = match &task.backtrace {
            Backtrace::Frames(frames) => Some(frames.as_slice()),
            _ => None,
        };
        let sort = (task.alike, frames);
        *self.places.entry(sort).or_insert_with(|| {
            self.sorts.push((sort, 0, 0));
            self.sorts.len() - 1
        })
    }

    /// One more. Whether it is one of the first.
    fn shows(&mut self, task: &'a DumpedTask) -> bool {
        let place = self.place(task);
        let (_, count, shown) = &mut self.sorts[place];
        *count += 1;
        *shown < SHOWN
    }

    fn shown(&mut self, task: &'a DumpedTask) {
        let place = self.place(task);
        self.sorts[place].2 += 1;
    }
}

impl Alike {
    fn age(&self, frames: Option<&[Frame]>) -> String {
        match self.longest {
            Some(longest) if frames.is_none() => format!(", at most {}", Time(longest)),
            _ => String::new(),
        }
    }
}

/// Lines that begin further to the right, up to a point.
struct Indented<'a, 'b>(&'a mut Formatter<'b>, usize);

impl Indented<'_, '_> {
    fn line(&mut self, deeper: usize, text: fmt::Arguments<'_>) -> fmt::Result {
        writeln!(self.0, "{:1$}{text}", "", 2 * (self.1.min(DEEPEST) + deeper))
    }
}
