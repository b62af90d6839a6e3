//! `wrk`, and what its report says.

use crate::meter::Sample;
use crate::service::Service;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::{Command, Output, Stdio};

/// What `--latency` does not say. It is asked once, in the end: requests are still made without a script.
const SCRIPT: &str =
    r#"done = function(_, latency) print(string.format(" 99.9%% %dus", latency:percentile(99.9))) end"#;

/// What it calls itself, or why it cannot be used.
pub fn version() -> Result<String, String> {
    let output = Command::new("wrk").arg("-v").output().map_err(|_| "no `wrk` on the PATH".to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(String::from).ok_or_else(|| "`wrk -v` says nothing".into())
}

/// Loads the server for so many seconds.
pub fn run(service: &Service, connections: usize, seconds: u64) -> Result<Sample, String> {
    let cpu = service.cpu();
    let mut command = Command::new("wrk");
    command
        .args(["--latency", "-s/dev/stdin", "-t1", &format!("-c{connections}"), &format!("-d{seconds}s")])
        .arg(format!("http://{}/", service.address));
    let output = scripted(&mut command).map_err(|error| format!("cannot run wrk: {error}"))?;
    let used = service.cpu() - cpu;
    let text = String::from_utf8_lossy(&output.stdout);
    let report = Report::read(&text).ok_or_else(|| format!("wrk reports no figures:\n{text}"))?;
    if report.failed {
        return Err(format!("wrk saw requests fail:\n{text}"));
    }
    let cpu_us = used.as_secs_f64() * 1e6 / report.requests;
    Ok(Sample {
        value: report.rate / 1e3,
        unit: "k/s".into(),
        cpu_ns_per_op: Some(cpu_us * 1e3),
        ops: report.requests as u64,
        seconds: report.requests / report.rate,
        extra: BTreeMap::from([
            ("p50".into(), report.p50),
            ("p99".into(), report.p99),
            ("p999".into(), report.p999),
            ("max".into(), report.max),
            ("cpu_us".into(), cpu_us),
        ]),
    })
}

fn scripted(wrk: &mut Command) -> io::Result<Output> {
    let mut child = wrk.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().expect("stdin is piped").write_all(SCRIPT.as_bytes())?;
    child.wait_with_output()
}

/// Times are in microseconds.
#[derive(Debug, PartialEq)]
struct Report {
    requests: f64,
    rate: f64,
    p50: f64,
    p99: f64,
    p999: f64,
    max: f64,
    failed: bool,
}

impl Report {
    fn read(text: &str) -> Option<Self> {
        let after = |key: &str, place: usize| {
            let line = text.lines().find(|line| line.trim_start().starts_with(key))?;
            line.split_whitespace().nth(place)
        };
        let requests = text.lines().find(|line| line.contains(" requests in "))?;
        Some(Self {
            requests: requests.split_whitespace().next()?.parse().ok()?,
            rate: after("Requests/sec:", 1)?.parse().ok()?,
            p50: micros(after("50%", 1)?)?,
            p99: micros(after("99%", 1)?)?,
            p999: micros(after("99.9%", 1)?)?,
            max: micros(after("Latency ", 3)?)?,
            failed: text.contains("Socket errors:") || text.contains("Non-2xx"),
        })
    }
}

/// `538.00us`, `1.02ms`, `2.00s`.
fn micros(text: &str) -> Option<f64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Running 3s test @ http://127.0.0.1:4000/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   389.53us   83.12us   2.31ms   82.71%
    Req/Sec   160.51k     6.37k  170.29k    83.87%
  Latency Distribution
     50%  384.00us
     75%  421.00us
     90%  470.00us
     99%    1.02ms
  494938 requests in 3.10s, 71.27MB read
Requests/sec: 159656.97
Transfer/sec:     22.99MB
 99.9% 1873us
";

    #[test]
    fn the_report_is_read() {
        let report = Report::read(TEXT).unwrap();
        let expected = Report {
            requests: 494_938.0,
            rate: 159_656.97,
            p50: 384.0,
            p99: 1_020.0,
            p999: 1_873.0,
            max: 2_310.0,
            failed: false,
        };
        assert_eq!(report, expected);
        let failing = format!("{TEXT}  Non-2xx or 3xx responses: 3\n");
        assert!(Report::read(&failing).unwrap().failed);
        assert_eq!(Report::read("unable to connect"), None);
    }
}
