//! The tables from which the lives are made.

/// How a task is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// `spawn` on a worker.
    Lean,
    /// `Handle::spawn` on a thread that is no worker.
    Injected,
    /// `spawn_local`, with a future that is not `Send`.
    Local,
    /// `task::Builder` with a name.
    Named,
    /// `strand::spawn`.
    Strand,
    /// A future too big for a slot.
    Big,
    /// A future aligned more than a slot.
    Aligned,
}

pub const MAKINGS: [Making; 7] = [
    Making::Lean,
    Making::Injected,
    Making::Local,
    Making::Named,
    Making::Strand,
    Making::Big,
    Making::Aligned,
];

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Ends at its first poll.
    Completes,
    /// Ends when the gate opens.
    CompletesLater,
    /// Panics at its first poll.
    Panics,
    /// Yields, and panics when the gate opens.
    PanicsLater,
    /// Ends when the gate opens; whenever it is dropped, the drop panics.
    FutureDropPanics,
    /// Ends at its first poll with an output whose drop panics.
    OutputDropPanics,
    /// Is never woken.
    WaitsForEver,
    /// Waits for the gate inside its poll, then ends.
    WaitsInPoll,
    /// Is always runnable.
    YieldsForEver,
}

pub const ACTS: [Act; 9] = [
    Act::Completes,
    Act::CompletesLater,
    Act::Panics,
    Act::PanicsLater,
    Act::FutureDropPanics,
    Act::OutputDropPanics,
    Act::WaitsForEver,
    Act::WaitsInPoll,
    Act::YieldsForEver,
];

impl Act {
    /// Whether it ends by itself, the gate being open.
    pub fn ends(self) -> bool {
        !matches!(self, Act::WaitsForEver | Act::YieldsForEver)
    }

    /// Whether there is a moment at which it stays until something happens to it.
    pub fn pauses(self) -> bool {
        !matches!(self, Act::Completes | Act::Panics | Act::OutputDropPanics)
    }
}

/// At which point of the task's life something is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// It was never polled.
    Unpolled,
    /// It is in its first poll.
    Running,
    /// It pauses, if it ever does; otherwise it is over.
    Paused,
    /// It is over.
    Over,
}

/// What is done to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its handle is awaited (while the runtime goes down, if nothing else can end the task).
    Awaited,
    /// Its handle is dropped.
    Detached(Moment),
    /// It is cancelled through its handle, which is awaited.
    Cancelled(Moment),
    /// The same twice, and once more when it is over.
    CancelledTwice,
    /// It is cancelled through an abort handle when its own handle is gone.
    Aborted,
    /// The runtime is dropped; the handle outlives it.
    Orphaned(Moment),
}

pub const FATES: [Fate; 13] = [
    Fate::Awaited,
    Fate::Detached(Moment::Unpolled),
    Fate::Detached(Moment::Paused),
    Fate::Detached(Moment::Over),
    Fate::Cancelled(Moment::Unpolled),
    Fate::Cancelled(Moment::Running),
    Fate::Cancelled(Moment::Paused),
    Fate::Cancelled(Moment::Over),
    Fate::CancelledTwice,
    Fate::Aborted,
    Fate::Orphaned(Moment::Unpolled),
    Fate::Orphaned(Moment::Paused),
    Fate::Orphaned(Moment::Over),
];

impl Fate {
    pub fn moment(self) -> Moment {
        match self {
            Fate::Awaited => Moment::Over,
            Fate::Detached(at) | Fate::Cancelled(at) | Fate::Orphaned(at) => at,
            Fate::CancelledTwice | Fate::Aborted => Moment::Paused,
        }
    }

    /// Whether this can be done to a task that does `act`.
    fn befits(self, act: Act) -> bool {
        act.ends() || self == Fate::Awaited || self.moment() != Moment::Over
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Life {
    pub making: Making,
    pub act: Act,
    pub fate: Fate,
}

/// How many lives there are.
pub const LIVES: usize = MAKINGS.len() * (ACTS.len() * FATES.len() - 2 * 3);

/// All of them: only what waits for the end of something without an end is left out.
pub fn lives() -> impl Iterator<Item = Life> {
    let with = |making| ACTS.into_iter().map(move |act| (making, act));
    MAKINGS.into_iter().flat_map(with).flat_map(|(making, act)| {
        let fates = FATES.into_iter().filter(move |fate| fate.befits(act));
        fates.map(move |fate| Life { making, act, fate })
    })
}
