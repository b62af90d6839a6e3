//! Operations that the kernel carries out again and again: connections it accepts, pieces it receives into buffers of the
//! driver's. One submission, a completion for each.
//!
//! * **FL1** A flow is in the table from before the kernel hears of it until the last completion of its submission was taken,
//!   whoever has gone. There is one submission of it at a time (`armed`).
//! * **FL2** What has arrived belongs to the flow until its owner takes it. Nothing is lost between two polls; what is there when
//!   the owner goes, or comes after it, is closed or given back by who finds it.
//! * **FL3** Wakers run in `deliver`, as those of other operations do (`flights.rs`, F2).
//! * **FL4** The number of the file is used by a call of the owner, who has it open, and by the kernel before that call
//!   returns.
//! * **FL5** With [`AHEAD`] arrivals that nobody took, the kernel is asked to stop, and to go on when they are taken. What comes
//!   until it hears of that is taken, too: of connections as many as come before somebody looks at the completions.

use super::Uring;
use super::buffers::{Filled, GROUP};
use super::flights::{LAST_CALL, LOOK};
use super::ring::{Kind, Ring};
use crate::runtime::wake_safely;
use io_uring::types::Fd;
use io_uring::{cqueue, opcode, squeue};
use ropewalk_core::blocked::{self, Reason};
use ropewalk_core::budget::poll_proceed;
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicU64, AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;

/// How many arrivals may wait.
const AHEAD: usize = 16;

/// What is to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Connections,
    Bytes,
}

impl What {
    fn entry(self, file: BorrowedFd<'_>) -> squeue::Entry {
        let file = Fd(file.as_raw_fd());
        match self {
            Self::Connections => {
                opcode::AcceptMulti::new(file).flags(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK).build()
            }
            Self::Bytes => opcode::RecvMulti::new(file, GROUP).build(),
        }
    }
}

/// What has arrived.
pub(crate) enum Arrival {
    Connection(OwnedFd),
    Bytes(Filled),
    /// Nothing more will.
    End,
    /// All buffers are filled: another way has to be taken this time.
    Starved,
    /// This kernel cannot do it.
    Unsupported,
    Failed(io::Error),
}

/// The same, as the flow keeps it.
#[derive(Debug)]
enum Noted {
    Connection(OwnedFd),
    Bytes { buffer: u16, len: usize },
    End,
    Failed(i32),
    Over,
}

#[derive(Debug)]
struct Flow {
    what: What,
    state: Lock<State>,
}

#[derive(Debug, Default)]
struct State {
    arrived: VecDeque<Noted>,
    waker: Option<Waker>,
    /// Its place in the table: a submission is under way.
    armed: Option<u32>,
    /// The kernel was asked to end it.
    stopping: bool,
    /// The owner is gone.
    given_up: bool,
}

impl State {
    /// What arrived first. The end stays.
    fn next(&mut self) -> Option<Noted> {
        match self.arrived.front()? {
            Noted::End => Some(Noted::End),
            Noted::Over => Some(Noted::Over),
            _ => self.arrived.pop_front(),
        }
    }
}

/// All flows of a ring.
#[derive(Debug)]
pub(super) struct Flows {
    table: Lock<Table>,
    moved: Lock<Vec<Arc<Flow>>>,
    count: AtomicU64,
    /// How many are in the table: a hint.
    flowing: AtomicUsize,
}

#[derive(Debug, Default)]
struct Table {
    places: Vec<Option<Arc<Flow>>>,
    free: Vec<u32>,
    over: bool,
}

impl Table {
    fn take(&mut self, flow: Arc<Flow>) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(flow);
        place
    }

    fn leave(&mut self, place: u32) {
        self.places[place as usize] = None;
        self.free.push(place);
    }
}

fn mark(place: u32) -> u64 {
    Kind::Flow.mark(u64::from(place) << 32)
}

impl Flows {
    pub(super) fn new() -> Self {
        Self {
            table: Lock::new(Table::default()),
            moved: Lock::new(Vec::new()),
            count: AtomicU64::new(0),
            flowing: AtomicUsize::new(0),
        }
    }

    /// A completion was taken.
    pub(super) fn arrived(&self, uring: &Uring, entry: &cqueue::Entry) {
        let place = (entry.user_data() >> 32) as u32;
        let is_last = !cqueue::more(entry.flags());
        let mut table = self.table.lock();
        let Some(flow) = table.places.get(place as usize).cloned().flatten() else { return };
        if is_last {
            table.leave(place);
            self.flowing.fetch_sub(1, Ordering::Relaxed);
        }
        drop(table);
        let noted = note(flow.what, entry);
        let mut state = flow.state.lock();
        if is_last {
            (state.armed, state.stopping) = (None, false);
        }
        if state.given_up {
            drop(state);
            return uring.discard(noted, entry.flags());
        }
        let has_buffer = matches!(noted, Some(Noted::Bytes { .. }));
        self.count.fetch_add(u64::from(noted.is_some()), Ordering::Relaxed);
        state.arrived.extend(noted);
        let stop = state.arrived.len() >= AHEAD && state.armed.is_some() && !state.stopping;
        state.stopping |= stop;
        drop(state);
        if !has_buffer {
            uring.discard(None, entry.flags());
        }
        if stop {
            uring.ring.cancel(mark(place)); // FL5
        }
        self.moved.lock().push(flow);
    }

    /// Wakes those for whom something has arrived (FL3).
    pub(super) fn deliver(&self) {
        let moved = std::mem::take(&mut *self.moved.lock());
        moved.iter().filter_map(|flow| flow.state.lock().waker.take()).for_each(wake_safely);
    }

    /// How much has arrived.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether the kernel has any.
    #[inline]
    pub(super) fn are_flowing(&self) -> bool {
        self.flowing.load(Ordering::Relaxed) > 0
    }

    /// How many the kernel has.
    pub(super) fn under_way(&self) -> usize {
        let table = self.table.lock();
        table.places.len() - table.free.len()
    }

    /// The ring goes: waits for what the kernel has. False: it has not come to an end. `reap` takes completions.
    pub(super) fn last_call(&self, ring: &Ring, reap: impl Fn() -> bool) -> bool {
        if self.under_way() == 0 {
            return true;
        }
        self.end(ring);
        let until = Instant::now() + LAST_CALL;
        while self.under_way() > 0 && Instant::now() < until {
            let _again = ring.wait(Some(LOOK));
            while reap() {}
        }
        self.under_way() == 0
    }

    /// The runtime goes down: who waits is told, and the kernel is asked to end all.
    pub(super) fn end(&self, ring: &Ring) {
        let mut table = self.table.lock();
        table.over = true;
        let places = table.places.iter().zip(0..).filter_map(|(flow, place)| Some((flow.clone()?, place)));
        let all: Vec<_> = places.collect();
        drop(table);
        for (flow, place) in all {
            let mut state = flow.state.lock();
            state.arrived.push_back(Noted::Over);
            let waker = state.waker.take();
            drop(state);
            waker.into_iter().for_each(wake_safely);
            ring.cancel(mark(place));
        }
        self.deliver(); // those whose last completion was taken just now
    }
}

/// Asked to stop; of a thread that ended; a connection that was given up before it was accepted.
const PASSING: [i32; 4] = [libc::ECANCELED, libc::EINTR, libc::EAGAIN, libc::ECONNABORTED];

/// What a completion says; `None`: nothing, the owner is to submit it again.
fn note(what: What, entry: &cqueue::Entry) -> Option<Noted> {
    match (entry.result(), what) {
        (error, _) if PASSING.contains(&-error) => None,
        (error @ ..0, _) => Some(Noted::Failed(-error)),
        // SAFETY: the kernel has just made it, for nobody else.
        (file, What::Connections) => Some(Noted::Connection(unsafe { OwnedFd::from_raw_fd(file) })),
        (0, What::Bytes) => Some(Noted::End),
        (len, What::Bytes) => {
            let buffer = cqueue::buffer_select(entry.flags()).expect("what has arrived is in a buffer");
            Some(Noted::Bytes { buffer, len: len as usize })
        }
    }
}

impl Uring {
    /// Nobody wants it.
    fn discard(&self, noted: Option<Noted>, flags: u32) {
        drop(noted);
        if let Some(buffers) = self.buffers.get().and_then(Option::as_ref) {
            buffers.give_back_of(flags);
        }
    }
}

/// The owner of a flow. Dropping it ends the flow.
#[derive(Debug)]
pub(crate) struct Influx {
    uring: Arc<Uring>,
    flow: Arc<Flow>,
}

impl Influx {
    /// `None`: this kernel has no buffers to lend.
    pub(crate) fn new(uring: &Arc<Uring>, what: What) -> Option<Self> {
        if what == What::Bytes && !uring.lends() {
            return None;
        }
        let flow = Arc::new(Flow { what, state: Lock::new(State::default()) });
        Some(Self { uring: uring.clone(), flow })
    }

    /// What arrives next at `file`, which is the same each time. Whoever goes without it finds it the next time (FL2).
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, file: BorrowedFd<'_>) -> Poll<Arrival> {
        ready!(poll_proceed(cx));
        if let Some(noted) = self.take() {
            return Poll::Ready(self.arrival(noted));
        }
        let waker = cx.waker().clone();
        let mut state = self.flow.state.lock();
        if let Some(noted) = state.next() {
            drop(state);
            return Poll::Ready(self.arrival(noted));
        }
        let before = state.waker.replace(waker);
        let is_armed = state.armed.is_some();
        drop(state);
        drop(before);
        if !is_armed && let Err(error) = self.arm(file) {
            return Poll::Ready(Arrival::Failed(error));
        }
        blocked::note(Reason::Input, file.as_raw_fd() as usize);
        Poll::Pending
    }

    fn take(&mut self) -> Option<Noted> {
        self.flow.state.lock().next()
    }

    fn arrival(&self, noted: Noted) -> Arrival {
        match noted {
            Noted::Connection(file) => Arrival::Connection(file),
            Noted::Bytes { buffer, len } => Arrival::Bytes(Filled::new(self.uring.clone(), buffer, len)),
            Noted::End => Arrival::End,
            Noted::Failed(libc::ENOBUFS) if self.flow.what == What::Bytes => Arrival::Starved,
            Noted::Failed(libc::EINVAL | libc::EOPNOTSUPP) => Arrival::Unsupported,
            Noted::Failed(error) => Arrival::Failed(io::Error::from_raw_os_error(error)),
            Noted::Over => Arrival::Failed(super::super::reactor::over()),
        }
    }

    /// Nobody but the owner arms, so there is one submission at a time (FL1).
    fn arm(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        let flows = &self.uring.flows;
        let mut table = flows.table.lock();
        if table.over {
            return Err(super::super::reactor::over());
        }
        let place = table.take(self.flow.clone());
        flows.flowing.fetch_add(1, Ordering::Relaxed);
        drop(table);
        self.flow.state.lock().armed = Some(place);
        let entry = self.flow.what.entry(file).user_data(mark(place));
        // SAFETY: it points to no memory but the buffers, which are there until the flow has ended (BU3).
        unsafe { self.uring.ring.submit_now(&entry) } // FL4
    }

    /// Asks the kernel to end it, and waits for that: what has arrived until then is all there is.
    pub(crate) fn poll_stop(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.flow.state.lock();
        let Some(place) = state.armed else { return Poll::Ready(()) };
        if state.arrived.iter().any(|noted| matches!(noted, Noted::Over)) {
            return Poll::Ready(());
        }
        let stop = !std::mem::replace(&mut state.stopping, true);
        let before = state.waker.replace(waker);
        drop(state);
        drop(before);
        if stop {
            self.stop(place);
        }
        Poll::Pending
    }

    /// The place is the flow's until its last completion was taken; under the lock it is not another's meanwhile (FL1).
    fn stop(&self, place: u32) {
        let table = self.uring.flows.table.lock();
        if table.places[place as usize].as_ref().is_some_and(|flow| Arc::ptr_eq(flow, &self.flow)) {
            self.uring.ring.cancel(mark(place));
        }
    }

    /// What has arrived and was not taken: bytes, and then perhaps an error.
    pub(crate) fn next_left(&mut self) -> Option<io::Result<Filled>> {
        match self.take().map(|noted| self.arrival(noted))? {
            Arrival::Bytes(bytes) => Some(Ok(bytes)),
            Arrival::Failed(error) => Some(Err(error)),
            _ => None,
        }
    }
}

impl Drop for Influx {
    fn drop(&mut self) {
        let mut state = self.flow.state.lock();
        state.given_up = true;
        let (arrived, waker) = (std::mem::take(&mut state.arrived), state.waker.take());
        let place = state.armed.filter(|_| !state.stopping);
        state.stopping = true;
        drop(state);
        drop(waker);
        for noted in arrived {
            if let Noted::Bytes { buffer, len } = noted {
                drop(Filled::new(self.uring.clone(), buffer, len));
            }
        }
        place.into_iter().for_each(|place| self.stop(place));
    }
}
