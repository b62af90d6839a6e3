//! A page that shows what goes on inside a runtime while it does: pools and workers, rates, tasks and what they wait for, times.
//!
//! ```no_run
//! use ropewalk::{Runtime, console::Console};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::builder().observe(true).build()?;
//! let console = Console::builder().address("127.0.0.1:6680".parse()?).serve(&runtime.handle())?;
//! println!("look at {}", console.url());
//! # Ok(())
//! # }
//! ```
//!
//! It is off unless it is asked for, and listens on loopback only, unless a token is given that every request must have. It has a thread of its
//! own, on which a small runtime of its own runs: so it answers when all workers of the one it shows are stuck.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | the page |
//! | `GET /api/state?tasks=500&q=text` | what the page shows, as JSON; of the tasks in which the text is found, so many at most, and those that they stem from |
//! | `GET /api/dump.txt`, `/api/dump.json` | a [dump](crate::dump) |
//! | `GET /api/trace?seconds=2` | records for so long, and answers a [trace](crate::trace) for Perfetto |
//! | `GET /metrics` | the text that Prometheus scrapes |
//!
//! Of answers that take long two are under way at a time, and there are 32 connections; for one more, the one goes that has asked for nothing for
//! the longest time.
//!
//! The page asks every second. An answer walks all tasks, which takes about a tenth of a second for a million of them, on the console's thread;
//! the workers pay for [histograms](crate::Builder::histograms), which are on as long as there is a console.

mod admission;
mod answers;
mod page;
mod server;
mod state;

use crate::runtime::Handle;
use crate::sync::CancellationToken;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread::JoinHandle;
use std::{fmt, io};

/// A token must be so long: shorter ones are guessed.
const SHORTEST_TOKEN: usize = 16;

/// A console that is being served; dropping it ends that.
#[derive(Debug)]
pub struct Console {
    address: SocketAddr,
    token: Option<Token>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

/// Where and to whom a console is served.
#[derive(Clone, Debug)]
#[must_use = "nothing is served before `serve`"]
pub struct ConsoleBuilder {
    address: SocketAddr,
    token: Option<Token>,
}

/// What only those know who may ask; logs do not.
#[derive(Clone)]
struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("...")
    }
}

/// Why there is no console.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConsoleError {
    /// The address can be reached from other machines, and there is no token.
    NeedsToken(SocketAddr),
    /// The token is too short, or has characters that do not go into an address.
    BadToken,
    /// Nobody can listen there.
    Listen(SocketAddr, io::Error),
    /// The system gives no thread.
    Thread(io::Error),
}

impl fmt::Display for ConsoleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedsToken(address) => write!(
                f,
                "a console at {address} can be reached from other machines: it needs a token; without one, only loopback addresses are accepted"
            ),
            Self::BadToken => write!(
                f,
                "the token of a console has at least {SHORTEST_TOKEN} characters, and only letters, digits, '-' and '_'"
            ),
            Self::Listen(address, error) => write!(f, "a console cannot listen at {address}: {error}"),
            Self::Thread(error) => write!(f, "no thread for a console: {error}"),
        }
    }
}

impl std::error::Error for ConsoleError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen(_, error) | Self::Thread(error) => Some(error),
            Self::NeedsToken(_) | Self::BadToken => None,
        }
    }
}

impl Console {
    /// At a free port of 127.0.0.1, unless it is told otherwise.
    pub fn builder() -> ConsoleBuilder {
        ConsoleBuilder { address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0), token: None }
    }

    /// Where it listens; the port is the one that it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to open in a browser on this machine, with the token if there is one.
    pub fn url(&self) -> String {
        let mut address = self.address;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        let token = self.token.as_ref().map(|Token(token)| format!("?token={token}")).unwrap_or_default();
        format!("http://{address}/{token}")
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // if it has panicked, it has said so
        }
    }
}

impl ConsoleBuilder {
    /// Where to listen; port 0 is a free one.
    pub fn address(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// Every request must have this token: as `?token=...`, or as `Authorization: Bearer ...`. At least 16 letters, digits, `-` or `_`.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(Token(token.into()));
        self
    }

    /// Serves the console of a runtime, until it is dropped. It goes on when the runtime ends, and says so.
    ///
    /// # Errors
    /// If others could reach it and there is no token; if nobody can listen there; if the system gives no thread.
    pub fn serve(self, runtime: &Handle) -> Result<Console, ConsoleError> {
        let Self { address, token } = self;
        match &token {
            None if !address.ip().is_loopback() => return Err(ConsoleError::NeedsToken(address)),
            Some(Token(token)) if !admission::is_good_token(token, SHORTEST_TOKEN) => {
                return Err(ConsoleError::BadToken);
            }
            _ => {}
        }
        let stop = CancellationToken::new();
        let secret = token.clone().map(|Token(token)| token);
        let served = server::start(runtime.clone(), address, secret, stop.clone())?;
        Ok(Console { address: served.address, token, stop, thread: Some(served.thread) })
    }
}
