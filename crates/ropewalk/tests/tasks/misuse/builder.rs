//! Settings that cannot work, a bad environment, and memory that is not there.

use crate::kit::{self, Gate, RuntimeKind, panic_of, quiet, until_async};
use ropewalk::{Builder, Runtime, RuntimeError, TaskError, Wait, strand, yield_now};

/// The setting that `build` refuses, what it was set to, and what it accepts.
fn refused(builder: Builder) -> (&'static str, String, String) {
    match builder.build() {
        Err(RuntimeError::Setting { knob, given, accepted }) => {
            let error = RuntimeError::Setting { knob, given: given.clone(), accepted: accepted.clone() };
            let text = error.to_string();
            assert!(text.contains(knob) && text.contains(&given) && text.contains(&accepted), "{text}");
            (knob, given, accepted)
        }
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("it was accepted"),
    }
}

#[test]
fn each_knob_just_outside_its_range() {
    type Set = fn(Builder, usize) -> Builder;
    let knobs: [(&str, Set, &[usize], &str); 9] = [
        ("worker_threads", |builder, n| builder.worker_threads(n), &[1025, usize::MAX], "1 to 1024"),
        ("hosted_workers", |builder, n| builder.hosted_workers(n), &[0, 1025, usize::MAX], "1 to 1024"),
        ("queue_capacity", |builder, n| builder.queue_capacity(n), &[0, 3, 65_537, usize::MAX], "4 to 65536"),
        (
            "global_queue_interval",
            |builder, n| builder.global_queue_interval(n as u32),
            &[0, 1, 65_537, u32::MAX as usize],
            "2 to 65536",
        ),
        (
            "thread_stack_size",
            |builder, n| builder.thread_stack_size(n),
            &[0, 32_767, (1 << 40) + 1, usize::MAX],
            "32768 to 1099511627776",
        ),
        (
            "strand_stack_size",
            |builder, n| builder.strand_stack_size(n),
            &[0, 32_767, (1 << 40) + 1, usize::MAX],
            "32768 to 1099511627776",
        ),
        (
            "blocking_threads (max)",
            |builder, n| builder.blocking_threads(0, n),
            &[0, 65_537, usize::MAX],
            "1 to 65536",
        ),
        ("blocking_threads (min)", |builder, n| builder.blocking_threads(n, 3), &[4, usize::MAX], "0 to 3"),
        (
            "blocking_stack_size",
            |builder, n| builder.blocking_stack_size(n),
            &[0, 32_767, (1 << 40) + 1, usize::MAX],
            "32768 to 1099511627776",
        ),
    ];
    for (knob, set, values, range) in knobs {
        for value in values {
            let start =
                if knob == "hosted_workers" { Builder::new() } else { Builder::new().worker_threads(0) };
            let expected = (knob, value.to_string(), range.to_owned());
            assert_eq!(refused(set(start, *value)), expected);
        }
    }
    // Between the bounds, but not a power of two.
    for capacity in [5, 100, 65_535] {
        let (knob, given, accepted) = refused(Builder::new().worker_threads(0).queue_capacity(capacity));
        assert_eq!((knob, given), ("queue_capacity", capacity.to_string()));
        assert!(accepted.contains("power of two"), "{accepted}");
    }
    let (knob, ..) = refused(Builder::new().hosted_workers(2).worker_threads(2));
    assert_eq!(knob, "hosted_workers");
    let (knob, ..) = refused(Builder::new().worker_threads(0).thread_name("a\0b"));
    assert_eq!(knob, "thread_name");
}

#[test]
fn each_knob_at_the_ends_of_its_range() {
    let good = |builder: Builder| {
        let runtime = builder.build().unwrap();
        let strand = runtime.spawn(async { strand::spawn_local(|| yield_now().wait()).unwrap().await });
        runtime.block_on(strand).unwrap().unwrap();
    };
    let start = || Builder::new().worker_threads(0);
    good(start().queue_capacity(4));
    good(start().queue_capacity(65_536));
    good(start().global_queue_interval(2));
    good(start().global_queue_interval(65_536));
    good(start().strand_stack_size(32_768));
    good(start().hosted_workers(1));
    good(start().hosted_workers(1024).thread_stack_size(64 * 1024));
    good(Builder::new().worker_threads(1));
}

/// More than the machine has: an error of `build`, not a worker that dies later.
#[test]
fn memory_that_is_not_there() {
    for builder in [Builder::new().worker_threads(2), Builder::new().worker_threads(0)] {
        match builder.thread_stack_size(1 << 40).build() {
            Err(RuntimeError::System(error)) => {
                let text = RuntimeError::System(error).to_string();
                assert!(text.contains("memory"), "{text}");
            }
            Err(other) => panic!("another error: {other}"),
            // Where a system promises more than it has, there is nothing to see.
            Ok(runtime) => assert_eq!(runtime.block_on(async { 1 }), 1),
        }
    }
}

/// A task that wants to wait where there is no memory for another stack is told so; the worker goes on.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_runs_out() {
    const TASKS: usize = 100;
    if !kit::is_child() {
        // A sanitizer reserves more address space than this leaves.
        let output = kit::run_as_small_child("misuse::builder::memory_that_runs_out", 1_000_000);
        let text = kit::stderr_of(&output);
        assert!(output.status.success() || text.contains("Sanitizer"), "{text}");
        return;
    }
    quiet();
    for kind in [RuntimeKind::Threads(1), RuntimeKind::Caller] {
        let (runtime, gate) = (kind.builder().thread_stack_size(32 << 20).build().unwrap(), Gate::new());
        std::panic::set_hook(Box::new(|_| {}));
        let wait = |passed| runtime.spawn(async move { Wait::wait(passed) });
        let tasks: Vec<_> = (0..TASKS).map(|_| wait(gate.passed())).collect();
        let told = || tasks.iter().filter(|task| task.is_finished()).count();
        runtime.block_on(until_async("all wait or are told", || told() + gate.waiting() >= TASKS));
        assert_eq!(runtime.block_on(runtime.spawn(async { 5 })).unwrap(), 5);
        gate.open();
        let (mut waited, mut refused) = (0, 0);
        for task in tasks {
            match runtime.block_on(task) {
                Ok(()) => waited += 1,
                Err(TaskError::Panicked(panic)) => {
                    assert!(panic.message().contains("no memory for a stack"), "{panic}");
                    refused += 1;
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(waited + refused, TASKS);
        assert!(waited > 0 && refused > 0, "{waited} {refused}");
    }
}

/// In a process of its own: what is in the environment concerns the default number of workers only.
#[test]
fn garbage_in_the_environment() {
    if !kit::is_child() {
        for garbage in ["", "0", "-1", "1025", "two", "2.5", "99999999999999999999999", "not unicode"] {
            let output = kit::run_as_child("misuse::builder::garbage_in_the_environment", |command| {
                #[cfg(unix)]
                if garbage == "not unicode" {
                    use std::os::unix::ffi::OsStrExt;
                    command.env("ROPEWALK_THREADS", std::ffi::OsStr::from_bytes(b"\xff\xfe2"));
                    return;
                }
                command.env("ROPEWALK_THREADS", garbage);
            });
            assert!(output.status.success(), "{garbage:?}: {}", kit::stderr_of(&output));
        }
        for good in ["1", " 3 ", "1024"] {
            let output = kit::run_as_child("misuse::builder::the_environment_sets_the_default", |command| {
                command.env("ROPEWALK_THREADS", good);
            });
            assert!(output.status.success(), "{good:?}: {}", kit::stderr_of(&output));
        }
        return;
    }
    let (knob, given, accepted) = refused(Builder::new());
    assert_eq!(knob, "ROPEWALK_THREADS");
    assert!(accepted.contains("1 to 1024"), "{accepted}");
    let value = std::env::var_os("ROPEWALK_THREADS").unwrap();
    assert_eq!(given, format!("{value:?}"));
    assert!(Runtime::new().is_err());
    // Who says how many is not concerned.
    assert_eq!(Runtime::builder().worker_threads(1).build().unwrap().block_on(async { 1 }), 1);
    let message = panic_of(|| ropewalk::spawn(async {})).unwrap();
    assert!(
        message.contains("the default runtime cannot start") && message.contains("ROPEWALK_THREADS"),
        "{message}"
    );
}

#[test]
fn the_environment_sets_the_default() {
    let Ok(text) = std::env::var("ROPEWALK_THREADS") else { return };
    let count: usize = text.trim().parse().unwrap();
    let runtime = Builder::new().thread_stack_size(32_768).build().unwrap();
    assert_eq!(runtime.metrics().pools[0].active, count);
}
