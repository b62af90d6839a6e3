//! event-listener, which smol's locks are made of, with listeners on the stack, as its documentation says is cheapest.

pub use event_listener::Event;
use event_listener::listener;

impl super::Event for Event {
    fn give(&self) {
        self.notify(1);
    }

    async fn arrived(&self) {
        listener!(self => listener);
        listener.await;
    }

    async fn give_and_await(&self, other: &Self) {
        listener!(self => listener);
        other.notify(1);
        listener.await;
    }
}
