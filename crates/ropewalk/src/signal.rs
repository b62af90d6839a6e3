//! Signals of the operating system: ctrl-c, and on Unix all that a program may listen to.
//!
//! ```no_run
//! # async fn serve() {}
//! # async fn example() -> std::io::Result<()> {
//! ropewalk::select! {
//!     () = serve() => {}
//!     pressed = ropewalk::signal::ctrl_c() => pressed?,
//! }
//! println!("shutting down");
//! # Ok(()) }
//! ```
//!
//! # What happens to the process
//!
//! - A signal to which nobody has listened keeps doing what it did: SIGTERM ends the process.
//! - Listening installs a handler for that one signal, and the default action no longer takes place. A handler that was
//!   there before is still called, after ours has counted.
//! - When the last listener of a signal is dropped, what was there before is put back: after a program has awaited
//!   [`ctrl_c`], a second ctrl-c ends it, unless somebody listens again; so does one that was on its way just then. Keep
//!   a `unix::Signal` to stay in charge; a new `ctrl_c()` in each round of a loop leaves moments between two of them in
//!   which nobody is.
//! - If another library has put its handler over ours meanwhile, that one stays, and is expected to call ours.
//!
//! # What is delivered
//!
//! The system merges signals that come faster than they are handled, and so does a listener: several that come before it
//! asks are one. None is lost entirely: after a signal, every listener that existed has one more to receive. Several
//! listeners of one signal each see each delivery; none takes it from another.
//!
//! # How
//!
//! The handler counts and writes a byte into a pipe; a thread of the process, started by the first listener, reads the
//! pipe and wakes who waits. So listeners belong to no runtime: one may wait by `.await` in any of them, by
//! [`.wait()`](crate::Wait) on a thread, or on somebody else's executor.

#[cfg(unix)]
mod desk;
#[cfg(unix)]
mod handler;
#[cfg(unix)]
mod slot;
#[cfg(unix)]
pub mod unix;

/// Waits for ctrl-c, which is SIGINT. It counts from this call on, not from the first poll.
///
/// ```
/// use ropewalk::Wait;
///
/// let pressed = ropewalk::signal::ctrl_c(); // from here on it does not end the process
/// std::process::Command::new("kill").args(["-INT", &std::process::id().to_string()]).status()?;
/// pressed.wait()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Cancel safety: dropping the future forgets a ctrl-c that came meanwhile. If nobody else listens then, the next one ends
/// the process.
///
/// # Errors
/// If the first listener of the process gets no pipe or no thread.
#[cfg(unix)]
pub fn ctrl_c() -> impl Future<Output = std::io::Result<()>> + Send + use<> {
    let listener = unix::signal(unix::SignalKind::interrupt());
    async move {
        listener?.recv().await;
        Ok(())
    }
}
