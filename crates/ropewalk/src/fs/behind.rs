//! Writing behind the writer's back: what is accepted is in memory at once and written soon after, in order, many small pieces
//! together.
//!
//! Invariants, under the lock:
//!
//! * **BH1** If something is pending, then somebody is about to write it (`Asked`), or writes what came before and will look again
//!   (`Draining`). So nobody has to come back for it to be written.
//! * **BH2** One writes at a time: who turns `Asked` into `Draining`, until it has written what it took and says `Idle`, or
//!   `Asked` if there is more. It has what the target wants to be alone with before it takes anything: who cannot get that keeps
//!   nothing from the next one who comes.
//! * **BH3** Who waits (for room, or for the end) has left a waker in the critical section in which it looked. Taking what is pending,
//!   and the end, take all of them in the same critical section, and call them after; so does every step once the process
//!   ends. Those of who went away are called in vain, which does no harm.
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
    /// What keeps others out while something is written, until it is dropped; may block.
    fn alone(&self) -> impl Sized {}

    /// Moves the cursor back by `rewind` and writes all of `bytes`; blocks. On an error: how much was written.
    fn write_all(&self, rewind: u64, bytes: &[u8]) -> Result<(), (usize, io::Error)>;

    /// The same when the process ends and nobody is kept out: who has [`alone`](Self::alone) may never give it back.
    fn write_last(&self, rewind: u64, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        self.write_all(rewind, bytes)
    }

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
    /// The process ends, and somebody waits for that.
    is_last: bool,
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

    /// For the end of the process: writes what nobody writes, and waits for who does. Blocks the thread as long as that takes.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(crate) fn finish(&self) {
        let parker = Arc::new(ThreadParker::new());
        let waker = Waker::from(parker.clone());
        let mut bytes = Vec::new();
        loop {
            while self.step(&mut bytes, |rewind, bytes| self.target.write_last(rewind, bytes)) {}
            match self.look_last(&waker) {
                Phase::Idle => return,
                Phase::Asked => {}
                Phase::Draining => drop(parker.park(None)),
            }
        }
    }

    fn look_last(&self, waker: &Waker) -> Phase {
        let mut waker = Some(waker.clone());
        let mut state = self.state.lock();
        state.is_last = true;
        if state.phase == Phase::Draining {
            state.wait(&mut waker);
        }
        state.phase
    }

    /// Writes what is pending until nothing is, unless somebody else is at it. Blocks.
    pub(crate) fn drain(&self) {
        let mut bytes = Vec::new();
        loop {
            let _alone = self.target.alone(); // before something is taken (BH2)
            if !self.step(&mut bytes, |rewind, bytes| self.target.write_all(rewind, bytes)) {
                return;
            }
        }
    }

    /// Writes what is pending, if nobody writes; whether the caller has to come again.
    fn step(
        &self,
        bytes: &mut Vec<u8>,
        write: impl FnOnce(u64, &[u8]) -> Result<(), (usize, io::Error)>,
    ) -> bool {
        let Some(rewind) = self.begin(bytes) else { return false };
        if let Err((count, error)) = write(rewind, bytes) {
            self.failed(bytes.len() - count, error);
        }
        bytes.clear();
        self.end()
    }

    /// Exchanges `bytes`, which are empty, for what is pending, and says how far to go back before that; `None`: the caller is
    /// not the one who writes (BH2).
    fn begin(&self, bytes: &mut Vec<u8>) -> Option<u64> {
        let mut state = self.state.lock();
        let asked = state.phase == Phase::Asked;
        if !asked {
            return None;
        }
        state.phase = Phase::Draining;
        std::mem::swap(&mut state.pending, bytes);
        let rewind = std::mem::take(&mut state.rewind);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        call(waiting);
        Some(rewind)
    }

    /// For the one who has written: whether there is more (BH1).
    fn end(&self) -> bool {
        let mut state = self.state.lock();
        let is_over = state.pending.is_empty();
        state.phase = if is_over { Phase::Idle } else { Phase::Asked };
        if is_over {
            state.pending = Vec::new(); // idle files keep no buffer
        }
        let told = is_over || state.is_last;
        let waiting = if told { std::mem::take(&mut state.waiting) } else { Vec::new() };
        drop(state);
        call(waiting);
        !is_over
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

fn call(waiting: Vec<Waker>) {
    waiting.into_iter().for_each(wake_safely);
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
