//! The report of a stall: who holds which worker, since when, whom that delays, and where the thread is.

use super::super::pool::Pool;
use super::super::station::Station;
use super::thread;
use crate::inspect::TaskInfo;
use crate::runtime::complain;
use std::fmt::Write;
use std::thread::JoinHandle;
use std::time::Duration;

/// So many of those who are delayed are named.
const NAMED: usize = 8;

/// A worker that is stuck.
pub(super) struct Stall<'a> {
    pub(super) station: &'a Station,
    pub(super) running: Option<TaskInfo>,
    pub(super) held: Duration,
    /// How many tasks were behind it that others can take, when somebody came.
    pub(super) shared: usize,
}

impl Stall<'_> {
    /// Says so on stderr. True: it names somebody who is delayed until it is over.
    pub(super) fn report(self, pool: &Pool, reports: &mut Reports) -> bool {
        let station = self.station;
        let pinned = TaskInfo::held_up_at(pool, station);
        let mut text = self.headline(&pool.name);
        let mut say = |line: std::fmt::Arguments<'_>| text.write_fmt(line).unwrap_or(());
        if !pinned.is_empty() {
            say(format_args!("\n  {}", delayed(&pinned)));
        }
        let doing = station.thread().map(thread::system_call);
        match &doing {
            Some(Some(call)) => say(format_args!("\n  its thread is in the system call {call}")),
            Some(None) => say(format_args!("\n  its thread computes; `preempt_point` would let it yield")),
            None => {}
        }
        reports.write(station, text);
        !pinned.is_empty()
    }

    fn headline(&self, pool: &str) -> String {
        let who = self.running.as_ref().map(|task| name(task) + ",");
        let who = who.unwrap_or_else(|| "a task that has ended since".to_owned());
        let behind = match self.shared {
            0 => "a stand-in sees to sockets, timers and what comes from outside".to_owned(),
            1 => "behind it: a task that a stand-in takes over".to_owned(),
            more => format!("behind it: {more} tasks that a stand-in takes over"),
        };
        format!(
            "{who} has held worker {} of pool {pool} for {:.1?}\n  {behind}",
            self.station.index, self.held
        )
    }
}

/// Those that are being written; dropping it waits for them.
#[derive(Default)]
pub(super) struct Reports(Vec<JoinHandle<()>>);

impl Reports {
    /// Writes a report, and where the thread is.
    #[cfg(all(feature = "backtraces", target_os = "linux"))]
    fn write(&mut self, station: &Station, text: String) {
        let trace = super::trace::of(station);
        // The names are read from the program's file, which takes its time: the watchdog has other things to do.
        let all = move || complain(format_args!("{text}{}", super::trace::named(&trace)));
        self.0.retain(|report| !report.is_finished());
        match std::thread::Builder::new().name("ropewalk-report".to_owned()).spawn(all) {
            Ok(report) => self.0.push(report),
            Err(error) => complain(format_args!("a report is lost: {error}")),
        }
    }

    #[cfg(not(all(feature = "backtraces", target_os = "linux")))]
    fn write(&mut self, _station: &Station, text: String) {
        complain(format_args!("{text}"));
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|report| drop(report.join()));
    }
}

/// Somebody else is delayed, by a task that was reported.
pub(super) fn report_delayed(pool: &Pool, station: &Station) {
    let (index, pinned) = (station.index, TaskInfo::held_up_at(pool, station));
    if !pinned.is_empty() {
        let delayed = delayed(&pinned);
        complain(format_args!("worker {index} of pool {} is still held\n  {delayed}", pool.name));
    }
}

fn delayed(pinned: &[TaskInfo]) -> String {
    let mut names: Vec<_> = pinned.iter().take(NAMED).map(name).collect();
    if pinned.len() > NAMED {
        names.push(format!("and {} more", pinned.len() - NAMED));
    }
    format!("delayed until it is over, because they stay on that thread: {}", names.join("; "))
}

/// A task as a report names it.
fn name(task: &TaskInfo) -> String {
    let name = task.name.as_ref().map_or(String::new(), |name| format!(" {name:?}"));
    format!("{} {}{name}, spawned at {}", task.kind, task.id, task.spawned_at)
}
