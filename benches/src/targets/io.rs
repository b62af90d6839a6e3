//! The rows about sockets.
//!
//! They are judged on as many workers as the problem says; `..._ct` is the same of our runtime without threads, beside peers that are at their best
//! on one thread, too: tokio's current-thread runtime, monoio, the loop written by hand.

use super::{Better, PLAIN, Row, Source};
use crate::peers::Peer::{self, Go, Limit, Monoio, RopewalkCt, Smol, TokioCt, TokioMt};

type Named = &'static [(Peer, f64)];

/// The same row on one thread.
const fn alone(name: &'static str, row: Row) -> Row {
    Row { name, ours: RopewalkCt, ..row }
}

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

const ECHO: Row = rate(
    "tcp_echo",
    191.0,
    &[(TokioCt, 191.0), (Limit, 177.0), (TokioMt, 169.0), (Monoio, 165.0), (Smol, 156.0), (Go, 155.0)],
);
const ECHO_P99: Row =
    judged(beside("tcp_echo_p99", "us", "tcp_echo", "p99"), 549.0, &[(TokioCt, 549.0), (TokioMt, 844.0)]);
const ECHO_CPU: Row = judged(
    beside("tcp_echo_cpu", "us", "tcp_echo", "cpu_us"),
    5.2,
    &[(Limit, 5.2), (TokioCt, 5.2), (TokioMt, 5.3), (Monoio, 6.0)],
);
const ECHO_1C: Row = Row {
    stretch: Some(1.02 * 235.0),
    ..rate("tcp_echo_1c", 0.98 * 235.0, &[(Limit, 235.0), (TokioCt, 222.0), (Monoio, 221.0), (Go, 181.0)])
};
const ECHO_1C_P99: Row = judged(
    beside("tcp_echo_1c_p99", "us", "tcp_echo_1c", "p99"),
    463.0,
    &[(Monoio, 463.0), (TokioCt, 504.0), (Limit, 549.0)],
);
const ECHO_1C_CPU: Row = judged(
    beside("tcp_echo_1c_cpu", "us", "tcp_echo_1c", "cpu_us"),
    1.02 * 4.2,
    &[(Limit, 4.2), (TokioCt, 4.4), (Monoio, 4.4)],
);
const CROWD_P50: Row = Row {
    name: "tcp_10k_p50",
    unit: "us",
    source: Source::Value("tcp_10k"),
    target: Some(50.0),
    named: &[(TokioCt, 50.0), (Limit, 55.0), (TokioMt, 60.0)],
    ..PLAIN
};
const CROWD_P99: Row = judged(
    beside("tcp_10k_p99", "us", "tcp_10k", "p99"),
    155.0,
    &[(Limit, 154.0), (TokioCt, 158.0), (TokioMt, 182.0)],
);
const CROWD_CPU: Row = judged(
    beside("tcp_10k_cpu", "us", "tcp_10k", "cpu_us"),
    8.0,
    &[(Limit, 8.0), (TokioCt, 8.0), (TokioMt, 10.0)],
);
const READY_RSS: Row = Row {
    target: Some(8.0),
    absolute: true,
    ..beside("tcp_10k_ready_rss", "MiB", "tcp_10k_ready", "rss_mib")
};
const CROWD_BYTES: Row = Row {
    // 350 bytes beyond the buffer of 1,024.
    target: Some(350.0 + 1_024.0),
    absolute: true,
    ..beside("tcp_10k_bytes", "B", "tcp_10k", "bytes_per_connection")
};

pub const ROWS: &[Row] = &[
    ECHO,
    beside("tcp_echo_p50", "us", "tcp_echo", "p50"),
    ECHO_P99,
    beside("tcp_echo_p999", "us", "tcp_echo", "p999"),
    beside("tcp_echo_max", "us", "tcp_echo", "max"),
    ECHO_CPU,
    alone("tcp_echo_ct", ECHO),
    alone("tcp_echo_ct_p99", ECHO_P99),
    alone("tcp_echo_ct_cpu", ECHO_CPU),
    ECHO_1C,
    beside("tcp_echo_1c_p50", "us", "tcp_echo_1c", "p50"),
    ECHO_1C_P99,
    beside("tcp_echo_1c_p999", "us", "tcp_echo_1c", "p999"),
    beside("tcp_echo_1c_max", "us", "tcp_echo_1c", "max"),
    ECHO_1C_CPU,
    alone("tcp_echo_1c_ct", ECHO_1C),
    alone("tcp_echo_1c_ct_p99", ECHO_1C_P99),
    alone("tcp_echo_1c_ct_cpu", ECHO_1C_CPU),
    CROWD_P50,
    CROWD_P99,
    beside("tcp_10k_p999", "us", "tcp_10k", "p999"),
    beside("tcp_10k_max", "us", "tcp_10k", "max"),
    CROWD_CPU,
    beside("tcp_10k_rss", "MiB", "tcp_10k", "rss_mib"),
    CROWD_BYTES,
    alone("tcp_10k_ct_p50", CROWD_P50),
    alone("tcp_10k_ct_p99", CROWD_P99),
    alone("tcp_10k_ct_cpu", CROWD_CPU),
    alone("tcp_10k_ct_bytes", CROWD_BYTES),
    Row { name: "tcp_10k_ready_p50", unit: "us", source: Source::Value("tcp_10k_ready"), ..PLAIN },
    beside("tcp_10k_ready_p99", "us", "tcp_10k_ready", "p99"),
    beside("tcp_10k_ready_p999", "us", "tcp_10k_ready", "p999"),
    beside("tcp_10k_ready_max", "us", "tcp_10k_ready", "max"),
    beside("tcp_10k_ready_cpu", "us", "tcp_10k_ready", "cpu_us"),
    READY_RSS,
    beside("tcp_10k_ready_bytes", "B", "tcp_10k_ready", "bytes_per_connection"),
    alone("tcp_10k_ready_ct_rss", READY_RSS),
    rate("http_hello", 175.0, &[(TokioCt, 173.0), (TokioMt, 138.0), (Smol, 128.0), (Go, 80.0)]),
    beside("http_hello_p50", "us", "http_hello", "p50"),
    judged(beside("http_hello_p99", "us", "http_hello", "p99"), 530.0, &[(TokioCt, 538.0), (TokioMt, 900.0)]),
    beside("http_hello_p999", "us", "http_hello", "p999"),
    beside("http_hello_max", "us", "http_hello", "max"),
    beside("http_hello_cpu", "us", "http_hello", "cpu_us"),
];
