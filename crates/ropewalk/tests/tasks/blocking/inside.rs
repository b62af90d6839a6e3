//! What a job sees of its runtime, and what is seen of it.

use super::{KINDS, narrow, plug};
use crate::kit::{self, Gate, RuntimeKind, until};
use ropewalk::{Handle, Wait, task};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

/// `spawn`, `Handle::current`, `block_on` and `spawn_blocking` in a job mean the job's runtime.
#[test]
fn a_job_is_inside_its_runtime() {
    for kind in KINDS {
        kit::guarded(format!("{kind:?}"), || {
            let runtime = kind.builder().thread_name("mine").build().unwrap();
            let job = runtime.spawn_blocking(|| {
                let task = ropewalk::spawn(async { thread::current().name().map(str::to_owned) });
                let handle = format!("{:?}", Handle::current());
                let child = ropewalk::spawn_blocking(|| thread::current().name().map(str::to_owned));
                (task, handle, child.wait().unwrap(), ropewalk::block_on(async { 7 }))
            });
            let (task, handle, child, seven) = runtime.block_on(job).unwrap();
            let worker = runtime.block_on(task).unwrap();
            if !kind.is_hosted() {
                assert!(worker.unwrap().starts_with("mine-main-"));
            }
            assert!(child.unwrap().starts_with("mine-blocking-"));
            assert_eq!(handle, format!("{:?}", runtime.handle()));
            assert_eq!(seven, 7);
        });
    }
}

#[test]
fn a_job_has_the_id_that_its_handle_says() {
    let runtime = RuntimeKind::Threads(1).build();
    let (gate, there) = (Gate::new(), runtime.handle());
    let passed = gate.passed();
    let job = runtime.spawn_blocking(move || {
        passed.wait();
        let inner = there.block_on(async { task::id() });
        (task::id(), inner)
    });
    let id = job.id();
    gate.open();
    let (inside, in_block_on) = job.wait().unwrap();
    assert!(id.is_some() && inside == id);
    assert_eq!(in_block_on, id, "a root on a plain thread is not a task of its own");
    assert_eq!(task::id(), None);
}

/// The worker goes on with other work while its task waits for a job, by `await` and by `wait`.
#[test]
fn a_worker_is_never_blocked() {
    kit::guarded("goes on", || {
        let (runtime, gate) = (narrow(RuntimeKind::Threads(1), 1), Gate::new());
        let (first, second) = (gate.passed(), gate.passed());
        let awaits = runtime.spawn(async { ropewalk::spawn_blocking(move || first.wait()).await });
        let waits = runtime.spawn(async { ropewalk::spawn_blocking(move || second.wait()).wait() });
        until("both jobs are there", || {
            let blocking = runtime.metrics().blocking;
            blocking.queued + blocking.running == 2
        });
        runtime.spawn(async {}).wait().unwrap();
        gate.open();
        awaits.wait().unwrap().unwrap();
        waits.wait().unwrap().unwrap();
    });
}

#[test]
fn jobs_are_listed() {
    kit::guarded("listed", || {
        let (runtime, gate) = (narrow(RuntimeKind::Caller, 1), Gate::new());
        let plug = plug(&runtime, &gate);
        let pool = runtime.pool("main").unwrap();
        let job = task::Builder::new().name("second").pool(&pool).spawn_blocking(|| ());
        let seen: Vec<_> = runtime.tasks().into_iter().map(|info| (Some(info.id), info.state)).collect();
        assert_eq!(seen, [(plug.id(), "running"), (job.id(), "queued")]);
        let tasks = runtime.tasks();
        assert!(tasks[1].to_string().contains("\"second\" in blocking: queued"), "{}", tasks[1]);
        assert!(tasks[0].spawned_at.file().ends_with("tasks/blocking.rs"), "{}", tasks[0]);
        gate.open();
        plug.wait().unwrap();
        job.wait().unwrap();
        until("none is left", || runtime.tasks().is_empty());
    });
}

/// Each job that was accepted is announced once and ends once, whether it ran or not. So are the threads.
#[test]
fn hooks_see_jobs_and_threads() {
    kit::guarded("hooks", || {
        let ids: [Arc<Mutex<Vec<_>>>; 2] = Default::default();
        let threads = Arc::new(AtomicU64::new(0));
        let (spawned, ended) = (ids[0].clone(), ids[1].clone());
        let (started, stopped) = (threads.clone(), threads.clone());
        let builder = RuntimeKind::Caller.builder().blocking_threads(0, 1);
        let builder = builder.on_task_spawn(move |id| spawned.lock().unwrap().push(id));
        let builder = builder.on_task_end(move |id| ended.lock().unwrap().push(id));
        let builder = builder.on_thread_start(move || _ = started.fetch_add(1, SeqCst));
        let builder = builder.on_thread_stop(move || _ = stopped.fetch_add(1 << 32, SeqCst));
        let runtime = builder.build().unwrap();
        let gate = Gate::new();
        let plug = plug(&runtime, &gate);
        let jobs: Vec<_> = (0..4).map(|_| runtime.spawn_blocking(|| ())).collect();
        jobs[1].cancel();
        gate.open();
        plug.wait().unwrap();
        jobs.into_iter().for_each(|job| drop(job.wait()));
        drop(runtime);
        let [mut spawned, mut ended] = ids.map(|ids| ids.lock().unwrap().clone());
        spawned.sort_unstable();
        ended.sort_unstable();
        assert_eq!((spawned.len(), &spawned), (5, &ended));
        assert_eq!(threads.load(SeqCst), 1 << 32 | 1);
    });
}

/// Task locals that are inherited go along; others do not, and nothing is left on the thread for the next job.
#[test]
fn a_job_inherits_task_locals() {
    ropewalk::task_local! {
        #[inherit]
        static TRACE: u32;
        static OWN: u32;
    }
    for kind in KINDS {
        kit::guarded(format!("{kind:?}"), || {
            let runtime = narrow(kind, 1);
            let there = runtime.handle();
            let ask = || (TRACE.try_with(|trace| *trace).ok(), OWN.try_with(|own| *own).ok());
            let inside = async move { there.spawn_blocking(ask).await.unwrap() };
            let seen = runtime.block_on(TRACE.scope(5, OWN.scope(6, inside)));
            assert_eq!(seen, (Some(5), None));
            assert_eq!(runtime.spawn_blocking(ask).wait().unwrap(), (None, None));
        });
    }
}
