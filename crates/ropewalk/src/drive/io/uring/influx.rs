//! The owner of a flow, who arms it, takes what has arrived, and ends it (`flow.rs`).

use super::Uring;
use super::buffers::Filled;
use super::flow::{Arrival, Flow, Noted, State, What, mark};
use crate::drive::io::reactor::over;
use ropewalk_core::blocked::{self, Reason};
use ropewalk_core::budget::poll_proceed;
use ropewalk_core::prim::Lock;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

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
        let (before, is_armed) = (state.wait(waker), state.is_armed());
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
            Noted::Over => Arrival::Failed(over()),
        }
    }

    /// Nobody but the owner arms, so there is one submission at a time (FL1).
    fn arm(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        self.uring.ring.check()?; // FL6
        let place = self.uring.flows.take_place(&self.flow).ok_or_else(over)?;
        self.flow.state.lock().arm(place);
        let entry = self.flow.what.entry(file).user_data(mark(place));
        // SAFETY: it points to no memory but the buffers, which are there until the flow has ended (BU3).
        unsafe { self.uring.ring.submit_now(&entry)? }; // FL4
        self.flow.state.lock().taken();
        Ok(())
    }

    /// Asks the kernel to end it, and waits for that: what has arrived until then is all there is.
    pub(crate) fn poll_stop(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.flow.state.lock();
        if !state.is_flowing() {
            return Poll::Ready(());
        }
        if let Err(error) = self.uring.ring.check() {
            state.fail(error.raw_os_error().unwrap_or(libc::EIO)); // FL6
            return Poll::Ready(());
        }
        let (before, stop) = (state.wait(waker), state.stop());
        drop(state);
        drop(before);
        stop.into_iter().for_each(|place| self.stop(place));
        Poll::Pending
    }

    /// It may have ended by itself, and the place be another's (PL1).
    fn stop(&self, place: u32) {
        let places = self.uring.flows.places.lock();
        if places.is_of(place, &self.flow) {
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
        let left = self.flow.state.lock().give_up();
        drop(left.waker);
        for noted in left.arrived {
            if let Noted::Bytes { buffer, len } = noted {
                drop(Filled::new(self.uring.clone(), buffer, len));
            }
        }
        left.stop.into_iter().for_each(|place| self.stop(place));
    }
}
