//! Names, stacks, cores, nice and classes; as root and without the right.

use crate::kit::{guarded, on_every_kind};
use ropewalk::thread::{self, Builder, Class, SettingError};
use rustix::process::getpriority_process;
use rustix::thread::{CapabilitySet, CpuSet, capabilities, sched_getaffinity, set_capabilities};
use std::io::{self, ErrorKind};
use std::sync::Arc;

fn cores() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

fn class() -> i32 {
    // SAFETY: 0 is the calling thread.
    unsafe { libc::sched_getscheduler(0) }
}

fn refused(builder: Builder) -> (SettingError, ErrorKind) {
    let held = Arc::new(());
    let inside = held.clone();
    let error: io::Error = builder.spawn(move || -> () { unreachable!("{inside:?}") }).unwrap_err();
    assert_eq!(Arc::strong_count(&held), 1, "the function is dropped when the error is there");
    let kind = error.kind();
    (error.get_ref().unwrap().downcast_ref::<SettingError>().unwrap().clone(), kind)
}

#[test]
fn what_no_system_accepts() {
    let cases: [(Builder, &str, &str); 9] = [
        (Builder::new().stack_size(0), "stack_size", "32768"),
        (Builder::new().stack_size(32 * 1024 - 1), "stack_size", "32768"),
        (Builder::new().stack_size(usize::MAX), "stack_size", "1099511627776"),
        (Builder::new().name("a\0b"), "name", "NUL"),
        (Builder::new().affinity([]), "affinity", "at least one core"),
        (Builder::new().affinity([usize::MAX]), "affinity", "1023"),
        (Builder::new().nice(-21), "nice", "-20 to 19"),
        (Builder::new().nice(20), "nice", "-20 to 19"),
        (Builder::new().class(Class::Fifo(100)), "class", "1 to 99"),
    ];
    for (builder, setting, accepted) in cases {
        let (error, kind) = refused(builder);
        assert_eq!((error.setting(), kind), (setting, ErrorKind::InvalidInput));
        assert!(error.accepted().contains(accepted), "{error}");
        assert!(error.to_string().contains(error.asked()), "{error}");
        assert_eq!(error.missing_right(), None);
    }
    assert_eq!(refused(Builder::new().class(Class::RoundRobin(0))).0.asked(), "RoundRobin(0)");
}

/// Cores that are not there are refused, also beside one that is: the kernel alone would leave them out in silence.
#[test]
fn cores_that_cannot_be_had() {
    let mine = cores();
    for asked in [vec![1023], vec![mine[0], 1023]] {
        let (error, kind) = refused(Builder::new().affinity(asked));
        assert_eq!((error.setting(), kind), ("affinity", ErrorKind::InvalidInput));
        assert!(error.asked().contains("1023") && error.accepted().contains(&mine[0].to_string()), "{error}");
    }
}

#[test]
fn settings_are_the_threads_own() {
    let before = (cores(), getpriority_process(None).unwrap(), class());
    let last = *before.0.last().unwrap();
    let builder = Builder::new().name("modest").stack_size(256 * 1024);
    let builder = builder.affinity([last, last]).nice(7).class(Class::Batch);
    let thread =
        builder.clone().spawn(|| (cores(), getpriority_process(None).unwrap(), class(), thread::name()));
    assert_eq!(thread.unwrap().join().unwrap(), (vec![last], 7, libc::SCHED_BATCH, Some("modest".into())));
    let inside = builder.spawn(|| thread::spawn(cores).unwrap().join().unwrap());
    assert_eq!(inside.unwrap().join().unwrap(), [last], "threads it starts inherit them");
    assert_eq!((cores(), getpriority_process(None).unwrap(), class()), before, "nobody else's changed");
    for (asked, policy) in [(Class::Idle, libc::SCHED_IDLE), (Class::Normal, libc::SCHED_OTHER)] {
        assert_eq!(Builder::new().class(asked).spawn(class).unwrap().join().unwrap(), policy);
    }
}

/// A stack of the asked size is there: touches most of it.
#[test]
fn a_stack_holds_what_was_asked_for() {
    fn dig(depth: usize) -> usize {
        let page = std::hint::black_box([depth as u8; 4096]);
        if depth == 0 { 0 } else { 1 + dig(depth - 1) + (page[0] as usize & 1) - (depth & 1) }
    }
    let thread = Builder::new().stack_size(64 << 20).spawn(|| dig(4000));
    assert_eq!(thread.unwrap().join().unwrap(), 4000);
}

/// On a worker the wait for the verdict parks the stack; also on a runtime that refuses waits of its tasks.
#[test]
fn settings_from_inside_a_runtime() {
    on_every_kind(|kind| {
        let runtime = kind.builder().block_in_task(ropewalk::BlockInTask::Panic).build().unwrap();
        let task = runtime.spawn(async {
            let error = Builder::new().affinity([1023]).spawn(|| ()).unwrap_err();
            assert!(error.to_string().contains("affinity"), "{error}");
            Builder::new().nice(9).spawn(|| getpriority_process(None).unwrap()).unwrap().await
        });
        assert_eq!(runtime.block_on(task).unwrap().unwrap(), 9);
    });
}

/// In a hook there is no stack to park.
#[test]
fn settings_from_a_hook() {
    guarded("hook", || {
        let (give, take) = std::sync::mpsc::channel();
        let hook = move || {
            let nice = Builder::new().nice(9).spawn(|| getpriority_process(None).unwrap()).unwrap();
            give.send(nice).unwrap();
        };
        let runtime = ropewalk::Runtime::builder().worker_threads(1).on_thread_start(hook).build().unwrap();
        assert_eq!(take.recv().unwrap().join().unwrap(), 9);
        drop(runtime);
    });
}

/// As root, or with the right, they are given; else the error says what is missing.
#[test]
fn real_time_and_less_nice_with_the_right() {
    if !capabilities(None).unwrap().effective.contains(CapabilitySet::SYS_NICE) {
        eprintln!("skipped: this process has no CAP_SYS_NICE");
        return;
    }
    let asked = [(Class::Fifo(3), libc::SCHED_FIFO), (Class::RoundRobin(4), libc::SCHED_RR)];
    for (asked, policy) in asked {
        assert_eq!(Builder::new().class(asked).spawn(class).unwrap().join().unwrap(), policy);
    }
    let nice = Builder::new().nice(-5).spawn(|| getpriority_process(None).unwrap());
    assert_eq!(nice.unwrap().join().unwrap(), -5);
}

#[test]
fn real_time_and_less_nice_without_the_right() {
    let without = || {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::SYS_NICE);
        set_capabilities(None, sets).unwrap(); // of this thread only; those it starts inherit it
        for (builder, setting, limit) in [
            (Builder::new().class(Class::Fifo(50)), "class", "RLIMIT_RTPRIO"),
            (Builder::new().class(Class::RoundRobin(1)), "class", "RLIMIT_RTPRIO"),
            (Builder::new().nice(-15), "nice", "RLIMIT_NICE"),
        ] {
            let (error, kind) = refused(builder);
            assert_eq!((error.setting(), kind), (setting, ErrorKind::PermissionDenied));
            assert_eq!(error.missing_right(), Some("CAP_SYS_NICE"));
            assert!(
                error.to_string().contains("CAP_SYS_NICE") && error.accepted().contains(limit),
                "{error}"
            );
        }
        // Standing back is always allowed.
        assert_eq!(
            Builder::new().class(Class::Idle).nice(19).spawn(class).unwrap().join().unwrap(),
            libc::SCHED_IDLE
        );
    };
    std::thread::spawn(without).join().unwrap();
}
