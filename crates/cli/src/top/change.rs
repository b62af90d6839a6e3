//! From two answers to what happens in a second, and from many to what happened lately.

use super::state::{Rates, State, Task, Work, Worker};
use std::collections::{HashMap, VecDeque};

/// So many answers are remembered: more than any screen is wide.
const REMEMBERED: usize = 512;

impl State {
    /// Fills in what happens in a second, by an answer before this one. `false`: that was of another program, or of another time.
    pub(super) fn compare(&mut self, before: &Self) -> bool {
        // Not by a clock on the wall, which may be set.
        let seconds = (self.uptime - before.uptime) / 1e9;
        if self.pid != before.pid || self.uptime < before.uptime {
            return false;
        }
        if seconds <= 0.0 {
            self.keep_rates(before);
            return true;
        }
        let known: HashMap<_, _> =
            before.workers.iter().map(|worker| (worker.place(), worker.totals)).collect();
        for worker in &mut self.workers {
            worker.rates =
                known.get(&worker.place()).and_then(|before| rates(worker.totals, *before, seconds));
        }
        self.polls =
            Some(self.workers.iter().filter_map(|worker| worker.rates).map(|rates| rates.polls).sum());
        let known: HashMap<_, _> = before.tasks.iter().map(|task| (task.id, task)).collect();
        for task in &mut self.tasks {
            task.compare(known.get(&task.id).copied(), seconds);
        }
        true
    }

    /// The same moment: nothing new is known.
    fn keep_rates(&mut self, before: &Self) {
        self.polls = before.polls;
        for (worker, before) in self.workers.iter_mut().zip(&before.workers) {
            worker.rates = before.rates;
        }
        let known: HashMap<_, _> = before.tasks.iter().map(|task| (task.id, task)).collect();
        for task in &mut self.tasks {
            let before = known.get(&task.id);
            (task.rate, task.share) = before.map_or((None, None), |before| (before.rate, before.share));
        }
    }
}

impl Worker {
    fn place(&self) -> (String, usize) {
        (self.pool.clone(), self.number)
    }
}

/// Counts never go back; if they do, these are not the same workers.
fn rates(now: Work, before: Work, seconds: f64) -> Option<Rates> {
    let rate = |now: u64, before: u64| Some(now.checked_sub(before)? as f64 / seconds);
    Some(Rates {
        polls: rate(now.polls, before.polls)?,
        steals: rate(now.steals, before.steals)?,
        parks: rate(now.parks, before.parks)?,
    })
}

impl Task {
    /// One that was not there before, or was not listed, began to count when it was spawned.
    fn compare(&mut self, before: Option<&Self>, seconds: f64) {
        let age = self.age.map(|age| age / 1e9);
        let (polls, busy, span) = match before {
            Some(before) => (before.polls, before.busy, Some(seconds)),
            None => (Some(0), Some(0.0), age),
        };
        let Some(span) = span.filter(|span| *span > 0.0) else { return };
        let polled = self.polls.zip(polls).and_then(|(now, before)| now.checked_sub(before));
        self.rate = polled.map(|polls| polls as f64 / span);
        let share = self.busy.zip(busy).map(|(now, before)| (now - before) / 1e9 / span);
        self.share = share.map(|share| share.clamp(0.0, 1.0));
    }
}

/// What happened lately; the newest is last.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) polls: VecDeque<f64>,
    pub(super) queued: VecDeque<f64>,
    pub(super) alive: VecDeque<f64>,
}

impl History {
    pub(super) fn add(&mut self, state: &State) {
        let new = [
            (&mut self.polls, state.polls),
            (&mut self.queued, Some(state.queued as f64)),
            (&mut self.alive, Some(state.alive as f64)),
        ];
        for (line, value) in new {
            line.extend(value);
            if line.len() > REMEMBERED {
                line.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(uptime_ms: u64, polls: u64, task: Option<(u64, u64, f64)>) -> State {
        let at_ms = 1_000_000_000 - 2 * uptime_ms; // somebody sets the clock back all the time
        let list: Vec<_> = task
            .map(|(polls, busy_ns, age_ms)| json!({"id": 1, "polls": polls, "busy_ns": busy_ns, "age_ms": age_ms}))
            .into_iter()
            .collect();
        let all = json!({"version": 1, "pid": 1, "at_ms": at_ms, "uptime_ms": uptime_ms, "tasks": {"list": list},
            "pools": [{"name": "main", "workers": [{"polls": polls, "steals": 0, "parks": 0}]}]});
        State::read(all.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn rates_are_differences_by_the_time_that_passed() {
        let before = at(1000, 100, Some((10, 1_000_000, 500.0)));
        let mut now = at(1500, 600, Some((20, 251_000_000, 1000.0)));
        assert!(now.compare(&before));
        assert_eq!(now.polls, Some(1000.0));
        assert_eq!((now.tasks[0].rate, now.tasks[0].share), (Some(20.0), Some(0.5)));
    }

    #[test]
    fn a_new_task_is_judged_by_its_whole_life() {
        let mut now = at(2000, 0, Some((10, 125_000_000, 250.0)));
        assert!(now.compare(&at(1000, 0, None)));
        assert_eq!((now.tasks[0].rate, now.tasks[0].share), (Some(40.0), Some(0.5)));
    }

    #[test]
    fn another_program_is_not_compared() {
        let mut again = at(10, 5, None);
        assert!(!again.compare(&at(5000, 100, None)), "it has begun anew");
        let mut back = at(6000, 50, None);
        assert!(back.compare(&at(5000, 100, None)));
        assert!(back.workers[0].rates.is_none(), "counts that went back");
    }

    #[test]
    fn history_is_bounded() {
        let (mut history, state) = (History::default(), at(1, 1, None));
        (0..2000).for_each(|_| history.add(&state));
        assert_eq!((history.alive.len(), history.polls.len()), (REMEMBERED, 0), "no rate was known");
    }
}
