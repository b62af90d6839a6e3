//! What an I/O driver is: the contract between a runtime and whatever tells it which files are ready.

use std::fmt;
use std::io;
use std::ops::{BitOr, BitOrAssign};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Which I/O driver a runtime uses; see [`Builder::io_driver`](crate::Builder::io_driver).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IoDriverKind {
    /// The best one here, as measured with sockets; [`metrics`](crate::Runtime::metrics) says which it is, and why. On Linux epoll.
    #[default]
    Auto,
    /// Linux: epoll, edge-triggered.
    Epoll,
    /// macOS and FreeBSD.
    Kqueue,
    /// Windows.
    Iocp,
    /// WebAssembly.
    Wasi,
    /// `poll(2)`: every Unix has it, and it is slow with many sockets.
    Poll,
    /// Linux: io_uring. Equal to epoll for sockets; files are read, written, synced and opened by it, which the blocking pool
    /// does otherwise. Where the kernel has none, or forbids it, epoll takes its place, and metrics say why.
    IoUring,
    /// One of the user's own: see [`Builder::io_driver_with`](crate::Builder::io_driver_with).
    Custom,
}

impl fmt::Display for IoDriverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What somebody wants to hear about a file.
///
/// ```
/// use ropewalk::driver::Interest;
/// let both = Interest::READABLE | Interest::WRITABLE;
/// assert!(both.is_readable() && both.is_writable() && !both.is_priority());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interest(u8);

impl Interest {
    /// There is something to read, or the other side has closed.
    pub const READABLE: Self = Self(1);
    /// There is room to write, or nobody will ever read.
    pub const WRITABLE: Self = Self(2);
    /// There is something urgent to read (out-of-band data; an event of a special file). That the other side has closed is not:
    /// who wants to hear of that, too, asks for [`READABLE`](Self::READABLE) as well. It may be said too often (by io_uring, of
    /// all data): be prepared to find nothing.
    pub const PRIORITY: Self = Self(4);
    /// Both directions.
    pub const BOTH: Self = Self(3);
    /// Both directions, and something urgent.
    pub(crate) const ALL: Self = Self(7);

    pub(super) fn bits(self) -> u8 {
        self.0
    }

    pub(super) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Whether it includes [`READABLE`](Self::READABLE).
    pub fn is_readable(self) -> bool {
        self.0 & Self::READABLE.0 != 0
    }

    /// Whether it includes [`WRITABLE`](Self::WRITABLE).
    pub fn is_writable(self) -> bool {
        self.0 & Self::WRITABLE.0 != 0
    }

    /// Whether it includes [`PRIORITY`](Self::PRIORITY).
    pub fn is_priority(self) -> bool {
        self.0 & Self::PRIORITY.0 != 0
    }
}

impl BitOr for Interest {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            [(Self::READABLE, "readable"), (Self::WRITABLE, "writable"), (Self::PRIORITY, "priority")];
        let set = names.iter().filter(|(bit, _)| self.0 & bit.0 != 0).map(|(_, name)| *name);
        f.write_str(&set.collect::<Vec<_>>().join("|"))
    }
}

/// What a file is ready for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Ready(pub(super) u8);

/// An interest has the bit of the readiness it is about; that the direction is closed is so many bits further up.
const CLOSED: u32 = 3;
const CAN_CLOSE: u8 = Interest::BOTH.0;
const _: () = assert!(Ready::READABLE.0 == Interest::READABLE.0 && Ready::WRITABLE.0 == Interest::WRITABLE.0);
const _: () = assert!(Ready::PRIORITY.0 == Interest::PRIORITY.0);
const _: () = assert!(Ready::READ_CLOSED.0 == Ready::READABLE.0 << CLOSED);
const _: () = assert!(Ready::WRITE_CLOSED.0 == Ready::WRITABLE.0 << CLOSED);

impl Ready {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Reading will not block.
    pub const READABLE: Self = Self(1);
    /// Writing will not block.
    pub const WRITABLE: Self = Self(2);
    /// There is something urgent.
    pub const PRIORITY: Self = Self(4);
    /// The other side writes no more: what was sent can be read, and then comes the end.
    pub const READ_CLOSED: Self = Self(8);
    /// Writing is over.
    pub const WRITE_CLOSED: Self = Self(16);
    /// There is an error to be taken by the next operation.
    pub const ERROR: Self = Self(32);

    /// Reading will not block: there is data, the end, or an error.
    pub fn is_readable(self) -> bool {
        self.0 & (Self::READABLE.0 | Self::READ_CLOSED.0 | Self::ERROR.0) != 0
    }

    /// Writing will not block: there is room, or an error.
    pub fn is_writable(self) -> bool {
        self.0 & (Self::WRITABLE.0 | Self::WRITE_CLOSED.0 | Self::ERROR.0) != 0
    }

    /// There is something urgent, or an error. (The end is neither: who looks for something urgent would find it again and
    /// again, for only a reader can take it.)
    pub fn is_priority(self) -> bool {
        self.0 & (Self::PRIORITY.0 | Self::ERROR.0) != 0
    }

    /// The other side writes no more.
    pub fn is_read_closed(self) -> bool {
        self.0 & Self::READ_CLOSED.0 != 0
    }

    /// Nobody reads any more.
    pub fn is_write_closed(self) -> bool {
        self.0 & Self::WRITE_CLOSED.0 != 0
    }

    /// There is an error to be taken.
    pub fn is_error(self) -> bool {
        self.0 & Self::ERROR.0 != 0
    }

    /// Whether it is nothing.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether somebody with this interest has waited long enough.
    #[inline]
    pub fn satisfies(self, interest: Interest) -> bool {
        self.0 & Self::open_or_closed(interest).0 != 0
    }

    /// The interests that it satisfies: `is_readable`, `is_writable` and `is_priority` as three bits.
    #[inline]
    pub(super) fn answers(self) -> u8 {
        let (open, closed, error) = (self.0, self.0 >> CLOSED & CAN_CLOSE, self.0 / Self::ERROR.0);
        (open | closed | (error * Interest::ALL.0)) & Interest::ALL.0
    }

    /// What somebody with this interest is told by, but that it is closed.
    #[inline]
    pub(super) fn open(interest: Interest) -> Self {
        Self(interest.0 | Self::ERROR.0)
    }

    /// The same with that.
    #[inline]
    pub(super) fn open_or_closed(interest: Interest) -> Self {
        Self(interest.0 | (interest.0 & CAN_CLOSE) << CLOSED | Self::ERROR.0)
    }

    /// What of it concerns this interest.
    pub(super) fn of(self, interest: Interest) -> Self {
        Self(self.0 & Self::open_or_closed(interest).0)
    }
}

impl BitOr for Ready {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Ready {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["readable", "writable", "priority", "read closed", "write closed", "error"];
        let set = names.iter().enumerate().filter(|(bit, _)| self.0 & 1 << bit != 0).map(|(_, name)| *name);
        f.write_str(&set.collect::<Vec<_>>().join("|"))
    }
}

/// Which registration an event is about. A driver keeps it as it is; a made-up one is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(u64);

impl Token {
    /// As a number, for the kernel to keep.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// Of an event that only says that there is something to deliver.
    pub(super) const NOBODY: Self = Self(u64::MAX);

    /// Back from a number.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) fn new(index: u32, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | u64::from(index))
    }

    pub(super) fn index(self) -> usize {
        self.0 as u32 as usize
    }

    pub(super) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A file that a driver is asked to watch. It stays open until it is deregistered.
#[derive(Clone, Copy, Debug)]
pub struct IoSource<'a>(BorrowedFd<'a>);

impl<'a> IoSource<'a> {
    /// A source for an open file.
    pub fn new(file: BorrowedFd<'a>) -> Self {
        Self(file)
    }
}

impl AsFd for IoSource<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0
    }
}

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// To which registration.
    pub token: Token,
    /// What it is ready for now.
    pub ready: Ready,
}

/// What a poll has found. A driver pushes at most [`room`](Self::room) events in one call, and reports the others in the
/// next.
#[derive(Debug, Default)]
pub struct Events {
    list: Vec<Event>,
}

/// How many events are taken at once.
const MOST_EVENTS: usize = 256;

impl Events {
    /// Room for a poll's worth of events.
    pub fn new() -> Self {
        Self { list: Vec::with_capacity(MOST_EVENTS) }
    }

    /// Adds one.
    pub fn push(&mut self, event: Event) {
        self.list.push(event);
    }

    /// How many more a driver should add.
    pub fn room(&self) -> usize {
        MOST_EVENTS.saturating_sub(self.list.len())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.list.iter().copied()
    }
}

/// Tells a runtime which files are ready. The runtime has several; one of its workers sleeps in [`poll`](Self::poll) while
/// the others sleep elsewhere or work.
///
/// 1. `poll` and `poll_nonblocking` are called by one thread at a time, each call after the one before has returned.
///    The other functions are called by anyone at any time, also while somebody is in `poll`.
/// 2. A source is registered once. Each time it *becomes* ready for something it was registered for, and once if it is at
///    the start, there is an event. A driver that would otherwise report the same readiness again and again
///    (level-triggered) reports it once and then waits for [`rearm`](Self::rearm), which is called when an operation found
///    that the source is not ready any more.
/// 3. An event too many is harmless; one too few is a task that waits for ever.
/// 4. `wake` is sticky: if nobody is in `poll`, the next call returns at once.
/// 5. After `deregister` has returned, events of that token are ignored.
/// 6. `poll` may return early and without events, also when a signal arrives.
pub trait IoDriver: fmt::Debug + Send + Sync {
    /// Which one it is, for metrics.
    fn kind(&self) -> IoDriverKind {
        IoDriverKind::Custom
    }

    /// Begins to watch `source`.
    ///
    /// # Errors
    /// What the system says; `EPERM` for files that are always ready.
    fn register(&self, source: IoSource<'_>, token: Token, interest: Interest) -> io::Result<()>;

    /// Ends it.
    ///
    /// # Errors
    /// What the system says.
    fn deregister(&self, source: IoSource<'_>, token: Token) -> io::Result<()>;

    /// The source was found not to be ready for `interest`: it is to be reported when it is, as far as it was registered for
    /// that. Edge-triggered drivers have nothing to do.
    ///
    /// # Errors
    /// What the system says.
    fn rearm(&self, source: IoSource<'_>, token: Token, interest: Interest) -> io::Result<()> {
        let _ = (source, token, interest);
        Ok(())
    }

    /// Whether [`rearm`](Self::rearm) is to be called.
    fn needs_rearm(&self) -> bool {
        false
    }

    /// Whether a read that filled less than its buffer (or a write that took less than it was given) needs no second one to
    /// find that out: will there be an event for whatever is still to come, the end included? True for drivers that report
    /// [`READ_CLOSED`](Ready::READ_CLOSED) with the last data, and for those that look again after [`rearm`](Self::rearm). It saves
    /// a system call per message. (It is not asked for streams in which a read may stop earlier; of TCP's urgent bytes a driver
    /// reports [`PRIORITY`](Ready::PRIORITY).)
    fn short_is_empty(&self) -> bool {
        false
    }

    /// Sleeps until something happens, `wake` is called or `timeout` is over (`None`: no limit).
    ///
    /// # Errors
    /// What the system says. An interruption by a signal is none.
    fn poll(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()>;

    /// The same without sleeping.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    fn poll_nonblocking(&self, events: &mut Events) -> io::Result<()> {
        self.poll(events, Some(Duration::ZERO))
    }

    /// Ends the `poll` under way, or else the next one.
    ///
    /// # Errors
    /// What the system says.
    fn wake(&self) -> io::Result<()>;

    /// A file that is readable when a poll would return events, if there is such a file: so that a runtime without threads
    /// can be driven inside another one.
    fn as_pollable(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// One rule in three forms.
    #[test]
    fn a_readiness_answers_exactly_the_interests_that_it_satisfies() {
        for ready in (0..64).map(Ready) {
            let asked = [Interest::READABLE, Interest::WRITABLE, Interest::PRIORITY];
            let satisfied = asked.map(|interest| ready.satisfies(interest));
            assert_eq!(
                satisfied,
                [ready.is_readable(), ready.is_writable(), ready.is_priority()],
                "{ready:?}"
            );
            assert_eq!(asked.map(|interest| ready.answers() & interest.bits() != 0), satisfied, "{ready:?}");
            assert_eq!(ready.answers() & !Interest::ALL.bits(), 0, "{ready:?}");
        }
    }
}
