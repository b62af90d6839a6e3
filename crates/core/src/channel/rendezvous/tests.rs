use crate::block_on_simple;
use crate::channel::{SendError, TryRecvError, bounded};
use crate::prim;
use core::future::Future;
use core::task::{Context, Waker};
use std::boxed::Box;

// mutation: meeting-offer-calls-nobody
// - in crates/core/src/channel/sender/send.rs: `self.sender.shared.values.wake_one(); // somebody may wait for it`
// + ``
// mutation: meeting-taker-tells-nobody
// - in crates/core/src/channel/rendezvous.rs: `maker.wake(); // it was taken`
// + `drop(maker);`
// mutation: meeting-offers-are-not-counted
// - in crates/core/src/channel/rendezvous.rs: `self.lying.store(table.offers.len(), Relaxed);`
// + ``
#[test]
fn model_meeting_send_against_recv() {
    prim::model(|| {
        let (sender, receiver) = bounded(0);
        let thread = prim::thread::spawn(move || block_on_simple(sender.send(7)));
        assert_eq!(block_on_simple(receiver.recv()), Ok(7));
        assert_eq!(thread.join().unwrap(), Ok(()));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    });
}

// mutation: meeting-withdraws-a-copy
// - in crates/core/src/channel/rendezvous.rs: `let offer = self.with(|table| table.find(offer).and_then(|at| table.offers.remove(at)));`
// + `let offer = self.with(|table| table.find(offer).map(|at| unsafe { core::ptr::read(&table.offers[at]) }));`
#[test]
fn model_meeting_withdraw_against_take() {
    prim::model(|| {
        let (sender, receiver) = bounded(0);
        let mut send = Box::pin(sender.send(Box::new(7)));
        assert!(send.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let thread = prim::thread::spawn(move || (receiver.try_recv(), receiver));
        let back = send.as_mut().into_value();
        let (taken, receiver) = thread.join().unwrap();
        assert_ne!(back.is_some(), taken.is_ok(), "received or given back");
        assert_eq!(back.or(taken.ok()), Some(Box::new(7)));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    });
}

// mutation: meeting-close-tells-no-maker
// - in crates/core/src/channel/rendezvous.rs: `let _all = TellingMakers(self);`
// + ``
// mutation: meeting-offers-when-closed
// - in crates/core/src/channel/rendezvous.rs: `if self.is_closed() { Err(SendError(value)) } else { Ok(table.lay(value, maker.take())) }`
// + `Ok(table.lay(value, maker.take()))`
#[test]
fn model_meeting_close_against_send() {
    prim::model(|| {
        let (sender, receiver) = bounded(0);
        let thread = prim::thread::spawn(move || receiver.close());
        assert_eq!(block_on_simple(sender.send(7)), Err(SendError(7)));
        assert!(thread.join().unwrap());
    });
}

// mutation: meeting-receiver-calls-nobody
// - in crates/core/src/channel/receiver/waiting.rs: `shared.call_sender(); // somebody may wait for a receiver`
// + ``
// mutation: meeting-permit-calls-nobody
// - in crates/core/src/channel/sender/permit.rs: `shared.call_receiver(); // the one we spoke for`
// + ``
#[test]
fn model_meeting_reserve_against_recv() {
    prim::model(|| {
        let (sender, receiver) = bounded(0);
        let other = sender.clone(); // so that no closing wakes the receiver
        let thread =
            prim::thread::spawn(move || block_on_simple(other.reserve()).map(|permit| permit.send(7)));
        assert_eq!(block_on_simple(receiver.recv()), Ok(7));
        assert_eq!(thread.join().unwrap().unwrap(), Ok(()));
    });
}

// mutation: meeting-one-receiver-for-two
// - in crates/core/src/channel/rendezvous.rs: `self.present.saturating_sub(self.offers.len() + self.promised)`
// + `self.present.saturating_sub(self.promised)`
#[test]
fn model_meeting_one_receiver_is_given_one_value() {
    prim::model(|| {
        let (sender, receiver) = bounded(0);
        let mut recv = Box::pin(receiver.recv());
        assert!(recv.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let other = sender.clone();
        let thread = prim::thread::spawn(move || other.try_send(1).is_ok());
        let here = sender.try_send(2).is_ok();
        assert_ne!(here, thread.join().unwrap());
        assert_eq!(block_on_simple(recv), Ok(if here { 2 } else { 1 }));
    });
}
