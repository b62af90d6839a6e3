//! pingpong_cross on ropewalk: two workers of one pool, a task that stays at home on each.

use super::{answer, serve};
use crate::channels::Channel;
use crate::channels::ropewalk::Of;
use crate::meter::{Meter, Sample};
use ropewalk::Runtime;
use ropewalk_core::prim::real::{AtomicU64, Ordering::*};
use std::hint::spin_loop;

pub fn cross(rt: &Runtime, meter: Meter) -> Sample {
    meter.measure(|hops| {
        let (ping, pings) = Of::<1>::pair();
        let (pong, pongs) = Of::<1>::pair();
        let here = rt.spawn(apart(serve::<Of<1>>(ping, pongs, hops / 2)));
        let there = rt.spawn(apart(answer::<Of<1>>(pings, pong)));
        rt.block_on(here).unwrap();
        rt.block_on(there).unwrap();
    })
}

/// Makes `task` stay where this one runs. The two of a pair wait for each other without giving up their workers, so they
/// run on two.
async fn apart(task: impl Future<Output = ()> + Send + 'static) {
    static ARRIVED: AtomicU64 = AtomicU64::new(0);
    let pair = ARRIVED.fetch_add(1, AcqRel) / 2;
    while ARRIVED.load(Acquire) < 2 * pair + 2 {
        spin_loop();
    }
    let task = ropewalk::spawn_local(task).unwrap_or_else(|_| unreachable!("this is a worker"));
    task.await.unwrap();
}
