//! Processes whose [`Child`](super::Child) was dropped before it was waited for: they are reaped all the same.
//!
//! A thread of the process waits for them, while there are any: it needs no runtime, which may have ended long before
//! they do. It sleeps in `poll` over their pidfds and a pipe. The pipe tells of new orphans, and of SIGCHLD where the
//! system gives no pidfd.
//!
//! # Invariants
//!
//! - **OR1** An orphan is in `new` or on the thread. Whoever adds one to `new` rings afterwards; the thread empties the
//!   pipe first and takes what is new second.
//! - **OR2** The thread ends only if, under the lock, `new` is empty and it has none itself; it clears `is_running` in the
//!   same step. So whoever adds one finds it running, or starts it.

use super::exit::pidfd;
use crate::signal::unix::{Signal, SignalKind, signal};
use ropewalk_core::prim::Lock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::future::pending;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::process::Child;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

/// If neither a pidfd nor SIGCHLD is to be had, the thread looks as often as this.
const LOOKS: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

struct Orphans {
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    new: Vec<Child>,
    is_running: bool,
    bell: Option<Arc<Bell>>,
}

/// Takes over a process that nobody waits for any more.
pub(super) fn adopt(mut child: Child) {
    // An error means that there is nothing to reap.
    if !matches!(child.try_wait(), Ok(None)) {
        return;
    }
    static ORPHANS: OnceLock<Orphans> = OnceLock::new();
    let orphans = ORPHANS.get_or_init(|| Orphans { state: Lock::new(State::default()) });
    let mut state = orphans.state.lock();
    state.new.push(child);
    if !state.is_running {
        // Without a thread or a pipe it stays in the list, and the next orphan tries again.
        let _later = orphans.start(&mut state);
    }
    if let Some(bell) = &state.bell {
        bell.ring();
    }
}

impl Orphans {
    fn start(&'static self, state: &mut State) -> io::Result<()> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        rustix::io::ioctl_fionbio(&writer, true)?;
        let bell = Arc::new(Bell(writer));
        let own = bell.clone();
        let thread = thread::Builder::new().name("ropewalk-reaper".to_owned()).stack_size(256 << 10);
        thread.spawn(move || self.reap(reader, own))?;
        (state.is_running, state.bell) = (true, Some(bell));
        Ok(())
    }

    /// Reaps until no orphan is left.
    fn reap(&self, mut pipe: PipeReader, bell: Arc<Bell>) {
        let (mut orphans, mut listener) = (Vec::new(), None);
        let waker = Waker::from(bell);
        while self.take_new(&mut orphans) {
            let is_blind = orphans.iter().any(|orphan| orphan.pidfd.is_none());
            if is_blind && listener.is_none() {
                listener = signal(SignalKind::child()).ok();
            }
            // After listening: an end before that is seen here, one after it is heard.
            orphans.retain_mut(|orphan| matches!(orphan.child.try_wait(), Ok(None)));
            if !orphans.is_empty() {
                sleep(&pipe, &orphans, is_blind, listener.as_mut(), &waker);
            }
            // Before what is new is taken (OR1). It does not block; what is left is read the next time.
            let _emptied = pipe.read(&mut [0; 256]);
        }
    }

    /// Whether there are orphans now. If not, the thread counts as ended (OR2).
    fn take_new(&self, orphans: &mut Vec<Orphan>) -> bool {
        let mut state = self.state.lock();
        orphans.extend(state.new.drain(..).map(|child| Orphan { pidfd: pidfd(&child), child }));
        if orphans.is_empty() {
            (state.is_running, state.bell) = (false, None);
        }
        !orphans.is_empty()
    }
}

struct Orphan {
    child: Child,
    pidfd: Option<OwnedFd>,
}

/// Sleeps until one of them may have ended, or the bell rings.
fn sleep(
    pipe: &PipeReader,
    orphans: &[Orphan],
    is_blind: bool,
    listener: Option<&mut Signal>,
    waker: &Waker,
) {
    let is_deaf = listener.is_none();
    // It rings if there is a SIGCHLD while this lives; there may have been one since they were looked at.
    let mut heard = pin!(async {
        match listener.filter(|_| is_blind) {
            Some(listener) => listener.recv().await,
            None => pending().await,
        }
    });
    let limit = match heard.as_mut().poll(&mut Context::from_waker(waker)) {
        Poll::Ready(()) => Some(Timespec { tv_sec: 0, tv_nsec: 0 }),
        Poll::Pending => (is_blind && is_deaf).then_some(LOOKS),
    };
    let pidfds = orphans.iter().filter_map(|orphan| orphan.pidfd.as_ref());
    let mut watched: Vec<_> = pidfds.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    watched.push(PollFd::new(pipe, PollFlags::IN));
    // Interrupted or not: who sleeps here looks again.
    let _events = poll(&mut watched, limit.as_ref());
}

/// The writing end of the pipe.
struct Bell(PipeWriter);

impl Bell {
    fn ring(&self) {
        // If it is full, there is something to be read.
        let _full = (&self.0).write(&[0]);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}
