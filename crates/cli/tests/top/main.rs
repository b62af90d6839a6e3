//! `ropewalk top` as its users meet it: at a terminal, and in pipes.
#![cfg(all(target_os = "linux", not(tsan)))] // ctrl-c: TSan holds signals back from threads that sleep on a futex

mod errors;
mod mock;
mod outside;
mod piped;
mod real;
mod screen;
mod seat;
