//! Operations that the kernel carries out again and again: connections it accepts, pieces it receives into buffers of the
//! driver's. One submission, a completion for each.
//!
//! * **FL1** A flow has its place (`places.rs`) from before the kernel hears of it until the last completion of its submission
//!   was taken, whoever has gone. There is one submission of it at a time (`armed`).
//! * **FL2** What has arrived belongs to the flow until its owner takes it. Nothing is lost between two polls; what is there when
//!   the owner goes, or comes after it, is closed or given back by who finds it.
//! * **FL3** Wakers run in `deliver`, as those of other operations do (`flights.rs`, F2).
//! * **FL4** The number of the file is used by a call of the owner, who has it open, and by the kernel before that call
//!   returns.
//! * **FL5** With [`AHEAD`] arrivals that nobody took, the kernel is asked to stop, and to go on when they are taken. What comes
//!   until it hears of that is taken, too: of connections as many as come before somebody looks at the completions.
//! * **FL6** If the ring is out of use (`ring.rs`, R4), the owners are told of whose submission, or of whose stop, the kernel has
//!   not heard. The places stay theirs.

use super::Uring;
use super::buffers::{Filled, GROUP};
use super::places::Places;
use super::ring::{Kind, Ring};
use crate::runtime::wake_safely;
use io_uring::types::Fd;
use io_uring::{cqueue, opcode, squeue};
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicU64, AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::task::Waker;

/// How many arrivals may wait.
const AHEAD: usize = 16;

/// What is to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Connections,
    Bytes,
}

impl What {
    pub(super) fn entry(self, file: BorrowedFd<'_>) -> squeue::Entry {
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
pub(super) enum Noted {
    Connection(OwnedFd),
    Bytes { buffer: u16, len: usize },
    End,
    Failed(i32),
    Over,
}

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) what: What,
    pub(super) state: Lock<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    arrived: VecDeque<Noted>,
    waker: Option<Waker>,
    /// Its place: a submission is under way.
    armed: Option<u32>,
    /// The kernel has taken it.
    taken: bool,
    /// The kernel was asked to end it.
    stopping: bool,
    /// The owner is gone.
    given_up: bool,
}

/// What there was when the owner went.
pub(super) struct Left {
    pub(super) arrived: VecDeque<Noted>,
    pub(super) waker: Option<Waker>,
    /// The kernel is to be asked to end it there.
    pub(super) stop: Option<u32>,
}

impl State {
    /// What arrived first. The end stays.
    pub(super) fn next(&mut self) -> Option<Noted> {
        match self.arrived.front()? {
            Noted::End => Some(Noted::End),
            Noted::Over => Some(Noted::Over),
            _ => self.arrived.pop_front(),
        }
    }

    /// The owner waits; the waker from before.
    pub(super) fn wait(&mut self, waker: Waker) -> Option<Waker> {
        self.waker.replace(waker)
    }

    /// A submission is about to be made, and there is none (FL1).
    pub(super) fn arm(&mut self, place: u32) {
        debug_assert!(self.armed.is_none(), "one submission at a time");
        (self.armed, self.taken) = (Some(place), false);
    }

    pub(super) fn taken(&mut self) {
        self.taken = true;
    }

    /// The ring is out of use. True: the owner waits for what the kernel will not hear of (FL6).
    pub(super) fn refuse(&mut self, error: i32) -> bool {
        let is_untaken = self.armed.is_some() && !self.taken;
        if is_untaken {
            self.end();
            self.arrived.push_back(Noted::Failed(error));
        }
        is_untaken || self.stopping
    }

    /// The kernel cannot be asked to end it.
    pub(super) fn fail(&mut self, error: i32) {
        self.arrived.push_back(Noted::Failed(error));
    }

    pub(super) fn is_armed(&self) -> bool {
        self.armed.is_some()
    }

    /// Whether more may arrive: a submission is under way, and the runtime is there.
    pub(super) fn is_flowing(&self) -> bool {
        self.is_armed() && !self.arrived.iter().any(|noted| matches!(noted, Noted::Over))
    }

    /// Where the kernel is to be asked to end it, if that is so and nobody has asked yet.
    pub(super) fn stop(&mut self) -> Option<u32> {
        let first = !std::mem::replace(&mut self.stopping, self.armed.is_some());
        self.armed.filter(|_| first)
    }

    /// The last completion of its submission was taken.
    fn end(&mut self) {
        (self.armed, self.stopping) = (None, false);
    }

    pub(super) fn give_up(&mut self) -> Left {
        self.given_up = true;
        Left { arrived: std::mem::take(&mut self.arrived), waker: self.waker.take(), stop: self.stop() }
    }
}

/// All flows of a ring.
#[derive(Debug)]
pub(super) struct Flows {
    pub(super) places: Lock<Places<Flow>>,
    moved: Lock<Vec<Arc<Flow>>>,
    count: AtomicU64,
    /// How many have a place: a hint.
    flowing: AtomicUsize,
}

/// The mark of the flow at a place.
pub(super) fn mark(place: u32) -> u64 {
    Kind::Flow.mark(u64::from(place) << 32)
}

impl Flows {
    pub(super) fn new() -> Self {
        Self {
            places: Lock::new(Places::default()),
            moved: Lock::new(Vec::new()),
            count: AtomicU64::new(0),
            flowing: AtomicUsize::new(0),
        }
    }

    /// A completion was taken.
    pub(super) fn arrived(&self, uring: &Uring, entry: &cqueue::Entry) {
        let place = (entry.user_data() >> 32) as u32;
        let is_last = !cqueue::more(entry.flags());
        let mut places = self.places.lock();
        let Some(flow) = places.at(place).cloned() else { return };
        if is_last {
            places.leave(place);
            self.flowing.fetch_sub(1, Ordering::Relaxed);
        }
        drop(places);
        let noted = note(flow.what, entry);
        let mut state = flow.state.lock();
        if is_last {
            state.end();
        }
        if state.given_up {
            drop(state);
            return uring.discard(noted, entry.flags());
        }
        let has_buffer = matches!(noted, Some(Noted::Bytes { .. }));
        self.count.fetch_add(u64::from(noted.is_some()), Ordering::Relaxed);
        state.arrived.extend(noted);
        let stop = if state.arrived.len() >= AHEAD { state.stop() } else { None };
        drop(state);
        if !has_buffer {
            uring.discard(None, entry.flags());
        }
        if let Some(place) = stop {
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

    /// Begins a submission.
    pub(super) fn take_place(&self, flow: &Arc<Flow>) -> Option<u32> {
        let place = self.places.lock().take(flow)?;
        self.flowing.fetch_add(1, Ordering::Relaxed);
        Some(place)
    }

    /// Whether the kernel has none.
    pub(super) fn are_over(&self) -> bool {
        self.places.lock().are_empty()
    }

    /// The ring is out of use: those who wait for what the kernel will not hear of are told (FL6), in `deliver`.
    pub(super) fn refuse(&self, error: i32) {
        let mut flows = self.places.lock().all();
        flows.retain(|flow| flow.state.lock().refuse(error));
        self.moved.lock().extend(flows);
    }

    /// The runtime goes down: who waits is told, and the kernel is asked to end all.
    pub(super) fn end(&self, ring: &Ring) {
        let left = self.places.lock().close();
        for (place, flow) in left {
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
