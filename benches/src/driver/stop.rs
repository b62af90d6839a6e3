//! Ctrl-c and SIGTERM: the run ends, and what was measured is still reported. A second one ends the program at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether to stop. As a file it becomes readable then, and stays so.
pub struct Stop {
    asked: Arc<AtomicBool>,
    wake: UnixStream,
}

impl Stop {
    pub fn listen() -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let (wake, tell) = UnixStream::pair()?;
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first one finds the flag unset.
            flag::register_conditional_shutdown(signal, 1, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
            low_level::pipe::register(signal, tell.try_clone()?)?;
        }
        Ok(Self { asked, wake })
    }

    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
