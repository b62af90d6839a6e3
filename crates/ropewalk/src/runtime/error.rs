//! What can go wrong when a runtime is made or driven.

use crate::sched::hosted::Taken;
use std::fmt;
use std::io;

/// Why a runtime could not be made, changed or driven. The message names the setting and what it accepts.
#[derive(Debug)]
#[non_exhaustive]
pub enum RuntimeError {
    /// A setting is out of its range.
    Setting {
        /// Which one.
        knob: &'static str,
        /// What it was set to.
        given: String,
        /// What would do.
        accepted: String,
    },
    /// The system gave no thread or no memory.
    System(io::Error),
    /// The call does not fit the state or kind of this runtime or pool.
    Misuse(String),
}

impl RuntimeError {
    pub(crate) fn setting(knob: &'static str, given: impl ToString, accepted: impl ToString) -> Self {
        Self::Setting { knob, given: given.to_string(), accepted: accepted.to_string() }
    }

    pub(crate) fn seat(taken: Taken) -> Self {
        Self::Misuse(taken.to_string())
    }
}

impl fmt::Display for RuntimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting { knob, given, accepted } => {
                write!(f, "{knob}: {given} is not possible; accepted: {accepted}")
            }
            Self::System(error) => write!(f, "the system refused a thread or memory: {error}"),
            Self::Misuse(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for RuntimeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for RuntimeError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
