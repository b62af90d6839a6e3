//! What the problems are about: the chapters of the report.

use super::Problem;

/// A chapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: &'static str,
    /// The folders of its problems.
    dirs: &'static [&'static str],
}

pub const GROUPS: &[Group] = &[
    Group {
        name: "Tasks",
        dirs: &[
            "yield_same",
            "yield_many",
            "spawn_join_one",
            "spawn_many_inside",
            "spawn_many_outside",
            "chained_spawn",
            "steal",
        ],
    },
    Group { name: "Memory", dirs: &["mem_task", "mem_base"] },
    Group { name: "Time", dirs: &["timer_churn", "timer_lateness"] },
    Group { name: "Sleeping and waking", dirs: &["idle_cpu", "wake_latency"] },
    Group { name: "Blocking and threads", dirs: &["blocking_round_trip", "blocking_10k", "matmul"] },
    Group { name: "Messages and events", dirs: &["pingpong", "oneshot", "event_hop", "channel"] },
    Group { name: "Locks", dirs: &["mutex", "semaphore"] },
    Group { name: "Transactions", dirs: &["stm"] },
    Group { name: "Sockets", dirs: &["tcp_echo", "tcp_10k", "http_hello"] },
    Group { name: "Strands", dirs: &["strand_yield", "strand_spawn_join", "mem_strand"] },
    Group { name: "Forks", dirs: &["fork_fib", "forks"] },
    Group { name: "Fairness", dirs: &["fair_recv_loop", "fair_burner", "fair_short_hogs", "hogs"] },
];

/// What `--quick` measures: something of each chapter.
const QUICK: &[&str] = &[
    "yield_same",
    "spawn_join_one",
    "spawn_many_inside",
    "mem_task",
    "mem_base_2w",
    "timer_churn",
    "timer_lateness_10k",
    "idle_cpu",
    "wake_latency",
    "blocking_round_trip",
    "pingpong_same",
    "oneshot",
    "mpmc_bounded",
    "mutex_shared",
    "stm_bank",
    "tcp_echo",
    "strand_yield",
    "strand_spawn_join",
    "mem_strand",
    "fork_fib25",
    "fork_nqueens",
    "fair_recv_loop",
    "fair_short_hogs_2w_1ms",
    "hogs_spin_tasks",
];

impl Problem {
    /// The chapter it belongs to.
    pub fn group(&self) -> &'static Group {
        GROUPS.iter().find(|group| group.dirs.contains(&self.dir)).expect("every folder is in a chapter")
    }

    /// Whether `--quick` measures it when nothing else is asked for.
    pub fn is_quick(&self) -> bool {
        QUICK.contains(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems;

    #[test]
    fn every_problem_is_in_one_chapter_and_no_chapter_is_empty() {
        for problem in problems::all() {
            let chapters = GROUPS.iter().filter(|group| group.dirs.contains(&problem.dir)).count();
            assert_eq!(chapters, 1, "{}", problem.name);
        }
        for dir in GROUPS.iter().flat_map(|group| group.dirs) {
            assert!(problems::all().any(|problem| problem.dir == *dir), "{dir}");
        }
    }

    #[test]
    fn a_quick_run_has_something_of_each_chapter() {
        for name in QUICK {
            assert!(Problem::named(name).is_some(), "{name}");
        }
        for group in GROUPS {
            let quick = problems::all().any(|problem| problem.is_quick() && problem.group() == group);
            assert!(quick, "{}", group.name);
        }
    }
}
