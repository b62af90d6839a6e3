//! What a worker does about timers: its own in every look around, everybody's when it has the driver.

use super::Worker;
use crate::drive::time::{BATCH, Shard};
use crate::sched::park::NEVER;

impl Worker {
    /// Wakes whom it is time for, as many as there is room for. With `all`, also those of other workers' shards: they may
    /// be asleep, stuck or gone.
    #[inline]
    pub(crate) fn see_to_timers(&self, all: bool) {
        let own = &*self.station.timers;
        let first = if all { self.pool.first_deadline() } else { own.next() };
        if first == NEVER {
            return;
        }
        let now = self.pool.config.clock.nanos();
        if first <= now {
            self.expire(own, now, all);
        }
    }

    /// One's own first. The rest stays where it is, in order: for the next look, or for others who have more room.
    fn expire(&self, own: &Shard, now: u64, all: bool) {
        let mut room = self.room_for_woken();
        let opened = self.slot_open.replace(false);
        self.in_batch.set(true);
        let mut woken = expire_some(own, now, &mut room);
        if all {
            let others = self.pool.shards().filter(|shard| !std::ptr::eq(*shard, own));
            woken += others.map(|shard| expire_some(shard, now, &mut room)).sum::<usize>();
        }
        self.in_batch.set(false);
        self.slot_open.set(opened);
        self.station.counters.timers.add(woken as u64);
        if woken > 1 {
            self.notify_others(); // the first is for this worker itself
        }
    }

    /// How many may be woken at once: what fits into the ring, and a batch in any case, so that timers get on under load.
    fn room_for_woken(&self) -> usize {
        (self.ring.capacity() - self.ring.len()).max(BATCH)
    }

    /// Nothing is to be done until the first deadline: a clock that stands still may go there.
    pub(crate) fn skip_time(&self) -> bool {
        !self.any_work() && self.pool.skip_time()
    }
}

/// Takes out and wakes what is due in `shard`, while there is room.
fn expire_some(shard: &Shard, now: u64, room: &mut usize) -> usize {
    let mut woken = 0;
    while *room > 0 && shard.next() <= now {
        let some = shard.expire(now, *room);
        woken += some;
        *room -= some;
        if some == 0 {
            break; // nothing was due after all: its deadline was cancelled
        }
    }
    woken
}
