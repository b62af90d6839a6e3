//! The parts of Ropewalk that need no operating system: they know no thread, no clock and no file descriptor.
//!
//! - `task`: the task cell, one allocation per spawned future (feature `alloc`).
//! - `channel`: bounded and unbounded queues, for any number of senders and receivers; `oneshot`, `broadcast`, `watch`
//!   (feature `alloc`).
//! - [`sync`]: locks, semaphores, notifications, barriers, cells that are filled once; with `alloc` owned guards and
//!   cancellation too.
//! - [`wait_queue`]: who waits for what, in order and cancel-safe: the base of every primitive that makes somebody wait.
//! - [`wheel`]: a hierarchical timing wheel, for whoever has a clock.
//! - [`list`] and [`stack`]: the intrusive structures below; a node brings its own links, so nothing is allocated.
//! - [`block_on_simple`] and [`noop_waker`]: running a future without any runtime.
//!
//! A waiter is always a [`core::task::Waker`], whether a task, a strand or a thread waits behind it; so each primitive is
//! written once. No code of the user (the `clone`, `wake` or `drop` of a waker, the `drop` of a value) runs under one
//! of our locks.
//!
//! Without features the crate is `no_std` and does not allocate. The feature `std` makes short locks block the thread
//! instead of spinning, lets [`block_on_simple`] sleep, and keeps two numbers for each thread: what is left of a [`budget`],
//! and what a poll owes (`task/owed.rs`).
//!
//! ```
//! use ropewalk_core::{block_on_simple, wait_queue::WaitQueue};
//!
//! let queue = WaitQueue::new();
//! queue.close();
//! assert!(block_on_simple(queue.wait()).is_err());
//! ```
#![cfg_attr(not(any(feature = "std", test, loom, shuttle)), no_std)]
#[cfg(feature = "alloc")]
extern crate alloc;

mod block_on;
pub mod blocked;
#[doc(hidden)]
pub mod contention;
pub mod deadlock;
mod hook;
#[cfg(test)]
#[cfg_attr(any(loom, shuttle), allow(dead_code, unused_imports))] // the plain tests use all of it
mod kit;
pub mod linger;
pub mod list;
#[doc(hidden)]
pub mod prefetch;
#[doc(hidden)]
pub mod prim;
pub mod stack;
pub mod wait_queue;
#[doc(hidden)]
pub mod wake_batch;
pub mod wheel;
pub use block_on::{block_on_simple, noop_waker};
pub mod budget;
#[cfg(feature = "alloc")]
pub mod channel;
pub mod sync;
#[cfg(feature = "alloc")]
pub mod task;

/// Where the files of this crate are, as the compiler was told: so its functions are known in a backtrace.
#[doc(hidden)]
pub const SOURCES: &str = {
    let (own, file) = ("lib.rs".len(), file!());
    file.split_at(file.len() - own).0
};
