//! `poll(2)`: what every Unix has. The kernel remembers nothing, so the whole list goes in at every call; for few files.
//!
//! It is level-triggered: what was reported is left out of the list until `rearm`. Whoever changes the list wakes the one who
//! polls, which then begins again with the new one.

use super::contract::{Event, Events, Interest, IoDriver, IoDriverKind, IoSource, Ready, Token};
use ropewalk_core::prim::Lock;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Poll {
    /// What is watched, by token.
    watched: Lock<HashMap<u64, Watched>>,
    /// A byte in it is a wake-up.
    bell: UnixStream,
    ear: UnixStream,
}

#[derive(Clone, Copy, Debug)]
struct Watched {
    file: RawFd,
    /// What it was registered for.
    interest: PollFlags,
    /// What of it has not been reported since it was last armed.
    armed: PollFlags,
}

impl Poll {
    pub(super) fn new() -> io::Result<Self> {
        let (bell, ear) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ear.set_nonblocking(true)?;
        Ok(Self { watched: Lock::new(HashMap::new()), bell, ear })
    }

    /// What to ask for, and for whom.
    fn list(&self) -> Vec<(u64, Watched)> {
        let watched = self.watched.lock();
        watched.iter().filter(|(_, watched)| !watched.armed.is_empty()).map(|(t, w)| (*t, *w)).collect()
    }

    fn hear(&self) {
        let mut bytes = [0; 64];
        while matches!((&self.ear).read(&mut bytes), Ok(64)) {}
    }

    /// Takes what is reported out of the list, and passes on what is still wanted.
    fn report(&self, token: u64, flags: PollFlags, events: &mut Events) {
        let mut watched = self.watched.lock();
        let Some(watched) = watched.get_mut(&token) else { return }; // deregistered meanwhile
        let final_ones = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        watched.armed &= if flags.intersects(final_ones) { PollFlags::empty() } else { !flags };
        let token = Token::from_bits(token);
        events.push(Event { token, ready: ready(flags) });
    }
}

impl IoDriver for Poll {
    fn kind(&self) -> IoDriverKind {
        IoDriverKind::Poll
    }

    fn register(&self, source: IoSource<'_>, token: Token, interest: Interest) -> io::Result<()> {
        let interest = flags(interest);
        let watched = Watched { file: source.as_fd().as_raw_fd(), interest, armed: interest };
        self.watched.lock().insert(token.to_bits(), watched);
        self.wake()
    }

    fn deregister(&self, _: IoSource<'_>, token: Token) -> io::Result<()> {
        self.watched.lock().remove(&token.to_bits());
        self.wake()
    }

    fn rearm(&self, _: IoSource<'_>, token: Token, interest: Interest) -> io::Result<()> {
        if let Some(watched) = self.watched.lock().get_mut(&token.to_bits()) {
            watched.armed |= flags(interest) & watched.interest;
        }
        self.wake()
    }

    fn needs_rearm(&self) -> bool {
        true
    }

    fn short_is_empty(&self) -> bool {
        true // armed again, it asks the kernel anew
    }

    fn poll(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let list = self.list();
        let mut fds = vec![PollFd::new(&self.ear, PollFlags::IN)];
        fds.extend(list.iter().map(|(_, watched)| {
            // SAFETY: it was open when the list was made. If it is closed and its number used again meanwhile, the answer is
            // about another file: an event too many, which is ignored with its token.
            let file = unsafe { BorrowedFd::borrow_raw(watched.file) };
            PollFd::from_borrowed_fd(file, watched.armed)
        }));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if !fds[0].revents().is_empty() {
            self.hear();
        }
        let happened = list.iter().zip(&fds[1..]).filter(|(_, fd)| !fd.revents().is_empty());
        // What there is no room for stays armed, and is found again.
        for ((token, _), fd) in happened.take(events.room()) {
            self.report(*token, fd.revents(), events);
        }
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        match (&self.bell).write(&[1]) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()), // there are plenty
            Err(error) => Err(error),
        }
    }
}

fn flags(interest: Interest) -> PollFlags {
    let mut flags = PollFlags::empty();
    if interest.is_readable() {
        flags |= PollFlags::IN;
        #[cfg(target_os = "linux")]
        {
            flags |= PollFlags::RDHUP;
        }
    }
    if interest.is_writable() {
        flags |= PollFlags::OUT;
    }
    if interest.is_priority() {
        flags |= PollFlags::PRI;
    }
    flags
}

fn ready(flags: PollFlags) -> Ready {
    let mut ready = Ready::NONE;
    for (flag, means) in [
        (PollFlags::IN, Ready::READABLE),
        (PollFlags::OUT, Ready::WRITABLE),
        (PollFlags::PRI, Ready::PRIORITY),
        #[cfg(target_os = "linux")]
        (PollFlags::RDHUP, Ready::READ_CLOSED),
        (PollFlags::HUP, Ready::READ_CLOSED | Ready::WRITE_CLOSED),
        (PollFlags::ERR, Ready::ERROR | Ready::READABLE | Ready::WRITABLE),
        (PollFlags::NVAL, Ready::ERROR | Ready::READABLE | Ready::WRITABLE),
    ] {
        if flags.contains(flag) {
            ready |= means;
        }
    }
    ready
}
