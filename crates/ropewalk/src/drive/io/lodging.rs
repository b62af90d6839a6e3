//! A runtime without threads that is driven on a worker of another one: that one's driver watches this one's, which is a file
//! too.

use super::contract::Interest;
use super::readiness::Direction;
use super::registration::Moored;
use crate::runtime::Shared;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};
use std::time::Duration;

/// How often to look if nobody can tell.
const LOOK: Duration = Duration::from_millis(1);

pub(crate) enum Lodging<'a> {
    /// There is nothing to look for.
    Quiet,
    Watched(Moored<BorrowedFd<'a>>),
    /// The driver is no file, or was refused.
    Unwatched,
}

impl<'a> Lodging<'a> {
    pub(super) fn new(driver: Option<BorrowedFd<'a>>, host: &Shared) -> Self {
        let Some(driver) = driver else { return Self::Unwatched };
        match Moored::new_in(host, driver, Interest::READABLE) {
            Ok(driver) => Self::Watched(driver),
            Err(_) => Self::Unwatched,
        }
    }

    /// How long to sleep at most.
    pub(crate) fn shorten(&self, timeout: Option<Duration>) -> Option<Duration> {
        match self {
            Self::Unwatched => Some(timeout.map_or(LOOK, |timeout| timeout.min(LOOK))),
            _ => timeout,
        }
    }

    /// Ready when there are events.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let Self::Watched(driver) = self else { return Poll::Pending };
        driver.poll_io(cx, Direction::Read, || look(*driver.file())).map(drop)
    }
}

fn look(driver: BorrowedFd<'_>) -> io::Result<()> {
    let mut asked = [PollFd::from_borrowed_fd(driver, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match rustix::event::poll(&mut asked, Some(&at_once))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}
