//! A waker that counts. Of the standard library's parts only: the integration tests include this file.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Wake, Waker};

/// Counts how often it is woken. Not modelled: models read it after joining.
#[derive(Default)]
pub struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Counter {
    pub fn new() -> (Arc<Self>, Waker) {
        let counter = Arc::<Self>::default();
        (counter.clone(), counter.into())
    }

    pub fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}
