//! A panic in a task does not take anybody else along: whoever waits gets it as a value, with all there is to know.
//!
//! (A task that panics while nobody holds its handle is reported on standard error and counted in the metrics.)

use ropewalk::{Runtime, TaskError, Wait, task};

fn main() {
    let runtime = Runtime::builder().worker_threads(1).build().expect("one thread can be had");
    let task = task::Builder::new().name("splicer").spawn_on(&runtime.handle(), async {
        let strands: Vec<u32> = Vec::new();
        strands[0]
    });
    let error = task.wait().expect_err("there is no strand to take");
    println!("{error}");
    let TaskError::Panicked(panic) = error else { panic!("it panicked") };
    assert_eq!(panic.name(), Some("splicer"));
    assert!(panic.message().contains("index out of bounds"));
    assert!(panic.spawned_at().file().ends_with("panics.rs"));

    // The worker that met the panic goes on.
    assert_eq!(runtime.spawn(async { 6 * 7 }).wait().expect("it is still there"), 42);
}
