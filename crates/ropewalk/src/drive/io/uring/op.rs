//! One operation on a file, with everything that the kernel needs for it.
//!
//! * **O1** An operation owns the file (a counted reference), the buffer and the path. It is in the table of flights from before
//!   it is submitted until its completion was taken, whatever became of its future. So what the kernel reads and writes is
//!   there, and no buffer of a future is ever given to it.
//! * **O2** `work` belongs to the kernel from its submission until `land` has left an outcome, and then to the one future of the
//!   operation, which takes it out when it finds the outcome (under the lock of `state`, so that `land` happens before). If
//!   there is no future any more, whoever drops the operation has it.
//! * **O3** `work` does not move while the kernel has it: the operation is behind an `Arc`, and what it points to is on the heap.
//! * **O4** A waker is not cloned, woken or dropped under the lock of `state`.

use io_uring::types::{Fd, FsyncFlags};
use io_uring::{opcode, squeue};
use ropewalk_core::prim::real::{AtomicBool, Ordering};
use ropewalk_core::prim::{Lock, UnsafeCell};
use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A file that stays open for as long as somebody has this.
pub(crate) type Held = Arc<dyn AsRef<File> + Send + Sync>;

/// At the cursor of the file.
pub(crate) const AT_CURSOR: u64 = u64::MAX;

/// More than this is not copied on the spot, even if it is in memory: it would keep the worker, and the ring.
const ON_THE_SPOT: usize = 128 * 1024;

/// What to do.
pub(crate) enum Work {
    /// Fills the buffer from `offset` on.
    Read { file: Held, buf: Vec<u8>, offset: u64 },
    /// Writes the buffer at `offset`.
    Write { file: Held, buf: Vec<u8>, offset: u64 },
    /// Waits until the disk has it; `data_only`: not the times.
    Sync { file: Held, data_only: bool },
    /// Opens a file.
    Open { path: CString, flags: i32, mode: u32 },
}

impl Work {
    fn entry(&mut self) -> squeue::Entry {
        let fd = |file: &Held| Fd(file.as_ref().as_ref().as_raw_fd());
        let (entry, size) = match self {
            Self::Read { file, buf, offset } => {
                let read = opcode::Read::new(fd(file), buf.as_mut_ptr(), at_once(buf));
                (read.offset(*offset).build(), buf.len())
            }
            Self::Write { file, buf, offset } => {
                let write = opcode::Write::new(fd(file), buf.as_ptr(), at_once(buf));
                (write.offset(*offset).build(), buf.len())
            }
            Self::Sync { file, data_only } => {
                let flags = if *data_only { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
                (opcode::Fsync::new(fd(file)).flags(flags).build(), 0)
            }
            Self::Open { path, flags, mode } => {
                let open = opcode::OpenAt::new(Fd(libc::AT_FDCWD), path.as_ptr());
                (open.flags(*flags).mode(*mode).build(), 0)
            }
        };
        if size > ON_THE_SPOT { entry.flags(squeue::Flags::ASYNC) } else { entry }
    }
}

/// How much of a buffer one operation moves: a GiB at most, since the kernel counts in 32 bits and does not do much more at once.
fn at_once(buf: &[u8]) -> u32 {
    buf.len().min(1 << 30) as u32
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::Sync { .. } => "sync",
            Self::Open { .. } => "open",
        })
    }
}

/// What has become of it.
#[derive(Debug)]
pub(crate) struct Landing {
    /// What it was, with its buffer.
    pub(crate) work: Work,
    /// What the kernel says: how many bytes.
    pub(crate) result: io::Result<usize>,
    /// The file, if it was opened.
    pub(crate) opened: Option<OwnedFd>,
}

#[derive(Debug)]
pub(super) struct Op {
    /// The kernel has taken its last submission.
    taken: AtomicBool,
    state: Lock<State>,
    work: Cell,
}

/// See O2.
struct Cell(UnsafeCell<Option<Work>>);

// SAFETY: it is touched by one at a time, who is determined by O2, and `Work` may be sent.
unsafe impl Sync for Cell {}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..") // the kernel may have it
    }
}

#[derive(Debug, Default)]
struct State {
    waker: Option<Waker>,
    outcome: Option<Outcome>,
    /// Nobody waits for it any more.
    given_up: bool,
}

#[derive(Debug)]
enum Outcome {
    Landed(io::Result<usize>, Option<OwnedFd>),
    /// The runtime went down, and the kernel still has it.
    Lost,
    /// The kernel takes nothing any more.
    Refused(i32),
}

impl Op {
    pub(super) fn new(work: Work) -> Arc<Self> {
        let (state, work) = (Lock::new(State::default()), Cell(UnsafeCell::new(Some(work))));
        Arc::new(Self { taken: AtomicBool::new(false), state, work })
    }

    /// It was submitted.
    pub(super) fn note_taken(&self, taken: bool) {
        self.taken.store(taken, Ordering::Relaxed);
    }

    /// What the kernel is to be told.
    ///
    /// # Safety
    /// It is not submitted: new, or its completion was taken and not given to `land`.
    pub(super) unsafe fn entry(&self) -> squeue::Entry {
        self.work.0.with_mut(|work| {
            // SAFETY: neither the kernel has it (the caller's promise) nor a future, for there is no outcome yet (O2).
            let work = unsafe { &mut *work };
            work.as_mut().expect("it is taken out once, at its end").entry()
        })
    }

    /// Its completion was taken. False: that was for a reason that has nothing to do with it, and it is to be submitted again.
    pub(super) fn land(&self, result: i32) -> bool {
        let mut state = self.state.lock();
        // Of a thread that ended, what it had submitted is cancelled.
        if [-libc::ECANCELED, -libc::EINTR].contains(&result) && !state.given_up {
            return false;
        }
        let result = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
        // SAFETY: the kernel is done with it, and no future has it yet (O2).
        let is_open = self.work.0.with(|work| matches!(unsafe { &*work }, Some(Work::Open { .. })));
        let opened = match &result {
            // SAFETY: the kernel has just made it, for nobody else.
            Ok(file) if is_open => Some(unsafe { OwnedFd::from_raw_fd(*file as i32) }),
            _ => None,
        };
        state.outcome.get_or_insert(Outcome::Landed(result, opened));
        true
    }

    /// The runtime goes down: whoever waits for it is told so, and waits no longer.
    pub(super) fn lose(&self) {
        let mut state = self.state.lock();
        state.outcome.get_or_insert(Outcome::Lost);
        state.given_up = true;
    }

    /// The ring is out of use: whoever waits for it is told with what it was refused. True: it was not taken, and nobody knew.
    pub(super) fn refuse(&self, error: i32) -> bool {
        let mut state = self.state.lock();
        let is_new = !self.taken.load(Ordering::Relaxed) && state.outcome.is_none() && !state.given_up;
        if is_new {
            state.outcome = Some(Outcome::Refused(error));
            state.given_up = true;
        }
        is_new
    }

    /// Wakes who waits for it.
    pub(super) fn take_waker(&self) -> Option<Waker> {
        self.state.lock().waker.take()
    }

    /// The future is gone. True: it is still under way.
    pub(super) fn give_up(&self) -> bool {
        let (waker, under_way) = {
            let mut state = self.state.lock();
            state.given_up = true;
            (state.waker.take(), state.outcome.is_none())
        };
        drop(waker); // O4
        under_way
    }

    /// For the one future of it.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<io::Result<Landing>> {
        if let Some(landing) = self.look() {
            return Poll::Ready(landing);
        }
        let waker = cx.waker().clone(); // O4
        let mut state = self.state.lock();
        let before = if state.outcome.is_none() { state.waker.replace(waker) } else { Some(waker) };
        drop(state);
        drop(before);
        self.look().map_or(Poll::Pending, Poll::Ready)
    }

    fn look(&self) -> Option<io::Result<Landing>> {
        match self.state.lock().outcome.take()? {
            Outcome::Lost => Some(Err(super::super::reactor::over())),
            Outcome::Refused(error) => Some(Err(io::Error::from_raw_os_error(error))),
            Outcome::Landed(result, opened) => {
                // SAFETY: it has landed, and this is its one future, which finds the outcome once (O2).
                let work = self.work.0.with_mut(|work| unsafe { &mut *work }.take())?;
                Some(Ok(Landing { work, result, opened }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::park::ThreadParker;
    use ropewalk_core::prim::{self, thread};

    fn op() -> Arc<Op> {
        Op::new(Work::Open { path: c"none".to_owned(), flags: 0, mode: 0 })
    }

    /// An operation lands, and is delivered, while its future looks for it: it learns of it, once, and has the work.
    // mutation: a-waker-is-left-without-a-second-look
    // - in crates/ropewalk/src/drive/io/uring/op.rs: `self.look().map_or(Poll::Pending, Poll::Ready)`
    // + `Poll::Pending`
    // mutation: landing-leaves-no-outcome
    // - in crates/ropewalk/src/drive/io/uring/op.rs: `state.outcome.get_or_insert(Outcome::Landed(result, opened));`
    // + `let _ = (result, opened);`
    // mutation: the-waker-stays
    // - in crates/ropewalk/src/drive/io/uring/op.rs: `self.state.lock().waker.take()`
    // + `None`
    #[test]
    fn model_an_operation_lands_while_its_future_looks() {
        prim::model(|| {
            let op = op();
            let kernel = op.clone();
            let kernel = thread::spawn(move || {
                assert!(kernel.land(-libc::ENOENT));
                if let Some(waker) = kernel.take_waker() {
                    waker.wake();
                }
            });
            let parker = Arc::new(ThreadParker::new());
            let waker = Waker::from(parker.clone());
            let landing = loop {
                match op.poll(&mut Context::from_waker(&waker)) {
                    Poll::Ready(landing) => break landing.unwrap(),
                    Poll::Pending => drop(parker.park(None)), // a model that sleeps for ever has failed
                }
            };
            assert!(matches!(landing.work, Work::Open { .. }));
            assert_eq!(landing.result.unwrap_err().raw_os_error(), Some(libc::ENOENT));
            kernel.join().unwrap();
        });
    }

    /// What is cancelled because a thread ended is to be submitted again, unless nobody wants it any more.
    // mutation: cancelled-is-cancelled
    // - in crates/ropewalk/src/drive/io/uring/op.rs: `.contains(&result) && !state.given_up {`
    // + `.contains(&result) && state.given_up {`
    #[test]
    fn model_a_cancellation_races_with_giving_up() {
        prim::model(|| {
            let op = op();
            let kernel = op.clone();
            let kernel = thread::spawn(move || kernel.land(-libc::ECANCELED));
            let under_way = op.give_up();
            let landed = kernel.join().unwrap();
            assert_eq!(landed, !under_way || op.state.lock().outcome.is_some());
            assert!(landed || op.land(-libc::ECANCELED), "the second time nobody wants it");
        });
    }
}
