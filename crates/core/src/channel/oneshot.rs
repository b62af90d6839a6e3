//! A channel for one value. One allocation, and on the straight path (send, then receive) one read-modify-write.
//!
//! `oneshot/word.rs` has the state word with its diagram and the numbered invariants; here are the two ends.

mod spare;
mod word;

use crate::blocked::{self, Reason};
use crate::budget::poll_proceed;
use crate::prim::{self, UnsafeCell};
use core::fmt;
use core::future::{Future, poll_fn};
use core::mem::{self, MaybeUninit};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker, ready};
use word::{Ended, Seen, Word};

/// How often a receiver looks again for a sender that is about to let go.
const LOOKS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 100 };

/// A channel for one value.
///
/// ```
/// use ropewalk_core::{block_on_simple, channel::oneshot};
///
/// let (answer, asked) = oneshot::channel();
/// std::thread::spawn(move || answer.send(6 * 7).unwrap());
/// assert_eq!(block_on_simple(asked), Ok(42));
/// ```
///
/// The receiver is a future itself; `(&mut receiver).await` keeps it.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let cell = spare::take::<Cell<T>>();
    // SAFETY: it is memory for a cell.
    unsafe {
        cell.write(Cell {
            word: Word::new(),
            receiver: UnsafeCell::new(None),
            sender: UnsafeCell::new(None),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        })
    };
    (Sender { cell }, Receiver { cell: Some(cell) })
}

/// What both ends share. Who may touch which field is said by the word (OS1-OS5).
struct Cell<T> {
    word: Word,
    /// Whom the sender wakes.
    receiver: UnsafeCell<Option<Waker>>,
    /// Whom the receiver wakes when it closes.
    sender: UnsafeCell<Option<Waker>>,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// Frees the cell, without the value.
///
/// # Safety
///
/// The caller is the last to touch it (OS5), and nobody will read the value.
unsafe fn free<T>(cell: NonNull<Cell<T>>) {
    // SAFETY: `channel` made it, by `take` for this type. (A value in it is not dropped.)
    unsafe {
        cell.drop_in_place();
        spare::give_back(cell);
    }
}

/// The sending end. Dropping it without a value tells the receiver.
#[must_use = "dropping the sender closes the channel"]
pub struct Sender<T> {
    cell: NonNull<Cell<T>>,
}

// SAFETY: the value and the wakers may travel, and the word says who touches them.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: through `&Sender` one can only ask whether the receiver is there.
unsafe impl<T: Send> Sync for Sender<T> {}

impl<T> Sender<T> {
    /// Sends the value and wakes the receiver. Never waits.
    ///
    /// # Errors
    ///
    /// The receiver is gone or has closed the channel: the value comes back.
    ///
    /// # Panics
    ///
    /// If the waker of the receiver does; the value has been sent then.
    #[inline]
    pub fn send(self, value: T) -> Result<(), T> {
        let cell = self.cell;
        mem::forget(self);
        // SAFETY: the sender has not ended, so the cell is there (OS5) and the value its own (OS1).
        let this = unsafe { cell.as_ref() };
        // SAFETY: as above.
        this.value.with_mut(|slot| unsafe { (*slot).write(value) });
        let ended = this.word.fill();
        if let Ended::Quietly = ended { Ok(()) } else { Self::send_slowly(cell, ended) }
    }

    /// The value is in the cell, and the receiver waits for it, or does not want it.
    #[inline(never)]
    fn send_slowly(cell: NonNull<Cell<T>>, ended: Ended) -> Result<(), T> {
        // SAFETY: as long as the sender has not let go, the cell is there (OS5).
        let this = unsafe { cell.as_ref() };
        // SAFETY: called below only where the value is the sender's (OS1, OS3).
        let take = || this.value.with(|slot| unsafe { (*slot).assume_init_read() });
        match ended {
            Ended::Quietly | Ended::Last => Ok(()), // not what `fill` says
            Ended::Refused => {
                let value = take(); // OS3: the receiver will not look at it
                if this.word.let_go_refused() {
                    // SAFETY: the receiver has gone (OS5).
                    unsafe { free(cell) };
                }
                Err(value)
            }
            Ended::Awaited => {
                // SAFETY: the slot is the sender's from `fill` to `let_go` (OS2).
                let waker = this.receiver.with_mut(|slot| unsafe { (*slot).take() });
                if this.word.let_go() {
                    let value = take();
                    // SAFETY: the receiver has gone (OS5).
                    unsafe { free(cell) };
                    return Err(value);
                }
                waker.expect("who waits left a waker").wake();
                Ok(())
            }
        }
    }

    /// Whether the receiver is gone or has closed the channel, so that a value would come back.
    pub fn is_closed(&self) -> bool {
        self.cell().word.look().is_closed()
    }

    /// Waits until the receiver is gone or closes the channel: for work that is not needed any more then.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, channel::oneshot};
    ///
    /// let (mut sender, receiver) = oneshot::channel::<u32>();
    /// drop(receiver);
    /// block_on_simple(sender.closed());
    /// assert_eq!(sender.send(1), Err(1));
    /// ```
    ///
    /// Cancel safety: nothing is lost.
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_closed(cx)).await;
    }

    /// [`closed`](Self::closed), for futures written by hand.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_closed() {
            return poll_proceed(cx);
        }
        let waker = cx.waker().clone();
        let cell = self.cell();
        if !cell.word.withdraw_sender() {
            return Poll::Ready(()); // closed meanwhile
        }
        // SAFETY: the sender is not announced, so the slot is its own (OS4).
        let old = cell.sender.with_mut(|slot| unsafe { (*slot).replace(waker) });
        let open = cell.word.announce_sender();
        drop(old);
        if open {
            blocked::note(Reason::Oneshot, blocked::address_of(cell));
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }

    fn cell(&self) -> &Cell<T> {
        // SAFETY: the sender has not ended, so the cell is there (OS5).
        unsafe { self.cell.as_ref() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let this = self.cell();
        let waker = match this.word.abandon() {
            Ended::Quietly | Ended::Refused => return,
            Ended::Awaited => {
                // SAFETY: the slot is the sender's from `abandon` to `let_go` (OS2).
                let waker = this.receiver.with_mut(|slot| unsafe { (*slot).take() });
                if !this.word.let_go() {
                    return waker.expect("who waits left a waker").wake();
                }
                waker
            }
            Ended::Last => None,
        };
        // SAFETY: the receiver has gone (OS5), and there is no value.
        unsafe { free(self.cell) };
        drop(waker);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("closed", &self.is_closed()).finish()
    }
}

/// The receiving end, a future of the value.
///
/// Cancel safety: dropping it tells the sender; a value that was sent and not taken is dropped with it, once. To wait again
/// later, await `&mut receiver`.
///
/// # Panics
///
/// A poll after it gave the value or the error panics with "oneshot `Receiver` polled after it completed".
#[must_use = "dropping the receiver closes the channel"]
pub struct Receiver<T> {
    /// `None` when the value was taken, or the sender was seen to be gone: then the cell is gone too.
    cell: Option<NonNull<Cell<T>>>,
}

// SAFETY: the value and the wakers may travel, and the word says who touches them.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: nothing of the cell is reachable through `&Receiver` but the word.
unsafe impl<T: Send> Sync for Receiver<T> {}
impl<T> Unpin for Receiver<T> {}

impl<T> Receiver<T> {
    /// The value, if it is there. After the value or the end was seen, `Err(Closed)`.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`]: the sender may still send; [`TryRecvError::Closed`]: there will be no value.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let Some(cell) = self.cell else { return Err(TryRecvError::Closed) };
        // SAFETY: the receiver has not ended, so the cell is there (OS5).
        let seen = unsafe { cell.as_ref() }.word.look();
        self.settle(cell, seen).ok_or(TryRecvError::Empty)?.map_err(|RecvError| TryRecvError::Closed)
    }

    /// Refuses a value from now on. One that was sent before can still be received; a later `send` gives it back.
    pub fn close(&mut self) {
        if let Some(cell) = self.cell {
            // SAFETY: the receiver has not ended (OS5).
            let waker = unsafe { cell.as_ref() }.shut();
            waker.into_iter().for_each(Waker::wake);
        }
    }

    /// Whether the value was taken, or the receiver was told that there will be none.
    pub fn is_terminated(&self) -> bool {
        self.cell.is_none()
    }

    /// Takes the value, and frees the cell.
    ///
    /// # Safety
    ///
    /// It is this receiver's cell, and the word said that it is filled.
    #[inline]
    unsafe fn take(&mut self, cell: NonNull<Cell<T>>) -> T {
        self.cell = None;
        // SAFETY: the sender has let go (OS5), and the value is the receiver's, once: the cell is forgotten (OS1).
        let value = unsafe { cell.as_ref() }.value.with(|slot| unsafe { (*slot).assume_init_read() });
        // SAFETY: both have ended (OS5).
        unsafe { free(cell) };
        value
    }

    /// Takes what the word says is there. `None`: nothing yet.
    fn settle(&mut self, cell: NonNull<Cell<T>>, seen: Seen) -> Option<Result<T, RecvError>> {
        if seen.is_filled() {
            // SAFETY: this receiver's cell, and the word says that it is filled (OS1).
            Some(Ok(unsafe { self.take(cell) }))
        } else if seen.is_abandoned() {
            self.cell = None;
            // SAFETY: the sender has let go (OS5) and left no value.
            unsafe { free(cell) };
            Some(Err(RecvError))
        } else if seen.is_closed() {
            Some(Err(RecvError)) // by us, before a value came
        } else {
            None
        }
    }

    /// Nothing is there yet: leaves the waker.
    fn wait(&mut self, cell: NonNull<Cell<T>>, cx: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        let waker = cx.waker().clone();
        // SAFETY: the receiver has not ended (OS5).
        let this = unsafe { cell.as_ref() };
        if let Some(seen) = this.word.withdraw_receiver() {
            return self.overtaken(cell, seen, cx);
        }
        // SAFETY: the receiver is not announced, so the slot is its own (OS2).
        let old = this.receiver.with_mut(|slot| unsafe { (*slot).replace(waker) });
        let seen = this.word.announce_receiver();
        drop(old);
        if let Some(seen) = seen {
            return self.overtaken(cell, seen, cx);
        }
        blocked::note(Reason::Oneshot, blocked::address_of(this));
        Poll::Pending
    }

    /// The sender came while the waker was being left. If it is between its end and letting go, a few instructions apart, it
    /// will call the old waker: so look again, and if its thread was interrupted just there, let others run meanwhile.
    #[cold]
    fn overtaken(
        &mut self,
        cell: NonNull<Cell<T>>,
        mut seen: Seen,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        for _ in 0..LOOKS {
            if let Some(result) = self.settle(cell, seen) {
                return Poll::Ready(result);
            }
            prim::spin_loop();
            // SAFETY: nothing was settled, so the receiver has not ended (OS5).
            seen = unsafe { cell.as_ref() }.word.look();
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T> Cell<T> {
    /// The receiver wants no value from now on. Returns whom to tell.
    fn shut(&self) -> Option<Waker> {
        // SAFETY: who closed while the sender was announced has its slot (OS4).
        self.word.close().then(|| self.sender.with_mut(|slot| unsafe { (*slot).take() })).flatten()
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let cell = self.cell.expect("oneshot `Receiver` polled after it completed");
        // SAFETY: the receiver has not ended, so the cell is there (OS5).
        let seen = unsafe { cell.as_ref() }.word.look();
        if seen.is_pending() {
            return self.wait(cell, cx);
        }
        ready!(poll_proceed(cx)); // nothing has been taken yet
        if seen.is_filled() {
            // SAFETY: this receiver's cell, and the word says that it is filled (OS1).
            return Poll::Ready(Ok(unsafe { self.take(cell) }));
        }
        self.settle(cell, seen).map_or(Poll::Pending, Poll::Ready)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let Some(cell) = self.cell else { return };
        // SAFETY: the receiver has not ended, so the cell is there (OS5).
        let this = unsafe { cell.as_ref() };
        let waker = this.shut();
        let seen = this.word.leave();
        drop(self.settle(cell, seen)); // if the sender had let go, the rest is ours
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("terminated", &self.is_terminated()).finish()
    }
}

/// The sender was dropped without a value, or the receiver had closed the channel before one came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError;

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no value will come: the oneshot sender is gone, or the receiver closed the channel")
    }
}
impl core::error::Error for RecvError {}

/// Why [`Receiver::try_recv`] gave no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// None has been sent yet.
    Empty,
    /// There will be none.
    Closed,
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no value has been sent yet"),
            Self::Closed => RecvError.fmt(f),
        }
    }
}
impl core::error::Error for TryRecvError {}

#[cfg(test)]
mod tests;
