//! Runs every example, so that none can rot. Each checks by itself what it claims; here it must also say so.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A test for each example: it ends well, and what it prints contains these parts.
macro_rules! run {
    ($($name:ident: $parts:expr;)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                succeeds(env!(concat!("CARGO_BIN_EXE_", stringify!($name))), &$parts);
            }
        )*
    };
}

run! {
    blocking: ["1000 requests sum to 599500", "the thread has snapped", "the fifth: the task was cancelled", "all threads have left"];
    cancel: ["the handle says: Err(Cancelled); the destructor said: Ok(\"cleaned up\")", "it gave its result"];
    foreign_executor: ["the squares sum to 30", "cancelled: Err(Cancelled)"];
    groups: ["in the order of spawning: [1, 4, 9, 16]", "the other is Err(Cancelled)", "of 255 tasks 0 are left"];
    handlers: ["by parking the thread 15", "15, which was asked 3 times", "by driving meanwhile: 15"];
    hello: ["strand: 6", "total: 18"];
    hooks_and_metrics: ["pool \"main\": 2 workers", "100 tasks spawned, 100 ended, 200 polls"];
    host_loop: ["frame 1: 4 turns", "frame 5: 2 turns", "done"];
    local: ["child 2, line 2", "spawn_local works inside a task"];
    panics: ["\"splicer\" (spawned at", "index out of bounds"];
    pools: ["rendered on Some(\"yard-render-0\")", "200 frames drawn", "accepted: 1 to 1024"];
    replay: ["seed 1: ", "20 seeds gave"];
    task_locals: ["ann: task, job, thread and strand saw trace-1", "the task local USER is not set here"];
    threads: ["primes below 20,000: 2262", "longest word: manila", "panicked: digits", "affinity: 1000 is not possible"];
    timeouts: ["attempt 2: the timeout was over", "an answer after 71s", "on the beat: 180s", "real time: true"];
    wait_anywhere: ["on a thread:      6", "inside a poll:    6", "on a strand:      6"];
}

fn succeeds(program: &str, parts: &[&str]) {
    let output = Command::new(program).env_remove("ROPEWALK_THREADS").output().expect("the example runs");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{said}\n{errors}", output.status);
    for part in parts {
        assert!(said.contains(part), "it does not say {part:?}:\n{said}");
    }
}

#[test]
fn every_example_is_run_built_and_on_the_map() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = fs::read_dir(here).unwrap().map(|entry| entry.unwrap().path());
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let names: BTreeSet<_> =
        sources.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(names, NAMES.iter().map(|name| name.to_string()).collect(), "each file here is run");

    let read = |name: &str| fs::read_to_string(here.join(name)).unwrap();
    let (manifest, map) = (read("Cargo.toml"), read("README.md"));
    for name in names {
        assert!(manifest.contains(&format!("path = \"{name}.rs\"")), "{name} is in Cargo.toml");
        assert!(map.contains(&format!("[{name}.rs]({name}.rs)")), "{name} is in README.md");
    }
}
