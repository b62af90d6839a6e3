//! Linux: epoll. Edge-triggered, so a source is registered once and waiting for it needs no system call; timeouts in
//! nanoseconds where the kernel has them (5.11).

use super::contract::{Event, Events, Interest, IoDriver, IoDriverKind, IoSource, Ready, Token};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The token of our own wake-ups.
const WAKE: u64 = u64::MAX;
/// How many events the kernel gives at once.
const BATCH: usize = 256;

type Buffer = [MaybeUninit<epoll::Event>; BATCH];

#[derive(Debug)]
pub(super) struct Epoll {
    epoll: OwnedFd,
    /// Edge-triggered: each write is an event, and nobody reads it.
    bell: OwnedFd,
    /// The kernel knows no timeouts but in milliseconds.
    coarse: bool,
}

impl Epoll {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &bell, EventData::new_u64(WAKE), EventFlags::IN | EventFlags::ET)?;
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut buffer: Buffer = [MaybeUninit::uninit(); BATCH];
        let coarse = matches!(epoll::wait(&epoll, &mut buffer, Some(&at_once)), Err(Errno::NOSYS));
        Ok(Self { epoll, bell, coarse })
    }

    fn wait<'b>(&self, buffer: &'b mut Buffer, timeout: Option<Duration>) -> io::Result<&'b [epoll::Event]> {
        if self.coarse {
            return self.wait_coarsely(buffer, timeout);
        }
        // More seconds than the kernel can count is no limit.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match epoll::wait(&self.epoll, buffer, timeout.as_ref()) {
            Ok((events, _)) => Ok(events),
            Err(Errno::INTR) => Ok(&[]),
            Err(error) => Err(error.into()),
        }
    }

    /// Rounded up, so that nobody is woken early.
    fn wait_coarsely<'b>(
        &self,
        buffer: &'b mut Buffer,
        timeout: Option<Duration>,
    ) -> io::Result<&'b [epoll::Event]> {
        let millis = timeout
            .map_or(-1, |timeout| i32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX));
        let start = buffer.as_mut_ptr().cast();
        // SAFETY: the buffer has room for as many events, which are of the kernel's layout in both crates.
        let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), start, BATCH as i32, millis) };
        match usize::try_from(count) {
            // SAFETY: the kernel has filled so many of them.
            Ok(count) => Ok(unsafe { std::slice::from_raw_parts(start.cast(), count) }),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted { Ok(&[]) } else { Err(error) }
            }
        }
    }
}

impl IoDriver for Epoll {
    fn kind(&self) -> IoDriverKind {
        IoDriverKind::Epoll
    }

    fn register(&self, source: IoSource<'_>, token: Token, interest: Interest) -> io::Result<()> {
        let mut flags = EventFlags::ET;
        if interest.is_readable() {
            flags |= EventFlags::IN | EventFlags::RDHUP;
        }
        if interest.is_writable() {
            flags |= EventFlags::OUT;
        }
        if interest.is_priority() {
            flags |= EventFlags::PRI;
        }
        Ok(epoll::add(&self.epoll, source, EventData::new_u64(token.to_bits()), flags)?)
    }

    fn deregister(&self, source: IoSource<'_>, _: Token) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, source)?)
    }

    fn short_is_empty(&self) -> bool {
        true // RDHUP comes with the data or after it, PRI with an urgent byte
    }

    fn poll(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); BATCH];
        for event in self.wait(&mut buffer, timeout)? {
            let (token, flags) = (event.data.u64(), event.flags);
            if token != WAKE {
                events.push(Event { token: Token::from_bits(token), ready: ready(flags) });
            }
        }
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        match rustix::io::write(&self.bell, &1u64.to_ne_bytes()) {
            Ok(_) | Err(Errno::AGAIN) => Ok(()), // so many are there that one more makes no difference
            Err(error) => Err(error.into()),
        }
    }

    fn as_pollable(&self) -> Option<BorrowedFd<'_>> {
        Some(self.epoll.as_fd())
    }
}

fn ready(flags: EventFlags) -> Ready {
    let mut ready = Ready::NONE;
    for (flag, means) in [
        (EventFlags::IN, Ready::READABLE),
        (EventFlags::OUT, Ready::WRITABLE),
        (EventFlags::PRI, Ready::PRIORITY),
        (EventFlags::RDHUP, Ready::READ_CLOSED),
        (EventFlags::HUP, Ready::READ_CLOSED | Ready::WRITE_CLOSED),
        (EventFlags::ERR, Ready::ERROR | Ready::READABLE | Ready::WRITABLE),
    ] {
        if flags.contains(flag) {
            ready |= means;
        }
    }
    ready
}
