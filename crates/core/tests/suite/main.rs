//! The random tests of locks, channels and signals.
#![cfg(not(any(loom, shuttle)))]

mod account;
mod cancel_anywhere;
mod channel_properties;
mod channels;
mod signals;
