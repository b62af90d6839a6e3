//! The I/O driver of a runtime: which one, made when first needed, and how the polling worker sleeps in it.
//!
//! | file | what it is |
//! |---|---|
//! | `contract` | the public contract: `IoDriver`, `Interest`, `Events` |
//! | `readiness` | the word in which events meet those who wait (E1-E7) |
//! | `waiting` | those who wait |
//! | `spare` | buffers that are lent |
//! | `registry` | where these words are |
//! | `reactor` | a driver with its registrations: what is collected becomes wake-ups (X1-X3) |
//! | `registration` | one file: wait, try, clear (I1) |
//! | `operation` | the futures of that (I2) |
//! | `extent` | how much an operation is to move, and what less than that means |
//! | `epoll`, `kqueue`, `poll` | the drivers |
//! | `uring` | another one, which also reads and writes files (W1-W4) |
//! | `lodging` | a runtime without threads inside another one |
//!
//! # A runtime without I/O does not pay for it
//!
//! Until the first registration the polling worker sleeps on a word, which is quicker to wake than a file (`switch.rs`). Then
//! the driver is made, and the worker moves there.

mod contract;
#[cfg(target_os = "linux")]
mod epoll;
mod extent;
#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
mod kqueue;
mod lodging;
mod operation;
mod poll;
mod reactor;
mod readiness;
mod registration;
mod registry;
mod spare;
#[cfg(target_os = "linux")]
pub(crate) mod uring;
mod waiting;

pub use contract::{Event, Events, Interest, IoDriver, IoDriverKind, IoSource, Ready, Token};
pub(crate) use extent::{Part, Stream, UpTo};
pub(crate) use operation::{Inward, Outward};
pub(crate) use readiness::Direction;
pub(crate) use registration::Moored;
pub(crate) use spare::Spare;

use super::Driver;
use super::switch::Switch;
use crate::runtime::{RuntimeError, Shared};
use core::time::Duration;
use lodging::Lodging;
use reactor::Reactor;
use ropewalk_core::prim::Lock;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Makes a driver of the user's own.
pub(crate) type MakeDriver = Arc<dyn Fn() -> io::Result<Box<dyn IoDriver>> + Send + Sync>;

/// Which driver a runtime is to have.
#[derive(Clone, Default)]
pub(crate) enum Choice {
    #[default]
    Auto,
    Kind(IoDriverKind),
    Custom(MakeDriver),
}

impl Choice {
    /// What was chosen; if nothing was, what the environment says.
    ///
    /// # Errors
    /// This machine has no such driver.
    pub(crate) fn settle(&mut self) -> Result<(), RuntimeError> {
        if let Self::Auto = self
            && let Some(given) = std::env::var_os("ROPEWALK_IO_DRIVER")
        {
            let named = |kind: &&IoDriverKind| given.eq_ignore_ascii_case(kind.to_string());
            let kind = HERE.iter().find(named).ok_or_else(|| {
                RuntimeError::setting("ROPEWALK_IO_DRIVER", format!("{given:?}"), accepted())
            })?;
            *self = Self::Kind(*kind);
        }
        self.check()
    }

    fn check(&self) -> Result<(), RuntimeError> {
        match self {
            Self::Kind(kind) if !HERE.contains(kind) => {
                Err(RuntimeError::setting("io_driver", kind, accepted()))
            }
            _ => Ok(()),
        }
    }

    /// A driver, and why it is this one.
    fn make(&self) -> io::Result<(Reactor, String)> {
        #[cfg(target_os = "linux")]
        if let Self::Kind(IoDriverKind::IoUring) = self {
            return uring_or_epoll();
        }
        self.make_driver().map(|(driver, why)| (Reactor::new(driver), why))
    }

    fn make_driver(&self) -> io::Result<(Box<dyn IoDriver>, String)> {
        match self {
            Self::Custom(make) => Ok((make()?, "given by io_driver_with".to_owned())),
            Self::Kind(kind) if *kind != IoDriverKind::Auto => {
                Ok((make(*kind)?, "asked for by io_driver".to_owned()))
            }
            _ => match make(BEST) {
                Ok(driver) => Ok((driver, format!("Auto: {BEST} {WHY}"))),
                Err(error) => {
                    let driver = make(IoDriverKind::Poll)?;
                    Ok((driver, format!("Auto: {BEST} is not to be had here ({error})")))
                }
            },
        }
    }
}

fn accepted() -> String {
    let here: Vec<_> = HERE.iter().map(ToString::to_string).collect();
    format!("{} (on this system)", here.join(", "))
}

const BEST: IoDriverKind = HERE[1];
/// What there is on this system, the best one second.
const HERE: &[IoDriverKind] = &[
    IoDriverKind::Auto,
    #[cfg(target_os = "linux")]
    IoDriverKind::Epoll,
    #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
    IoDriverKind::Kqueue,
    IoDriverKind::Poll,
    #[cfg(target_os = "linux")]
    IoDriverKind::IoUring,
];
#[cfg(target_os = "linux")]
const WHY: &str = "measures best for sockets here; IoUring has to be asked for";
#[cfg(not(target_os = "linux"))]
const WHY: &str = "is the best one here";

/// io_uring if the kernel lets us have all of it, else epoll.
#[cfg(target_os = "linux")]
fn uring_or_epoll() -> io::Result<(Reactor, String)> {
    match uring::Uring::new() {
        Ok(uring) => Ok((Reactor::with_files(Arc::new(uring)), "asked for by io_driver".to_owned())),
        Err(error) => {
            let why =
                format!("IoUring was asked for and is not to be had here ({error}); Epoll in its place");
            Ok((Reactor::new(make(IoDriverKind::Epoll)?), why))
        }
    }
}

fn make(kind: IoDriverKind) -> io::Result<Box<dyn IoDriver>> {
    match kind {
        #[cfg(target_os = "linux")]
        IoDriverKind::Epoll => Ok(Box::new(epoll::Epoll::new()?)),
        #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
        IoDriverKind::Kqueue => Ok(Box::new(kqueue::Kqueue::new()?)),
        IoDriverKind::Poll => Ok(Box::new(poll::Poll::new()?)),
        other => Err(io::Error::new(io::ErrorKind::Unsupported, format!("no {other} driver here"))),
    }
}

/// The I/O of one runtime.
pub(crate) struct Io {
    choice: Choice,
    /// Where the polling worker sleeps; the reactor, when there is one.
    switch: Switch<Arc<Reactor>>,
    /// Held while it is made.
    making: Lock<Making>,
}

#[derive(Default)]
struct Making {
    why: String,
    /// The runtime has gone down.
    over: bool,
}

impl Io {
    pub(crate) fn new(choice: Choice) -> Arc<Self> {
        Arc::new(Self { choice, switch: Switch::new(), making: Lock::new(Making::default()) })
    }

    /// The reactor, made now if this is the first time.
    pub(crate) fn reactor(&self) -> io::Result<Arc<Reactor>> {
        if let Some(reactor) = self.switch.get() {
            return Ok(reactor.clone());
        }
        let mut making = self.making.lock();
        if making.over {
            return Err(reactor::over());
        }
        if let Some(reactor) = self.switch.get() {
            return Ok(reactor.clone());
        }
        let (reactor, why) = self.choice.make()?;
        making.why = why;
        Ok(self.switch.publish(Arc::new(reactor)).clone())
    }

    /// Where operations on files go, if there is such a place.
    #[cfg(target_os = "linux")]
    pub(crate) fn files(&self) -> Option<Arc<uring::Uring>> {
        match self.choice {
            Choice::Kind(IoDriverKind::IoUring) => self.reactor().ok()?.files().cloned(),
            _ => None,
        }
    }

    /// This runtime sleeps on a worker of `host`: who looks for its events?
    pub(crate) fn lodge(&self, host: &Shared) -> Lodging<'_> {
        match self.switch.get() {
            Some(reactor) if reactor.is_watching() => Lodging::new(reactor.driver().as_pollable(), host),
            _ => Lodging::Quiet,
        }
    }

    /// The runtime goes down: who waits gets an error.
    pub(crate) fn end(&self) {
        self.making.lock().over = true;
        if let Some(reactor) = self.switch.get() {
            reactor.end();
        }
    }

    pub(crate) fn metrics(&self) -> IoMetrics {
        let asked_for = match &self.choice {
            Choice::Auto => IoDriverKind::Auto,
            Choice::Kind(kind) => *kind,
            Choice::Custom(_) => IoDriverKind::Custom,
        };
        let Some(reactor) = self.switch.get() else {
            let why = "no socket or file was registered yet".to_owned();
            return IoMetrics {
                asked_for,
                driver: None,
                why,
                registered: 0,
                polls: 0,
                events: 0,
                failures: 0,
                operations: 0,
                arrivals: 0,
            };
        };
        let [registered, polls, events, failures, operations, arrivals] = reactor.counts();
        let driver = Some(reactor.driver().kind());
        let why = self.making.lock().why.clone();
        IoMetrics { asked_for, driver, why, registered, polls, events, failures, operations, arrivals }
    }
}

impl fmt::Debug for Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Io").field("reactor", &self.switch.get()).finish_non_exhaustive()
    }
}

/// What a runtime's I/O driver is and does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IoMetrics {
    /// What the builder asked for.
    pub asked_for: IoDriverKind,
    /// What runs; `None` until the first socket.
    pub driver: Option<IoDriverKind>,
    /// Why it is this one, and why not a better one.
    pub why: String,
    /// Sockets and files that it watches.
    pub registered: u64,
    /// Times it was polled.
    pub polls: u64,
    /// Events that it reported.
    pub events: u64,
    /// Calls of it that failed. If it cannot be asked what is ready, whoever waits tries for itself, every millisecond.
    pub failures: u64,
    /// Operations on files that it was given: io_uring's; those of the others go to the blocking pool.
    pub operations: u64,
    /// Connections and pieces of streams that the kernel took without being asked for each: io_uring's, at
    /// [`IntoIncoming`](crate::net::IntoIncoming) and [`Chunks`](crate::net::Chunks).
    pub arrivals: u64,
}

/// What the polling worker of a runtime's main pool sleeps in.
#[derive(Debug)]
pub(crate) struct IoBerth(pub(crate) Arc<Io>);

impl Driver for IoBerth {
    fn park(&self, timeout: Option<Duration>) {
        self.0.switch.park(timeout);
    }

    fn poll(&self) {
        self.0.switch.poll();
    }

    fn unpark(&self) {
        self.0.switch.unpark();
    }

    fn has_events(&self) -> bool {
        self.0.switch.has_events()
    }

    fn deliver(&self) -> usize {
        self.0.switch.deliver()
    }

    fn is_watching(&self) -> bool {
        self.0.switch.is_watching()
    }
}
