//! One snapshot as plain text. There is no answer before it, so counts are since the beginning.

use super::figures::{UNKNOWN, or_unknown, time};
use super::rows::rows;
use super::state::{State, Task, Times};
use super::view::View;
use crate::show::{counted, grouped};

pub(super) fn text(state: &State, address: &str) -> String {
    let parts = [summary(state, address), times(state), workers(state), tasks(state)];
    plain(&parts.join("\n"))
}

/// Without the signs that are not everywhere; names stay as they are.
fn plain(text: &str) -> String {
    text.replace("µs", "us").replace(UNKNOWN, "-")
}

fn summary(state: &State, address: &str) -> String {
    let ended = if state.ended { ", ended" } else { "" };
    let blocking = &state.blocking;
    let mut text = format!(
        "{}, pid {}, up {}, at {address}{ended}\n{} alive, of these {}; {} queued, {}\n{}, {} running, {} queued; {} at {}\n",
        state.program,
        state.pid,
        time(state.uptime),
        grouped(state.alive),
        counted(state.strands, "strand"),
        grouped(state.queued),
        counted(state.timers, "timer"),
        counted(blocking.threads, "blocking thread"),
        counted(blocking.running, "job"),
        blocking.queued,
        counted(state.registered, "file"),
        if state.driver.is_empty() { "no driver" } else { &state.driver },
    );
    let bad =
        [(state.panics, "unhandled panic"), (state.rescues, "rescue"), (state.refused_waits, "refused wait")];
    for (count, what) in bad.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!("{}\n", counted(count, what));
    }
    text
}

fn times(state: &State) -> String {
    let line = |name: &str, times: &Times| {
        let nanos = [times.p50, times.p99, times.p999, times.max, times.mean];
        let shown = nanos.map(|nanos| if times.count == 0 { UNKNOWN.to_owned() } else { time(nanos) });
        row(&[name], &[shown.as_slice(), &[grouped(times.count)]].concat())
    };
    let headings = ["p50", "p99", "p999", "max", "mean", "count"].map(str::to_owned);
    let mut text = row(&["times"], &headings);
    text += &line("poll time", &state.poll_time);
    text += &line("wake to run", &state.wake_to_run);
    for longest in &state.longest {
        let name = longest.name.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
        text += &format!(
            "longest poll: {} by {} {}{name}, {}\n",
            time(longest.time),
            longest.kind,
            longest.task,
            longest.spawned_at
        );
    }
    text
}

fn workers(state: &State) -> String {
    let mut text = row(&["worker", "state"], &["queue", "polls", "steals", "parks"].map(str::to_owned));
    for worker in &state.workers {
        let totals = worker.totals;
        let figures = [worker.queued, totals.polls, totals.steals, totals.parks].map(grouped);
        text += &row(&[&format!("{} {}", worker.pool, worker.number), &worker.state], &figures);
    }
    text
}

fn row(texts: &[&str], figures: &[String]) -> String {
    let texts: String = texts.iter().map(|text| format!("{text:<14}")).collect();
    let figures: String = figures.iter().map(|figure| format!("{figure:>10}")).collect();
    format!("{texts}{figures}").trim_end().to_owned() + "\n"
}

/// As a tree, with everything that is known of each.
fn tasks(state: &State) -> String {
    let (alive, listed) = (state.tasks_alive, state.tasks.len() as u64);
    let mut text = match listed < alive {
        true => format!("tasks: {}, {} of them listed\n", grouped(alive), grouped(listed)),
        false => format!("tasks: {}\n", grouped(alive)),
    };
    if !state.observed {
        text += "not observed: times and reasons are known of tasks with a name only (Builder::observe)\n";
    }
    let mut view = View::new();
    (view.tree, view.sort, view.descending) = (true, super::rows::Column::Id, false);
    for row in rows(&state.tasks, &view) {
        let branch = row.branch.replace('│', "|").replace("├─", "+-").replace("└─", "+-");
        text += &format!("{branch}{}\n", task(row.task));
    }
    text
}

fn task(task: &Task) -> String {
    let mut text = format!("{} {}", task.kind, task.id);
    if let Some(name) = &task.name {
        text += &format!(" {name:?}");
    }
    text += &format!(", {}", task.state);
    if let Some(what) = &task.waits_for {
        text += &format!(" for {what} since {}", or_unknown(task.waits, time));
    }
    if let Some((polls, busy)) = task.polls.zip(task.busy) {
        let age = or_unknown(task.age, time);
        text += &format!(", {age} old, {}, {} busy", counted(polls, "poll"), time(busy));
    }
    text + &format!(", spawned at {}", task.spawned_at)
}
