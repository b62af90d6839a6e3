//! Writing behind the writer's back: what is accepted is in memory at once and written soon after, in order, many small pieces
//! together.
//!
//! Invariants, under the lock:
//!
//! * **BH1** If something is pending, then a drain was asked for and has not begun (`Asked`), or is under way and will look again
//!   (`Draining`). So nobody has to come back for it to be written.
//! * **BH2** One drains at a time: who turns `Asked` into `Draining`, until it finds nothing pending and says `Idle`.
//! * **BH3** Who waits (for room, or for the end) has left a waker in the critical section in which it looked. Each step of
//!   the drain takes all of them in the critical section of the step, and calls them after. Those of who went away are called in
//!   vain, which does no harm.
//! * **BH4** After an error nothing is pending: what was accepted behind it is not written, and the error says how much that is.
//!   It is kept until one operation has reported it.

use crate::runtime::{complain, wake_safely};
use crate::sched::park::ThreadParker;
use ropewalk_core::blocked::{self, Reason};
use ropewalk_core::prim::Lock;
use std::io::{self, Write};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// How much may be pending before a writer waits.
pub(crate) const ROOM: usize = 128 * 1024;

/// Where it is written in the end.
pub(crate) trait Target: Send + Sync + 'static {
    /// Moves the cursor back by `rewind` and writes all of `bytes`; blocks. On an error: how much was written.
    fn write_all(&self, rewind: u64, bytes: &[u8]) -> Result<(), (usize, io::Error)>;

    /// Makes an error of it that says where, and how much of what was accepted is not there.
    fn explain(&self, error: io::Error, lost: usize) -> io::Error;
}

/// Writes all of `bytes`; on an error: how much was written.
pub(crate) fn write_counted(mut writer: impl Write, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut written = 0;
    while written < bytes.len() {
        match writer.write(&bytes[written..]) {
            Ok(0) => return Err((written, io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((written, error)),
        }
    }
    Ok(())
}

/// A target and what it has accepted.
#[derive(Debug)]
pub(crate) struct Behind<T> {
    pub(crate) target: T,
    state: Lock<State>,
}

#[derive(Debug, Default)]
struct State {
    pending: Vec<u8>,
    /// The cursor goes back so far before `pending` is written.
    rewind: u64,
    phase: Phase,
    error: Option<io::Error>,
    waiting: Vec<Waker>,
}

impl State {
    /// Adds to what is pending; whether the caller has to see to it that somebody drains (BH1).
    fn add(&mut self, bytes: &[u8]) -> bool {
        self.pending.extend_from_slice(bytes);
        let ask = self.phase == Phase::Idle && !bytes.is_empty();
        if ask {
            self.phase = Phase::Asked;
        }
        ask
    }

    /// Leaves a waker, if there is one to be left.
    fn wait(&mut self, waker: &mut Option<Waker>) {
        if let Some(new) = waker
            && !self.waiting.iter().any(|there| there.will_wake(new))
        {
            self.waiting.extend(waker.take());
        }
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Asked,
    Draining,
}

/// What became of an offer.
#[derive(Debug)]
pub(crate) enum Offer {
    /// So many bytes were accepted.
    Accepted { count: usize, ask: bool },
    /// There was an error before.
    Refused(io::Error),
    /// There is no room, and the waker, if there was one, will be called when there is.
    Full,
}

impl<T: Target> Behind<T> {
    pub(crate) fn new(target: T) -> Self {
        Self { target, state: Lock::new(State::default()) }
    }

    /// Offers bytes: as many as there is room for, or, if they must stay together, all of them if there is any room. If the
    /// answer says `ask`, the caller sees to it that somebody drains.
    fn offer(&self, bytes: &[u8], rewind: u64, together: bool, waker: &mut Option<Waker>) -> Offer {
        let mut state = self.state.lock();
        if let Some(error) = state.error.take() {
            return Offer::Refused(error);
        }
        let room = ROOM.saturating_sub(state.pending.len());
        if room == 0 {
            state.wait(waker);
            return Offer::Full;
        }
        let count = if together { bytes.len() } else { bytes.len().min(room) };
        state.rewind += rewind;
        Offer::Accepted { count, ask: state.add(&bytes[..count]) }
    }

    /// Accepts some of `bytes`, or all `together`; how many. `rewind` goes with what is accepted.
    pub(crate) fn poll_accept(
        self: &Arc<Self>,
        cx: &mut Context<'_>,
        (bytes, rewind, together): (&[u8], u64, bool),
        start: impl FnOnce(Arc<Self>),
    ) -> Poll<io::Result<usize>> {
        let mut offer = self.offer(bytes, rewind, together, &mut None);
        if let Offer::Full = offer {
            offer = self.offer(bytes, rewind, together, &mut Some(cx.waker().clone()));
        }
        match offer {
            Offer::Accepted { count, ask } => {
                if ask {
                    start(self.clone());
                }
                Poll::Ready(Ok(count))
            }
            Offer::Refused(error) => Poll::Ready(Err(error)),
            Offer::Full => {
                blocked::note(Reason::Blocking, 0);
                Poll::Pending
            }
        }
    }

    /// Accepts all of `bytes`, whatever room there is: for who cannot wait. An earlier error stays where it is.
    pub(crate) fn accept_last(self: &Arc<Self>, bytes: &[u8], start: impl FnOnce(Arc<Self>)) {
        let ask = self.state.lock().add(bytes);
        if ask {
            start(self.clone());
        }
    }

    /// Waits until everything that was accepted is written, or until there was an error, which is taken.
    pub(crate) fn poll_idle(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(result) = self.look_idle(&mut None) {
            return Poll::Ready(result);
        }
        if let Some(result) = self.look_idle(&mut Some(cx.waker().clone())) {
            return Poll::Ready(result);
        }
        blocked::note(Reason::Blocking, 0);
        Poll::Pending
    }

    fn look_idle(&self, waker: &mut Option<Waker>) -> Option<io::Result<()>> {
        let mut state = self.state.lock();
        if state.phase == Phase::Idle {
            return Some(state.error.take().map_or(Ok(()), Err));
        }
        state.wait(waker);
        None
    }

    /// Writes what nobody is at, and waits for who is. Blocks the thread.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(crate) fn finish(&self) {
        self.drain();
        let parker = Arc::new(ThreadParker::new());
        while self.look_idle(&mut Some(Waker::from(parker.clone()))).is_none() {
            parker.park(None);
        }
    }

    /// Writes what is pending until nothing is, unless somebody else is at it. Blocks.
    pub(crate) fn drain(&self) {
        if !self.begin() {
            return;
        }
        let mut bytes = Vec::new();
        while let Some(rewind) = self.next(&mut bytes) {
            if let Err((count, error)) = self.target.write_all(rewind, &bytes) {
                self.failed(bytes.len() - count, error);
            }
        }
    }

    /// Whether the caller is the one who drains now (BH2).
    fn begin(&self) -> bool {
        let mut state = self.state.lock();
        let asked = state.phase == Phase::Asked;
        if asked {
            state.phase = Phase::Draining;
        }
        asked
    }

    /// For the one who drains: exchanges what was written last for what is pending, and says how far to go back before that;
    /// `None`: nothing is, and the drain is over.
    fn next(&self, bytes: &mut Vec<u8>) -> Option<u64> {
        bytes.clear();
        let mut state = self.state.lock();
        let next = if state.pending.is_empty() {
            state.phase = Phase::Idle;
            None
        } else {
            Some(std::mem::take(&mut state.rewind))
        };
        std::mem::swap(&mut state.pending, bytes);
        if next.is_none() {
            state.pending = Vec::new(); // idle files keep no buffer
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(wake_safely);
        next
    }

    fn failed(&self, unwritten: usize, error: io::Error) {
        let mut state = self.state.lock();
        let behind = std::mem::take(&mut state.pending);
        state.rewind = 0;
        if state.error.is_none() {
            state.error = Some(self.target.explain(error, unwritten + behind.len()));
        }
        drop(state);
        drop(behind);
    }
}

/// Nobody is left who could be told of an error: then standard error is.
impl<T> Drop for Behind<T> {
    fn drop(&mut self) {
        if let Some(error) = self.state.lock().error.take() {
            complain(format_args!("nobody asked whether it was written: {error}"));
        }
    }
}

#[cfg(test)]
mod tests;
