//! The rows about sockets.

use super::{Better, PLAIN, Row, Source};
use crate::peers::Peer::{self, Go, Limit, Monoio, Smol, TokioCt, TokioMt};

type Named = &'static [(Peer, f64)];

/// Thousands of answers a second.
const fn rate(name: &'static str, target: f64, named: Named) -> Row {
    let source = Source::Value(name);
    Row { name, unit: "k/s", better: Better::Higher, source, target: Some(target), named, ..PLAIN }
}

/// Another figure of the same problem; shown, not judged.
const fn beside(name: &'static str, unit: &'static str, problem: &'static str, field: &'static str) -> Row {
    Row { name, unit, source: Source::Extra(problem, field), ..PLAIN }
}

/// The same, judged.
const fn judged(row: Row, target: f64, named: Named) -> Row {
    Row { target: Some(target), named, ..row }
}

pub const ROWS: &[Row] = &[
    rate(
        "tcp_echo",
        191.0,
        &[(TokioCt, 191.0), (Limit, 177.0), (TokioMt, 169.0), (Monoio, 165.0), (Smol, 156.0), (Go, 155.0)],
    ),
    beside("tcp_echo_p50", "us", "tcp_echo", "p50"),
    judged(beside("tcp_echo_p99", "us", "tcp_echo", "p99"), 549.0, &[(TokioCt, 549.0), (TokioMt, 844.0)]),
    judged(
        beside("tcp_echo_cpu", "us", "tcp_echo", "cpu_us"),
        5.2,
        &[(Limit, 5.2), (TokioCt, 5.2), (TokioMt, 5.3), (Monoio, 6.0)],
    ),
    Row {
        stretch: Some(1.02 * 235.0),
        ..rate("tcp_echo_1c", 0.98 * 235.0, &[(Limit, 235.0), (TokioCt, 222.0), (Monoio, 221.0), (Go, 181.0)])
    },
    beside("tcp_echo_1c_p50", "us", "tcp_echo_1c", "p50"),
    judged(
        beside("tcp_echo_1c_p99", "us", "tcp_echo_1c", "p99"),
        463.0,
        &[(Monoio, 463.0), (TokioCt, 504.0), (Limit, 549.0)],
    ),
    judged(
        beside("tcp_echo_1c_cpu", "us", "tcp_echo_1c", "cpu_us"),
        1.02 * 4.2,
        &[(Limit, 4.2), (TokioCt, 4.4), (Monoio, 4.4)],
    ),
    Row {
        name: "tcp_10k_p50",
        unit: "us",
        source: Source::Value("tcp_10k"),
        target: Some(50.0),
        named: &[(TokioCt, 50.0), (Limit, 55.0), (TokioMt, 60.0)],
        ..PLAIN
    },
    judged(
        beside("tcp_10k_p99", "us", "tcp_10k", "p99"),
        155.0,
        &[(Limit, 154.0), (TokioCt, 158.0), (TokioMt, 182.0)],
    ),
    judged(
        beside("tcp_10k_cpu", "us", "tcp_10k", "cpu_us"),
        8.0,
        &[(Limit, 8.0), (TokioCt, 8.0), (TokioMt, 10.0)],
    ),
    beside("tcp_10k_rss", "MiB", "tcp_10k", "rss_mib"),
    Row {
        // 350 bytes beyond the buffer of 1,024.
        target: Some(350.0 + 1_024.0),
        absolute: true,
        ..beside("tcp_10k_bytes", "B", "tcp_10k", "bytes_per_connection")
    },
    Row { name: "tcp_10k_ready_p50", unit: "us", source: Source::Value("tcp_10k_ready"), ..PLAIN },
    beside("tcp_10k_ready_p99", "us", "tcp_10k_ready", "p99"),
    beside("tcp_10k_ready_cpu", "us", "tcp_10k_ready", "cpu_us"),
    Row {
        target: Some(8.0),
        absolute: true,
        ..beside("tcp_10k_ready_rss", "MiB", "tcp_10k_ready", "rss_mib")
    },
    beside("tcp_10k_ready_bytes", "B", "tcp_10k_ready", "bytes_per_connection"),
    rate("http_hello", 175.0, &[(TokioCt, 173.0), (TokioMt, 138.0), (Smol, 128.0), (Go, 80.0)]),
    beside("http_hello_p50", "us", "http_hello", "p50"),
    judged(beside("http_hello_p99", "us", "http_hello", "p99"), 530.0, &[(TokioCt, 538.0), (TokioMt, 900.0)]),
    beside("http_hello_cpu", "us", "http_hello", "cpu_us"),
];
