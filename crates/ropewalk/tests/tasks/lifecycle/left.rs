//! What cannot be ended is left behind and named; what can be is not.

use super::body::Script;
use super::crowd::inhabited;
use super::table::{Act, Fate, Life, Making, Moment};
use crate::kit::{self, Gate, KINDS, Probe, RuntimeKind, on_every_kind, strand_in, until_async};
use ropewalk::Wait;
use std::future::{Future, poll_fn};
use std::sync::atomic::Ordering::SeqCst;
use std::task::Poll;

/// A stack that waits for what never comes is left behind, with a word to say so, and does not hold up the rest.
#[test]
fn a_stack_that_waits_for_ever_is_left_behind_and_named() {
    if !kit::is_child() {
        let output = kit::run_as_child(
            "lifecycle::left::a_stack_that_waits_for_ever_is_left_behind_and_named",
            |_| {},
        );
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        let reports: Vec<_> = text.lines().filter(|line| line.contains("left behind at shutdown")).collect();
        assert_eq!(reports.len(), KINDS.len(), "{text}");
        for report in reports {
            assert!(report.contains("lifecycle/left.rs"), "names the place: {report}");
            assert!(!report.contains("src/sched"), "shows nothing internal: {report}");
        }
        return;
    }
    on_every_kind(|kind| {
        let (runtime, crowd, _stays) = inhabited(kind);
        let gate = Gate::new();
        let (passed, other) = (gate.passed(), gate.passed());
        let _stuck = runtime.spawn(async move { passed.wait() });
        runtime.block_on(until_async("it waits", || gate.waiting() > 0));
        drop(runtime);
        crowd.assert_over();
        drop(other);
    });
}

/// So is a strand whose destructor waits for ever while it unwinds.
#[test]
fn a_strand_that_never_finishes_unwinding_is_left_behind() {
    struct WaitOnDrop(Gate);
    impl Drop for WaitOnDrop {
        fn drop(&mut self) {
            self.0.passed().wait();
        }
    }
    if !kit::is_child() {
        let output = kit::run_as_child(
            "lifecycle::left::a_strand_that_never_finishes_unwinding_is_left_behind",
            |_| {},
        );
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        assert_eq!(text.matches("left behind at shutdown").count(), KINDS.len(), "{text}");
        return;
    }
    on_every_kind(|kind| {
        let (runtime, crowd, _stays) = inhabited(kind);
        let (gate, there) = (Gate::new(), Gate::new());
        let (guard, passed) = (WaitOnDrop(gate.clone()), there.passed());
        let _strand = strand_in(&runtime, move || {
            let _guard = guard;
            passed.wait();
        });
        runtime.block_on(until_async("it waits", || there.waiting() > 0));
        drop(runtime);
        crowd.assert_over();
    });
}

#[test]
fn a_local_task_of_a_thread_that_is_gone_is_named() {
    // The runtime is bound to a thread that has ended: nobody may ever touch the local task again.
    if !kit::is_child() {
        let output =
            kit::run_as_child("lifecycle::left::a_local_task_of_a_thread_that_is_gone_is_named", |_| {});
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("left behind at shutdown"), "{text}");
        return;
    }
    let runtime = RuntimeKind::Caller.build();
    let script = Script::new(Life {
        making: Making::Local,
        act: Act::WaitsForEver,
        fate: Fate::Orphaned(Moment::Paused),
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (inner, handle) = (script.clone(), runtime.handle());
            runtime.block_on(async move { drop(inner.spawn(&handle)) });
            runtime.run_until_stalled().unwrap();
        });
    });
    assert!(script.is_paused());
    drop(runtime);
    assert_eq!(script.ledger.futures_dropped.load(SeqCst), 0, "it must not be dropped on another thread");
}

/// The waker of a wait that is long over is called while the runtime goes down: nothing is left of it.
#[test]
fn a_stale_wake_up_while_the_runtime_goes_down() {
    on_every_kind(|kind| {
        for round in 0..150 {
            let probe = Probe::new();
            let runtime = kind.builder().clock(probe.clock()).build().unwrap();
            let (stale, gate) = (Gate::new(), Gate::new());
            let (to_stale, to_gate) = (stale.passed(), gate.passed());
            let task = runtime.spawn(async move {
                let (mut to_stale, mut to_gate) = (Box::pin(to_stale), Box::pin(to_gate));
                let either = poll_fn(|cx| match to_stale.as_mut().poll(cx) {
                    Poll::Pending => to_gate.as_mut().poll(cx),
                    ready => ready,
                });
                either.wait();
            });
            runtime.block_on(until_async("it waits", || gate.waiting() > 0));
            gate.open();
            runtime.block_on(task).unwrap();
            let go = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    go.wait();
                    (0..round % 30).for_each(|_| std::hint::spin_loop());
                    stale.open();
                });
                go.wait();
                (0..round % 7 * 20).for_each(|_| std::hint::spin_loop());
                drop(runtime);
            });
            probe.assert_freed();
        }
    });
}
