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
    cancel_tree: ["364 strands wait", "the root says: the task was cancelled", "364 of 364 destructors ran, 243 of them waited"];
    chat_server: ["both heard both", "who is left hears who has left"];
    console: ["the lighthouse waits for a moment", "cargoes landed"];
    dump: ["1,003 waiting (1,000 for a mutex", "... and 997 more like this", "bytes of JSON say the same"];
    echo_server: ["200 clients at once, 3400 bytes echoed"];
    file_server: ["/readme.txt: 200 OK, 19 bytes", "/coils/long.bin: 200 OK, 5000000 bytes", "/coils: 404", "/../../etc/passwd: 403"];
    foreign_executor: ["the squares sum to 30", "cancelled: Err(Cancelled)"];
    groups: ["in the order of spawning: [1, 4, 9, 16]", "the other is Err(Cancelled)", "of 255 tasks 0 are left"];
    handlers: ["by parking the thread 15", "15, which was asked 3 times", "by driving meanwhile: 15"];
    hello: ["strand: 6", "total: 18"];
    hooks_and_metrics: ["pool \"main\": 2 workers", "100 tasks spawned, 100 ended, 200 polls"];
    hundred_thousand: ["100000 strands wait", "all of them woken and joined"];
    host_loop: ["frame 1: 4 turns", "frame 5: 2 turns", "done"];
    http_hello: ["HTTP/1.1: hello by HTTP/1.1", "HTTP/2:   hello by HTTP/2.0"];
    local: ["child 2, line 2", "spawn_local works inside a task"];
    map_reduce: ["20 texts by 20 strands: 49500 words", "as if counted by one alone"];
    panics: ["\"splicer\" (spawned at", "index out of bounds"];
    pipeline: ["20000 lines: 19600 requests, 400 broken", "never more than 20 lines ahead"];
    pools: ["rendered on Some(\"yard-render-0\")", "200 frames drawn", "accepted: 1 to 1024"];
    port_scanner: ["all three that listen were found", "192.0.2.1 is not this machine"];
    rate_limit: ["all at once: 8 of 1000", "in good order: 1000 of 1000 calls answered in", "50 are allowed"];
    replay: ["seed 1: ", "20 seeds gave"];
    strand_chat: ["both heard it", "who is left hears who has left", "20 at once heard 400 lines"];
    task_locals: ["ann: task, job, thread and strand saw trace-1", "the task local USER is not set here"];
    tcp_proxy: ["through the proxy: HEMP", "4 bytes up, 4 bytes down", "nobody said anything for too long", "is hung up on"];
    threads: ["primes below 20,000: 2262", "longest word: manila", "panicked: digits", "affinity: 1000 is not possible"];
    timeouts: ["attempt 2: the timeout was over", "an answer after 71s", "on the beat: 180s", "real time: true"];
    walk: ["121 directories, 242 files, 38720 bytes, 0 unreadable", "of 8 open at a time", "all of it was found"];
    trace: ["the longest poll took", "wake-ups; the slowest took", "times a splicer let another one have the lock", "bytes as JSON"];
    transactions: ["12 ships came and went", "commits"];
    work_queue: ["10. 1000000", "every number is accounted for"];
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
