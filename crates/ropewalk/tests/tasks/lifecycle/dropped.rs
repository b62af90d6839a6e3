//! A runtime is dropped, from anywhere: nothing hangs, nothing is lost, nothing is left.

use super::crowd::{inhabited, inhabited_for_others, on_every_pair};
use crate::kit::{Gate, Probe, on_every_kind, strand_in, until, until_async};
use ropewalk::{Handle, TaskError, TaskHandle, Wait, strand};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

#[test]
fn dropped_on_a_plain_thread() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        drop(runtime);
        crowd.assert_over();
        assert!(probe.is_freed(), "dropping on a plain thread waits for all of it");
    });
}

#[test]
fn dropped_in_a_task_of_its_own() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let handle = runtime.handle();
        let task = handle.spawn(async move { drop(runtime) });
        handle.block_on(task).unwrap();
        crowd.assert_over();
        drop(handle);
        probe.assert_freed();
    });
}

#[test]
fn dropped_in_a_strand_of_its_own() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let handle = runtime.handle();
        let task = handle.spawn(async move { strand::spawn_local(move || drop(runtime)).unwrap().await });
        let _told_or_shut_down_itself = handle.block_on(task);
        crowd.assert_over();
        drop(handle);
        probe.assert_freed();
    });
}

#[test]
fn dropped_by_the_root_of_its_own_block_on() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let handle = runtime.handle();
        let late = handle.block_on(async move {
            drop(runtime);
            ropewalk::yield_now().await;
            ropewalk::spawn(async {}).await
        });
        assert!(matches!(late, Ok(()) | Err(TaskError::Shutdown)));
        crowd.assert_over();
        drop(handle);
        probe.assert_freed();
    });
}

#[test]
fn dropped_with_the_future_of_a_task_of_its_own() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let handle = runtime.handle();
        let holder = handle.spawn(async move {
            pending::<()>().await;
            drop(runtime);
        });
        holder.cancel(); // the destructor of the task drops the runtime
        assert!(matches!(handle.block_on(holder), Err(TaskError::Cancelled)));
        crowd.assert_over();
        drop(handle);
        probe.assert_freed();
    });
}

#[test]
fn dropped_with_the_output_of_a_task_of_its_own() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let handle = runtime.handle();
        drop(handle.spawn(async move { runtime })); // detached: the worker drops the output
        let over = || crowd.0.iter().all(|(_, task)| task.is_finished());
        handle.block_on(until_async("all is over", over));
        crowd.assert_over();
        drop(handle);
        probe.assert_freed();
    });
}

#[test]
fn dropped_in_a_task_of_another_runtime() {
    on_every_pair(|outer, inner| {
        let (runtime, crowd, probe) = inhabited_for_others(inner);
        let outer = outer.build();
        outer.block_on(outer.spawn(async move { drop(runtime) })).unwrap();
        crowd.assert_over();
        probe.assert_freed();
    });
}

#[test]
fn dropped_in_a_strand_of_another_runtime() {
    on_every_pair(|outer, inner| {
        let (runtime, crowd, probe) = inhabited_for_others(inner);
        let outer = outer.build();
        let strand = strand_in(&outer, move || drop(runtime));
        outer.block_on(strand).unwrap();
        crowd.assert_over();
        probe.assert_freed();
    });
}

#[test]
fn dropped_inside_block_on_of_another_runtime() {
    on_every_pair(|outer, inner| {
        let (runtime, crowd, probe) = inhabited(inner);
        outer.build().block_on(async move { drop(runtime) });
        crowd.assert_over();
        probe.assert_freed();
    });
}

#[test]
fn dropped_while_another_thread_is_in_its_block_on() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited_for_others(kind);
        let (handle, entered, done) = (runtime.handle(), Arc::new(AtomicBool::new(false)), Gate::new());
        std::thread::scope(|scope| {
            let (entered, passed) = (entered.clone(), done.passed());
            scope.spawn(move || {
                handle.block_on(async move {
                    entered.store(true, SeqCst);
                    passed.await;
                    // What the root spawns now runs or is refused, and it is told.
                    assert!(matches!(ropewalk::spawn(async {}).await, Ok(()) | Err(TaskError::Shutdown)));
                });
            });
            until("it is entered", || done.waiting() > 0);
            if kind.is_hosted() {
                drop(runtime); // does not wait: the other thread drives it to its end
            } else {
                drop(runtime);
                assert!(crowd.0.iter().all(|(_, task)| task.is_finished()));
            }
            done.open();
        });
        crowd.assert_over();
        probe.assert_freed();
    });
}

/// Each spawn of another thread is run, or its owner is told; never both, never neither.
#[test]
fn dropped_while_others_spawn_into_it() {
    const SPAWNERS: usize = 3;
    on_every_kind(|kind| {
        for round in 0..40 {
            let probe = Probe::new();
            let runtime = kind.builder().clock(probe.clock()).build().unwrap();
            let (ran, started) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let spawners: Vec<_> = (0..SPAWNERS)
                .map(|_| {
                    let (handle, ran, started) = (runtime.handle(), ran.clone(), started.clone());
                    std::thread::spawn(move || spawn_until_refused(&handle, &ran, &started))
                })
                .collect();
            // The runtime runs on for a while, a longer one each time.
            let enough = || started.load(SeqCst) > SPAWNERS * round;
            until("they have started", || {
                if kind.is_hosted() {
                    runtime.try_tick().unwrap();
                }
                enough()
            });
            drop(runtime);
            let handles: Vec<_> = spawners.into_iter().flat_map(|spawner| spawner.join().unwrap()).collect();
            let (mut values, mut refused) = (0, 0);
            let total = handles.len();
            for handle in handles {
                match handle.wait() {
                    Ok(()) => values += 1,
                    Err(TaskError::Shutdown) => refused += 1,
                    Err(other) => panic!("{other}"),
                }
            }
            assert_eq!((values, values + refused), (ran.load(SeqCst), total));
            probe.assert_freed();
        }
    });
}

fn spawn_until_refused(
    handle: &Handle,
    ran: &Arc<AtomicUsize>,
    started: &AtomicUsize,
) -> Vec<TaskHandle<()>> {
    let mut handles = Vec::new();
    // A few more after the first refusal: that state lasts.
    let mut refused = 0;
    while refused < 5 {
        let ran = ran.clone();
        let task = handle.spawn(async move { _ = ran.fetch_add(1, SeqCst) });
        started.fetch_add(1, SeqCst);
        // What is refused is over at once.
        refused += usize::from(handle.metrics().pools.is_empty() && task.is_finished());
        handles.push(task);
        std::thread::yield_now();
    }
    handles
}
