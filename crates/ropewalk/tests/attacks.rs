//! Attacks: system calls that are refused, a process that is stopped again and again, connections by the thousand, floods of
//! datagrams, cables that are pulled. Nothing hangs, nothing is lost, nothing is left.
//!
//! By default each takes a moment; `ROPEWALK_SOAK_SECONDS` says how long each goes on, `ROPEWALK_SOAK_CONNECTIONS` how many
//! connections there are (`ci/soak`). A program of its own: its allocator counts, and each attack is in processes of its own,
//! for it is on a whole process (its descriptors, its system calls, its memory).
#![cfg(all(target_os = "linux", not(tsan)))] // filters and stops are not for the sanitizer's threads

#[path = "kit/answers.rs"]
mod answers;
#[path = "attacks/child.rs"]
mod child;
#[path = "attacks/connections.rs"]
mod connections;
#[path = "attacks/faults.rs"]
mod faults;
#[path = "attacks/flood.rs"]
mod flood;
mod kit;
#[path = "attacks/leaks.rs"]
mod leaks;
#[allow(dead_code)] // only its allocator
#[path = "soak/ledger.rs"]
mod ledger;
#[path = "kit/limits.rs"]
mod limits;
#[path = "attacks/load.rs"]
mod load;
#[allow(dead_code)] // only what makes one
#[path = "system/net/namespaces.rs"]
mod namespaces;
#[path = "attacks/refused.rs"]
mod refused;
#[path = "attacks/stopped.rs"]
mod stopped;

#[global_allocator]
static COUNTING: ledger::Counting = ledger::Counting;
