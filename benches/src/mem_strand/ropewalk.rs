//! mem_strand on ropewalk: strands that wait for one event.

use super::{Footprint, WARM, WAVE};
use crate::meter::Sample;
use ropewalk::Runtime;
use ropewalk::strand::{self, Scope, yield_now};
use ropewalk::sync::Notify;
use ropewalk_core::prim::real::{AtomicU64, Ordering};
use std::pin::pin;

#[derive(Default)]
struct Park {
    parked: AtomicU64,
    over: Notify,
}

pub fn run(rt: &Runtime, strands: u64) -> Sample {
    let park = Park::default();
    rt.run(|| {
        strand::scope(|s| {
            park.fill(s, WARM);
            let before = Footprint::now();
            park.fill(s, strands);
            let sample = Footprint::now().since(before, strands);
            park.over.notify_waiters();
            s.join_all();
            sample
        })
    })
}

impl Park {
    fn fill<'scope>(&'scope self, s: &'scope Scope<'scope, '_>, strands: u64) {
        for _ in 0..strands / WAVE {
            let goal = self.parked.load(Ordering::Acquire) + WAVE;
            for _ in 0..WAVE {
                drop(s.spawn(move || self.stay()));
            }
            while self.parked.load(Ordering::Acquire) < goal {
                yield_now();
            }
        }
    }

    fn stay(&self) {
        let mut over = pin!(self.over.notified());
        over.as_mut().enable(); // from here on it hears of it
        self.parked.fetch_add(1, Ordering::Release);
        ropewalk::wait(over);
    }
}
