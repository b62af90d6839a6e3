//! The driver: which one, how it is driven, and what happens when its worker is held.

use super::common::{Gate, drivers, guarded, until};
use super::kit::{builder, pair};
use ropewalk::driver::{Events, Interest, IoDriver, IoDriverKind, IoSource, Token};
use ropewalk::net::UnixStream;
use ropewalk::{Pool, Runtime, RuntimeError, Wait};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::Duration;

#[test]
fn what_this_system_has_not_is_refused_by_name() {
    for kind in [IoDriverKind::Iocp, IoDriverKind::Wasi] {
        let error = builder(0).io_driver(kind).build().unwrap_err();
        let RuntimeError::Setting { knob, accepted, .. } = &error else { panic!("{error}") };
        assert_eq!(*knob, "io_driver");
        assert!(accepted.contains("Poll"), "{accepted}");
    }
}

#[test]
fn metrics_say_which_driver_runs_and_why() {
    let runtime = builder(1).build().unwrap();
    let io = runtime.metrics().io;
    assert_eq!((io.asked_for, io.driver), (IoDriverKind::Auto, None));
    let pair = runtime.block_on(pair()).unwrap();
    let io = runtime.metrics().io;
    assert!(io.driver.is_some() && io.why.starts_with("Auto"), "{io:?}");
    assert_eq!(io.registered, 2);
    drop(pair);
    assert_eq!(runtime.metrics().io.registered, 0);
    let runtime = builder(1).io_driver(IoDriverKind::Poll).build().unwrap();
    runtime.block_on(super::kit::pair()).unwrap();
    let io = runtime.metrics().io;
    assert_eq!(io.driver, Some(IoDriverKind::Poll));
    assert!(io.why.contains("asked for"), "{}", io.why);
}

/// A driver that cannot know, and says "ready" to all.
#[derive(Debug, Default)]
struct Eager {
    registered: AtomicUsize,
    woken: AtomicBool,
    sources: std::sync::Mutex<Vec<Token>>,
}

impl IoDriver for Given {
    fn register(&self, _: IoSource<'_>, token: Token, _: Interest) -> io::Result<()> {
        self.0.registered.fetch_add(1, SeqCst);
        self.0.sources.lock().unwrap().push(token);
        Ok(())
    }
    fn deregister(&self, _: IoSource<'_>, token: Token) -> io::Result<()> {
        self.0.sources.lock().unwrap().retain(|known| *known != token);
        Ok(())
    }
    fn poll(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        // Every millisecond at most; and each time something that is nobody's.
        if timeout != Some(Duration::ZERO) && !self.0.woken.swap(false, SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        events.push(ropewalk::driver::Event {
            token: Token::from_bits(u64::MAX - 7),
            ready: ropewalk::driver::Ready::READABLE,
        });
        for token in self.0.sources.lock().unwrap().iter().take(events.room()) {
            let ready = ropewalk::driver::Ready::READABLE | ropewalk::driver::Ready::WRITABLE;
            events.push(ropewalk::driver::Event { token: *token, ready });
        }
        Ok(())
    }
    fn wake(&self) -> io::Result<()> {
        self.0.woken.store(true, SeqCst);
        Ok(())
    }
}

#[derive(Debug, Clone)]
struct Given(Arc<Eager>);

#[test]
fn a_driver_of_one_s_own() {
    let driver = Given(Arc::new(Eager::default()));
    let given = driver.clone();
    let runtime = builder(1).io_driver_with(move || Ok(Box::new(given.clone()))).build().unwrap();
    runtime.block_on(async {
        let (left, right) = pair().await.unwrap();
        let reader = ropewalk::spawn(async move { right.read(&mut [0; 8]).await });
        left.write_all(b"hello").await.unwrap();
        assert_eq!(reader.await.unwrap().unwrap(), 5);
    });
    assert!(driver.0.registered.load(SeqCst) >= 3);
    assert_eq!(runtime.metrics().io.driver, Some(IoDriverKind::Custom));
    let runtime = builder(1).io_driver_with(|| Err(io::Error::other("not today"))).build().unwrap();
    let error = runtime.block_on(pair()).unwrap_err();
    assert!(error.to_string().contains("not today"));
}

/// A worker comes out of the driver with a task that never gives the thread back. The other one, asleep, sees the events.
#[test]
fn a_worker_that_is_held_does_not_keep_events_from_the_others() {
    for kind in drivers() {
        let runtime = builder(2).io_driver(kind).build().unwrap();
        let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let (mut trap, bait) = std::os::unix::net::UnixStream::pair().unwrap();
        let released = Arc::new(AtomicBool::new(false));
        let (held, is_held) = mpsc::channel();
        let (seen, is_seen) = mpsc::channel();
        let release = released.clone();
        let _holder = runtime.spawn(async move {
            let bait = UnixStream::from_std(bait).unwrap();
            bait.read(&mut [0; 1]).await.unwrap();
            held.send(()).unwrap();
            while !release.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        let _reader = runtime.spawn(async move {
            let theirs = UnixStream::from_std(theirs).unwrap();
            for _ in 0..3 {
                theirs.read(&mut [0; 1]).await.unwrap();
                seen.send(()).unwrap();
            }
        });
        // Both are registered and everybody sleeps, or will.
        std::thread::sleep(Duration::from_millis(30));
        trap.write_all(b"x").unwrap();
        is_held.recv().unwrap();
        for _ in 0..3 {
            ours.write_all(b"x").unwrap();
            guarded(format!("with {kind}: nobody looks for events"), || is_seen.recv().unwrap());
        }
        released.store(true, SeqCst);
    }
}

/// Tasks that are always ready do not keep events from being seen.
#[test]
fn full_load_does_not_starve_events() {
    for kind in drivers() {
        for workers in [0, 1, 2] {
            let runtime = builder(workers).io_driver(kind).build().unwrap();
            let stop = Arc::new(AtomicBool::new(false));
            let busy: Vec<_> = (0..8)
                .map(|_| {
                    let stop = stop.clone();
                    runtime.spawn(async move {
                        while !stop.load(SeqCst) {
                            ropewalk::yield_now().await;
                        }
                    })
                })
                .collect();
            runtime.block_on(async {
                let (left, right) = pair().await.unwrap();
                let echo = ropewalk::spawn(async move {
                    for _ in 0..20 {
                        right.read(&mut [0; 1]).await.unwrap();
                        right.write_all(b"x").await.unwrap();
                    }
                });
                for _ in 0..20 {
                    left.write_all(b"x").await.unwrap();
                    left.read(&mut [0; 1]).await.unwrap();
                }
                echo.await.unwrap();
            });
            stop.store(true, SeqCst);
            for task in busy {
                runtime.block_on(task).unwrap();
            }
        }
    }
}

#[test]
fn a_runtime_without_threads_is_driven_by_ticks() {
    for kind in drivers() {
        let runtime = Runtime::builder().hosted_workers(2).io_driver(kind).build().unwrap();
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let reader = runtime.spawn(async move { UnixStream::from_std(theirs)?.read(&mut [0; 8]).await });
        while runtime.try_tick().unwrap() {}
        assert!(!reader.is_finished());
        (&ours).write_all(b"hello").unwrap();
        while !reader.is_finished() {
            runtime.try_tick().unwrap();
        }
        assert_eq!(runtime.block_on(reader).unwrap().unwrap(), 5);
    }
}

/// What the driver had when a `block_on` ended is not what it has when somebody drives the runtime again.
#[test]
fn events_between_two_drives_are_seen() {
    for kind in drivers() {
        let runtime = builder(0).io_driver(kind).build().unwrap();
        let [first, second] = [(); 2].map(|()| std::os::unix::net::UnixStream::pair().unwrap());
        let (ours, theirs) = second;
        let reader = runtime.spawn(async move { UnixStream::from_std(theirs)?.read(&mut [0; 8]).await });
        let (mut writes, reads) = first;
        let handle = runtime.handle();
        let writer = std::thread::spawn(move || {
            until("it sleeps", || handle.metrics().total(|worker| worker.parks) > 0);
            writes.write_all(b"x").unwrap();
        });
        runtime.block_on(async { UnixStream::from_std(reads).unwrap().read(&mut [0; 8]).await.unwrap() });
        writer.join().unwrap();
        (&ours).write_all(b"hello").unwrap();
        runtime.run_until_stalled().unwrap();
        assert!(reader.is_finished(), "with {kind}: nobody looked");
    }
}

/// A runtime without threads waits for events on a worker of another one, which goes on with other work.
#[test]
fn a_runtime_inside_another_one_sees_its_events() {
    for kind in drivers() {
        let outer = builder(1).build().unwrap();
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let (ready, is_ready) = mpsc::channel();
        let inner = outer.spawn(async move {
            let inner = builder(0).io_driver(kind).build().unwrap();
            inner.block_on(async {
                let stream = UnixStream::from_std(theirs).unwrap();
                let _other_work = ropewalk::spawn(async {});
                ready.send(()).unwrap();
                stream.read(&mut [0; 8]).await.unwrap()
            })
        });
        is_ready.recv().unwrap();
        outer.spawn(async {}).wait().unwrap();
        (&ours).write_all(b"hello").unwrap();
        assert_eq!(inner.wait().unwrap(), 5);
    }
}

/// A runtime without threads sleeps on a worker of another one, and has no sockets. Another pool of it makes one: it learns of
/// that, for its main pool watches the sockets of all.
#[test]
fn a_runtime_inside_another_one_learns_of_its_first_socket() {
    for kind in drivers() {
        let outer = builder(1).build().unwrap();
        let gate = Gate::new();
        let passed = gate.passed();
        let (tell, told) = mpsc::channel();
        let inner = outer.spawn(async move {
            let inner = builder(0).io_driver(kind).build().unwrap();
            let side = Pool::builder().name("side").workers(1).build(&inner.handle()).unwrap();
            tell.send(side).unwrap();
            inner.block_on(passed);
        });
        let side = told.recv().unwrap();
        until("it waits", || gate.waiting() == 1);
        std::thread::sleep(Duration::from_millis(10)); // it sleeps, or will
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let (made, is_made) = mpsc::channel();
        let reader = side.spawn(async move {
            let stream = UnixStream::from_std(theirs).unwrap();
            assert_eq!(stream.try_read(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            made.send(()).unwrap();
            stream.read(&mut [0; 8]).await.unwrap()
        });
        is_made.recv().unwrap();
        (&ours).write_all(b"hello").unwrap();
        let read = guarded(format!("with {kind}: nobody looks for events"), || reader.wait().unwrap());
        assert_eq!(read, 5);
        gate.open();
        inner.wait().unwrap();
    }
}

/// Without sockets there is no driver, and with sockets that do nothing nobody stirs.
#[cfg(target_os = "linux")]
#[test]
fn a_runtime_with_idle_sockets_sleeps() {
    let runtime = builder(2).build().unwrap();
    let pair = runtime.block_on(pair()).unwrap();
    let quiet = || {
        let before = runtime.metrics();
        std::thread::sleep(Duration::from_millis(200));
        let after = runtime.metrics();
        let wakes = after.total(|worker| worker.wakes) - before.total(|worker| worker.wakes);
        (after.io.polls - before.io.polls, wakes) == (0, 0)
    };
    assert!((0..20).any(|_| quiet()), "it never comes to rest");
    drop(pair);
}

/// What a kernel answers to this process, seen by a child.
#[cfg(target_os = "linux")]
mod answered {
    use super::super::common::{is_child, run_as_child, stderr_of};
    use super::*;
    use crate::answers::forbid;
    use ropewalk::time::{Instant, sleep};

    fn in_a_child(name: &str, test: impl FnOnce()) {
        if is_child() {
            guarded(name, test);
            return println!("checked");
        }
        let child = run_as_child(&format!("net::driver::answered::{name}"), |_| {});
        let said = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(child.status.success() && said.contains("checked"), "{said}{}", stderr_of(&child));
    }

    async fn answer(stream: ropewalk::net::TcpStream) {
        let mut buffer = [0; 64];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            stream.write_all(&buffer[..count]).await.unwrap();
        }
    }

    /// Sockets are registered once: no wait for one, and no read that finds nothing, has to be said to the kernel.
    #[test]
    fn epoll_is_told_of_a_socket_once() {
        in_a_child("epoll_is_told_of_a_socket_once", || {
            let ready = [0, 2].map(|workers| {
                let runtime = builder(workers).io_driver(IoDriverKind::Epoll).build().unwrap();
                let ends = runtime.block_on(pair()).unwrap();
                (runtime, ends)
            });
            forbid(libc::SYS_epoll_ctl, libc::EPERM);
            for (runtime, (left, right)) in ready {
                runtime.block_on(async {
                    let refused = pair().await.unwrap_err();
                    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
                    let server = ropewalk::spawn(answer(right));
                    for _ in 0..1000 {
                        left.write_all(b"x").await.unwrap();
                        left.readable().await.unwrap();
                        assert_eq!(left.read(&mut [0; 8]).await.unwrap(), 1);
                    }
                    drop(left);
                    server.await.unwrap();
                });
            }
        });
    }

    /// Before Linux 5.11 epoll knows no timeouts but in milliseconds. Nobody is woken early, and nobody spins until it is time.
    #[test]
    fn epoll_that_counts_in_milliseconds() {
        in_a_child("epoll_that_counts_in_milliseconds", || {
            forbid(libc::SYS_epoll_pwait2, libc::ENOSYS);
            for workers in [0, 1] {
                let runtime = builder(workers).io_driver(IoDriverKind::Epoll).build().unwrap();
                runtime.block_on(async {
                    let (left, right) = pair().await.unwrap();
                    let server = ropewalk::spawn(answer(right));
                    let far = ropewalk::spawn(sleep(Duration::from_secs(60 * 86_400))); // more than fits
                    let polls = || runtime.metrics().io.polls;
                    let before = polls();
                    for micros in (100..2_500).step_by(100) {
                        let (from, span) = (Instant::now(), Duration::from_micros(micros));
                        sleep(span).await;
                        assert!(from.elapsed() >= span);
                    }
                    assert!(polls() - before < 24 * 10, "{} polls for 24 sleeps", polls() - before);
                    for _ in 0..100 {
                        left.write_all(b"x").await.unwrap();
                        assert_eq!(left.read(&mut [0; 8]).await.unwrap(), 1);
                    }
                    // Somebody else's call ends the sleep in the driver.
                    let (tell, told) = ropewalk::channel::oneshot::channel();
                    let caller = std::thread::spawn(move || tell.send(()));
                    told.await.unwrap();
                    caller.join().unwrap().unwrap();
                    drop((left, far));
                    server.await.unwrap();
                });
            }
        });
    }
}
