//! The hogs: they compute for a moment and give way.

use super::host::Host;
use super::score::{compute, is_over, length};
use super::shape::{Poll, Shape, Way};
use crate::channels::Channel;
use std::future::poll_fn;
use std::task::Poll::{Pending, Ready};

/// Operations after which a budget is used up, of those that have one: ropewalk and tokio.
const BUDGET: u32 = 128;

pub fn start<H: Host>(host: H, shape: Shape) {
    let poll = shape.poll;
    for _ in 0..shape.hogs {
        match shape.way {
            Way::Yield => host.detach(yields::<H>(poll)),
            Way::Selfwake => host.detach(wakes_itself(poll)),
            Way::Handover => hands_over(host, poll),
            Way::Successor => succeeds(host, poll),
            Way::Budget => host.detach(spends::<H>(poll)),
            Way::Strand => host.detach_strand(poll),
        }
    }
}

pub async fn yields<H: Host>(poll: Poll) {
    while !is_over() {
        compute(length(poll));
        H::yield_now().await;
    }
}

async fn wakes_itself(poll: Poll) {
    while !is_over() {
        compute(length(poll));
        let mut woken = false;
        poll_fn(|cx| {
            if woken {
                return Ready(());
            }
            woken = true;
            cx.waker().wake_by_ref();
            Pending
        })
        .await;
    }
}

/// Two tasks between which a message goes to and fro; the one that has it computes.
fn hands_over<H: Host>(host: H, poll: Poll) {
    let (to_second, from_first) = H::Channel::pair();
    let (to_first, from_second) = H::Channel::pair();
    host.detach(hands_on::<H::Channel>(Some(0), from_second, to_second, poll));
    host.detach(hands_on::<H::Channel>(None, from_first, to_first, poll));
}

async fn hands_on<C: Channel>(first: Option<u64>, mut from: C::Receiver, to: C::Sender, poll: Poll) {
    if let Some(message) = first {
        C::send(&to, message).await;
    }
    while let Some(message) = C::recv(&mut from).await {
        if is_over() {
            return;
        }
        compute(length(poll));
        C::send(&to, message).await;
    }
}

fn succeeds<H: Host>(host: H, poll: Poll) {
    if !is_over() {
        host.detach(async move {
            compute(length(poll));
            succeeds(host, poll);
        });
    }
}

/// Receives from a channel that is never empty: what it takes it puts back.
async fn spends<H: Host>(poll: Poll) {
    let (sender, mut receiver) = H::Channel::pair();
    for message in 0..u64::from(BUDGET / 2) {
        H::Channel::send(&sender, message).await;
    }
    while !is_over() {
        let message = H::Channel::recv(&mut receiver).await.expect("it is never empty");
        H::Channel::send(&sender, message).await;
        compute(length(poll) / (BUDGET / 2));
    }
}
