//! What must come of a life, by the words of the documentation alone.

use super::table::{Act, Fate, Life, Making, Moment};

/// How a task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Value,
    Cancelled,
    Shutdown,
    Panicked,
}

/// What a life leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Legacy {
    pub end: End,
    /// Whether an output was made, be it that nobody got it.
    pub output: bool,
    /// Panics that nobody took.
    pub unhandled: u64,
}

/// The steps of an act.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Suspends until the gate opens, or for a turn.
    Pause,
    /// Suspends for good.
    Stop,
    /// Waits for the gate without leaving the poll; a strand has no poll to stay in, it suspends.
    Hold,
    Finish,
    Panic,
}

fn steps(act: Act) -> &'static [Step] {
    use Step::*;
    match act {
        Act::Completes | Act::OutputDropPanics => &[Finish],
        Act::CompletesLater | Act::FutureDropPanics => &[Pause, Finish],
        Act::Panics => &[Panic],
        Act::PanicsLater => &[Pause, Panic],
        Act::WaitsForEver | Act::YieldsForEver => &[Stop],
        Act::WaitsInPoll => &[Hold, Finish],
    }
}

/// What may come of `life`: mostly one thing. Two, if a task may or may not get to its first poll while its runtime goes
/// down.
pub fn legacies(life: Life) -> Vec<Legacy> {
    let Life { act, fate, .. } = life;
    let stop = |why, at| legacy(life, walk(life, Some((why, at))), at != Moment::Unpolled);
    match fate {
        Fate::Cancelled(at) => vec![stop(End::Cancelled, at)],
        Fate::CancelledTwice | Fate::Aborted => vec![stop(End::Cancelled, Moment::Paused)],
        Fate::Orphaned(Moment::Unpolled) => {
            vec![stop(End::Shutdown, Moment::Unpolled), stop(End::Shutdown, Moment::Running)]
        }
        Fate::Orphaned(at) => vec![stop(End::Shutdown, at)],
        Fate::Awaited | Fate::Detached(_) if !act.ends() => vec![stop(End::Shutdown, Moment::Paused)],
        Fate::Awaited | Fate::Detached(_) => vec![legacy(life, walk(life, None), true)],
    }
}

/// Goes through the steps until the end, or until a cancellation at that moment takes effect.
fn walk(life: Life, cancelled: Option<(End, Moment)>) -> End {
    let strand = life.making == Making::Strand;
    if let Some((why, Moment::Unpolled)) = cancelled {
        return why;
    }
    for step in steps(life.act) {
        let suspends = matches!(step, Step::Pause | Step::Stop) || *step == Step::Hold && strand;
        match (step, cancelled) {
            (_, Some((why, at))) if suspends && at != Moment::Over => return why,
            (Step::Stop, _) => unreachable!("nothing else ends it"),
            (Step::Pause | Step::Hold, _) => {}
            (Step::Finish, _) => return End::Value,
            (Step::Panic, _) => return End::Panicked,
        }
    }
    unreachable!("the last step ends it")
}

/// What is left when the steps ended like that, if they were `started`.
fn legacy(life: Life, end: End, started: bool) -> Legacy {
    let output = end == End::Value;
    // The guard of a strand goes while the strand unwinds, and holds its peace then: a second panic would be the last.
    let peaceful = life.making == Making::Strand && end != End::Value && started;
    let bad_drop = life.act == Act::FutureDropPanics && !peaceful;
    let end = if bad_drop { End::Panicked } else { end };
    let kept =
        matches!(life.fate, Fate::Awaited | Fate::Cancelled(_) | Fate::CancelledTwice | Fate::Orphaned(_));
    let bad_output = end == End::Value && life.act == Act::OutputDropPanics;
    let unhandled = u64::from(!kept && (end == End::Panicked || bad_output));
    Legacy { end, output, unhandled }
}
