//! A thread to which a runtime without threads is bound, and which has exited.

use super::{THREADLESS, refusal};
use crate::kit::{Gate, guarded, panic_of, quiet};
use ropewalk::{Runtime, Wait, spawn_local, strand};
use std::thread;
use std::time::Duration;

/// Binds `runtime` to a thread that is gone: by a local task, or by a strand that waits.
fn orphaned(runtime: &Runtime, by_strand: bool) -> Gate {
    let gate = Gate::new();
    let passed = gate.passed();
    thread::scope(|scope| {
        scope.spawn(|| {
            runtime.block_on(async {
                if by_strand {
                    drop(strand::spawn(|| passed.wait()));
                    ropewalk::yield_now().await;
                } else {
                    drop(spawn_local(passed).unwrap());
                }
            });
            runtime.run_until_stalled().unwrap();
        });
    });
    gate
}

#[test]
fn nobody_drives_where_the_home_thread_has_exited() {
    quiet();
    for (kind, by_strand) in THREADLESS.into_iter().flat_map(|kind| [false, true].map(|by| (kind, by))) {
        guarded(format!("{kind:?}, {by_strand}"), || {
            let runtime = kind.build();
            let gate = orphaned(&runtime, by_strand);
            assert!(refusal(&runtime).unwrap().contains("can only be driven there"));
            let messages = [
                panic_of(|| runtime.block_on(async {})),
                panic_of(|| runtime.run(|| 5)),
                panic_of(|| runtime.block_on(async { strand::scope(|s| s.spawn(|| 5).join()) })),
            ];
            for message in messages {
                assert!(message.unwrap().contains("can only be driven there"));
            }
            gate.open(); // what is bound there never hears of it
            // It takes what it waits for to the end with it, and says so.
            let account = runtime.shutdown(Duration::from_millis(1)).unwrap_err();
            assert_eq!((account.cancelled, account.left.len()), (1, 1), "{account}");
        });
    }
}

/// Each of them takes back what it has queued there.
#[test]
fn several_at_once_are_told() {
    quiet();
    for kind in THREADLESS {
        guarded(format!("{kind:?}"), || {
            let runtime = kind.build();
            let _gate = orphaned(&runtime, false);
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..100 {
                            assert!(
                                panic_of(|| runtime.run(|| 5)).unwrap().contains("can only be driven there")
                            );
                        }
                    });
                }
            });
        });
    }
}

#[test]
fn it_can_be_dropped() {
    for (kind, by_strand) in THREADLESS.into_iter().flat_map(|kind| [false, true].map(|by| (kind, by))) {
        guarded(format!("{kind:?}, {by_strand}"), || {
            let runtime = kind.build();
            let _gate = orphaned(&runtime, by_strand);
            drop(runtime);
        });
    }
}
