//! What a thread asks of the system about itself: cores, nice, scheduling class.
//!
//! Contract of `system`: each function sets one thing for the calling thread, exactly as asked or not at all, and says in
//! a [`SettingError`] what would have been accepted. `linux` does it; `elsewhere` refuses everything.

#[cfg(any(not(target_os = "linux"), test))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

pub(crate) use system::set_class;

use std::collections::BTreeSet;
use std::fmt;
use std::io;

/// How the system chooses between this thread and others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// The usual one: shares the core by nice.
    Normal,
    /// Real-time with this priority (1 to 99, more goes first): runs until it blocks or yields.
    Fifo(u8),
    /// Real-time with this priority: takes turns with its equals.
    RoundRobin(u8),
    /// As `Normal`, but taken for one that computes: not preferred when it wakes.
    Batch,
    /// Runs when nobody else wants the core.
    Idle,
}

const NICE: std::ops::RangeInclusive<i32> = -20..=19;
const REAL_TIME: std::ops::RangeInclusive<u8> = 1..=99;
/// The most cores a set can name.
const CORES: usize = 1024;

#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) affinity: Option<BTreeSet<usize>>,
    pub(super) nice: Option<i32>,
    pub(super) class: Option<Class>,
}

impl Settings {
    pub(super) fn is_empty(&self) -> bool {
        self.affinity.is_none() && self.nice.is_none() && self.class.is_none()
    }

    /// What no system accepts.
    pub(super) fn check(&self) -> Result<(), SettingError> {
        if let Some(cores) = &self.affinity
            && (cores.is_empty() || cores.iter().any(|core| *core >= CORES))
        {
            let accepted = format!("at least one core, each from 0 to {}", CORES - 1);
            return Err(SettingError::out_of_range("affinity", show_cores(cores), accepted));
        }
        if let Some(nice) = self.nice
            && !NICE.contains(&nice)
        {
            let accepted = format!("{} to {}", NICE.start(), NICE.end());
            return Err(SettingError::out_of_range("nice", nice.to_string(), accepted));
        }
        if let Some(class @ (Class::Fifo(priority) | Class::RoundRobin(priority))) = self.class
            && !REAL_TIME.contains(&priority)
        {
            let accepted = format!("priorities from {} to {}", REAL_TIME.start(), REAL_TIME.end());
            return Err(SettingError::out_of_range("class", format!("{class:?}"), accepted));
        }
        Ok(())
    }

    /// Sets everything for the calling thread.
    pub(super) fn apply(&self) -> Result<(), SettingError> {
        self.affinity.as_ref().map_or(Ok(()), system::set_affinity)?;
        self.nice.map_or(Ok(()), system::set_nice)?;
        self.class.map_or(Ok(()), system::set_class)
    }
}

/// A thread was not started because one of its settings was refused. It is inside the [`io::Error`] that `spawn` gives:
///
/// ```
/// use ropewalk::thread::{self, SettingError};
/// let error = thread::Builder::new().nice(70).spawn(|| ()).unwrap_err();
/// let refused = error.get_ref().unwrap().downcast_ref::<SettingError>().unwrap();
/// assert_eq!((refused.setting(), refused.missing_right()), ("nice", None));
/// assert_eq!(error.to_string(), "nice: 70 is not possible for a thread; accepted: -20 to 19");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    setting: &'static str,
    asked: String,
    accepted: String,
    missing: Option<&'static str>,
    kind: io::ErrorKind,
}

impl SettingError {
    pub(super) fn out_of_range(setting: &'static str, asked: String, accepted: String) -> Self {
        Self { setting, asked, accepted, missing: None, kind: io::ErrorKind::InvalidInput }
    }

    /// The system would do it for somebody who may.
    #[cfg(target_os = "linux")]
    fn not_allowed(setting: &'static str, asked: String, accepted: String, missing: &'static str) -> Self {
        Self { setting, asked, accepted, missing: Some(missing), kind: io::ErrorKind::PermissionDenied }
    }

    /// Which setting of the builder.
    pub fn setting(&self) -> &'static str {
        self.setting
    }

    /// What the builder was given.
    pub fn asked(&self) -> &str {
        &self.asked
    }

    /// What would do, for this process here.
    pub fn accepted(&self) -> &str {
        &self.accepted
    }

    /// The right that this process lacks, if that is the reason.
    pub fn missing_right(&self) -> Option<&'static str> {
        self.missing
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, asked, accepted, missing, .. } = self;
        write!(f, "{setting}: {asked} is not possible for a thread; accepted: {accepted}")?;
        missing.map_or(Ok(()), |right| write!(f, " (missing: {right})"))
    }
}

impl std::error::Error for SettingError {}

impl From<SettingError> for io::Error {
    fn from(error: SettingError) -> Self {
        io::Error::new(error.kind, error)
    }
}

/// Cores as a person writes them: `0-3, 8`.
fn show_cores(cores: &BTreeSet<usize>) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for core in cores {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *core => *last = *core,
            _ => runs.push((*core, *core)),
        }
    }
    let show = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    if runs.is_empty() { "no core".to_owned() } else { runs.iter().map(show).collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_shown_in_runs() {
        let show = |cores: &[usize]| show_cores(&cores.iter().copied().collect());
        assert_eq!(show(&[]), "no core");
        assert_eq!(show(&[3]), "3");
        assert_eq!(show(&[0, 1, 2, 3, 8, 10, 11]), "0-3, 8, 10-11");
    }

    /// What a system without these settings answers.
    #[test]
    fn elsewhere_every_setting_is_an_error_that_names_it() {
        let refused = [
            elsewhere::set_affinity(&BTreeSet::from([0])),
            elsewhere::set_nice(3),
            elsewhere::set_class(Class::Batch),
        ];
        for (refused, setting) in refused.into_iter().zip(["affinity", "nice", "class"]) {
            let error = refused.unwrap_err();
            assert_eq!(error.setting(), setting);
            assert_eq!(io::Error::from(error).kind(), io::ErrorKind::Unsupported);
        }
    }
}
