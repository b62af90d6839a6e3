//! What may be forgotten (`mem::forget`): every handle, guard and future, begun or not; others go on, and memory stays sound.

use crate::AGES;
use crate::kit::guarded;
use crate::soundness::{WORKERS, runtime};
use ropewalk::channel::{self, bounded, broadcast, oneshot, unbounded, watch};
use ropewalk::net::{TcpListener, TcpStream, UdpSocket};
use ropewalk::stm::{TVar, atomically};
use ropewalk::strand::{self, StrandError};
use ropewalk::sync::{
    Barrier, CancellationToken, Condvar, Mutex, MutexGuard, Notify, OnceCell, OwnedMutexGuard, RateLimiter,
};
use ropewalk::sync::{RwLock, Semaphore};
use ropewalk::{Builder, Runtime, TaskGroup, Wait, fs, spawn, spawn_blocking, task_group, thread, time};
use std::future::{pending, poll_fn};
use std::mem::forget;
use std::net::Ipv4Addr;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::time::Duration;

/// Polls it once, with the waker of the strand, and forgets it. What it borrows is free to go then; its own memory is not.
fn begin_and_forget<F: Future>(future: F) {
    let mut future = Box::pin(future);
    ropewalk::wait(poll_fn(|cx| {
        let _begun = future.as_mut().poll(cx);
        Poll::Ready(())
    }));
    forget(future);
}

/// Handles of everything that runs.
fn forget_handles() {
    forget(spawn(async {}));
    forget(spawn(pending::<()>()));
    forget(spawn_blocking(|| ()));
    forget(ropewalk::thread::spawn(|| ()).unwrap());
    forget(strand::spawn(|| ()));
    forget(strand::spawn(|| strand::sleep(AGES)));
    forget(strand::spawn_local(|| ()).unwrap());
    forget(ropewalk::task::spawn_local(pending::<()>()).unwrap());
    forget(strand::current().unwrap());
    forget(spawn(pending::<()>()).abort_handle());
    forget(strand::spawn(|| strand::sleep(AGES)).abort_handle());
    let mut group = TaskGroup::new();
    group.spawn(pending::<()>());
    forget(group);
    forget(task_group(|group| {
        group.spawn(async {});
    }));
    strand::scope(|s| {
        forget(s.spawn(|| strand::sleep(Duration::from_micros(10))));
        s.join_all();
    });
    begin_and_forget(spawn(pending::<()>()));
    begin_and_forget(strand::spawn(|| strand::sleep(AGES)));
    begin_and_forget(spawn_blocking(|| ()));
    begin_and_forget(async { ropewalk::thread::spawn(|| ()).unwrap().await });
    begin_and_forget(task_group(|group| {
        group.spawn(pending::<()>());
    }));
}

/// Guards and permits of locks, and places in their lines.
fn forget_locks() {
    let (mutex, rwlock, semaphore) = (Mutex::new(1), RwLock::new(1), Semaphore::new(2));
    forget(rwlock.try_read().unwrap());
    begin_and_forget(rwlock.write());
    begin_and_forget(rwlock.read());
    forget(mutex.try_lock().unwrap());
    begin_and_forget(mutex.lock());
    assert!(mutex.try_lock().is_err() && rwlock.try_write().is_err());
    forget(semaphore.try_acquire().unwrap());
    begin_and_forget(semaphore.acquire_many(2));
    assert_eq!(semaphore.available_permits(), 1);
    semaphore.add_permits(3).unwrap(); // to one that nobody will ever take it from
    let (barrier, token) = (Barrier::new(3), CancellationToken::new());
    begin_and_forget(barrier.wait());
    begin_and_forget(token.cancelled());
    token.cancel();
    forget((mutex.lock(), rwlock.write(), semaphore.acquire(), barrier.wait(), token.cancelled()));
    forget(token);
}

/// Those that keep their lock alive, that guard a part, that stand for both; what waits beside a lock.
fn forget_other_guards() {
    let owned = || Arc::new(Mutex::new((1, vec![2])));
    let (mutex, parts) = (Mutex::new((1, vec![2])), owned());
    forget(MutexGuard::map(mutex.try_lock().unwrap(), |value| &mut value.1));
    forget(OwnedMutexGuard::map(parts.clone().try_lock_owned().unwrap(), |value| &mut value.1));
    assert!(mutex.try_lock().is_err() && parts.try_lock().is_err());
    forget(owned().try_lock_owned().unwrap());
    begin_and_forget(parts.lock_owned());
    let rwlock = Arc::new(RwLock::new(1));
    forget(rwlock.clone().try_read_owned().unwrap());
    begin_and_forget(rwlock.clone().write_owned());
    begin_and_forget(rwlock.read_owned());
    forget(Arc::new(RwLock::new(1)).try_write_owned().unwrap());
    forget(RwLock::new(vec![1]).try_write().unwrap());
    let semaphore = Arc::new(Semaphore::new(1));
    forget(semaphore.clone().try_acquire_owned().unwrap());
    begin_and_forget(semaphore.acquire_owned());
    let token = CancellationToken::new();
    forget(token.clone().drop_guard());
    assert!(!token.is_cancelled());
    let (waited, condvar) = (Mutex::new(vec![1]), Condvar::new());
    begin_and_forget(condvar.wait(waited.try_lock().unwrap()));
    drop(waited.try_lock().expect("who waits does not hold it"));
    condvar.notify_one();
    let cell = OnceCell::<Vec<u8>>::new();
    begin_and_forget(cell.get_or_init(pending));
    begin_and_forget(cell.get_or_init(|| async { vec![1] }));
    let (sender, receiver) = watch::channel(vec![1]);
    forget(receiver.borrow());
    drop((sender, receiver));
    let limiter = RateLimiter::new(1, AGES).unwrap();
    limiter.try_acquire().unwrap();
    begin_and_forget(limiter.acquire());
    let var = TVar::new(1);
    begin_and_forget(atomically(|tx| if tx.read(&var)? == 1 { tx.retry() } else { Ok(()) }));
    atomically(|tx| tx.write(&var, 2)).wait(); // it has nobody to wake
    // Last: a strand that may still have a lock of threads does not wait.
    forget(thread::RwLock::new(1).try_write().unwrap());
    forget(thread::RwLock::new(1).try_read().unwrap());
    forget(thread::Semaphore::new(1).try_acquire().unwrap());
    forget(thread::Mutex::new(1).lock());
}

/// `Notified` in every stage: made, enabled, in line, notified.
fn forget_notified() {
    let notify = Notify::new();
    forget(notify.notified());
    let mut enabled = Box::pin(notify.notified());
    assert!(!enabled.as_mut().enable());
    forget(enabled);
    begin_and_forget(notify.notified());
    begin_and_forget(notify.notified());
    notify.notify_one(); // goes to the first of them, and is lost there
    notify.notify_waiters();
    let turn = pin!(notify.notified());
    notify.notify_one();
    turn.wait();
    begin_and_forget(notify.notified()); // in line when the Notify is dropped
}

fn forget_channels() {
    let (sender, receiver) = bounded::<Vec<u8>>(2);
    forget(sender.try_reserve().unwrap());
    sender.try_send(vec![1]).unwrap();
    begin_and_forget(sender.reserve());
    begin_and_forget(sender.send(vec![2]));
    assert!(sender.try_send(vec![3]).is_err(), "the forgotten permit is a place");
    forget((sender.reserve(), sender.send(vec![4]), receiver.recv()));
    let (other, empty) = bounded::<Vec<u8>>(1);
    begin_and_forget(empty.recv());
    forget(empty.clone());
    forget(other.downgrade());
    drop((sender, receiver, other, empty));

    let (sender, receiver) = bounded::<Vec<u8>>(0);
    begin_and_forget(sender.send(vec![1]));
    begin_and_forget(sender.reserve());
    drop(sender);
    forget(receiver);
    let (sender, receiver) = unbounded::<Vec<u8>>();
    sender.try_send(vec![1]).unwrap();
    forget(sender.try_reserve().unwrap());
    forget((sender, receiver));

    let (sender, receiver) = oneshot::channel::<Vec<u8>>();
    begin_and_forget(receiver);
    sender.send(vec![1]).unwrap();
    forget(oneshot::channel::<Vec<u8>>());
    let (sender, mut receiver) = broadcast::channel::<Vec<u8>>(2);
    begin_and_forget(receiver.recv());
    forget(sender.subscribe());
    (0..5).for_each(|number| drop(sender.send(vec![number])));
    drop((sender, receiver));
    let (sender, mut receiver) = watch::channel(vec![1]);
    begin_and_forget(receiver.changed());
    forget(sender.subscribe());
    drop(sender);
    forget(receiver);
    forget(channel::bounded::<u8>(1));
}

fn forget_timers() {
    begin_and_forget(time::sleep(AGES));
    begin_and_forget(time::sleep(Duration::from_micros(100)));
    begin_and_forget(time::timeout(AGES, pending::<()>()));
    forget(time::sleep(AGES));
    let mut interval = time::interval(Duration::from_micros(50));
    interval.tick().wait();
    begin_and_forget(async { interval.tick().await });
    forget(interval);
    strand::sleep(Duration::from_micros(300)); // those that were due have fired
}

/// Operations that somebody else works on, who may be slower: the buffers are gone before the answer is there.
fn forget_io(path: &Path) {
    fs::write(path, vec![7; 100_000]).wait().unwrap();
    let file = fs::File::open(path).wait().unwrap();
    let mut buffer = vec![1; 100_000];
    begin_and_forget(file.read_at(&mut buffer, 0));
    buffer.fill(2);
    let mut again = vec![0; 100_000];
    assert_eq!(file.read_at(&mut again, 0).wait().unwrap(), 100_000);
    assert!(buffer.iter().all(|byte| *byte == 2), "nobody writes to what was given back");
    assert!(again.iter().all(|byte| *byte == 7));
    begin_and_forget(fs::read(path));
    begin_and_forget(fs::write(path.with_extension("other"), vec![1; 1000]));
    forget(file);

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).wait().unwrap();
    begin_and_forget(listener.accept());
    let client = TcpStream::connect(listener.local_addr().unwrap()).wait().unwrap();
    let (server, _) = listener.accept().wait().unwrap();
    let mut buffer = vec![1; 100];
    begin_and_forget(client.read(&mut buffer));
    server.write_all(&[7; 100]).wait().unwrap();
    buffer.fill(2);
    let mut again = vec![0; 100];
    assert_eq!(client.read(&mut again).wait().unwrap(), 100, "what was forgotten has taken nothing");
    assert!(buffer.iter().all(|byte| *byte == 2) && again.iter().all(|byte| *byte == 7));
    begin_and_forget(server.read(&mut buffer));
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).wait().unwrap();
    begin_and_forget(socket.recv_from(&mut buffer));
    drop((listener, client, buffer));
    forget(server.into_split());
}

/// Whatever is forgotten on strands, others go on, and so does the end of the runtime.
fn survives(forgets: impl Fn() + Sync) {
    for workers in WORKERS {
        survives_in(Runtime::builder().worker_threads(workers), &forgets);
    }
    survives_in(Runtime::builder().worker_threads(0), &forgets);
}

fn survives_in(builder: Builder, forgets: &(dyn Fn() + Sync)) {
    guarded(format!("{builder:?}"), || {
        let runtime = builder.build().unwrap();
        runtime.run(|| {
            strand::scope(|s| {
                let strands: Vec<_> = (0..6).map(|_| s.spawn(forgets)).collect();
                strands.into_iter().for_each(|strand| strand.join());
            });
        });
        assert_eq!(runtime.block_on(runtime.spawn(async { 5 })).unwrap(), 5);
        drop(runtime);
    });
}

#[test]
fn handles_may_be_forgotten() {
    survives(forget_handles);
}

#[test]
fn guards_and_places_in_line_may_be_forgotten() {
    survives(forget_locks);
    survives(forget_other_guards);
    survives(forget_notified);
}

#[test]
fn ends_and_permits_of_channels_may_be_forgotten() {
    survives(forget_channels);
}

#[test]
fn timers_may_be_forgotten() {
    survives(forget_timers);
}

/// By every driver: what waits for readiness, and what the kernel does on its own.
#[test]
#[cfg(unix)]
fn operations_under_way_may_be_forgotten() {
    let folder = std::env::temp_dir().join(format!("ropewalk-forget-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let files = AtomicUsize::new(0);
    let forgets = || forget_io(&folder.join(files.fetch_add(1, SeqCst).to_string()));
    for driver in crate::kit::drivers() {
        for workers in WORKERS {
            survives_in(Runtime::builder().worker_threads(workers).io_driver(driver), &forgets);
        }
    }
    // A write that nobody waits for may come yet.
    crate::kit::until("the folder is removed", || std::fs::remove_dir_all(&folder).is_ok());
}

/// A waker of a strand outlives it, and its runtime: what calls it later finds nobody.
#[test]
fn who_was_forgotten_may_be_notified_after_the_runtime_is_gone() {
    for workers in WORKERS {
        guarded(format!("{workers} workers"), || {
            let notify = Arc::new(Notify::new());
            let (sender, receiver) = bounded::<u8>(1);
            let runtime = runtime(workers);
            runtime.run(|| {
                begin_and_forget(notify.notified());
                begin_and_forget(receiver.recv());
                // One that is in the middle of it when the runtime goes.
                let (notify, began) = (notify.clone(), Arc::new(Notify::new()));
                let begins = began.clone();
                forget(strand::spawn(move || {
                    begin_and_forget(async move { notify.notified().await });
                    begins.notify_one();
                    strand::sleep(AGES);
                }));
                began.notified().wait();
            });
            drop(runtime);
            notify.notify_waiters();
            notify.notify_one();
            let _nobody_takes_it = sender.try_send(1);
            drop((notify, sender, receiver));
        });
    }
}

/// A handle that comes back from a strand of a runtime that is gone still answers.
#[test]
fn a_handle_outlives_its_runtime() {
    for workers in WORKERS {
        guarded(format!("{workers} workers"), || {
            let runtime = runtime(workers);
            let (give, take) = mpsc::channel();
            runtime.run(|| {
                give.send((strand::spawn(|| strand::sleep(AGES)), strand::current().unwrap())).unwrap()
            });
            drop(runtime);
            let (strand, current) = take.recv().unwrap();
            assert!(matches!(strand.wait(), Err(StrandError::Cancelled | StrandError::Shutdown)));
            current.cancel();
        });
    }
}
