//! timer_churn: a task registers a sleep and cancels it, again and again, beside one sleep that is pending, or beside a
//! million. One operation is one such pair. And timer_bytes: what a pending sleep occupies, future and wheel together.
//!
//! A sleep is registered by polling it once. Spans are spread over a minute, the same for every peer.

use crate::late::span;
use crate::meter::{Meter, Sample, Speed};
use crate::peers::Peer;
use crate::timed::Timed;
use crate::{alloc, with_timed};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
/// So that none of those that are to stay pending expires.
const HOUR: Duration = Duration::from_secs(3600);

pub fn churn(peer: Peer, live: u64, meter: Meter) -> Option<Sample> {
    with_timed!(peer, 1, |runtime| churn_on(runtime, live, meter))
}

fn churn_on<R: Timed>(runtime: R, live: u64, meter: Meter) -> Sample
where
    R::Sleep: Send,
{
    runtime.run(async move {
        let mut pending = Vec::new();
        register(&mut pending, live, |number| R::sleep(HOUR + span(number, MINUTE))).await;
        // The meter calls back without a context: a task's waker is what an awaiting task would leave.
        let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
        let mut number = 0;
        meter.measure(|pairs| {
            let mut cx = Context::from_waker(&waker);
            for _ in 0..pairs {
                number += 1;
                let mut sleep = pin!(R::sleep(MINUTE + span(number, MINUTE)));
                assert!(sleep.as_mut().poll(&mut cx).is_pending());
            }
        })
    })
}

/// Makes so many sleeps and polls each once.
async fn register<S: Future>(pending: &mut Vec<Pin<Box<S>>>, count: u64, sleep: impl Fn(u64) -> S) {
    pending.reserve(count as usize);
    for number in 0..count {
        let mut sleep = Box::pin(sleep(number));
        poll_fn(|cx| {
            assert!(sleep.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        pending.push(sleep);
    }
}

pub fn bytes(peer: Peer, speed: Speed) -> Option<Sample> {
    alloc::count();
    with_timed!(peer, 1, |runtime| bytes_on(runtime, speed.pick(200_000, 20_000)))
}

fn bytes_on<R: Timed>(runtime: R, count: u64) -> Sample {
    runtime.run(async move {
        let mut pending = Vec::with_capacity(count as usize + 100);
        let sleep = |number| R::sleep(HOUR + span(number, MINUTE));
        register(&mut pending, 100, sleep).await; // what is made once
        let before = alloc::heap();
        register(&mut pending, count, sleep).await;
        let after = alloc::heap();
        Sample {
            value: (after.live - before.live) as f64 / count as f64,
            unit: "B".into(),
            cpu_ns_per_op: None,
            ops: count,
            seconds: 0.0,
            extra: BTreeMap::from([(
                "allocations".into(),
                (after.calls - before.calls) as f64 / count as f64,
            )]),
        }
    })
}
