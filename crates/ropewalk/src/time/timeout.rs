//! Giving up after a while.

use super::{Instant, Sleep, sleep, sleep_until};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Waits for `future`, but no longer than `span`, counted from this call.
///
/// ```
/// use ropewalk::time::timeout;
/// use std::time::Duration;
///
/// ropewalk::block_on(async {
///     assert_eq!(timeout(Duration::from_secs(1), async { 5 }).await, Ok(5));
///     assert!(timeout(Duration::from_millis(1), std::future::pending::<()>()).await.is_err());
/// });
/// ```
///
/// The future is polled first: if it is ready, it wins over a deadline that has passed. When the time is over it is not
/// dropped yet; dropping the [`Timeout`] does that.
///
/// Cancel safety: that of `future`.
///
/// # Errors
/// [`Elapsed`] if the time is over first.
pub fn timeout<F: IntoFuture>(span: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: future.into_future(), sleep: sleep(span) }
}

/// Waits for `future`, but no longer than until `deadline`; otherwise as [`timeout`].
///
/// # Errors
/// [`Elapsed`] if the deadline comes first.
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: future.into_future(), sleep: sleep_until(deadline) }
}

/// The future of [`timeout`] and [`timeout_at`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Timeout<F> {
    future: F,
    sleep: Sleep,
}

impl<F> Timeout<F> {
    /// The future that is waited for.
    pub fn get_ref(&self) -> &F {
        &self.future
    }

    /// The future that is waited for.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut F> {
        self.parts().0
    }

    fn parts(self: Pin<&mut Self>) -> (Pin<&mut F>, Pin<&mut Sleep>) {
        // SAFETY: both fields are pinned with it, it has no `Drop`, and is `Unpin` only if both are, which `Sleep` is not.
        unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), Pin::new_unchecked(&mut this.sleep))
        }
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (future, sleep) = self.parts();
        if let Poll::Ready(output) = future.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        // Without budget: a future that uses all of it up must not keep its own timeout from being seen.
        sleep.poll_entry(cx).map(|()| Err(Elapsed))
    }
}

/// The time was over first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the timeout was over before the future was done")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(elapsed: Elapsed) -> Self {
        std::io::Error::new(std::io::ErrorKind::TimedOut, elapsed)
    }
}
