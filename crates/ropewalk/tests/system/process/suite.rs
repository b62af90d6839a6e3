//! What holds for processes, whatever way their ends are noticed.

#[path = "dropping.rs"]
mod dropping;
#[path = "ending.rs"]
mod ending;
#[path = "exhausted.rs"]
mod exhausted;
#[path = "streams.rs"]
mod streams;

use super::prepare;
use crate::kit::{drivers, guarded};
use ropewalk::Runtime;
use ropewalk::process::Command;
use std::fs;

/// Runs a test on every driver, and in the default runtime.
fn run(name: &str, test: impl AsyncFn()) {
    prepare();
    guarded(name, || ropewalk::block_on(test()));
    for driver in drivers() {
        let runtime = Runtime::builder().worker_threads(2).io_driver(driver).build().unwrap();
        guarded(format!("{name}, {driver}"), || runtime.block_on(test()));
    }
}

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// The state of a child of this process as the kernel shows it: R, S, Z and so on; `None` if there is no such child.
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain anything; what follows it is plain.
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent: u32 = fields.next()?.parse().ok()?;
    (parent == std::process::id()).then_some(state)
}
