//! The rows about locks, channels and events.

use super::{Better, PLAIN, Row, Source};
use crate::peers::Peer::{
    self, Crossbeam, Flume, Go, Kanal, May, ParkingLot, Smol, Std, Stm, TokioCt, TokioMt,
};

type Named = &'static [(Peer, f64)];

/// Nanoseconds of one operation.
const fn time(name: &'static str, target: f64, named: Named) -> Row {
    Row { name, source: Source::Value(name), target: Some(target), named, ..PLAIN }
}

/// Messages a second.
const fn rate(name: &'static str, target: f64, named: Named) -> Row {
    Row { unit: "M/s", better: Better::Higher, ..time(name, target, named) }
}

/// The tail of a row of latencies; shown, not judged.
const fn tail(name: &'static str, problem: &'static str, field: &'static str) -> Row {
    Row { name, unit: "us", source: Source::Extra(problem, field), ..PLAIN }
}

pub const ROWS: &[Row] = &[
    time("pingpong_same", 90.0, &[(TokioCt, 165.0), (Go, 210.0), (May, 314.0), (Smol, 356.0)]),
    time("pingpong_2w", 100.0, &[(TokioCt, 166.0), (Go, 192.0), (TokioMt, 246.0)]),
    time(
        "pingpong_cross",
        450.0,
        &[(Crossbeam, 469.0), (Std, 5_600.0), (TokioMt, 6_884.0), (Smol, 7_152.0), (Go, 12_970.0)],
    ),
    Row { unit: "us", source: Source::Value("fair_recv_loop"), name: "fair_recv_loop_p50", ..PLAIN },
    Row {
        target: Some(100.0),
        named: &[(Std, 63.0), (May, 103.0), (TokioMt, 1_008.0), (Go, 19_137.0)],
        ..tail("fair_recv_loop_p99", "fair_recv_loop", "p99")
    },
    tail("fair_recv_loop_p999", "fair_recv_loop", "p999"),
    tail("fair_recv_loop_max", "fair_recv_loop", "max"),
    time(
        "mutex_free",
        15.0,
        &[
            (Std, 12.4),
            (ParkingLot, 12.8),
            (Go, 16.8),
            (May, 30.0),
            (Smol, 40.0),
            (TokioCt, 52.0),
            (TokioMt, 64.0),
        ],
    ),
    time(
        "mutex_shared",
        40.0,
        &[(ParkingLot, 26.0), (Go, 66.0), (TokioCt, 178.0), (TokioMt, 258.0), (Smol, 779.0)],
    ),
    time("mutex_yielding", 250.0, &[(TokioCt, 568.0), (TokioMt, 885.0), (Smol, 1_171.0)]),
    time("semaphore_free", 18.0, &[(Smol, 40.0), (TokioCt, 49.0), (TokioMt, 62.0)]),
    time("semaphore_shared", 60.0, &[(Smol, 160.0), (TokioCt, 169.0), (TokioMt, 245.0)]),
    time("semaphore_yielding", 250.0, &[(TokioCt, 549.0), (TokioMt, 852.0), (Smol, 1_293.0)]),
    time("oneshot", 30.0, &[(TokioCt, 57.0), (TokioMt, 61.0), (Smol, 506.0)]),
    time("event_hop", 50.0, &[(TokioCt, 113.0), (Smol, 294.0)]),
    Row {
        stretch: Some(50.0),
        ..rate(
            "spsc_bounded",
            35.0,
            &[
                (Crossbeam, 49.0),
                (Kanal, 24.0),
                (Flume, 20.0),
                (Go, 20.0),
                (TokioCt, 10.0),
                (TokioMt, 8.0),
                (Smol, 5.0),
            ],
        )
    },
    rate(
        "spsc_unbounded",
        40.0,
        &[(Kanal, 32.0), (Crossbeam, 20.0), (TokioCt, 16.0), (TokioMt, 13.0), (May, 11.0)],
    ),
    rate(
        "mpsc_bounded",
        32.0,
        &[(Kanal, 30.0), (Crossbeam, 20.0), (Go, 19.0), (TokioCt, 10.0), (TokioMt, 4.0)],
    ),
    rate("mpsc_unbounded", 38.0, &[(Kanal, 34.0), (Crossbeam, 31.0), (TokioCt, 16.0), (TokioMt, 6.0)]),
    rate("mpmc_bounded", 45.0, &[(Crossbeam, 49.0), (Kanal, 35.0), (Go, 10.5), (Flume, 3.3), (Smol, 2.2)]),
    rate("mpmc_unbounded", 38.0, &[(Kanal, 35.0), (Crossbeam, 28.0), (Smol, 4.3), (Flume, 3.6)]),
    rate("stm_counter", 8.0, &[(Stm, 1.0)]),
    rate("stm_bank", 15.0, &[(Stm, 4.0)]),
];
