//! Processes: started as with [`std::process`], waited for, fed and read by `.await` or [`.wait()`](crate::Wait).
//!
//! ```
//! use ropewalk::process::Command;
//!
//! # ropewalk::block_on(async {
//! let listing = Command::new("echo").arg("three strands").output().await?;
//! assert!(listing.status.success());
//! assert_eq!(listing.stdout, b"three strands\n");
//! # Ok::<(), std::io::Error>(()) }).unwrap();
//! ```
//!
//! # No zombies
//!
//! A process that has ended stays in the system's table until its parent asks for its status. [`Child`] asks when it is
//! waited for. If it is dropped before, a thread takes over: it sleeps until the process ends, reaps it, and leaves when
//! there is nothing left to reap. That needs no runtime, so it also holds for what outlives one.
//!
//! # How an end is noticed
//!
//! On Linux by a pidfd, which the runtime's I/O driver watches: one process, one wake-up. Where the system has none (before
//! Linux 5.3, other systems, no file descriptor left) or the runtime has ended, by SIGCHLD, of which the program may have
//! other [listeners](crate::signal) as well.
//!
//! Programs that wait for any child (`waitpid(-1)`), or that ignore SIGCHLD, take statuses away: a wait here is an error
//! then, as it is in std.

mod child;
mod command;
mod exit;
mod orphans;
mod pipes;

pub use child::Child;
pub use command::Command;
pub use pipes::{ChildStderr, ChildStdin, ChildStdout};
pub use std::process::{ExitStatus, Output, Stdio};
