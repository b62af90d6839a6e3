//! Channels: see [`ropewalk_core::channel`], all of which is here. What needs a clock is added by [`SendTimeout`].
//! Which one to take, and what each operation loses when it is cancelled: [`choosing`](crate::choosing).
//!
//! ```
//! use ropewalk::{Wait, channel, spawn};
//!
//! let (sender, receiver) = channel::bounded(16);
//! for name in ["hemp", "jute", "sisal"] {
//!     let sender = sender.clone();
//!     spawn(async move { sender.send(name.len()).await });
//! }
//! drop(sender);
//! let mut total = 0;
//! while let Some(length) = receiver.next().wait() { // here by a thread, there by tasks
//!     total += length;
//! }
//! assert_eq!(total, 13);
//! ```

pub use ropewalk_core::channel::*;

use crate::time::timeout;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

/// Sending with a limit on the time.
pub trait SendTimeout<T> {
    /// Sends a value; waits for room, but no longer than `span`.
    ///
    /// ```
    /// use ropewalk::channel::{self, SendTimeout, SendTimeoutError};
    /// use std::time::Duration;
    ///
    /// let (sender, _receiver) = channel::bounded(1);
    /// ropewalk::block_on(async {
    ///     assert_eq!(sender.send_timeout(1, Duration::from_millis(1)).await, Ok(()));
    ///     let error = sender.send_timeout(2, Duration::from_millis(1)).await.unwrap_err();
    ///     assert_eq!(error, SendTimeoutError::Timeout(2));
    /// });
    /// ```
    ///
    /// Cancel safety: dropping the future before it is done drops the value unsent.
    ///
    /// # Errors
    /// [`SendTimeoutError`] with the value.
    fn send_timeout(&self, value: T, span: Duration)
    -> impl Future<Output = Result<(), SendTimeoutError<T>>>;
}

impl<T> SendTimeout<T> for Sender<T> {
    async fn send_timeout(&self, value: T, span: Duration) -> Result<(), SendTimeoutError<T>> {
        let mut send = pin!(self.send(value));
        match timeout(span, send.as_mut()).await {
            Ok(sent) => Ok(sent?),
            // Without a value to give back, it was taken in the last moment.
            Err(_elapsed) => send.into_value().map_or(Ok(()), |value| Err(SendTimeoutError::Timeout(value))),
        }
    }
}
