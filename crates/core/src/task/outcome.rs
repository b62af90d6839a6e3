//! How a task ended, and the errors its handle gives.

use super::TaskId;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::any::Any;
use core::fmt;
use core::panic::Location;

/// How a task ended: three bits beside the output, so that the cell need not store a `Result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Outcome {
    Value,
    Cancelled,
    Shutdown,
    Panicked,
    NoThread,
}

impl Outcome {
    pub(super) fn from_bits(bits: usize) -> Self {
        match bits {
            0 => Outcome::Value,
            1 => Outcome::Cancelled,
            2 => Outcome::Shutdown,
            3 => Outcome::Panicked,
            _ => Outcome::NoThread,
        }
    }
}

/// Why a task gave no value.
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskError {
    /// It was cancelled before it finished; its future was dropped.
    Cancelled,
    /// It panicked, while it ran or while its future was dropped.
    Panicked(PanicInfo),
    /// Its runtime shut down before it finished, or was shutting down when it was spawned.
    Shutdown,
    /// It was to run in the blocking pool, which had no thread, and the system gave none. It did not run; starting it
    /// again later may work.
    NoThread,
    /// It was waited for by one of its own children (see `TaskGroup`), or theirs: a task does not end before its children
    /// do, so the wait would never have ended. The task itself goes on, detached.
    Ancestor,
}

impl TaskError {
    /// Whether the task was cancelled (by its handle, its group or a shutdown).
    pub fn is_cancelled(&self) -> bool {
        matches!(self, TaskError::Cancelled | TaskError::Shutdown)
    }

    /// Whether the task panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self, TaskError::Panicked(_))
    }

    /// The panic, to be looked at or re-thrown.
    pub fn into_panic(self) -> Option<PanicInfo> {
        match self {
            TaskError::Panicked(info) => Some(info),
            _ => None,
        }
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskError::Cancelled => f.write_str("the task was cancelled"),
            TaskError::Panicked(info) => info.fmt(f),
            TaskError::Shutdown => f.write_str("the runtime shut down before the task finished"),
            TaskError::NoThread => {
                f.write_str("the blocking pool has no thread and the system gave none: the task did not run")
            }
            TaskError::Ancestor => f.write_str("a task cannot wait for one that waits for its end"),
        }
    }
}

impl core::error::Error for TaskError {}

/// A panic that ended a task: its message, its payload and where the task came from.
pub struct PanicInfo(Box<Details>);

struct Details {
    payload: Box<dyn Any + Send>,
    message: String,
    noun: &'static str,
    task: TaskId,
    name: Option<String>,
    spawned_at: &'static Location<'static>,
}

// SAFETY: the payload, which need not be Sync, is only reachable by value (`into_payload`) or exclusively
// (`payload_mut`); everything else is Sync.
unsafe impl Sync for PanicInfo {}

impl PanicInfo {
    #[cfg_attr(not(feature = "std"), allow(dead_code))]
    pub(super) fn new(
        payload: Box<dyn Any + Send>,
        (noun, task): (&'static str, TaskId),
        name: Option<&str>,
        spawned_at: &'static Location<'static>,
    ) -> Self {
        let message = if let Some(text) = payload.downcast_ref::<&'static str>() {
            (*text).to_string()
        } else if let Some(text) = payload.downcast_ref::<String>() {
            text.clone()
        } else {
            "(a payload that is not text)".to_string()
        };
        let name = name.map(ToString::to_string);
        Self(Box::new(Details { payload, message, noun, task, name, spawned_at }))
    }

    /// The panic's message; a fixed text if its payload is not a string.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The id of the task that panicked.
    pub fn task(&self) -> TaskId {
        self.0.task
    }

    /// The task's name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// Where the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.0.spawned_at
    }

    /// The payload itself, exclusively (it need not be `Sync`).
    pub fn payload_mut(&mut self) -> &mut (dyn Any + Send) {
        &mut *self.0.payload
    }

    /// The payload, for `std::panic::resume_unwind`.
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.0.payload
    }
}

impl fmt::Display for PanicInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { message, noun, task, name, spawned_at, .. } = &*self.0;
        match name {
            Some(name) => write!(f, "{noun} {task} \"{name}\" (spawned at {spawned_at}) panicked: {message}"),
            None => write!(f, "{noun} {task} (spawned at {spawned_at}) panicked: {message}"),
        }
    }
}

impl fmt::Debug for PanicInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PanicInfo({self})")
    }
}

/// Drops what somebody panicked with. That is code of theirs and may panic again, with something that may do the same: it
/// ends here, and the second payload is leaked.
pub fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(second) = super::raw::catch(|| drop(payload)) {
        core::mem::forget(second);
    }
}
