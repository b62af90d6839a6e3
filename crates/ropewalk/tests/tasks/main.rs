//! Tasks and what runs them: from spawning to joining, groups, pools, the blocking pool, panics, misuse and the end.
//!
//! The tests that may run beside each other are three programs, this one, `sync` and `system`: there is much less to build than
//! with one for each subject, and a single one would keep a single core busy. What needs a process for itself is beside these
//! directories, and says why.

#[path = "../kit/mod.rs"]
mod kit;

mod at_home;
mod blocking;
mod determinism;
mod driving;
mod foreign_executor;
mod groups;
mod lifecycle;
mod locals;
mod macros;
mod misuse;
mod pools;
mod reasons;
mod regressions;
mod shutdown;
mod smoke;
mod starvation;
