//! Dumps: what they say of whom, in which order, and that taking one disturbs nobody.

mod alike;
mod backtraces;
mod data;
#[path = "../kit/mod.rs"]
mod kit;
mod load;
mod owners;
#[cfg(all(unix, not(tsan)))] // TSan holds signals back until the thread calls libc
mod signals;
mod text;
mod tree;

use ropewalk::dump::{Dump, DumpedTask};
use ropewalk::{Runtime, TaskHandle, task};
use std::future::Future;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// On the caller's thread, with everything observed.
fn runtime() -> Runtime {
    Runtime::builder().worker_threads(0).observe(true).build().unwrap()
}

fn spawn_as<T: Send + 'static>(
    runtime: &Runtime,
    name: &str,
    future: impl Future<Output = T> + Send + 'static,
) -> TaskHandle<T> {
    task::Builder::new().name(name).spawn_on(&runtime.handle(), future)
}

/// The one of that name.
#[track_caller]
fn named<'a>(dump: &'a Dump, name: &str) -> &'a DumpedTask {
    let found = dump.tasks.iter().find(|task| task.info.name.as_deref() == Some(name));
    found.unwrap_or_else(|| panic!("no {name:?} in\n{dump}"))
}

/// The line of the one of that name.
#[track_caller]
fn line_of(dump: &Dump, name: &str) -> String {
    let (text, start) = (dump.to_string(), format!("{name:?} "));
    let line = text.lines().find(|line| line.trim_start().starts_with(&start));
    line.unwrap_or_else(|| panic!("no {name:?} in\n{text}")).to_owned()
}
