//! The two queues shared with the kernel, and who may touch them.
//!
//! * **R1** Entries are put in under the lock of the submission queue, one at a time; the kernel takes them out by itself.
//! * **R2** Completions are taken out under the lock of the completion queue.
//! * **R3** `submit` returns when the kernel has taken the entry, or says that it would not yet. Then it stays in the queue, or if
//!   that is full behind it, and whoever submits next or is about to sleep tries again first. They are taken in their order. Two may call the kernel at once: it takes each entry once, and lets the second wait for the first. So
//!   nothing depends on somebody polling, and no two entries on being submitted by the same thread.
//! * **R4** If whoever polls is refused, and not for the moment (a filter that came later), the ring is out of use: nothing is
//!   submitted any more by anybody. So what was not taken until then never will be, and its owners may be told.
//! * **R5** Whoever finds that the kernel takes nothing rings the doorbell: an eventfd with a poll that stays armed, for which
//!   nothing has to be submitted. So whoever polls wakes up, tries again, and knows.
//!
//! A queue of completions that is full loses nothing: the kernel keeps the others, says so, and hands them over when asked.

use super::buffers::Buffers;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, EnterFlags, IoUring, cqueue, opcode, squeue};
use ropewalk_core::prim::real::{AtomicBool, AtomicUsize, Ordering};
use ropewalk_core::prim::{Lock, LockGuard};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// What a completion is about, in three bits of its mark that no token uses: there are at most 2^21 registrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A socket is ready; the rest is its token.
    Poll = 0,
    /// An operation on a file is done; the upper half is its place.
    Op = 1,
    /// Somebody is to wake up.
    Wake = 2,
    /// A cancellation was carried out, or there was nothing left to cancel.
    Order = 3,
    /// Something has arrived at a flow; the upper half is its place.
    Flow = 4,
}

/// What the doorbell's completions are marked with.
const DOORBELL: u64 = 1;
const KIND: u32 = 29;
const KINDS: u64 = 7;

impl Kind {
    pub(super) fn mark(self, rest: u64) -> u64 {
        debug_assert_eq!(rest >> KIND & KINDS, 0, "no room for the kind");
        rest | (self as u64) << KIND
    }

    pub(super) fn of(mark: u64) -> Self {
        match mark >> KIND & KINDS {
            0 => Self::Poll,
            1 => Self::Op,
            2 => Self::Wake,
            3 => Self::Order,
            _ => Self::Flow,
        }
    }
}

pub(super) struct Ring {
    uring: IoUring,
    /// The right to put, and what there was no room for.
    putting: Lock<VecDeque<squeue::Entry>>,
    taking: Lock<()>,
    /// An entry may be there that the kernel would not take (R3).
    stuck: AtomicBool,
    /// With what the kernel has refused it (R4); 0: it has not.
    refused: AtomicUsize,
    doorbell: OwnedFd,
    /// For entries that nobody wants to hear of.
    quiet: squeue::Flags,
    waiting: EnterFlags,
}

impl Ring {
    /// # Errors
    /// There is no descriptor for the doorbell, or it cannot be watched.
    pub(super) fn new(uring: IoUring) -> io::Result<Self> {
        let has = uring.params();
        let skips = has.is_feature_skip_cqe_on_success();
        let quiet = if skips { squeue::Flags::SKIP_SUCCESS } else { squeue::Flags::empty() };
        let mut waiting = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        waiting.set(EnterFlags::NO_IOWAIT, has.is_feature_no_iowait()); // who waits for a socket does not load a disk
        let (putting, taking) = (Lock::new(VecDeque::new()), Lock::new(()));
        let (stuck, refused) = (AtomicBool::new(false), AtomicUsize::new(0));
        let doorbell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let new = Self { uring, putting, taking, stuck, refused, doorbell, quiet, waiting };
        new.arm_doorbell()?;
        Ok(new)
    }

    fn arm_doorbell(&self) -> io::Result<()> {
        let (file, flags) = (Fd(self.doorbell.as_raw_fd()), libc::POLLIN as u32);
        let poll = opcode::PollAdd::new(file, flags).multi(true).build();
        // SAFETY: it points to no memory.
        unsafe { self.submit(&poll.user_data(Kind::Wake.mark(DOORBELL))) }
    }

    /// A wake-up was found. If it is the last one of the doorbell's poll (the thread that armed it is gone), it is armed again.
    pub(super) fn heard(&self, entry: &cqueue::Entry) {
        let is_doorbell = entry.user_data() == Kind::Wake.mark(DOORBELL);
        if is_doorbell && !cqueue::more(entry.flags()) {
            let _later = self.arm_doorbell(); // what cannot be submitted just now goes with the next
        }
    }

    /// Puts a completion into the queue, whatever the kernel takes (R5).
    pub(super) fn ring_doorbell(&self) -> io::Result<()> {
        match rustix::io::write(&self.doorbell, &1u64.to_ne_bytes()) {
            Ok(_) | Err(Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands an entry to the kernel (R3).
    ///
    /// # Errors
    /// The kernel takes nothing just now. The entry waits, and goes with the next, if the ring is not out of use (R4).
    ///
    /// # Safety
    /// What it points to stays where it is until its completion was taken.
    pub(super) unsafe fn submit(&self, entry: &squeue::Entry) -> io::Result<()> {
        self.check()?;
        // SAFETY: the caller's promise.
        let all = unsafe { self.put(Some(entry)) };
        self.flush_all(all)
    }

    /// Puts in what there was no room for, then `entry`. False: there is no room for all of it.
    ///
    /// # Safety
    /// As of [`submit`](Self::submit).
    unsafe fn put(&self, entry: Option<&squeue::Entry>) -> bool {
        let mut late = self.putting.lock();
        // SAFETY: nobody else has the queue (R1).
        let mut queue = unsafe { self.uring.submission_shared() };
        // SAFETY: the entries are good by the promise of this caller, or that of an earlier one.
        let mut push = |entry: &squeue::Entry| unsafe { queue.push(entry).is_ok() };
        while late.front().is_some_and(&mut push) {
            late.pop_front();
        }
        if let Some(entry) = entry
            && (!late.is_empty() || !push(entry))
        {
            late.push_back(entry.clone());
        }
        late.is_empty()
    }

    /// Lets the kernel take everything; `all`: all of it is in the queue.
    fn flush_all(&self, mut all: bool) -> io::Result<()> {
        loop {
            self.flush()?;
            if all {
                return Ok(());
            }
            // SAFETY: there is none.
            all = unsafe { self.put(None) };
        }
    }

    /// # Errors
    /// It is out of use (R4).
    pub(super) fn check(&self) -> io::Result<()> {
        match self.refused.load(Ordering::Acquire) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error as i32)),
        }
    }

    pub(super) fn is_refused(&self) -> bool {
        self.check().is_err()
    }

    /// For whoever polls: tries again what the kernel would not take.
    ///
    /// # Errors
    /// It still does not.
    pub(super) fn unstick(&self) -> io::Result<()> {
        if !self.stuck.load(Ordering::Relaxed) || !self.stuck.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        self.flush_all(false).inspect_err(|error| match error.raw_os_error() {
            None | Some(libc::EBUSY) => {} // for the moment
            Some(error) => self.refused.store(error as usize, Ordering::Release), // R4
        })
    }

    /// Lets the kernel take what is in the queue.
    fn flush(&self) -> io::Result<()> {
        loop {
            self.check()?;
            match self.uring.submit() {
                Ok(_) => return Ok(()),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) => std::thread::yield_now(), // no memory for the moment
                    _ => {
                        self.stuck.store(true, Ordering::Release);
                        let _nobody_hears = self.ring_doorbell(); // R5
                        return Err(error);
                    }
                },
            }
        }
    }

    /// Hands an entry to the kernel, and does not return before it was taken: it names a file that may be closed then.
    ///
    /// # Errors
    /// The kernel takes nothing, for a tenth of a second.
    ///
    /// # Safety
    /// As of [`submit`](Self::submit).
    pub(super) unsafe fn submit_now(&self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller's promise.
        let mut taken = unsafe { self.submit(entry) };
        for _ in 0..100 {
            if taken.is_ok() || self.is_refused() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
            taken = self.flush_all(false);
        }
        taken
    }

    /// Buffers for the kernel to fill.
    ///
    /// # Errors
    /// It has no such thing.
    pub(super) fn buffers(&self) -> io::Result<Buffers> {
        Buffers::new(&self.uring)
    }

    /// Ends whatever has this mark. It ends by itself or not at all if the order cannot be given.
    pub(super) fn cancel(&self, mark: u64) {
        let _later = self.try_cancel(mark);
    }

    /// The same. Also for polls: to be *removed* they must not be at work, and one that is stays armed, with its file open.
    ///
    /// # Errors
    /// The kernel takes nothing just now. The order waits, and goes with the next.
    pub(super) fn try_cancel(&self, mark: u64) -> io::Result<()> {
        let cancel = opcode::AsyncCancel::new(mark).build().flags(self.quiet).user_data(Kind::Order.mark(0));
        // SAFETY: it points to no memory.
        unsafe { self.submit(&cancel) }
    }

    /// Puts a completion into the queue, for whoever waits for one.
    pub(super) fn knock(&self) -> io::Result<()> {
        let nop = opcode::Nop::new().build().user_data(Kind::Wake.mark(0));
        // SAFETY: it points to no memory.
        unsafe { self.submit(&nop) }
    }

    /// Sleeps until there is a completion, at most for `timeout`, in nanoseconds.
    pub(super) fn wait(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.unstick()?;
        // More seconds than the kernel can count is no limit.
        let timeout = timeout.filter(|timeout| i64::try_from(timeout.as_secs()).is_ok()).map(Timespec::from);
        let args = timeout.as_ref().map_or(SubmitArgs::new(), |time| SubmitArgs::new().timespec(time));
        self.enter(1, self.waiting, &args)
    }

    fn enter(&self, least: u32, flags: EnterFlags, args: &SubmitArgs<'_, '_>) -> io::Result<()> {
        // SAFETY: the arguments are those that `EXT_ARG` announces, and are there until it returns.
        match unsafe { self.uring.submitter().enter(0, least, flags.bits(), Some(args)) } {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // Over; a signal; no room until what is there was taken.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// The completions that are there.
    pub(super) fn till(&self) -> Till<'_> {
        let taking = self.taking.lock();
        // SAFETY: nobody else has the queue (R2).
        let mut queue = unsafe { self.uring.completion_shared() };
        if queue.is_empty() && self.has_more() {
            let _none_yet = self.enter(0, EnterFlags::GETEVENTS | EnterFlags::EXT_ARG, &SubmitArgs::new());
            queue.sync();
        }
        Till { queue, _taking: taking }
    }

    /// Whether the kernel keeps some for which there was no room.
    fn has_more(&self) -> bool {
        let _putting = self.putting.lock();
        // SAFETY: nobody else has the queue (R1).
        unsafe { self.uring.submission_shared().cq_overflow() }
    }
}

/// The right to take completions.
pub(super) struct Till<'a> {
    // Dropped first: it tells the kernel what was taken.
    queue: CompletionQueue<'a>,
    _taking: LockGuard<'a, ()>,
}

impl Till<'_> {
    pub(super) fn next(&mut self) -> Option<cqueue::Entry> {
        self.queue.next()
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: it is open for as long as the ring is there.
        unsafe { BorrowedFd::borrow_raw(self.uring.as_raw_fd()) }
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("file", &self.uring.as_raw_fd()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// The queue is full: what there is no room for waits behind it, and is taken in its turn.
    #[test]
    fn entries_behind_a_full_queue_are_taken_in_their_order() {
        let uring = match IoUring::new(2) {
            Ok(uring) => uring,
            Err(error) => return eprintln!("skipped: no io_uring here ({error})"),
        };
        let ring = Ring::new(uring).unwrap();
        let nop = |number| opcode::Nop::new().build().user_data(number);
        // SAFETY: they point to no memory.
        let put: Vec<_> = (0..3).map(|number| unsafe { ring.put(Some(&nop(number))) }).collect();
        assert_eq!(put, [true, true, false]);
        // SAFETY: as above.
        unsafe { ring.submit(&nop(3)) }.unwrap();
        let mut till = ring.till();
        let taken: Vec<_> = std::iter::from_fn(|| till.next()).map(|entry| entry.user_data()).collect();
        assert_eq!(taken, [0, 1, 2, 3]);
    }
}
