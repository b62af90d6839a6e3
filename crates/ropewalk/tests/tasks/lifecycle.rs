//! Every life a task can have: runtime kind x task kind x what it does x what is done to it, all combinations, and every
//! way in which a runtime can go down.
//!
//! After each life: the result its handle gave, exactly one drop of its future, as many drops of its output as there were
//! outputs, the count of unhandled panics, and nothing of the runtime left. What is right is said by `model`, which knows
//! nothing of the implementation.

mod body;
mod crowd;
mod dropped;
mod left;
mod life;
mod model;
mod shutdown;
mod table;

use crate::kit::{self, RuntimeKind};

/// All lives on one kind of runtime, one after the other, each in a runtime of its own.
fn all_lives(runtime: RuntimeKind) {
    kit::quiet();
    let lives: Vec<_> = table::lives().collect();
    assert_eq!(lives.len(), table::LIVES);
    let lead = |life: &table::Life| {
        let _watchdog = kit::Watchdog::new(format!("{runtime:?} {life:?}"));
        kit::panic_of(|| life::lead(runtime, *life)).map(|why| format!("{life:?}: {why}"))
    };
    let wrong: Vec<_> = lives.iter().filter_map(lead).collect();
    assert!(wrong.is_empty(), "{} of {} lives went wrong:\n{}", wrong.len(), lives.len(), wrong.join("\n"));
}

#[test]
fn lives_on_one_thread() {
    all_lives(RuntimeKind::Threads(1));
}

#[test]
fn lives_on_two_threads() {
    all_lives(RuntimeKind::Threads(2));
}

#[test]
fn lives_on_sixteen_threads() {
    all_lives(RuntimeKind::Threads(16));
}

#[test]
fn lives_on_the_callers_thread() {
    all_lives(RuntimeKind::Caller);
}

#[test]
fn lives_on_one_hosted_worker() {
    all_lives(RuntimeKind::Hosted(1));
}

#[test]
fn lives_on_four_hosted_workers() {
    all_lives(RuntimeKind::Hosted(4));
}
