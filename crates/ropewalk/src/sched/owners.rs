//! Who has which lock alone: a `sync::Mutex`, or an `RwLock` to write.
//!
//! A lock does not know its owner, and cannot be asked by who looks from outside: it may be gone by then. So who takes one says so
//! here, and says so again when it gives it back: with the feature `deadlock_detection`, and from when something is first observed in
//! this process.

use super::blocking::current_job;
use crate::context;
use ropewalk_core::task::{Header, TaskId};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// The table is spread over this many locks.
const SHARDS: usize = 64;

type Owners = BTreeMap<usize, Owner>;

static TABLE: [Mutex<Owners>; SHARDS] = [const { Mutex::new(BTreeMap::new()) }; SHARDS];

/// Who took a lock. (A guard may have been passed on since.)
#[derive(Clone, Debug)]
pub(crate) enum Owner {
    /// A task, a strand or a job.
    Task(TaskId),
    /// A thread that runs none of them.
    Thread(Thread),
}

impl Owner {
    /// What runs here.
    fn here() -> Option<Self> {
        // SAFETY: the current task is alive while it runs.
        let task = |task| Self::Task(unsafe { Header::id(task) });
        context::with_worker(|worker| match worker {
            Some(worker) => worker.frame.current.get().map(task),
            None => current_job().map(task).or_else(|| Some(Self::Thread(thread::current()))),
        })
    }

    /// Of the lock at this address, as those who wait for it know it.
    pub(crate) fn of(lock: usize) -> Option<Self> {
        shard(lock).get(&lock).cloned()
    }
}

fn shard(lock: usize) -> MutexGuard<'static, Owners> {
    TABLE[(lock >> 4) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
}

/// What runs here has taken the lock at this address, or is about to give it back.
pub(super) fn hear(lock: usize, taken: bool) {
    let owner = if taken { Owner::here() } else { None };
    let mut shard = shard(lock);
    let before = match owner {
        Some(owner) => shard.insert(lock, owner),
        None => shard.remove(&lock), // also if nobody is known who took it
    };
    drop(shard);
    drop(before);
}
