//! Timers: a shard of the wheel for each worker, and entries that live in the futures that wait.
//!
//! A timer goes to the shard of the worker on which it is first polled, and stays there when its future moves. Threads that
//! are no workers, and other executors, use the shard of the runtime's first pool. There is no lock above the shards.
//!
//! # Who advances a shard
//!
//! Each shard publishes its next deadline in an atomic. Whoever finds one that has come takes out what is due, under the
//! shard's lock, and wakes it after unlocking: a worker its own in every look (`sched/worker/agenda.rs`: after 64 us or a poll,
//! and when it has nothing to do), and, if it got hold of the driver, those of everybody: at once if it has nothing to do,
//! and what is overdue by half a millisecond if it has. The worker that sleeps in the
//! driver sleeps until the earliest, so the shards of those who sleep, are stuck or have left are seen to as well. How a
//! new deadline meets a worker that falls asleep is at the head of `sched/park.rs`; what is owed here is its step 1:
//!
//! ```text
//! registering: Shard::register, then Bell           advancing: Shard::expire
//!   1. lock the shard                                 1. lock the shard
//!   2. link the entry                                 2. take out what is due
//!   3. deadline < next: next = deadline               3. next = what the wheel says
//!   4. unlock                                         4. unlock
//!   5. if step 3 changed it: Seam::deadline_moved     5. wake
//! ```
//!
//! **No deadline is slept past.** While an entry is linked, `next` is at most its deadline: step 3 on the left makes it so,
//! and step 3 on the right keeps it so, both under the lock; cancelling leaves it alone. When `next` was lowered, whoever
//! lowered it tells the sleepers (5); when it was raised, they sleep until an earlier time than they need. So a sleeper
//! that read `next` before the entry came is told, and one that reads it after is not too late.
//!
//! # Invariants
//!
//! - **S1** `links`, `deadline` and `waker` of a node are touched only under the lock of its shard while it is QUEUED
//!   (its owner may read the deadline, which only the owner changes), else only by its owner.
//! - **S2** Under the lock: a node is linked in the wheel exactly when its state is QUEUED. A linked node has a waker.
//! - **S3** A node leaves QUEUED only under the lock. When `expire` or `close` takes it out, the release store of the new
//!   state is the last access: from then on the node is its owner's alone, who may free it without locking.
//! - **S4** A linked node is valid: its future is pinned, and dropping it takes it out. A future that is forgotten leaks its
//!   memory with it, so it may stay linked; it expires like any other.
//! - **S5** A shard's memory is never freed. When its pool is over it is closed, which orphans all that is linked, and it is
//!   kept for the next pool. So an entry may go to the shard it remembers without keeping anything alive; what it finds
//!   there under the lock tells whether that is still the same one: its own state, or the shard's clock.
//! - **S6** No user code runs under a shard's lock: wakers are cloned before, woken and dropped after.
//!
//! # What it costs
//!
//! Registering is one exchange (the lock) and one clock read for the deadline; cancelling one exchange; the clone and drop
//! of the task's waker one each. The fence of the protocol is paid only for a deadline that is earlier than all others of
//! its shard. An expired task costs its share of one exchange per batch.
//!
//! # Rejected
//!
//! - **An `Arc` from the entry to its shard**: two more read-modify-writes per timer (S5 needs none).
//! - **Raising `next` when the first entry is cancelled**: then each timer that comes and goes alone publishes, fences and
//!   wakes. A cancelled deadline costs one look, once.
//! - **Taking out all that is due at once**: thousands would go through a full queue, out of order. As many as there is room
//!   for are taken; the rest stay, in order, for whoever is next, also another worker.
//! - **Telling a sleeper to take the driver whenever its holder leaves it for a task**: a cross-core wake-up for each expired
//!   timer. The one standing by (`sched/park.rs`) is there before it is needed.

mod entry;
mod shard;
mod slack;

pub(crate) use entry::{Entry, Here};
pub(crate) use shard::{Bell, Lease, Shard};
pub(crate) use slack::{PreciseSleep, sleep_precisely};

#[cfg(test)]
mod tests;
