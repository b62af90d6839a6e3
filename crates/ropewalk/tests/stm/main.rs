//! Transactions, as a user sees them: from tasks, strands and threads.

#[path = "../kit/mod.rs"]
mod kit;

mod basics;
mod classics;
mod misuse;
mod model;
mod queues;
mod stress;
mod values;
mod waiting;
