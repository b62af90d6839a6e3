//! Linux: io_uring. Files by completion, sockets by readiness that needs no system call to be looked for.
//!
//! | file | what it is |
//! |---|---|
//! | `uring` | the driver: who is watched, wake-ups, sleeping (W1-W4) |
//! | `ring` | the two queues, and who may touch them (R1-R5) |
//! | `probe` | whether the kernel has what is needed |
//! | `bell` | wake-ups (B1, B2) |
//! | `op` | one operation on a file, with everything it needs (O1-O4) |
//! | `flights` | the operations under way (F1-F4) |
//! | `flow` | operations that are carried out again and again: connections, pieces of a stream (FL1-FL5) |
//! | `influx` | who owns one of these |
//! | `places` | who has given work to the kernel (PL1) |
//! | `buffers` | the buffers that these fill (BU1-BU3) |
//!
//! # Sockets
//!
//! A registration is one multishot poll: it stays armed, and each time the socket becomes ready there is a completion, as
//! from an edge-triggered epoll. The kernel runs it on the thread that armed it, which it interrupts if it is in user code, so
//! completions appear in memory whoever is busy or asleep. Flags that would save that interruption (`COOP_TASKRUN`,
//! `DEFER_TASKRUN`) make completions wait for that one thread, and here any worker may be the one who polls: a worker held by
//! user code would keep the events of all.
//!
//! A completion says what whoever woke the poll said, and is not looked up: TCP wakes with `POLLPRI` for data of any kind. So what
//! is registered for something urgent is told of it too often, and of TCP a short read is followed by another one
//! (`extent.rs`).
//!
//! Invariants:
//!
//! * **W1** A watched socket has one poll, armed or with its last completion still to be taken. Whoever takes the last one
//!   (the kernel ended it: out of room, or the thread that armed it is gone) arms it again if the socket is still watched.
//! * **W2** Arming, arming again and removing are done under the lock of the table, with the entry in the kernel before it is
//!   released: a number of a file is used only while its owner has not deregistered it.
//! * **W3** A new poll reports what is ready already, so nothing is lost between two of them.
//! * **W4** `wake` puts a no-op through the ring unless one is on its way (`bell.rs`). If the kernel does not take it (who sleeps
//!   in the ring went there before a filter came), it rings the doorbell (`ring.rs`, R5).
//!
//! The kernel holds a watched file until its poll has been removed, which is on the thread that armed it: a socket that another
//! thread drops is closed when that thread was interrupted, a few microseconds later.

mod bell;
mod buffers;
mod flights;
mod flow;
mod influx;
mod op;
mod places;
mod probe;
mod ring;

pub(crate) use buffers::Filled;
pub(crate) use flights::Flight;
use flights::Flights;
use flow::Flows;
pub(crate) use flow::{Arrival, What};
pub(crate) use influx::Influx;
pub(crate) use op::{AT_CURSOR, Held, Landing, Work};

use super::contract::{Event, Events, Interest, IoDriver, IoDriverKind, IoSource, Ready, Token};
use bell::Bell;
use buffers::Buffers;
use io_uring::types::Fd;
use io_uring::{cqueue, opcode};
use ring::{Kind, Ring};
use ropewalk_core::prim::Lock;
use rustix::event::epoll;
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long the end of a runtime waits for the kernel.
const LAST_CALL: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(10);

/// One ring and all that goes through it.
#[derive(Debug)]
pub(crate) struct Uring {
    ring: Ring,
    /// By token. Taken before the ring's own lock.
    watched: Lock<HashMap<u64, Watched>>,
    flights: Flights,
    flows: Flows,
    bell: Bell,
    /// Refuses what cannot be watched, as the other drivers do.
    scales: OwnedFd,
    /// Made when they are first needed; `None`: the kernel has no such thing. After the ring (BU3).
    buffers: OnceLock<Option<Buffers>>,
}

#[derive(Clone, Copy, Debug)]
struct Watched {
    file: RawFd,
    flags: u32,
}

impl Uring {
    /// # Errors
    /// What is missing here.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            ring: probe::ring()?,
            watched: Lock::new(HashMap::new()),
            flights: Flights::new(),
            flows: Flows::new(),
            bell: Bell::new(),
            scales: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            buffers: OnceLock::new(),
        })
    }

    /// Arms the poll of a watched socket.
    fn arm(&self, token: u64, watched: Watched) -> io::Result<()> {
        let poll = opcode::PollAdd::new(Fd(watched.file), watched.flags).multi(true).build();
        // SAFETY: it points to no memory.
        unsafe { self.ring.submit(&poll.user_data(Kind::Poll.mark(token))) }
    }

    /// Polls that the kernel has ended (W1).
    fn arm_again(&self, ended: Vec<u64>) {
        let watched = self.watched.lock(); // W2
        for token in ended {
            if let Some(known) = watched.get(&token) {
                // What cannot be submitted just now goes with the next.
                let _later = self.arm(token, *known);
            }
        }
    }

    /// Takes completions for which there is room; whether there was any.
    fn reap(&self, events: &mut Events) -> bool {
        let (mut any, mut landed) = (false, false);
        let mut ended = Vec::new();
        let mut till = self.ring.till();
        while events.room() > 1
            && let Some(entry) = till.next()
        {
            any = true;
            match Kind::of(entry.user_data()) {
                Kind::Poll => ended.extend(polled(&entry, events)),
                Kind::Op => {
                    landed = true;
                    self.flights.landed(&self.ring, entry.user_data(), entry.result());
                }
                Kind::Flow => {
                    landed = true;
                    self.flows.arrived(self, &entry);
                }
                Kind::Wake => {
                    self.bell.heard(); // W4
                    self.ring.heard(&entry);
                }
                Kind::Order => {}
            }
        }
        drop(till);
        if landed {
            events.push(Event { token: Token::NOBODY, ready: Ready::NONE });
        }
        if !ended.is_empty() {
            self.arm_again(ended);
        }
        any
    }

    /// Files that are always ready are refused: polls of them would end at once, again and again.
    fn weigh(&self, source: IoSource<'_>) -> io::Result<()> {
        let kind = FileType::from_raw_mode(fstat(source)?.st_mode);
        if !matches!(kind, FileType::Socket | FileType::Fifo) {
            let (data, flags) = (epoll::EventData::new_u64(0), epoll::EventFlags::empty());
            match epoll::add(&self.scales, source, data, flags) {
                Err(Errno::EXIST) => {} // another thread has it on the scales just now
                weighed => weighed.and_then(|()| epoll::delete(&self.scales, source))?,
            }
        }
        Ok(())
    }

    /// Whether the kernel has nothing but polls.
    fn is_idle(&self) -> bool {
        self.flights.are_over() && self.flows.are_over()
    }

    /// Where operations on files go.
    pub(crate) fn start(self: &Arc<Self>, work: Work) -> Flight {
        self.flights.start(self, work)
    }

    /// Whether the kernel takes nothing any more: there is no point in asking it.
    pub(crate) fn is_refused(&self) -> bool {
        self.ring.is_refused()
    }

    /// For whoever polls: what an attempt to hand over what is left, and perhaps to sleep, has come to.
    fn tell_refused(&self, outcome: io::Result<()>) -> io::Result<()> {
        if let Err(error) = &outcome
            && self.is_refused()
        {
            let error = error.raw_os_error().unwrap_or(libc::EIO);
            self.flights.refuse(error);
            self.flows.refuse(error);
        }
        outcome
    }

    /// The runtime goes down.
    pub(super) fn end(&self) {
        self.flights.end(&self.ring);
        self.flows.end(&self.ring);
    }

    /// Whether it was ever used for a file: then there may be something to look for.
    #[inline]
    pub(crate) fn is_flying(&self) -> bool {
        self.flights.were_used()
    }

    /// The same, or something may arrive at a flow.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        self.is_flying() || self.flows.are_flowing()
    }

    /// Wakes those whose operations are done.
    pub(super) fn deliver(&self) {
        self.flights.deliver();
        self.flows.deliver();
    }

    /// Whether there are buffers for the kernel to fill.
    fn lends(&self) -> bool {
        self.buffers.get_or_init(|| self.ring.buffers().ok()).is_some()
    }

    /// Connections and pieces that have arrived at flows.
    pub(super) fn arrivals(&self) -> u64 {
        self.flows.count()
    }

    /// File operations that were begun.
    pub(super) fn operations(&self) -> u64 {
        self.flights.count()
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if self.is_idle() {
            return;
        }
        self.end();
        // What the kernel cannot be asked to end is not worth that patience.
        let patience = if self.is_refused() { LOOK } else { LAST_CALL };
        let until = Instant::now() + patience;
        while !self.is_idle() && Instant::now() < until {
            if self.ring.wait(Some(LOOK)).is_err() {
                std::thread::sleep(LOOK);
            }
            while self.reap(&mut Events::new()) {}
        }
        if !self.flows.are_over() {
            std::mem::forget(self.buffers.take()); // BU3
        }
        self.flights.lose(); // F3
    }
}

/// One for the runtime's reactor; files have the other.
impl IoDriver for Arc<Uring> {
    fn kind(&self) -> IoDriverKind {
        IoDriverKind::IoUring
    }

    fn register(&self, source: IoSource<'_>, token: Token, interest: Interest) -> io::Result<()> {
        self.weigh(source)?;
        let (token, file) = (token.to_bits(), source.as_fd().as_raw_fd());
        let new = Watched { file, flags: flags(interest) };
        let mut watched = self.watched.lock(); // W2
        watched.insert(token, new);
        self.arm(token, new).inspect_err(|_| {
            // It may be taken later. Then it is removed at once.
            watched.remove(&token);
            let _later = self.ring.try_cancel(Kind::Poll.mark(token));
        })
    }

    fn deregister(&self, _: IoSource<'_>, token: Token) -> io::Result<()> {
        let mut watched = self.watched.lock(); // W2
        watched.remove(&token.to_bits());
        self.ring.try_cancel(Kind::Poll.mark(token.to_bits()))
    }

    fn short_is_empty(&self) -> bool {
        true
    }

    fn poll(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        if self.reap(events) {
            return Ok(());
        }
        if timeout == Some(Duration::ZERO) {
            return self.tell_refused(self.ring.unstick());
        }
        self.tell_refused(self.ring.wait(timeout))?;
        self.reap(events);
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        if !self.bell.ring() {
            return Ok(()); // W4
        }
        // It may come late, and the next one may be quicker: for B1 it is not on its way. One too many is a poll that returns early.
        self.ring.knock().or_else(|_| {
            self.bell.heard();
            self.ring.ring_doorbell()
        })
    }

    fn as_pollable(&self) -> Option<BorrowedFd<'_>> {
        Some(self.ring.as_fd())
    }
}

/// What a completion of a poll says; its token, if the kernel has ended it and it is to be armed again.
fn polled(entry: &cqueue::Entry, events: &mut Events) -> Option<u64> {
    let token = entry.user_data();
    // The thread that armed it is gone, or there was no memory for the moment.
    let is_passing = |error| [-libc::ECANCELED, -libc::EINTR, -libc::EAGAIN, -libc::ENOMEM].contains(&error);
    let (ready, again) = match entry.result() {
        flags @ 0.. => (ready(flags as u32), true),
        error => (Ready::ERROR | Ready::READABLE | Ready::WRITABLE, is_passing(error)),
    };
    if entry.result() >= 0 || !again {
        events.push(Event { token: Token::from_bits(token), ready });
    }
    (again && !cqueue::more(entry.flags())).then_some(token)
}

fn flags(interest: Interest) -> u32 {
    let mut flags = 0;
    for (wanted, flag) in [
        (interest.is_readable(), libc::POLLIN | libc::POLLRDHUP),
        (interest.is_writable(), libc::POLLOUT),
        // The kernel looks for POLLPRI alone only when it arms a poll.
        (interest.is_priority(), libc::POLLPRI | libc::POLLIN),
    ] {
        flags |= if wanted { flag as u32 } else { 0 };
    }
    flags
}

fn ready(flags: u32) -> Ready {
    let mut ready = Ready::NONE;
    for (flag, means) in [
        (libc::POLLIN, Ready::READABLE),
        (libc::POLLOUT, Ready::WRITABLE),
        (libc::POLLPRI, Ready::PRIORITY),
        (libc::POLLRDHUP, Ready::READ_CLOSED),
        (libc::POLLHUP, Ready::READ_CLOSED | Ready::WRITE_CLOSED),
        (libc::POLLERR, Ready::ERROR | Ready::READABLE | Ready::WRITABLE),
    ] {
        if flags & flag as u32 != 0 {
            ready |= means;
        }
    }
    ready
}
