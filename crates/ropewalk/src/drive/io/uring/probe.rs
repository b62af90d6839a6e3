//! Whether this kernel has what the driver needs, found out by trying. Whoever asks for io_uring and cannot have it gets epoll,
//! with what is said here as the reason.

use super::ring::Ring;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, cqueue, opcode};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::AsRawFd;

/// How many entries can wait to be taken by the kernel, and completions to be taken from it.
const ENTRIES: u32 = 256;
const COMPLETIONS: u32 = 4096;

/// The operations that the driver uses.
const NEEDED: [(u8, &str); 8] = [
    (opcode::Nop::CODE, "NOP"),
    (opcode::PollAdd::CODE, "POLL_ADD"),
    (opcode::PollRemove::CODE, "POLL_REMOVE"),
    (opcode::AsyncCancel::CODE, "ASYNC_CANCEL"),
    (opcode::Read::CODE, "READ"),
    (opcode::Write::CODE, "WRITE"),
    (opcode::Fsync::CODE, "FSYNC"),
    (opcode::OpenAt::CODE, "OPENAT"),
];

/// A ring that can do all that is needed.
///
/// # Errors
/// What is missing.
pub(super) fn ring() -> io::Result<Ring> {
    let mut uring = IoUring::builder()
        .dontfork()
        .setup_clamp()
        .setup_cqsize(COMPLETIONS)
        .build(ENTRIES)
        .map_err(|error| because("io_uring_setup", &error))?;
    check_features(&uring)?;
    check_operations(&uring)?;
    check_multishot(&mut uring)?;
    Ring::new(uring)
}

fn because(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

fn missing(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what.into())
}

fn check_features(uring: &IoUring) -> io::Result<()> {
    let has = uring.params();
    for (there, what) in [
        (has.is_feature_nodrop(), "completions that are never dropped (Linux 5.5)"),
        (has.is_feature_rw_cur_pos(), "reads at the position of a file (Linux 5.6)"),
        (has.is_feature_poll_32bits(), "polls of 32 bits (Linux 5.9)"),
        (has.is_feature_ext_arg(), "timeouts of a wait (Linux 5.11)"),
    ] {
        if !there {
            return Err(missing(format!("io_uring has no {what}")));
        }
    }
    Ok(())
}

fn check_operations(uring: &IoUring) -> io::Result<()> {
    let mut probe = Probe::new();
    uring.submitter().register_probe(&mut probe).map_err(|error| because("io_uring's probe", &error))?;
    match NEEDED.iter().find(|(code, _)| !probe.is_supported(*code)) {
        Some((_, name)) => Err(missing(format!("io_uring has no {name}"))),
        None => Ok(()),
    }
}

/// Polls that stay armed (Linux 5.13) are no operation of their own: one is tried.
fn check_multishot(uring: &mut IoUring) -> io::Result<()> {
    let ready = eventfd(1, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let poll = opcode::PollAdd::new(Fd(ready.as_raw_fd()), libc::POLLIN as u32).multi(true).build();
    let stays = try_one(uring, poll.user_data(1), "a poll")?;
    if stays.result() < 0 || !cqueue::more(stays.flags()) {
        return Err(missing("io_uring has no polls that stay armed (Linux 5.13)"));
    }
    let remove = opcode::PollRemove::new(1).build().user_data(2);
    try_one(uring, remove, "the removal of a poll")?; // its completion or that of the poll, in any order
    if uring.completion().next().is_none() {
        try_wait(uring, "the end of a poll")?;
        uring.completion().next();
    }
    Ok(())
}

fn try_one(uring: &mut IoUring, entry: io_uring::squeue::Entry, what: &str) -> io::Result<cqueue::Entry> {
    // SAFETY: none of the entries tried points to memory, and nobody else has the ring yet.
    unsafe { uring.submission().push(&entry) }.map_err(|_| missing("io_uring's queue is full"))?;
    try_wait(uring, what)?;
    uring.completion().next().ok_or_else(|| missing(format!("io_uring does not answer to {what}")))
}

fn try_wait(uring: &mut IoUring, what: &str) -> io::Result<()> {
    let limit = Timespec::new().sec(5);
    loop {
        match uring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&limit)) {
            Ok(_) => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            Err(error) => return Err(because(what, &error)),
        }
    }
}
