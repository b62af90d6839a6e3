//! The rows about tasks that hold their worker.

pub mod short;

use super::{PLAIN, Row, Source};
use crate::peers::Peer::{Go, May, Smol, Std, TokioMt};

/// The median of how late ticks were.
const fn p50(name: &'static str, problem: &'static str) -> Row {
    Row { name, unit: "us", source: Source::Value(problem), ..PLAIN }
}

/// The tail.
const fn tail(name: &'static str, problem: &'static str, field: &'static str) -> Row {
    Row { name, unit: "us", source: Source::Extra(problem, field), ..PLAIN }
}

pub const ROWS: &[Row] = &[
    Row {
        target: Some(100.0),
        named: &[(Std, 62.0), (May, 63.0), (Go, 18_088.0), (Smol, 48_759.0), (TokioMt, 99_615.0)],
        ..p50("fair_burner_p50", "fair_burner")
    },
    Row {
        target: Some(1_000.0),
        named: &[(Std, 93.0), (May, 114.0), (Go, 38_273.0)],
        ..tail("fair_burner_p99", "fair_burner", "p99")
    },
    tail("fair_burner_p999", "fair_burner", "p999"),
    Row { target: Some(5_000.0), absolute: true, ..tail("fair_burner_max", "fair_burner", "max") },
    Row { target: Some(3_000.0), absolute: true, ..tail("fair_burner_first", "fair_burner", "first") },
    p50("hogs_spin_tasks_p50", "hogs_spin_tasks"),
    tail("hogs_spin_tasks_p99", "hogs_spin_tasks", "p99"),
    tail("hogs_spin_tasks_max", "hogs_spin_tasks", "max"),
    tail("hogs_spin_tasks_first", "hogs_spin_tasks", "first"),
    p50("hogs_spin_starting_p50", "hogs_spin_starting"),
    tail("hogs_spin_starting_p99", "hogs_spin_starting", "p99"),
    tail("hogs_spin_starting_max", "hogs_spin_starting", "max"),
    tail("hogs_spin_starting_first", "hogs_spin_starting", "first"),
    p50("hogs_spin_strands_p50", "hogs_spin_strands"),
    tail("hogs_spin_strands_p99", "hogs_spin_strands", "p99"),
    tail("hogs_spin_strands_max", "hogs_spin_strands", "max"),
    tail("hogs_spin_strands_first", "hogs_spin_strands", "first"),
    p50("hogs_read_tasks_p50", "hogs_read_tasks"),
    tail("hogs_read_tasks_p99", "hogs_read_tasks", "p99"),
    tail("hogs_read_tasks_max", "hogs_read_tasks", "max"),
    tail("hogs_read_tasks_first", "hogs_read_tasks", "first"),
    p50("hogs_read_starting_p50", "hogs_read_starting"),
    tail("hogs_read_starting_p99", "hogs_read_starting", "p99"),
    tail("hogs_read_starting_max", "hogs_read_starting", "max"),
    tail("hogs_read_starting_first", "hogs_read_starting", "first"),
    p50("hogs_read_strands_p50", "hogs_read_strands"),
    tail("hogs_read_strands_p99", "hogs_read_strands", "p99"),
    tail("hogs_read_strands_max", "hogs_read_strands", "max"),
    tail("hogs_read_strands_first", "hogs_read_strands", "first"),
    p50("hogs_lock_tasks_p50", "hogs_lock_tasks"),
    tail("hogs_lock_tasks_p99", "hogs_lock_tasks", "p99"),
    tail("hogs_lock_tasks_max", "hogs_lock_tasks", "max"),
    tail("hogs_lock_tasks_first", "hogs_lock_tasks", "first"),
    p50("hogs_lock_starting_p50", "hogs_lock_starting"),
    tail("hogs_lock_starting_p99", "hogs_lock_starting", "p99"),
    tail("hogs_lock_starting_max", "hogs_lock_starting", "max"),
    tail("hogs_lock_starting_first", "hogs_lock_starting", "first"),
    p50("hogs_lock_strands_p50", "hogs_lock_strands"),
    tail("hogs_lock_strands_p99", "hogs_lock_strands", "p99"),
    tail("hogs_lock_strands_max", "hogs_lock_strands", "max"),
    tail("hogs_lock_strands_first", "hogs_lock_strands", "first"),
];
