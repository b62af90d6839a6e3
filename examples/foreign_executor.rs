//! Our tasks on somebody else's executor: here one of thirty lines, a queue and two threads.
//!
//! `ropewalk_core::task::spawn` makes the task and hands its [`Runnable`] to a function of yours, now and after every
//! wake-up. Whoever runs it may be any thread. Handles, cancelling, panics and joining work as they do everywhere.

use ropewalk_core::block_on_simple;
use ropewalk_core::task::{self, Ran, Runnable, TaskError, TaskHandle};
use std::future::{Future, pending, poll_fn};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::thread::{self, JoinHandle};

struct Executor {
    queue: mpsc::Sender<Runnable>,
    threads: Vec<JoinHandle<()>>,
}

impl Executor {
    fn new(threads: usize) -> Self {
        let (queue, tasks) = mpsc::channel::<Runnable>();
        let tasks = Arc::new(Mutex::new(tasks));
        let serve = || {
            let tasks = tasks.clone();
            thread::spawn(move || while serve_one(&tasks) {})
        };
        Self { queue, threads: (0..threads).map(|_| serve()).collect() }
    }

    fn spawn<F>(&self, future: F) -> TaskHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let queue = self.queue.clone();
        // An executor that is gone drops what it is sent, and that cancels the task: its handle says so.
        task::spawn(future, move |runnable| drop(queue.send(runnable)))
    }

    /// The queue closes when the executor and the last task that could be woken are gone.
    fn join(self) {
        drop(self.queue);
        self.threads.into_iter().for_each(|thread| thread.join().expect("tasks' panics do not get here"));
    }
}

/// Runs the next task once. False: there will be none.
fn serve_one(tasks: &Mutex<mpsc::Receiver<Runnable>>) -> bool {
    let Ok(runnable) = tasks.lock().expect("receiving does not panic").recv() else { return false };
    match runnable.run() {
        Ran::Woken(again) | Ran::Yielded(again) => again.schedule(),
        Ran::Idle | Ran::Done => {}
    }
    true
}

/// Any future will do. This one lets others go first by waking itself.
async fn step_aside() {
    let mut done = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut done, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

fn main() {
    let executor = Executor::new(2);
    let parts: Vec<_> = (1..=4_u64)
        .map(|part| {
            executor.spawn(async move {
                step_aside().await;
                part * part
            })
        })
        .collect();
    let sum: u64 = parts.into_iter().map(|part| block_on_simple(part).expect("it does not panic")).sum();
    println!("the squares sum to {sum}");
    assert_eq!(sum, 30);

    let endless = executor.spawn(pending::<()>());
    endless.cancel();
    let end = block_on_simple(endless);
    println!("cancelled: {end:?}");
    assert!(matches!(end, Err(TaskError::Cancelled)));
    executor.join();
}
