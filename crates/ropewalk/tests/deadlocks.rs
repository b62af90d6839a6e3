//! Those who wait for each other are found and named, and nobody else is.
//! A program of its own: it is there with a feature only, and the hook it sets is for the whole process.

mod kit;

#[path = "deadlocks/found.rs"]
mod found;
#[path = "deadlocks/not_found.rs"]
mod not_found;

use ropewalk::{Runtime, deadlock, task};
use std::future::Future;
use std::sync::Arc;

/// The deadlocks with a member whose description contains `name`.
fn of(name: &str) -> Vec<Arc<deadlock::Deadlock>> {
    deadlock::check();
    let mut all = deadlock::deadlocks();
    all.retain(|found| found.members.iter().any(|member| member.who.contains(name)));
    all
}

/// Starts a task with a name.
fn start(runtime: &Runtime, name: &str, future: impl Future<Output = ()> + Send + 'static) {
    drop(task::Builder::new().name(name).spawn_on(&runtime.handle(), future));
}

/// A runtime that runs only when it is told to.
fn hosted() -> Runtime {
    Runtime::builder().worker_threads(0).build().unwrap()
}
