//! A program for tokio's console to show: tasks of which each does one thing, and nothing else. It listens at the socket that
//! it is told of, and ends when its input does.

use console_subscriber::ConsoleLayer;
use ropewalk::{Runtime, TaskGroup, Wait, channel, strand, task, time, yield_now};
use std::future::{pending, poll_fn};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

const A_WHILE: Duration = Duration::from_millis(20);

/// Is woken by itself, so many times.
async fn wake_oneself(mut times: u32) {
    poll_fn(|cx| {
        if times == 0 {
            return Poll::Ready(());
        }
        times -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn main() {
    let socket = std::env::args_os().nth(1).map(PathBuf::from).expect("usage: shown SOCKET");
    ConsoleLayer::builder().server_addr(socket).publish_interval(Duration::from_millis(200)).init();
    let runtime = Runtime::builder().worker_threads(3).observe(true).build().unwrap();
    let (handle, stop) = (runtime.handle(), Arc::new(AtomicBool::new(false)));
    let goes_on = || {
        let stop = stop.clone();
        move || !stop.load(Ordering::Relaxed)
    };
    let named = |name: &str| task::Builder::new().name(name);
    let (tick, ticks) = channel::unbounded();
    let (started, starts) = channel::oneshot::channel();
    let (send, receive) = channel::oneshot::channel::<()>();

    let going_on = goes_on();
    let parent = named("parent").spawn_on(&handle, async {
        let mut group = TaskGroup::new();
        group.spawn(async {
            started.send(()).unwrap();
            receive.wait().unwrap(); // it is cancelled in the middle of a poll, which goes on
        });
        starts.await.unwrap();
    });
    let restless = named("restless").spawn_on(&handle, async move {
        while going_on() {
            wake_oneself(9).await;
            time::sleep(A_WHILE).await;
        }
    });
    let going_on = goes_on();
    let sleeper = named("sleeper").spawn_on(&handle, async move {
        while going_on() {
            time::sleep(A_WHILE).await;
            tick.send(()).await.unwrap();
        }
    });
    let middle = named("middle").spawn_on(&handle, async move { while ticks.recv().wait().is_ok() {} });
    let going_on = goes_on();
    let yielding = named("yielding").spawn_on(&handle, async move {
        while going_on() {
            (0..9).for_each(|_| yield_now().wait());
            yield_now().await;
            time::sleep(A_WHILE).await;
        }
    });
    let going_on = goes_on();
    let hog = named("hog").spawn_on(&handle, async move {
        while going_on() {
            yield_now().await;
            std::thread::sleep(A_WHILE * 5);
        }
    });
    let forgotten = named("forgotten").spawn_on(&handle, pending::<()>());
    let going_on = goes_on();
    let strand = runtime.block_on(async {
        strand::Builder::new().name("fid").spawn(move || {
            while going_on() {
                strand::sleep(A_WHILE);
            }
        })
    });
    let going_on = goes_on();
    let inner = handle.clone();
    let spawner = named("spawner").spawn_on(&handle, async move {
        while going_on() {
            named("brief").spawn_on(&inner, async {}).await.unwrap();
            time::sleep(A_WHILE * 50).await;
        }
    });

    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    stop.store(true, Ordering::Relaxed);
    forgotten.cancel();
    assert!(forgotten.wait().is_err());
    send.send(()).unwrap();
    for task in [restless, sleeper, middle, yielding, hog, spawner, parent] {
        task.wait().unwrap();
    }
    strand.wait().unwrap();
    drop(runtime);
    println!("ended");
}
