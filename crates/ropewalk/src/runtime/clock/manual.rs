//! A clock that is paused, resumed and advanced by hand.

use super::Clock;
use ropewalk_core::prim::Lock;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// A clock under control of the program: it stands still until it is moved. Clones are the same clock.
///
/// ```
/// use ropewalk::{ManualClock, Runtime, time};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let runtime = Runtime::builder().worker_threads(0).clock(clock.clone()).build()?;
/// let nap = runtime.spawn(async { time::sleep(Duration::from_secs(3600)).await });
/// runtime.run_until_stalled()?;
/// clock.advance(Duration::from_secs(3599));
/// runtime.run_until_stalled()?;
/// assert!(!nap.is_finished());
/// clock.advance(Duration::from_secs(1));
/// runtime.run_until_stalled()?;
/// assert!(nap.is_finished());
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
#[derive(Clone)]
pub struct ManualClock(Arc<Lock<State>>);

struct State {
    /// What it shows, or showed when it was resumed.
    time: Duration,
    /// Since when it runs.
    running: Option<Instant>,
    skips: bool,
    watchers: Vec<Waker>,
}

impl State {
    fn now(&self) -> Duration {
        self.time.saturating_add(self.running.map_or(Duration::ZERO, |since| since.elapsed()))
    }
}

impl ManualClock {
    /// A paused clock that shows zero and moves only by [`advance`](Self::advance).
    pub fn new() -> Self {
        let state = State { time: Duration::ZERO, running: None, skips: false, watchers: Vec::new() };
        Self(Arc::new(Lock::new(state)))
    }

    /// A paused clock that also jumps to the next deadline when the runtime has nothing else to do; see
    /// [`Builder::paused`](crate::Builder::paused).
    pub fn skipping() -> Self {
        let clock = Self::new();
        clock.0.lock().skips = true;
        clock
    }

    /// Moves the clock on by `span`, paused or not. Timers that are due then fire as the runtime gets to them.
    pub fn advance(&self, span: Duration) {
        self.change(|state| state.time = state.time.saturating_add(span));
    }

    /// Stops the clock. Pausing twice changes nothing.
    pub fn pause(&self) {
        self.change(|state| {
            state.time = state.now();
            state.running = None;
        });
    }

    /// Lets the clock run with real time, from what it shows now. Resuming twice changes nothing.
    pub fn resume(&self) {
        self.change(|state| {
            state.running.get_or_insert_with(Instant::now);
        });
    }

    /// Whether it stands still.
    pub fn is_paused(&self) -> bool {
        self.0.lock().running.is_none()
    }

    /// Whoever sleeps by this clock looks again.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let watchers = {
            let mut state = self.0.lock();
            change(&mut state);
            std::mem::take(&mut state.watchers)
        };
        watchers.into_iter().for_each(crate::runtime::wake_safely);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        self.0.lock().now()
    }

    fn real_time(&self, span: Duration) -> Option<Duration> {
        if self.is_paused() { None } else { Some(span) }
    }

    fn watch(&self, waker: &Waker) {
        let waker = waker.clone(); // before the lock: it may be the user's code
        let mut state = self.0.lock();
        if !state.watchers.iter().any(|known| known.will_wake(&waker)) {
            state.watchers.push(waker);
        }
    }

    fn skip_to(&self, when: Duration) -> bool {
        let mut skipped = false;
        self.change(|state| {
            skipped = state.skips && state.running.is_none();
            if skipped {
                state.time = state.time.max(when);
            }
        });
        skipped
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        f.debug_struct("ManualClock")
            .field("now", &state.now())
            .field("paused", &state.running.is_none())
            .field("skips", &state.skips)
            .finish()
    }
}
