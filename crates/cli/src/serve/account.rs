//! What a server has done, and how it says so.

use super::options::Options;
use crate::command::{Failure, Verdict, print};
use crate::figure::Value;
use crate::json::Json;
use crate::show::{Style, clip, columns, counted, redraws};
use ropewalk_core::prim::real::{AtomicU64, Ordering::*};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often the line is drawn.
const FRAME: Duration = Duration::from_millis(200);

/// Counts of one server.
pub(super) struct Account {
    service: &'static str,
    address: SocketAddr,
    json: bool,
    from: Instant,
    open: AtomicU64,
    accepted: AtomicU64,
    answers: AtomicU64,
    bytes: AtomicU64,
}

impl Account {
    pub(super) fn new(options: &Options, address: SocketAddr) -> Self {
        let zero = || AtomicU64::new(0);
        let (service, json, from) = (options.service.name(), options.json, Instant::now());
        Self { service, address, json, from, open: zero(), accepted: zero(), answers: zero(), bytes: zero() }
    }

    /// One more connection, while the answer lives.
    pub(super) fn open(&self) -> impl Drop {
        struct Open<'a>(&'a AtomicU64);
        impl Drop for Open<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Relaxed);
            }
        }
        self.accepted.fetch_add(1, Relaxed);
        self.open.fetch_add(1, Relaxed);
        Open(&self.open)
    }

    /// One more answer, of so many bytes.
    pub(super) fn answered(&self, bytes: usize) {
        self.answers.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Says where it listens, and where its console is.
    pub(super) fn welcome(&self, console: Option<String>) -> Result<Verdict, Failure> {
        let (service, address) = (self.service, self.address);
        match self.json {
            true => print(&format!(
                "{}\n",
                Json::map([
                    ("command", Json::text("serve")),
                    ("service", Json::text(service)),
                    ("listening", Json::text(address.to_string())),
                    ("console", console.map_or(Json::Null, Json::text)),
                ])
            )),
            false => {
                let console = console.map(|url| format!("console at {url}\n")).unwrap_or_default();
                print(&format!("{service} on {address}; ctrl-c ends it\n{console}"))
            }
        }
    }

    pub(super) fn draining(&self, limit: Duration) -> String {
        match self.open.load(Relaxed) {
            0 => "stopping".to_owned(),
            open => format!("stopping: {} may go on for {limit:?}", counted(open, "connection")),
        }
    }

    /// Says what is wrong, beside the line.
    pub(super) fn trouble(&self, what: &str) {
        let erase = if redraws(&io::stderr()) { "\r\x1b[2K" } else { "" };
        let _nobody_looks = writeln!(io::stderr(), "{erase}{}: {what}", self.service);
    }

    /// Says what was done, and how it ended.
    pub(super) fn farewell(&self, cancelled: usize) -> Result<Verdict, Failure> {
        let (accepted, answers) = (self.accepted.load(Relaxed), self.answers.load(Relaxed));
        let bytes = self.bytes.load(Relaxed);
        if self.json {
            print(&format!(
                "{}\n",
                Json::map([
                    ("command", Json::text("serve")),
                    ("service", Json::text(self.service)),
                    ("ok", Json::Bool(cancelled == 0)),
                    ("connections", Json::Whole(accepted)),
                    ("answers", Json::Whole(answers)),
                    ("bytes", Json::Whole(bytes)),
                    ("cancelled", Json::Whole(cancelled as u64)),
                ])
            ))?;
        } else {
            let end = match cancelled as u64 {
                0 => "every connection ended by itself".to_owned(),
                1 => "1 connection was cancelled".to_owned(),
                many => format!("{} were cancelled", counted(many, "connection")),
            };
            let (accepted, answers) = (counted(accepted, "connection"), counted(answers, "answer"));
            print(&format!("{accepted}, {answers}, {}; {end}\n", shown(bytes)))?;
        }
        Ok(if cancelled == 0 { Verdict::Held } else { Verdict::Failed })
    }

    /// What the line shows.
    fn line(&self) -> String {
        let seconds = self.from.elapsed().as_secs();
        format!(
            "{:>3}:{:02}  {} open  {} accepted  {}  {}",
            seconds / 60,
            seconds % 60,
            self.open.load(Relaxed),
            self.accepted.load(Relaxed),
            counted(self.answers.load(Relaxed), "answer"),
            shown(self.bytes.load(Relaxed)),
        )
    }
}

fn shown(bytes: u64) -> String {
    Style::of(&io::stdout()).value(&Value::Bytes(bytes as f64))
}

/// A line on standard error that tells how it goes, where that is a terminal; gone when it is dropped.
pub(super) struct Line {
    end: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Line {
    pub(super) fn show(account: &Arc<Account>) -> Self {
        if !redraws(&io::stderr()) {
            return Self { end: None };
        }
        let (account, (end, ended)) = (account.clone(), channel::<()>());
        let draw = move || {
            while ended.recv_timeout(FRAME) == Err(RecvTimeoutError::Timeout) {
                // What is longer than the terminal is wide could not be taken off again.
                let room = columns(&io::stderr()).map_or(usize::MAX, |columns| columns - 1);
                let line = clip(&account.line(), room);
                let _nobody_looks = write!(io::stderr(), "\r\x1b[2K{line}");
            }
            let _nobody_looks = write!(io::stderr(), "\r\x1b[2K");
        };
        // Without a thread there is no line.
        let thread = thread::Builder::new().name("serve-line".to_owned()).spawn(draw).ok();
        Self { end: thread.map(|thread| (end, thread)) }
    }

    /// A line that stays.
    pub(super) fn say(&self, what: &str) {
        let erase = if self.end.is_some() { "\r\x1b[2K" } else { "" };
        let _nobody_looks = writeln!(io::stderr(), "{erase}{what}");
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.end.take() {
            drop(end);
            let _drawn = thread.join();
        }
    }
}
