//! Stop: a program that shows itself, asked over a real socket as a browser would.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use ropewalk::console::{Console, ConsoleError};
use ropewalk::{Runtime, Wait, task, yield_now};
use ropewalk_core::prim::real::{AtomicBool, Ordering::Relaxed};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is asked for, and how the answer begins.
const REQUESTS: [(&str, &str); 4] =
    [("/", "<!doctype html>"), ("/api/state", "{"), ("/api/dump.txt", ""), ("/metrics", "# HELP")];
/// The console answers within this, however slow the machine is.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Shown;

impl Stop for Shown {
    fn name(&self) -> &'static str {
        "console"
    }

    fn title(&self) -> &'static str {
        "The live console"
    }

    fn about(&self) -> &'static str {
        "A program can serve a page about itself, on loopback: workers, rates, tasks\n\
         and what they wait for. Try `ropewalk serve echo --console 6680`."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let rounds = guide.amount(200, 5);
        let runtime = super::builder().worker_threads(2).observe(true).build()?;
        let console = Console::builder().serve(&runtime.handle())?;
        let over = Arc::new(AtomicBool::new(false));
        let load: Vec<_> = (0..2).map(|_| runtime.spawn(yields(over.clone()))).collect();
        let _sleeper =
            task::Builder::new().name("lighthouse").spawn_on(&runtime.handle(), std::future::pending::<()>());
        let mut findings = Findings::default();
        findings.table(asked(guide, console.address(), rounds)?);
        check(&runtime, console.address(), &mut findings)?;
        guide.pause();
        over.store(true, Relaxed);
        load.into_iter().try_for_each(|task| task.wait())?;
        Ok(findings)
    }
}

/// Both workers have something to do meanwhile.
async fn yields(over: Arc<AtomicBool>) {
    while !over.load(Relaxed) {
        yield_now().await;
    }
}

struct Answer {
    status: u16,
    body: String,
}

/// One request on a connection of its own.
fn ask(address: SocketAddr, path: &str, host: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| io::Error::other("no head of an answer"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Ok(Answer { status, body: body.to_owned() })
}

/// Asks for everything so often, while the workers are busy.
fn asked(guide: &Guide, address: SocketAddr, rounds: u32) -> Result<Table, Box<dyn Error + Send + Sync>> {
    let columns = [
        Column::new("request", "GET"),
        Column::new("status", "status"),
        Column::new("bytes", "answer"),
        Column::new("median_ns", "median"),
        Column::new("worst_ns", "worst"),
    ];
    let mut table = Table::new("Asked over a socket while both workers are busy", columns);
    let begun = Instant::now();
    for (path, beginning) in REQUESTS {
        guide.phase(format!("GET {path}"), move || begun.elapsed().as_secs_f64());
        let mut times = Vec::new();
        let mut last = None;
        for _ in 0..rounds {
            let from = Instant::now();
            let answer = ask(address, path, &address.to_string())?;
            times.push(from.elapsed());
            if !answer.body.starts_with(beginning) {
                return Err(format!("GET {path} was answered by {:.60?}", answer.body).into());
            }
            last = Some(answer);
        }
        times.sort();
        let last = last.ok_or("nothing was asked")?;
        table.row([
            Value::text(path),
            Value::Count(last.status.into()),
            Value::Bytes(last.body.len() as f64),
            Value::time(times[times.len() / 2]),
            Value::time(times[times.len() - 1]),
        ]);
    }
    Ok(table)
}

fn check(
    runtime: &Runtime,
    address: SocketAddr,
    findings: &mut Findings,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let found = ask(address, "/api/state?q=lighthouse", &address.to_string())?;
    let state: serde_json::Value = serde_json::from_str(&found.body)?;
    let listed = state["tasks"]["list"].as_array().map_or(0, Vec::len);
    findings.check(
        listed == 1 && state["tasks"]["list"][0]["name"] == "lighthouse",
        "a search finds the task that waits, and no other",
    );
    let strange = ask(address, "/api/state", "example.org")?;
    findings.check(
        (400..500).contains(&strange.status),
        format!("a request by another name than its own is refused ({})", strange.status),
    );
    let everywhere = Console::builder().address(([0, 0, 0, 0], 0).into()).serve(&runtime.handle());
    findings.check(
        matches!(everywhere, Err(ConsoleError::NeedsToken(_))),
        "without a token it does not listen to other machines",
    );
    Ok(())
}
