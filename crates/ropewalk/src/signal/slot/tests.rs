use super::Slot;
use ropewalk_core::block_on_simple;
use ropewalk_core::prim::{self, Arc};

// mutation: signal-listener-looks-before-it-asks-for-the-bell
// - in crates/ropewalk/src/signal/slot.rs: `let rung = self.bell.notified();`
// + `let rung = async { self.bell.notified().await };`
// mutation: signal-bell-wakes-one
// - in crates/ropewalk/src/signal/slot.rs: `self.bell.notify_waiters();`
// + `self.bell.notify_one();`
#[test]
fn model_signal_listeners_see_the_count_or_hear_the_bell() {
    prim::model(|| {
        let slot = Arc::new(Slot::new());
        let listener = || {
            let slot = slot.clone();
            prim::thread::spawn(move || {
                let mut seen = 0;
                block_on_simple(slot.beyond(&mut seen));
                assert_eq!(seen, 1);
            })
        };
        let listeners = [listener(), listener()];
        slot.deliver();
        slot.ring();
        listeners.into_iter().for_each(|listener| listener.join().unwrap());
    });
}

// mutation: signal-delivery-publishes-nothing
// - in crates/ropewalk/src/signal/slot.rs: `self.delivered.fetch_add(1, Release);`
// + `self.delivered.fetch_add(1, Relaxed);`
#[test]
fn model_signal_what_came_before_a_delivery_is_seen_after_it() {
    prim::model(|| {
        let shared = Arc::new(Shared { slot: Slot::new(), before: prim::UnsafeCell::new(0) });
        let other = shared.clone();
        let handler = prim::thread::spawn(move || {
            // SAFETY: the other side reads after the delivery only; loom checks that.
            other.before.with_mut(|value| unsafe { *value = 7 });
            other.slot.deliver();
        });
        if shared.slot.advance(&mut 0) {
            // SAFETY: as above.
            assert_eq!(shared.before.with(|value| unsafe { *value }), 7);
        }
        handler.join().unwrap();
    });
}

struct Shared {
    slot: Slot,
    before: prim::UnsafeCell<u32>,
}
// SAFETY: the test orders the accesses to `before` by the slot, which is what it checks.
unsafe impl Sync for Shared {}
