//! Threads: starting, joining, settings, scopes, panics, locks.

mod guards;
mod locks;
mod panics;
mod scopes;
#[cfg(target_os = "linux")]
mod settings;

use crate::kit::{self, Gate, KINDS, RuntimeKind, guarded, on_every_kind, strand_in, until};
use ropewalk::{Blocking, Handle, TaskError, Wait, spawn, thread, with_handler, yield_now};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;

/// The ways to get a thread's value, in each place.
#[test]
fn a_value_comes_back_wherever_and_however_it_is_waited_for() {
    type Way = fn(thread::JoinHandle<u32>) -> Result<u32, TaskError>;
    let ways: [Way; 4] = [thread::JoinHandle::join, Wait::wait, ropewalk::block_on, |thread| {
        with_handler(&Blocking, || thread.join())
    }];
    for way in ways {
        guarded("plain thread", || assert_eq!(way(thread::spawn(|| 7).unwrap()).unwrap(), 7));
        for kind in KINDS {
            guarded(format!("{kind:?}"), || {
                let runtime = kind.build();
                let in_task = runtime.spawn(async move { way(thread::spawn(|| 8).unwrap()) });
                assert_eq!(runtime.block_on(in_task).unwrap().unwrap(), 8);
                let on_strand = strand_in(&runtime, move || way(thread::spawn(|| 9).unwrap()));
                assert_eq!(runtime.block_on(on_strand).unwrap().unwrap(), 9);
                let awaited = runtime.spawn(async { thread::spawn(|| 10).unwrap().await });
                assert_eq!(runtime.block_on(awaited).unwrap().unwrap(), 10);
            });
        }
    }
}

/// Joining parks the stack and not the worker: the only worker goes on and opens the gate the thread waits for.
#[test]
fn joining_on_a_worker_does_not_hold_it() {
    for kind in [RuntimeKind::Threads(1), RuntimeKind::Caller] {
        guarded(format!("{kind:?}"), || {
            let runtime = kind.build();
            let gate = Gate::new();
            let (there, here) = (gate.clone(), gate.clone());
            let joins =
                runtime.spawn(async move { thread::spawn(move || there.passed().wait()).unwrap().join() });
            let opens = runtime.spawn(async move {
                until_waited_for(&here).await;
                here.open();
            });
            runtime.block_on(async {
                joins.await.unwrap().unwrap();
                opens.await.unwrap();
            });
            assert_eq!(runtime.metrics().total(|worker| worker.held), 0);
        });
    }
}

async fn until_waited_for(gate: &Gate) {
    while gate.waiting() == 0 {
        yield_now().await;
    }
}

#[test]
fn a_handle_knows_its_thread() {
    guarded("handle", || {
        let gate = Gate::new();
        let inside = gate.clone();
        let builder = thread::Builder::new().name("scribe");
        let thread = builder
            .spawn(move || {
                inside.passed().wait();
                (thread::id(), thread::name())
            })
            .unwrap();
        assert!(!thread.is_finished());
        assert_eq!(thread.thread().name(), Some("scribe"));
        let id = thread.id();
        assert!(id == thread.thread().id() && id != thread::id());
        assert!(format!("{thread:?}").contains("scribe"));
        gate.open();
        until("it is over", || thread.is_finished());
        assert_eq!(thread.join().unwrap(), (id, Some("scribe".to_owned())));
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_native_handle_is_the_threads_own() {
    use std::os::unix::thread::JoinHandleExt;
    guarded("native", || {
        // SAFETY: the call has no preconditions.
        let thread = thread::spawn(|| unsafe { libc::pthread_self() } as usize).unwrap();
        let native = thread.as_pthread_t() as usize;
        assert_eq!(thread.join().unwrap(), native);
        let thread = thread::spawn(|| ()).unwrap();
        // SAFETY: the handle gave up the right to join, which is used once.
        assert_eq!(unsafe { libc::pthread_join(thread.into_pthread_t() as _, std::ptr::null_mut()) }, 0);
    });
}

/// A plain thread that joins has also waited for the other's thread-locals.
#[test]
fn thread_locals_are_gone_after_a_join_on_a_plain_thread() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Counts;
    impl Drop for Counts {
        fn drop(&mut self) {
            std::thread::yield_now();
            DROPPED.fetch_add(1, SeqCst);
        }
    }
    thread_local!(static LOCAL: RefCell<Option<Counts>> = const { RefCell::new(None) });
    guarded("locals", || {
        for joined in 1..=50 {
            thread::spawn(|| LOCAL.set(Some(Counts))).unwrap().join().unwrap();
            assert_eq!(DROPPED.load(SeqCst), joined);
        }
    });
}

#[test]
fn a_dropped_handle_detaches() {
    guarded("detach", || {
        let (gate, (give, take)) = (Gate::new(), channel());
        let inside = gate.clone();
        drop(thread::spawn(move || {
            inside.passed().wait();
            give.send(5).unwrap();
        }));
        gate.open();
        assert_eq!(take.recv().unwrap(), 5);
    });
}

/// The value of a detached thread is dropped over there; one that was not taken, with the handle.
#[test]
fn a_value_is_dropped_once_whoever_has_it() {
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    guarded("values", || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let counts = || Counts(dropped.clone());
        let value = counts();
        drop(thread::spawn(move || value));
        until("the detached one is dropped", || dropped.load(SeqCst) == 1);
        let value = counts();
        let thread = thread::spawn(move || value).unwrap();
        until("it is over", || thread.is_finished());
        assert_eq!(dropped.load(SeqCst), 1);
        drop(thread);
        assert_eq!(dropped.load(SeqCst), 2);
        let value = counts();
        drop(thread::spawn(move || value).unwrap().join().unwrap());
        assert_eq!(dropped.load(SeqCst), 3);
    });
}

/// Free functions in the thread mean the runtime it was started in; elsewhere the default one.
#[test]
fn a_thread_belongs_to_the_runtime_it_was_started_in() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let inside = runtime.block_on(async {
            let thread = thread::spawn(|| spawn(async { ropewalk::task::id().is_some() }).wait());
            thread.unwrap().await.unwrap()
        });
        assert!(inside.unwrap());
        let finished = || runtime.metrics().total(|worker| worker.finished) == 1;
        runtime.block_on(kit::until_async("the task is counted here", finished));
        let outside = thread::spawn(|| spawn(async { 3 }).wait()).unwrap();
        assert_eq!(outside.join().unwrap().unwrap(), 3);
    });
}

/// A thread that has ended keeps nothing of it.
#[test]
fn the_runtime_is_freed_after_its_threads() {
    on_every_kind(|kind| {
        let probe = kit::Probe::new();
        let runtime = kind.builder().clock(probe.clock()).build().unwrap();
        runtime.block_on(async {
            thread::spawn(|| spawn(async {}).wait().unwrap()).unwrap().await.unwrap();
            drop(thread::spawn(Handle::current).unwrap());
        });
        drop(runtime);
        probe.assert_freed();
    });
}

/// The runtime may go first.
#[test]
fn a_thread_may_outlive_its_runtime() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let gate = Gate::new();
        let inside = gate.clone();
        let thread = runtime.block_on(async move {
            thread::spawn(move || {
                inside.passed().wait();
                spawn(async {}).wait()
            })
        });
        drop(runtime);
        gate.open();
        assert!(matches!(thread.unwrap().join().unwrap(), Err(TaskError::Shutdown)));
    });
}

#[test]
fn a_thread_that_joins_itself_is_told() {
    guarded("self", || {
        let (give, take) = channel::<thread::JoinHandle<Option<String>>>();
        let (done, outcome) = channel();
        let thread = thread::spawn(move || {
            let own = take.recv().unwrap();
            done.send(kit::panic_of(|| own.join())).unwrap();
            None
        });
        kit::quiet();
        give.send(thread.unwrap()).unwrap();
        assert!(outcome.recv().unwrap().unwrap().contains("cannot join itself"));
    });
}

#[test]
fn a_handle_polled_after_its_end_panics() {
    guarded("polled again", || {
        let mut thread = thread::spawn(|| 1).unwrap();
        assert_eq!((&mut thread).wait().unwrap(), 1);
        assert!(thread.is_finished());
        assert!(kit::panic_of(|| (&mut thread).wait()).unwrap().contains("after it gave its output"));
    });
}

/// Running out of memory for stacks is an error; the function is dropped, and the next thread can be started.
#[cfg(target_os = "linux")]
#[test]
fn no_more_threads_is_an_error() {
    if !kit::is_child() {
        // A sanitizer reserves more address space than this leaves.
        let output = kit::run_as_small_child("threads::no_more_threads_is_an_error", 1 << 21);
        let text = kit::stderr_of(&output);
        assert!(output.status.success() || text.contains("Sanitizer"), "{text}");
        return;
    }
    let held = Arc::new(());
    let inside = held.clone();
    let error: io::Error =
        thread::Builder::new().stack_size(1 << 32).spawn(move || drop(inside)).unwrap_err();
    assert!(error.raw_os_error().is_some(), "{error}");
    assert_eq!(Arc::strong_count(&held), 1);
    assert_eq!(thread::spawn(|| 4).unwrap().join().unwrap(), 4);
}

#[test]
fn the_small_functions() {
    guarded("small", || {
        thread::yield_now();
        thread::sleep(std::time::Duration::ZERO);
        let runtime = RuntimeKind::Threads(1).build();
        let held = || runtime.metrics().total(|worker| worker.held);
        runtime
            .block_on(runtime.spawn(async { thread::sleep(std::time::Duration::from_micros(1)) }))
            .unwrap();
        assert_eq!(held(), 1, "a held worker is counted");
    });
}
