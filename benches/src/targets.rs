//! The rows of the report and what must be reached in each.
//!
//! A target was set as a figure beside the peers' figures on one quiet machine. Times move from machine to machine, so
//! what is judged is the ratio: the target divided by the figure that the best named peer had there must be reached
//! against the same peer measured in the same run. Of the named peers the best one that was measured counts.

mod hogs;
mod io;
mod strand;
mod sync;

use crate::peers::Peer::{self, Go, Limit, May, Rayon, Ropewalk, Smol, TokioCt, TokioMt};
use crate::problems::Problem;
use serde::{Deserialize, Serialize};

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Lower,
    Higher,
}

/// Where a row's figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The value of this problem's samples.
    Value(&'static str),
    /// An extra field of them.
    Extra(&'static str, &'static str),
    /// The first problem's value over the second's.
    Ratio(&'static str, &'static str),
}

/// A row of the report.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    pub unit: &'static str,
    pub better: Better,
    pub source: Source,
    /// Which of our forms is judged.
    pub ours: Peer,
    /// The figure to reach, and the one to go on to. Rows without are shown but not judged.
    pub target: Option<f64>,
    pub stretch: Option<f64>,
    /// What the named peers had where the target was set, best first.
    pub named: &'static [(Peer, f64)],
    /// The row in which those peers are compared, if it is not this one.
    pub named_in: Option<&'static str>,
    /// A ratio has no unit: it is judged as it is.
    pub absolute: bool,
}

const PLAIN: Row = Row {
    name: "",
    unit: "ns",
    better: Better::Lower,
    source: Source::Value(""),
    ours: Ropewalk,
    target: None,
    stretch: None,
    named: &[],
    named_in: None,
    absolute: false,
};

const KERNEL: &[Row] = &[
    Row {
        name: "yield_same",
        source: Source::Value("yield_same"),
        target: Some(35.0),
        named: &[(May, 68.0), (Go, 120.0), (Smol, 147.0), (TokioCt, 242.0), (TokioMt, 349.0)],
        ..PLAIN
    },
    Row {
        name: "yield_many",
        source: Source::Value("yield_many"),
        target: Some(25.0),
        named: &[(May, 36.0), (TokioMt, 43.0), (TokioCt, 63.0), (Smol, 242.0), (Go, 278.0)],
        ..PLAIN
    },
    Row {
        name: "spawn_join_one",
        source: Source::Value("spawn_join_one"),
        target: Some(100.0),
        stretch: Some(50.0),
        named: &[(TokioCt, 341.0), (TokioMt, 360.0), (Smol, 445.0), (Go, 492.0), (May, 1_103.0)],
        ..PLAIN
    },
    Row {
        name: "spawn_join_one_2w",
        source: Source::Value("spawn_join_one_2w"),
        target: Some(150.0),
        stretch: Some(110.0),
        named: &[(TokioCt, 339.0), (Go, 498.0), (TokioMt, 526.0), (Smol, 1_513.0)],
        ..PLAIN
    },
    Row {
        name: "spawn_poll_one",
        source: Source::Value("spawn_poll_one"),
        target: Some(50.0),
        named: &[(TokioCt, 341.0), (TokioMt, 360.0), (Smol, 445.0), (Go, 492.0), (May, 1_103.0)],
        named_in: Some("spawn_join_one"),
        ..PLAIN
    },
    Row {
        name: "spawn_many_inside",
        unit: "M/s",
        better: Better::Higher,
        source: Source::Value("spawn_many_inside"),
        target: Some(10.0),
        named: &[(TokioCt, 2.65), (Go, 1.9), (Rayon, 1.5), (Smol, 1.3), (TokioMt, 1.2)],
        ..PLAIN
    },
    Row {
        name: "spawn_many_work_1w",
        unit: "M/s",
        better: Better::Higher,
        source: Source::Value("spawn_many_work_1w"),
        ..PLAIN
    },
    Row {
        name: "spawn_many_work_2w",
        unit: "M/s",
        better: Better::Higher,
        source: Source::Value("spawn_many_work_2w"),
        ..PLAIN
    },
    Row {
        name: "spawn_many_speed_up",
        unit: "x",
        better: Better::Higher,
        source: Source::Ratio("spawn_many_work_2w", "spawn_many_work_1w"),
        target: Some(1.9),
        absolute: true,
        ..PLAIN
    },
    Row {
        name: "spawn_many_outside",
        unit: "M/s",
        better: Better::Higher,
        source: Source::Value("spawn_many_outside"),
        target: Some(5.0),
        named: &[(Rayon, 1.4), (Smol, 1.2), (TokioMt, 1.0)],
        ..PLAIN
    },
    Row {
        name: "chained_spawn",
        source: Source::Value("chained_spawn"),
        target: Some(60.0),
        named: &[(Go, 193.0), (Rayon, 207.0), (TokioCt, 233.0), (TokioMt, 390.0), (Smol, 831.0)],
        ..PLAIN
    },
    Row {
        name: "mem_task_heap",
        unit: "B",
        source: Source::Value("mem_task"),
        target: Some(64.0),
        named: &[(Smol, 97.0), (TokioMt, 128.0), (May, 343.0)],
        ..PLAIN
    },
    Row {
        name: "mem_task_rss",
        unit: "B",
        source: Source::Extra("mem_task", "rss"),
        target: Some(80.0),
        named: &[(Smol, 113.0), (TokioMt, 315.0), (Go, 2_614.0), (May, 7_807.0)],
        ..PLAIN
    },
    Row {
        name: "mem_task_allocations",
        unit: "calls",
        source: Source::Extra("mem_task", "allocations"),
        target: Some(1.01), // one; the hundredth is for tables that grow now and then
        absolute: true,
        ..PLAIN
    },
    Row {
        name: "timer_churn",
        source: Source::Value("timer_churn"),
        target: Some(80.0),
        stretch: Some(40.0),
        named: &[(Smol, 189.0), (Go, 227.0), (TokioCt, 348.0), (TokioMt, 843.0)],
        ..PLAIN
    },
    Row {
        name: "timer_churn_1m",
        source: Source::Value("timer_churn_1m"),
        target: Some(170.0),
        stretch: Some(110.0),
        named: &[(TokioCt, 295.0), (Go, 416.0), (Smol, 1_300.0)],
        ..PLAIN
    },
    Row {
        name: "timer_bytes",
        unit: "B",
        source: Source::Value("timer_bytes"),
        target: Some(64.0),
        named: &[(TokioMt, 112.0), (Go, 130.0), (Smol, 182.0)],
        ..PLAIN
    },
    Row {
        name: "timer_lateness_10k_p50",
        unit: "us",
        source: Source::Value("timer_lateness_10k"),
        target: Some(20.0),
        named: &[(Smol, 17.0), (May, 81.0), (Go, 532.0), (TokioMt, 1_040.0)],
        ..PLAIN
    },
    Row {
        name: "timer_lateness_10k_p99",
        unit: "us",
        source: Source::Extra("timer_lateness_10k", "p99"),
        target: Some(65.0),
        named: &[(Smol, 65.0), (May, 207.0), (Go, 1_098.0), (TokioMt, 1_950.0)],
        ..PLAIN
    },
    Row {
        name: "timer_lateness_10k_p999",
        unit: "us",
        source: Source::Extra("timer_lateness_10k", "p999"),
        ..PLAIN
    },
    Row {
        name: "timer_lateness_10k_max",
        unit: "us",
        source: Source::Extra("timer_lateness_10k", "max"),
        ..PLAIN
    },
    Row {
        name: "timer_lateness_100k_p50",
        unit: "us",
        source: Source::Value("timer_lateness_100k"),
        target: Some(20.0),
        named: &[(Smol, 12.0), (TokioMt, 1_163.0)],
        ..PLAIN
    },
    Row {
        name: "timer_lateness_100k_p99",
        unit: "us",
        source: Source::Extra("timer_lateness_100k", "p99"),
        target: Some(1_000.0),
        named: &[(TokioMt, 2_982.0), (Smol, 20_185.0)],
        ..PLAIN
    },
    Row {
        name: "timer_lateness_100k_p999",
        unit: "us",
        source: Source::Extra("timer_lateness_100k", "p999"),
        ..PLAIN
    },
    Row {
        name: "timer_lateness_100k_max",
        unit: "us",
        source: Source::Extra("timer_lateness_100k", "max"),
        ..PLAIN
    },
    Row {
        name: "latency_under_load_10k_p50",
        unit: "us",
        source: Source::Value("latency_under_load_10k"),
        target: Some(60.0),
        named: &[(Go, 4.5), (Smol, 77.0), (TokioMt, 1_819.0)],
        ..PLAIN
    },
    Row {
        name: "latency_under_load_10k_p99",
        unit: "us",
        source: Source::Extra("latency_under_load_10k", "p99"),
        target: Some(400.0),
        named: &[(Smol, 565.0), (TokioMt, 4_653.0), (Go, 13_238.0)],
        ..PLAIN
    },
    Row {
        name: "latency_under_load_10k_p999",
        unit: "us",
        source: Source::Extra("latency_under_load_10k", "p999"),
        ..PLAIN
    },
    Row {
        name: "latency_under_load_10k_max",
        unit: "us",
        source: Source::Extra("latency_under_load_10k", "max"),
        ..PLAIN
    },
    Row {
        name: "latency_under_load_10k_rate",
        unit: "M/s",
        better: Better::Higher,
        source: Source::Extra("latency_under_load_10k", "rate"),
        target: Some(0.99),
        named: &[(Smol, 0.99), (Go, 0.85), (TokioMt, 0.83)],
        ..PLAIN
    },
    Row {
        name: "latency_under_load_100k_p50",
        unit: "us",
        source: Source::Value("latency_under_load_100k"),
        target: Some(150.0),
        named: &[(Go, 5.0), (Smol, 283.0), (TokioMt, 60_293.0)],
        ..PLAIN
    },
    Row {
        name: "latency_under_load_100k_p99",
        unit: "us",
        source: Source::Extra("latency_under_load_100k", "p99"),
        target: Some(3_000.0),
        named: &[(Smol, 4_162.0), (TokioMt, 82_838.0), (Go, 182_452.0)],
        ..PLAIN
    },
    Row {
        name: "latency_under_load_100k_p999",
        unit: "us",
        source: Source::Extra("latency_under_load_100k", "p999"),
        ..PLAIN
    },
    Row {
        name: "latency_under_load_100k_max",
        unit: "us",
        source: Source::Extra("latency_under_load_100k", "max"),
        ..PLAIN
    },
    Row {
        name: "latency_under_overload_rate",
        unit: "M/s",
        better: Better::Higher,
        source: Source::Extra("latency_under_overload", "rate"),
        target: Some(3.0),
        named: &[(Smol, 1.33), (TokioCt, 1.26), (Go, 0.93), (TokioMt, 0.82)],
        ..PLAIN
    },
    Row {
        name: "idle_cpu",
        unit: "us",
        source: Source::Value("idle_cpu"),
        target: Some(0.0),
        absolute: true,
        ..PLAIN
    },
    Row {
        name: "idle_cpu_per_wake",
        source: Source::Extra("idle_cpu", "cpu_per_wake_ns"),
        target: Some(1.2), // times what tokio's current-thread runtime uses
        named: &[(TokioCt, 1.0)],
        ..PLAIN
    },
    Row {
        name: "mem_base_caller",
        unit: "B",
        source: Source::Value("mem_base_caller"),
        target: Some(16_384.0),
        absolute: true,
        ..PLAIN
    },
    Row { name: "mem_base_caller_rss", unit: "B", source: Source::Extra("mem_base_caller", "rss"), ..PLAIN },
    Row {
        name: "mem_base_2w",
        unit: "B",
        source: Source::Value("mem_base_2w"),
        target: Some(65_536.0),
        absolute: true,
        ..PLAIN
    },
    Row { name: "mem_base_2w_rss", unit: "B", source: Source::Extra("mem_base_2w", "rss"), ..PLAIN },
    Row {
        name: "mem_base_worker",
        unit: "B",
        source: Source::Value("mem_base_worker"),
        target: Some(8_192.0),
        absolute: true,
        ..PLAIN
    },
    Row { name: "mem_base_worker_rss", unit: "B", source: Source::Extra("mem_base_worker", "rss"), ..PLAIN },
    Row {
        name: "blocking_round_trip",
        source: Source::Value("blocking_round_trip"),
        target: Some(9_600.0),
        stretch: Some(3_000.0),
        named: &[(Smol, 9_638.0), (TokioMt, 10_419.0)],
        ..PLAIN
    },
    Row {
        name: "blocking_10k",
        unit: "ms",
        source: Source::Value("blocking_10k"),
        target: Some(60.0),
        named: &[(TokioMt, 73.0), (TokioCt, 87.0), (Smol, 108.0)],
        ..PLAIN
    },
    Row { name: "blocking_10k_warm", unit: "ms", source: Source::Extra("blocking_10k", "warm_ms"), ..PLAIN },
    Row {
        name: "wake_latency",
        unit: "us",
        source: Source::Value("wake_latency"),
        target: Some(12.8), // 1.1 times the limit
        named: &[(Limit, 11.6)],
        ..PLAIN
    },
    Row {
        name: "wake_latency_p99",
        unit: "us",
        source: Source::Extra("wake_latency", "p99"),
        target: Some(40.7),
        named: &[(Limit, 37.0)],
        ..PLAIN
    },
    Row {
        name: "steal",
        source: Source::Value("steal"),
        target: Some(500.0),
        named: &[(Limit, 142.0)],
        ..PLAIN
    },
    Row {
        name: "migration",
        source: Source::Value("migration"),
        target: Some(300.0),
        named: &[(Limit, 142.0)],
        ..PLAIN
    },
    Row {
        name: "matmul_1t",
        unit: "M/s",
        better: Better::Higher,
        source: Source::Value("matmul_1t"),
        ..PLAIN
    },
    Row {
        name: "matmul_2t",
        unit: "M/s",
        better: Better::Higher,
        source: Source::Value("matmul_2t"),
        ..PLAIN
    },
    Row {
        name: "matmul_speed_up",
        unit: "x",
        better: Better::Higher,
        source: Source::Ratio("matmul_2t", "matmul_1t"),
        target: Some(1.95),
        absolute: true,
        ..PLAIN
    },
    Row {
        name: "matmul_echo",
        unit: "x",
        source: Source::Value("matmul_echo"),
        target: Some(1.5),
        absolute: true,
        ..PLAIN
    },
];

/// Every row, in the order of the report.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    KERNEL
        .iter()
        .chain(sync::ROWS)
        .chain(io::ROWS)
        .chain(strand::ROWS)
        .chain(hogs::ROWS)
        .chain(hogs::short::ROWS)
}

impl Row {
    /// The problems that are measured for it; it is shown with the first of them.
    pub fn problems(&self) -> impl Iterator<Item = &'static Problem> {
        let names = match self.source {
            Source::Value(name) | Source::Extra(name, _) => [Some(name), None],
            Source::Ratio(name, base) => [Some(name), Some(base)],
        };
        names.into_iter().flatten().filter_map(Problem::named)
    }
}

impl Better {
    /// Whether `a` is at least as good as `b`.
    pub fn reaches(self, a: f64, b: f64) -> bool {
        match self {
            Self::Lower => a <= b,
            Self::Higher => a >= b,
        }
    }

    /// The sign for a bound.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Lower => "<=",
            Self::Higher => ">=",
        }
    }

    /// The same where more than ASCII can be shown.
    pub fn sign_in_print(self) -> &'static str {
        match self {
            Self::Lower => "≤",
            Self::Higher => "≥",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(row: &Row) -> &'static Problem {
        row.problems().next().expect(row.name)
    }

    #[test]
    fn every_row_has_its_problems() {
        for row in rows() {
            assert!(!problem(row).peers.is_empty(), "{}", row.name);
            let wanted = if matches!(row.source, Source::Ratio(..)) { 2 } else { 1 };
            assert_eq!(row.problems().count(), wanted, "{}", row.name);
        }
    }

    #[test]
    fn named_peers_are_listed_best_first_and_are_measured() {
        for row in rows() {
            let ordered = row.named.windows(2).all(|pair| row.better.reaches(pair[0].1, pair[1].1));
            assert!(ordered, "{}", row.name);
            let compared = row.named_in.map_or(row, |name| rows().find(|row| row.name == name).unwrap());
            assert!(problem(row).peers.contains(&row.ours) && !row.ours.is_rival(), "{}", row.name);
            assert!(row.named.iter().all(|(peer, _)| problem(compared).peers.contains(peer)), "{}", row.name);
        }
    }
}
