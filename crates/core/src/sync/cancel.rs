//! Asking others to stop: tokens that form a tree. `cancel/tree.rs` has the tree and its invariants.

mod tree;

use crate::blocked::{self, Reason};
use crate::budget::poll_proceed;
use crate::wait_queue::Wait;
use core::fmt;
use core::future::{Future, poll_fn};
use core::mem;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use tree::Handle;

/// Says "stop" to all who have a clone of it, or of a token below it.
///
/// Cancelling is a request, seen by those who ask ([`is_cancelled`](Self::is_cancelled)) or wait for it
/// ([`cancelled`](Self::cancelled), [`run_until_cancelled`](Self::run_until_cancelled)). It is final. Cancelling a token
/// cancels all below it ([`child_token`](Self::child_token)) and leaves those above alone. Dropping a token cancels nothing;
/// those below it stay below those above it.
///
/// ```
/// use ropewalk_core::{block_on_simple, sync::CancellationToken};
///
/// let server = CancellationToken::new();
/// let request = server.child_token();
/// let worker = std::thread::spawn({
///     let request = request.clone();
///     move || block_on_simple(request.run_until_cancelled(std::future::pending::<()>()))
/// });
/// server.cancel();
/// assert_eq!(worker.join().unwrap(), None);
/// assert!(request.is_cancelled());
/// ```
///
/// One allocation per token, and one per tree. Making and dropping a token is a short lock of its tree, whatever its size.
pub struct CancellationToken {
    handle: Handle,
}

impl CancellationToken {
    /// A token that is not below any other.
    pub fn new() -> Self {
        Self { handle: Handle::root() }
    }

    /// A token below this one: it is cancelled with this one, or alone. If this one is cancelled, it is born cancelled.
    ///
    /// ```
    /// use ropewalk_core::sync::CancellationToken;
    ///
    /// let all = CancellationToken::new();
    /// let (one, other) = (all.child_token(), all.child_token());
    /// one.cancel();
    /// assert!(!all.is_cancelled() && !other.is_cancelled());
    /// all.cancel();
    /// assert!(other.is_cancelled() && all.child_token().is_cancelled());
    /// ```
    #[must_use = "a token that is dropped cancels nothing"]
    pub fn child_token(&self) -> Self {
        Self { handle: self.handle.child() }
    }

    /// Cancels this token and all below it. When it returns, all of them are cancelled. Cancelling twice is harmless.
    ///
    /// Those who wait are woken by this call, or by another that cancels in the same tree at that moment. If a waker
    /// panics, the others are still woken.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Whether it was cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.handle.is_cancelled()
    }

    /// Waits until it is cancelled.
    ///
    /// Cancel safety: nothing is lost.
    pub fn cancelled(&self) -> Cancelled<'_> {
        Cancelled { token: self, wait: self.handle.queue.wait() }
    }

    /// [`cancelled`](Self::cancelled), with a token of its own.
    ///
    /// Cancel safety: nothing is lost.
    pub async fn cancelled_owned(self) {
        self.cancelled().await;
    }

    /// Runs `future` until it is done or the token is cancelled, whatever comes first: `None` if it was cancelled.
    ///
    /// If the token is cancelled already, `future` is dropped without a poll. If both come at once, the value wins.
    ///
    /// Cancel safety: dropping it drops `future` where it is. So does a cancellation.
    pub async fn run_until_cancelled<F: Future>(&self, future: F) -> Option<F::Output> {
        if self.is_cancelled() {
            return None;
        }
        let (mut future, mut cancelled) = (pin!(future), pin!(self.cancelled()));
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => cancelled.as_mut().poll_silently(cx).map(|()| None),
        })
        .await
    }

    /// Cancels the token when the guard is dropped: at the end of a block, however it ends.
    ///
    /// ```
    /// use ropewalk_core::sync::CancellationToken;
    ///
    /// let token = CancellationToken::new();
    /// {
    ///     let _stops_here = token.clone().drop_guard();
    /// }
    /// assert!(token.is_cancelled());
    /// ```
    pub fn drop_guard(self) -> DropGuard {
        DropGuard { token: Some(self) }
    }
}

impl Clone for CancellationToken {
    /// The same token: cancelling one cancels the other.
    fn clone(&self) -> Self {
        Self { handle: self.handle.clone() }
    }
}
impl Default for CancellationToken {
    fn default() -> Self {
        Self::new()
    }
}
impl fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancellationToken").field("cancelled", &self.is_cancelled()).finish()
    }
}

/// The future of [`CancellationToken::cancelled`]. It may be polled again after it completed.
#[must_use = "a future does nothing unless it is polled"]
pub struct Cancelled<'a> {
    token: &'a CancellationToken,
    wait: Wait<'a>,
}

impl Cancelled<'_> {
    /// Polls without budget or reason.
    fn poll_silently(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.token.is_cancelled() {
            return Poll::Ready(());
        }
        // SAFETY: `wait` is pinned with the future. The queue is only ever closed, after the token was cancelled.
        unsafe { self.map_unchecked_mut(|this| &mut this.wait) }.poll(cx).map(drop)
    }
}

impl Future for Cancelled<'_> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.token.is_cancelled() {
            return poll_proceed(cx);
        }
        let turn = self.as_mut().poll_silently(cx);
        if turn.is_pending() {
            blocked::note(Reason::Cancellation, blocked::address_of(&*self.token.handle));
        }
        turn
    }
}

impl fmt::Debug for Cancelled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancelled").field(self.token).finish()
    }
}

/// Cancels its token when it is dropped. Made by [`CancellationToken::drop_guard`].
#[must_use = "it cancels when it is dropped: at once, if nobody keeps it"]
#[derive(Debug)]
pub struct DropGuard {
    token: Option<CancellationToken>,
}

impl DropGuard {
    /// Gives the token back, without cancelling it.
    #[must_use = "a token that is dropped cancels nothing"]
    pub fn disarm(mut self) -> CancellationToken {
        let token = self.token.take().expect("only `disarm` takes it");
        mem::forget(self);
        token
    }
}

impl Drop for DropGuard {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            token.cancel();
        }
    }
}

#[cfg(test)]
mod tests;
