//! How precisely the kernel ends a thread's sleep. By default Linux may end it 50 us late, to save wake-ups; a thread that
//! sleeps until a deadline asks for less.

/// From now on this thread's sleeps end as precisely as the kernel can.
#[cfg(target_os = "linux")]
pub(crate) fn sleep_precisely() {
    // A sandbox may refuse; sleeps are then late by the usual slack.
    let _refused = rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1));
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn sleep_precisely() {}

/// The same for a thread that is not ours, until this is dropped.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct PreciseSleep(Option<core::num::NonZeroU64>);

#[cfg(target_os = "linux")]
impl PreciseSleep {
    pub(crate) fn new() -> Self {
        let before = rustix::thread::current_timer_slack().ok().and_then(core::num::NonZeroU64::new);
        sleep_precisely();
        Self(before)
    }
}

#[cfg(target_os = "linux")]
impl Drop for PreciseSleep {
    fn drop(&mut self) {
        if self.0.is_some() {
            let _refused = rustix::thread::set_current_timer_slack(self.0);
        }
    }
}

/// Elsewhere there is no such setting.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(crate) struct PreciseSleep;

#[cfg(not(target_os = "linux"))]
impl PreciseSleep {
    pub(crate) fn new() -> Self {
        Self
    }
}
