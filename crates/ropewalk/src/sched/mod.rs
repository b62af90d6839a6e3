//! The scheduler. `worker` is the policy; `README.md` the sleep/wake protocol with its proof.
//!
//! | file | what it is |
//! |---|---|
//! | `worker` | the loop and where its next task comes from; who stays together, who stands aside; halves of joins |
//! | `pool` | stations, the injection queue, workers coming and going, closing |
//! | `station`, `post` | what others see of a worker; who is there, and who is sent there |
//! | `fibre` | the stacks a worker runs its loop on; waiting inside a poll |
//! | `hosted` | workers without threads, driven by whoever calls |
//! | `seat` | who drives those, and who is next (SQ1-SQ6) |
//! | `ring`, `lifo`, `next`, `injector`, `entry` | the queues |
//! | `idle`, `park`, `futex` | who sleeps, where, and whom to wake |
//! | `slab`, `host` | where tasks live and where they go when woken |
//! | `spin`, `linger` | how long it is worth to wait without sleeping, or without suspending |
//! | `blocking` | threads for what would block a worker |
//! | `timers` | which deadlines a pool has, and who is told of new ones |
//! | `budget`, `counters` | how long a task may go on; what is counted |
//! | `histogram`, `stamps` | how long polls take, and how long tasks wait for theirs; when those were woken |
//! | `span` | tasks for tokio's console |
//! | `recorder` | what happened last, for traces |
//! | `reasons`, `owners` | what observed tasks wait for, and who has it |

pub(crate) mod barrier;
pub(crate) mod blocking;
pub(crate) mod budget;
pub(crate) mod counters;
mod door;
pub(crate) mod entry;
pub(crate) mod fibre;
mod futex;
pub(crate) mod gate;
pub(crate) mod histogram;
pub(crate) mod hold;
pub(crate) mod host;
pub(crate) mod hosted;
pub(crate) mod idle;
pub(crate) mod injector;
pub(crate) mod lifo;
pub(crate) mod linger;
pub(crate) mod owners;
pub(crate) mod park;
pub(crate) mod pool;
mod post;
pub(crate) mod reasons;
pub(crate) mod recorder;
pub(crate) mod ring;
pub(crate) mod seat;
pub(crate) mod slab;
pub(crate) mod span;
pub(crate) mod spin;
pub(crate) mod stamps;
pub(crate) mod station;
mod timers;
pub(crate) mod watchdog;
pub(crate) mod worker;
