//! The rows about strands.

use super::{Better, PLAIN, Row, Source};
use crate::peers::Peer::{
    Go, Java, May, Rayon, Ropewalk, RopewalkCt, RopewalkStrand, RopewalkStrandCt, RopewalkStrandRoam,
};

/// How far the echo server on strands may be from the one on tasks.
const WITHIN: f64 = 0.05;

/// Thousands of answers a second of the echo server on strands.
const fn rate(name: &'static str, problem: &'static str) -> Row {
    let (better, source) = (Better::Higher, Source::Value(problem));
    Row { unit: "k/s", better, source, target: Some(1.0 - WITHIN), ..echo(name) }
}

/// Another figure of it: less is better.
const fn beside(name: &'static str, problem: &'static str, field: &'static str) -> Row {
    Row { unit: "us", source: Source::Extra(problem, field), target: Some(1.0 + WITHIN), ..echo(name) }
}

/// It is judged by our own tasks.
const fn echo(name: &'static str) -> Row {
    Row { name, ours: RopewalkStrand, named: &[(Ropewalk, 1.0)], ..PLAIN }
}

/// Both on one thread.
const fn alone(row: Row) -> Row {
    Row { ours: RopewalkStrandCt, named: &[(RopewalkCt, 1.0)], ..row }
}

/// Strands that roam, beside tasks on as many workers.
const fn roaming(row: Row) -> Row {
    Row { ours: RopewalkStrandRoam, ..row }
}

pub const ROWS: &[Row] = &[
    Row {
        name: "strand_yield",
        source: Source::Value("strand_yield"),
        target: Some(38.0),
        stretch: Some(25.0),
        named: &[(May, 68.0), (Go, 120.0), (Java, 443.0)],
        ..PLAIN
    },
    Row {
        name: "strand_spawn_join",
        source: Source::Value("strand_spawn_join"),
        target: Some(120.0),
        named: &[(Go, 492.0), (Java, 940.0), (May, 1_103.0)],
        ..PLAIN
    },
    Row {
        name: "strand_spawn_join_2w",
        source: Source::Value("strand_spawn_join_2w"),
        target: Some(250.0),
        named: &[(Go, 498.0), (Java, 2_348.0), (May, 10_133.0)],
        ..PLAIN
    },
    // By the figure itself, which does not depend on how fast the machine is: a page, and what is beside the stack.
    Row {
        name: "mem_strand_rss",
        unit: "B",
        source: Source::Extra("mem_strand", "rss"),
        target: Some(4_400.0),
        absolute: true,
        ..PLAIN
    },
    Row { name: "mem_strand_heap", unit: "B", source: Source::Value("mem_strand"), ..PLAIN },
    Row {
        name: "mem_strand_allocations",
        unit: "calls",
        source: Source::Extra("mem_strand", "allocations"),
        ..PLAIN
    },
    Row {
        name: "fork_fib25",
        source: Source::Value("fork_fib25"),
        target: Some(10.0),
        stretch: Some(5.0),
        named: &[(Rayon, 10.0)],
        ..PLAIN
    },
    Row {
        name: "fork_fib32",
        unit: "ms",
        source: Source::Value("fork_fib32"),
        target: Some(3.6),
        named: &[(Rayon, 3.7)],
        ..PLAIN
    },
    Row { name: "fork_nqueens", unit: "ms", source: Source::Value("fork_nqueens"), ..PLAIN },
    Row { name: "fork_quicksort", unit: "ms", source: Source::Value("fork_quicksort"), ..PLAIN },
    Row { name: "fork_skynet", source: Source::Value("fork_skynet"), ..PLAIN },
    Row {
        name: "fork_matmul",
        unit: "M/s",
        better: Better::Higher,
        source: Source::Value("fork_matmul"),
        ..PLAIN
    },
    rate("strand_echo", "tcp_echo"),
    beside("strand_echo_p99", "tcp_echo", "p99"),
    beside("strand_echo_cpu", "tcp_echo", "cpu_us"),
    alone(rate("strand_echo_ct", "tcp_echo")),
    alone(beside("strand_echo_ct_p99", "tcp_echo", "p99")),
    alone(beside("strand_echo_ct_cpu", "tcp_echo", "cpu_us")),
    roaming(rate("strand_echo_roam", "tcp_echo")),
    roaming(beside("strand_echo_roam_p99", "tcp_echo", "p99")),
    roaming(beside("strand_echo_roam_cpu", "tcp_echo", "cpu_us")),
    rate("strand_echo_1c", "tcp_echo_1c"),
    beside("strand_echo_1c_p99", "tcp_echo_1c", "p99"),
    beside("strand_echo_1c_cpu", "tcp_echo_1c", "cpu_us"),
    alone(rate("strand_echo_1c_ct", "tcp_echo_1c")),
    alone(beside("strand_echo_1c_ct_p99", "tcp_echo_1c", "p99")),
    alone(beside("strand_echo_1c_ct_cpu", "tcp_echo_1c", "cpu_us")),
];
