//! Processes whose [`Child`](super::Child) was dropped before it was waited for: they are reaped all the same.
//!
//! A thread of the process waits for them, while there are any: it needs no runtime, which may have ended long before
//! they do. It sleeps in `poll` over their pidfds and a pipe. The pipe tells of new orphans, and of SIGCHLD where the
//! system gives no pidfd. Where there is no descriptor for a pipe, it looks now and then, and tries again.
//!
//! # Invariants
//!
//! - **OR1** An orphan is in `new` or on the thread. Whoever adds one to `new` rings afterwards, if there is a bell; the
//!   thread hangs it up, or empties its pipe, first and takes what is new second. Without a bell it sleeps for `LOOKS` at most.
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

/// If neither a pidfd nor SIGCHLD is to be had, or no pipe, the thread looks as often as this.
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
        // Without a thread it stays in the list, and the next orphan tries again.
        state.is_running = orphans.start().is_ok();
    }
    if let Some(bell) = &state.bell {
        bell.ring();
    }
}

impl Orphans {
    fn start(&'static self) -> io::Result<()> {
        let thread = thread::Builder::new().name("ropewalk-reaper".to_owned()).stack_size(256 << 10);
        thread.spawn(move || self.reap()).map(drop)
    }

    /// Reaps until no orphan is left.
    fn reap(&self) {
        let (mut orphans, mut listener) = (Vec::new(), None);
        let mut rope = self.hang_up_a_bell().ok();
        while self.take_new(&mut orphans) {
            let is_blind = orphans.iter().any(|orphan| orphan.pidfd.is_none());
            if is_blind && listener.is_none() {
                listener = signal(SignalKind::child()).ok();
            }
            // After listening: an end before that is seen here, one after it is heard.
            orphans.retain_mut(|orphan| matches!(orphan.child.try_wait(), Ok(None)));
            if !orphans.is_empty() {
                sleep(rope.as_ref(), &orphans, is_blind, listener.as_mut());
            }
            // Before what is new is taken (OR1).
            match &mut rope {
                // It does not block; what is left is read the next time.
                Some((pipe, _)) => drop(pipe.read(&mut [0; 256])),
                None => rope = self.hang_up_a_bell().ok(),
            }
        }
    }

    /// From now on whoever adds an orphan rings.
    fn hang_up_a_bell(&self) -> io::Result<Rope> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        rustix::io::ioctl_fionbio(&writer, true)?;
        let bell = Arc::new(Bell(writer));
        self.state.lock().bell = Some(bell.clone());
        Ok((reader, Waker::from(bell)))
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

/// The thread's end of a bell: where it is heard, and what rings it.
type Rope = (PipeReader, Waker);

/// Sleeps until one of them may have ended, or the bell rings.
fn sleep(rope: Option<&Rope>, orphans: &[Orphan], is_blind: bool, listener: Option<&mut Signal>) {
    let is_deaf = listener.is_none();
    // It rings if there is a SIGCHLD while this lives; there may have been one since they were looked at.
    let mut heard = pin!(async {
        match listener.filter(|_| is_blind) {
            Some(listener) => listener.recv().await,
            None => pending().await,
        }
    });
    let limit =
        rope.map_or(Some(LOOKS), |(_, waker)| match heard.as_mut().poll(&mut Context::from_waker(waker)) {
            Poll::Ready(()) => Some(Timespec { tv_sec: 0, tv_nsec: 0 }),
            Poll::Pending => (is_blind && is_deaf).then_some(LOOKS),
        });
    let pidfds = orphans.iter().filter_map(|orphan| orphan.pidfd.as_ref());
    let mut watched: Vec<_> = pidfds.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    watched.extend(rope.map(|(pipe, _)| PollFd::new(pipe, PollFlags::IN)));
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
