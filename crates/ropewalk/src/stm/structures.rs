//! What is built of variables: each operation is part of a transaction, to be combined with others.

mod bounded;
mod cell;
mod list;
mod queue;
mod semaphore;

pub use bounded::TBQueue;
pub use cell::TMVar;
pub use queue::TQueue;
pub use semaphore::TSemaphore;
