//! Signals of Unix: [`signal`] gives a listener.
//!
//! ```
//! use ropewalk::{Wait, signal::unix::{SignalKind, signal}};
//!
//! let mut reload = signal(SignalKind::hangup())?;
//! std::process::Command::new("kill").args(["-HUP", &std::process::id().to_string()]).status()?;
//! reload.recv().wait();
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! What listening does to the process, and what is merged, is told in the [module above](super).

use super::desk::Desk;
use super::handler::LIMIT;
use super::slot::Slot;
use libc::c_int;
use std::fmt;
use std::io;

/// The signals to which nobody can listen, and why.
const REFUSED: [(c_int, &str); 6] = [
    (libc::SIGKILL, "the system delivers it to no handler"),
    (libc::SIGSTOP, "the system delivers it to no handler"),
    (libc::SIGSEGV, "the instruction at fault would run again for ever"),
    (libc::SIGBUS, "the instruction at fault would run again for ever"),
    (libc::SIGFPE, "the instruction at fault would run again for ever"),
    (libc::SIGILL, "the instruction at fault would run again for ever"),
];

const NAMES: [(c_int, &str); 27] = [
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGUSR1, "SIGUSR1"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGUSR2, "SIGUSR2"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGCHLD, "SIGCHLD"),
    (libc::SIGCONT, "SIGCONT"),
    (libc::SIGSTOP, "SIGSTOP"),
    (libc::SIGTSTP, "SIGTSTP"),
    (libc::SIGTTIN, "SIGTTIN"),
    (libc::SIGTTOU, "SIGTTOU"),
    (libc::SIGURG, "SIGURG"),
    (libc::SIGVTALRM, "SIGVTALRM"),
    (libc::SIGPROF, "SIGPROF"),
    (libc::SIGWINCH, "SIGWINCH"),
    (libc::SIGIO, "SIGIO"),
    (libc::SIGSYS, "SIGSYS"),
];

/// Which signal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SignalKind(c_int);

impl SignalKind {
    /// Any signal by its number. Whether it can be listened to or sent is found out by who does.
    pub const fn from_raw(number: c_int) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn as_raw(self) -> c_int {
        self.0
    }

    /// SIGALRM: a timer of the system has expired.
    pub const fn alarm() -> Self {
        Self(libc::SIGALRM)
    }

    /// SIGCHLD: a child process has ended, stopped or gone on.
    pub const fn child() -> Self {
        Self(libc::SIGCHLD)
    }

    /// SIGHUP: the terminal is gone; services take it as a request to read their configuration again.
    pub const fn hangup() -> Self {
        Self(libc::SIGHUP)
    }

    /// SIGINT: ctrl-c at the terminal.
    pub const fn interrupt() -> Self {
        Self(libc::SIGINT)
    }

    /// SIGIO: input or output is possible.
    pub const fn io() -> Self {
        Self(libc::SIGIO)
    }

    /// SIGKILL: ends a process at once. It can be sent, but not listened to.
    pub const fn kill() -> Self {
        Self(libc::SIGKILL)
    }

    /// SIGPIPE: something was written that nobody will read.
    pub const fn pipe() -> Self {
        Self(libc::SIGPIPE)
    }

    /// SIGQUIT: ctrl-\ at the terminal.
    pub const fn quit() -> Self {
        Self(libc::SIGQUIT)
    }

    /// SIGTERM: a request to end.
    pub const fn terminate() -> Self {
        Self(libc::SIGTERM)
    }

    /// SIGUSR1: whatever the program says it means.
    pub const fn user_defined1() -> Self {
        Self(libc::SIGUSR1)
    }

    /// SIGUSR2: whatever the program says it means.
    pub const fn user_defined2() -> Self {
        Self(libc::SIGUSR2)
    }

    /// SIGWINCH: the terminal has another size.
    pub const fn window_change() -> Self {
        Self(libc::SIGWINCH)
    }

    /// Why nobody can listen to it.
    fn refusal(self) -> Option<&'static str> {
        let refused = REFUSED.iter().find(|(number, _)| *number == self.0).map(|(_, why)| *why);
        let is_number = (1..LIMIT as c_int).contains(&self.0);
        if is_number { refused } else { Some("there is no such signal") }
    }
}

/// Its name, or its number.
impl fmt::Display for SignalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "signal {}", self.0),
        }
    }
}

impl fmt::Debug for SignalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Listens to a signal from now on: whatever comes after this call is received, also if nobody waits for it yet.
///
/// # Errors
/// [`InvalidInput`](io::ErrorKind::InvalidInput) for what nobody can listen to, with what is accepted; the system's error
/// if the first listener of the process gets no pipe or no thread.
///
/// ```
/// use ropewalk::signal::unix::{SignalKind, signal};
/// let refused = signal(SignalKind::kill()).unwrap_err().to_string();
/// assert!(refused.contains("SIGKILL") && refused.contains("accepted"));
/// ```
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    if let Some(why) = kind.refusal() {
        return Err(refuse(kind, why));
    }
    let desk = Desk::get();
    match desk.enter(kind.0) {
        Ok(()) => {
            let slot = desk.slot(kind.0);
            Ok(Signal { kind, slot, seen: slot.delivered() })
        }
        // The C library keeps some numbers for itself.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(refuse(kind, "the system refuses it"))
        }
        Err(error) => Err(error),
    }
}

fn refuse(kind: SignalKind, why: &str) -> io::Error {
    let never = REFUSED.map(|(number, _)| SignalKind(number).to_string()).join(", ");
    let text = format!(
        "{kind} cannot be listened to: {why}; accepted: the system's signals from 1 to {}, except {never}",
        LIMIT - 1
    );
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// Listens to one signal while it lives; see [`signal`].
#[must_use = "nobody listens any more when it is dropped"]
pub struct Signal {
    kind: SignalKind,
    slot: &'static Slot,
    /// How many deliveries there were when it received last, or began.
    seen: usize,
}

impl Signal {
    /// Waits for the next delivery; several that came since the last call are one. It never ends by itself.
    ///
    /// Cancel safety: nothing is lost; a delivery that was not received is there for the next call.
    ///
    /// ```
    /// # use ropewalk::{Wait, signal::unix::{SignalKind, signal}};
    /// # fn raise() { std::process::Command::new("kill").args(["-USR1", &std::process::id().to_string()]).status().unwrap(); }
    /// let mut first = signal(SignalKind::user_defined1())?;
    /// let mut second = signal(SignalKind::user_defined1())?;
    /// raise();
    /// first.recv().wait();
    /// second.recv().wait(); // each sees it
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn recv(&mut self) {
        self.slot.beyond(&mut self.seen).await;
    }

    /// Whether there is a delivery to receive, which is received then.
    pub fn try_recv(&mut self) -> bool {
        self.slot.advance(&mut self.seen)
    }

    /// Which signal this listens to.
    pub fn kind(&self) -> SignalKind {
        self.kind
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signal").field(&self.kind).finish()
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        Desk::get().leave(self.kind.0);
    }
}
