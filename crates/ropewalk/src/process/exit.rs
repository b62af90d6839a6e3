//! How one learns that a process has ended: its pidfd through the driver of a runtime, or SIGCHLD.
//!
//! A pidfd tells of one process and needs no handler, so it is taken where the system has it. SIGCHLD tells of all, so
//! everybody who waits has to look; it needs no driver, so it is also what is left when a runtime has ended. Where there is no
//! descriptor for either, one looks now and then.

use crate::drive::io::{Direction, Interest, Moored};
use crate::signal::unix::{Signal, SignalKind, signal};
use crate::time::sleep;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// How often one looks who hears of nothing.
const LOOKS: Duration = Duration::from_secs(1);

/// Where one waits for the end of a process.
#[derive(Debug, Default)]
pub(super) enum Notice {
    /// Nobody has waited yet.
    #[default]
    None,
    Pidfd(Pidfd),
    Children(Signal),
    /// Nothing is to be had that tells.
    Nothing,
}

/// The file descriptor that stands for one process.
#[derive(Debug)]
pub(super) struct Pidfd(Moored<OwnedFd>);

impl Notice {
    /// Waits for the end of `child`. It is looked at synchronously in each poll, so dropping the future loses nothing.
    pub(super) async fn of(&mut self, child: &mut Child) -> io::Result<ExitStatus> {
        loop {
            match self {
                Self::None => *self = Self::begin(child),
                Self::Pidfd(pidfd) => match pidfd.end(child).await {
                    Ok(status) => return status,
                    Err(DriverGone) => *self = Self::listen(),
                },
                // Whoever listens looks afterwards: an end before that is seen, an end after it is heard.
                Self::Children(signal) => match child.try_wait()? {
                    Some(status) => return Ok(status),
                    None => signal.recv().await,
                },
                // Whoever gives up and waits again looks at once.
                Self::Nothing => match child.try_wait()? {
                    Some(status) => return Ok(status),
                    None => {
                        sleep(LOOKS).await;
                        *self = Self::begin(child);
                    }
                },
            }
        }
    }

    fn begin(child: &Child) -> Self {
        Pidfd::watch(child).map_or_else(Self::listen, Self::Pidfd)
    }

    fn listen() -> Self {
        signal(SignalKind::child()).map_or(Self::Nothing, Self::Children)
    }
}

/// The runtime that watched has ended.
struct DriverGone;

impl Pidfd {
    /// Has the driver watch it, if the system and the surroundings can.
    fn watch(child: &Child) -> Option<Self> {
        Some(Self(Moored::new(pidfd(child)?, Interest::READABLE).ok()?))
    }

    async fn end(&self, child: &mut Child) -> Result<io::Result<ExitStatus>, DriverGone> {
        let mut own = None;
        let look = || match child.try_wait() {
            Ok(None) => Err(io::ErrorKind::WouldBlock.into()),
            looked => {
                own = Some(looked.map(|status| status.expect("there is one")));
                Ok(())
            }
        };
        let _gone = self.0.registration().io(Direction::Read, look).await;
        own.ok_or(DriverGone)
    }
}

/// A file descriptor that is readable when the process has ended; `None`: the system has none to give.
#[cfg(target_os = "linux")]
pub(super) fn pidfd(child: &Child) -> Option<OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    // Nobody has reaped it, so the number is its own.
    pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok()
}
#[cfg(not(target_os = "linux"))]
pub(super) fn pidfd(_: &Child) -> Option<OwnedFd> {
    None
}
