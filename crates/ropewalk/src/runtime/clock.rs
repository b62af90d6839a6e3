//! Where a runtime gets its time from. Timers, `Instant::now` and what is observed of tasks all go by it.

mod manual;

pub use manual::ManualClock;

use ropewalk_core::prim::real::{AtomicU32, Ordering::Relaxed};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// A monotonic clock. Give a runtime one of your own ([`Builder::clock`](crate::Builder::clock)) to decide what time it is.
///
/// Only [`now`](Self::now) must be written, if the clock runs by itself about as fast as real time. The other three are for
/// clocks that are moved: see [`ManualClock`], which is one.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// Time since some fixed moment; never goes back.
    fn now(&self) -> Duration;

    /// How long a thread must sleep until `span` has passed here; rather too short than too long. `None`: that cannot be
    /// said, because the clock is moved by somebody. Then it tells whoever [`watch`](Self::watch)es.
    fn real_time(&self, span: Duration) -> Option<Duration> {
        Some(span)
    }

    /// Wakes `waker` once, the next time the clock is moved or changes its pace. Called before each sleep that
    /// [`real_time`](Self::real_time) does not limit, so what was moved just before must not be missed: `now` is read after.
    fn watch(&self, waker: &Waker) {
        let _it_runs_by_itself = waker;
    }

    /// Nothing can happen in the runtime before `when`: a clock that is moved may go there now. False: it did not.
    fn skip_to(&self, when: Duration) -> bool {
        let _it_runs_by_itself = when;
        false
    }
}

/// The system's monotonic clock, counted from when it was made.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The clock of a runtime, in the form the runtime uses: nanoseconds, with the system's clock without detours.
#[derive(Clone, Debug)]
pub(crate) enum Timebase {
    /// The system's clock, counted from the same moment in all runtimes.
    System,
    /// Somebody's own; the number tells one clock from another.
    Own { clock: Arc<dyn Clock>, id: u32, manual: Option<ManualClock> },
}

/// The system's monotonic clock, counted from the same moment by everybody in this process.
#[cfg(target_os = "linux")]
#[inline]
fn system_nanos() -> u64 {
    // By the C library, not by rustix: that looks for the kernel's function by itself, in memory that valgrind has hidden.
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place for the answer is valid, and every Linux has this clock.
    let read = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    debug_assert_eq!(read, 0, "this clock can be read");
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64 // since the machine started: 584 years fit
}

/// The system's monotonic clock, counted from the same moment by everybody in this process.
#[cfg(not(target_os = "linux"))]
fn system_nanos() -> u64 {
    static EPOCH: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    nanos_of(EPOCH.get_or_init(Instant::now).elapsed())
}

/// A span in nanoseconds; what does not fit is as good as for ever.
#[inline]
pub(crate) fn nanos_of(span: Duration) -> u64 {
    let seconds = span.as_secs().checked_mul(1_000_000_000);
    seconds.and_then(|nanos| nanos.checked_add(span.subsec_nanos().into())).unwrap_or(u64::MAX)
}

impl Timebase {
    /// What [`id`](Self::id) says of the system's clock.
    pub(crate) const SYSTEM: u32 = 0;

    pub(crate) fn own(clock: impl Clock) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(Timebase::SYSTEM + 1);
        let manual = (&clock as &dyn Any).downcast_ref::<ManualClock>().cloned();
        Self::Own { clock: Arc::new(clock), id: NEXT.fetch_add(1, Relaxed), manual }
    }

    /// Times of clocks with the same id can be compared.
    pub(crate) fn id(&self) -> u32 {
        match self {
            Self::System => Self::SYSTEM,
            Self::Own { id, .. } => *id,
        }
    }

    pub(crate) fn now(&self) -> Duration {
        Duration::from_nanos(self.nanos())
    }

    #[inline]
    pub(crate) fn nanos(&self) -> u64 {
        match self {
            Self::System => system_nanos(),
            Self::Own { clock, .. } => nanos_of(clock.now()),
        }
    }

    /// See [`Clock::real_time`].
    pub(crate) fn real_time(&self, span: u64) -> Option<Duration> {
        match self {
            Self::System => Some(Duration::from_nanos(span)),
            Self::Own { clock, .. } => clock.real_time(Duration::from_nanos(span)),
        }
    }

    /// See [`Clock::watch`].
    pub(crate) fn watch<'a>(&self, waker: impl FnOnce() -> &'a Waker) {
        if let Self::Own { clock, .. } = self {
            clock.watch(waker());
        }
    }

    /// Whether it is not the system's.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::Own { .. })
    }

    /// The clock itself, if it is one that is moved by hand.
    pub(crate) fn manual(&self) -> Option<ManualClock> {
        match self {
            Self::System => None,
            Self::Own { manual, .. } => manual.clone(),
        }
    }

    /// See [`Clock::skip_to`].
    pub(crate) fn skip_to(&self, when: u64) -> bool {
        match self {
            Self::System => false,
            Self::Own { clock, .. } => clock.skip_to(Duration::from_nanos(when)),
        }
    }
}
