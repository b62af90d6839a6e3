//! The timers of a pool: which deadlines there are, who sleeps until when, and who is told. The protocol is in
//! `drive/time.rs` and `park.rs`.

use super::park::{Limit, NEVER};
use super::pool::Pool;
use super::station::Station;
use super::worker::Worker;
use crate::drive::time::{Bell, Entry, Shard};
use crate::wait::{is_interrupted, wait_shielded};
use ropewalk_core::prim::real::Ordering::Relaxed;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

/// How often a runtime whose clock stands still looks whether what goes on elsewhere, in threads, is over. Nobody tells it:
/// that would cost every runtime something.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

impl Pool {
    /// The shards of all workers there ever were, and that of the threads outside.
    pub(crate) fn shards(&self) -> impl Iterator<Item = &Shard> {
        std::iter::once(&*self.timers).chain(self.stations().map(|station| &*station.timers))
    }

    /// The earliest deadline of all shards, or a time before it.
    pub(crate) fn first_deadline(&self) -> u64 {
        self.shards().map(Shard::next).min().unwrap_or(NEVER)
    }

    /// Whether a deadline comes within that time.
    pub(super) fn has_deadline_within(&self, time: Duration) -> bool {
        let first = self.first_deadline();
        first != NEVER && u128::from(first.saturating_sub(self.config.clock.nanos())) < time.as_nanos()
    }

    /// Until when the worker in the driver sleeps.
    pub(crate) fn limit(&self) -> Limit {
        let clock = &self.config.clock;
        clock.watch(|| self.clock_moved()); // before the clock is read
        let wake_at = self.first_deadline();
        let timeout = match wake_at {
            NEVER => None,
            _ => match wake_at.saturating_sub(clock.nanos()) {
                0 => Some(Duration::ZERO),
                span => clock.real_time(span),
            },
        };
        let soon = self.may_skip_soon.swap(false, Relaxed).then_some(LOOK_AGAIN);
        Limit { wake_at, timeout: timeout.into_iter().chain(soon).min() }
    }

    fn clock_moved(&self) -> &Waker {
        self.clock_moved.get_or_init(|| Waker::from(Arc::new(ClockMoved(self.this.clone()))))
    }

    /// Whether everybody here sleeps, and nothing is queued that would wake them.
    fn is_asleep(&self) -> bool {
        let counters = self.idle.counters();
        counters.searching() == 0 && counters.sleeping() == self.active() && self.injector.is_empty()
    }

    /// Nothing was to be done in this hosted pool: a clock that stands still may go to the first deadline of the runtime, if
    /// nothing is done in its other pools or the blocking pool either, and that left nothing to do here.
    pub(super) fn skip_time(&self, still_nothing: impl FnOnce() -> bool) -> bool {
        let clock = &self.config.clock;
        if !clock.is_own() {
            return false;
        }
        let pools = self.runtime.pools();
        let beside = pools.iter().filter(|pool| !pool.hosted);
        let idle = beside.clone().all(|pool| pool.is_asleep()) && self.runtime.blocking.is_idle();
        let first = pools.iter().map(|pool| pool.first_deadline()).min().unwrap_or(NEVER);
        if idle && first != NEVER && still_nothing() && clock.skip_to(first) {
            return true;
        }
        self.may_skip_soon.store(!idle || beside.count() > 0, Relaxed);
        false
    }

    /// Sleeps on a worker of another runtime, whose timers see to ours.
    pub(super) fn sleep_as_guest(&self, station: &Station, host: &Worker) {
        let this = || self.this.upgrade().expect("it is driven");
        let _lodges = host.pool.hosted.then(|| host.pool.lodgers.lodge(this()));
        let limit = self.seam.announce(|| self.limit());
        #[cfg(unix)]
        let lodging = self.runtime.io.lodge(&host.pool.runtime);
        #[cfg(unix)]
        let limit = Limit { timeout: lodging.shorten(limit.timeout), ..limit };
        let mut alarm = pin!(limit.timeout.map(Entry::after));
        wait_shielded(host, |cx| {
            #[cfg(unix)]
            if lodging.poll(cx).is_ready() {
                return Poll::Ready(());
            }
            match alarm.as_mut().as_pin_mut().map(|alarm| alarm.poll(cx)) {
                Some(Poll::Ready(())) => Poll::Ready(()),
                _ if self.recalls_guest.load(Relaxed) && is_interrupted(cx.waker()) => Poll::Ready(()),
                _ => self.poll_guest(station, cx),
            }
        });
        self.seam.retract();
    }
}

impl Bell for Pool {
    #[inline]
    fn deadline_moved(&self, deadline: u64) {
        if !self.hosted {
            self.seam.deadline_moved(deadline);
            self.watch_for_others();
        } else if self.seam.is_slept_past(deadline) {
            self.unpark(0);
        }
    }
}

/// A clock that is moved by hand wakes the one in the driver.
struct ClockMoved(Weak<Pool>);

impl Wake for ClockMoved {
    fn wake(self: Arc<Self>) {
        if let Some(pool) = self.0.upgrade() {
            pool.deadline_moved(0);
        }
    }
}
