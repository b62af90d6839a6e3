//! Shutting down: the state of the work x the way of going down x the place it is called from, on every kind of runtime.

#![allow(clippy::async_yields_async)] // a task hands out the handle of what it started

mod account;
mod table;
mod twice;
