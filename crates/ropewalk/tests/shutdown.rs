//! Shutting down: the state of the work x the way of going down x the place it is called from, on every kind of runtime.

#[path = "shutdown/account.rs"]
mod account;
mod kit;
#[path = "shutdown/table.rs"]
mod table;
#[path = "shutdown/twice.rs"]
mod twice;
