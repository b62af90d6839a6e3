//! macOS and FreeBSD: kqueue, through the crate `polling`. Edge-triggered.
//!
//! It does not tell the end of a stream from data, so a short read is followed by another one (`short_is_empty`).

use super::contract::{Event, Events, Interest, IoDriver, IoDriverKind, IoSource, Ready, Token};
use polling::{Event as Polled, PollMode, Poller};
use ropewalk_core::prim::Lock;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

pub(super) struct Kqueue {
    poller: Poller,
    /// For the one who polls.
    buffer: Lock<polling::Events>,
}

impl Kqueue {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { poller: Poller::new()?, buffer: Lock::new(polling::Events::new()) })
    }
}

impl std::fmt::Debug for Kqueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.poller.fmt(f)
    }
}

impl IoDriver for Kqueue {
    fn kind(&self) -> IoDriverKind {
        IoDriverKind::Kqueue
    }

    fn register(&self, source: IoSource<'_>, token: Token, interest: Interest) -> io::Result<()> {
        let mut wanted =
            Polled::new(token.to_bits() as usize, interest.is_readable(), interest.is_writable());
        wanted.set_interrupt(interest.is_readable());
        wanted.set_priority(interest.is_priority());
        // SAFETY: the source is open until it is deregistered (I1 of `registration.rs`).
        unsafe { self.poller.add_with_mode(source.as_fd().as_raw_fd(), wanted, PollMode::Edge) }
    }

    fn deregister(&self, source: IoSource<'_>, _: Token) -> io::Result<()> {
        self.poller.delete(source)
    }

    fn poll(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let mut buffer = self.buffer.lock();
        buffer.clear();
        match self.poller.wait(&mut buffer, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            polled => polled?,
        };
        for event in buffer.iter() {
            events.push(Event { token: Token::from_bits(event.key as u64), ready: ready(&event) });
        }
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        self.poller.notify()
    }

    fn as_pollable(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        Some(self.poller.as_fd())
    }
}

fn ready(event: &Polled) -> Ready {
    let mut ready = Ready::NONE;
    for (set, means) in [
        (event.readable, Ready::READABLE),
        (event.writable, Ready::WRITABLE),
        (event.is_priority(), Ready::PRIORITY),
        (event.is_interrupt(), Ready::READ_CLOSED | Ready::WRITE_CLOSED),
        (event.is_err() == Some(true), Ready::ERROR | Ready::READABLE | Ready::WRITABLE),
    ] {
        if set {
            ready |= means;
        }
    }
    ready
}
