//! Those who wait for each other: locks, signals, channels, threads, time, `select!`, and waiting itself. See `tasks/main.rs`.

#[path = "../kit/mod.rs"]
mod kit;

mod cancel_safety;
mod channels;
mod crowds;
mod select;
mod sync_locks;
mod sync_signals;
mod threads;
mod time;
mod waiting;
