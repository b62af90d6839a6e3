//! Ropewalk's event, which remembers that it was given.

use super::Event;
pub use ropewalk::sync::Notify;

impl Event for Notify {
    fn give(&self) {
        self.notify_one();
    }

    async fn arrived(&self) {
        self.notified().await;
    }

    async fn give_and_await(&self, other: &Self) {
        other.notify_one();
        self.notified().await;
    }
}
