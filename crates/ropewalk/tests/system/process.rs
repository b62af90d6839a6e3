//! Real processes, on a kernel that has pidfds.
#![cfg(target_os = "linux")]

mod suite;

/// Nothing has to be done.
fn prepare() {}
