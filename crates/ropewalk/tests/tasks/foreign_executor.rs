//! Our task cells on somebody else's executor: `ropewalk_core::task::spawn` on a thread pool that knows nothing of the
//! runtime but [`Runnable`].

use ropewalk::{Runtime, Wait};
use ropewalk_core::block_on_simple;
use ropewalk_core::task::{self, Ran, Runnable, TaskError, TaskHandle};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Poll, Waker};
use std::thread::{self, JoinHandle};

/// A queue and threads that run what is in it. Dropping it drops what is queued then and later.
struct Executor {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Queue {
    /// `None` once the executor is gone.
    tasks: Mutex<Option<VecDeque<Runnable>>>,
    came: Condvar,
    polls: AtomicUsize,
}

impl Queue {
    fn push(&self, task: Runnable) {
        let mut tasks = self.tasks.lock().unwrap();
        match &mut *tasks {
            Some(tasks) => tasks.push_back(task),
            None => {
                drop(tasks); // what the task's destructor does is not our business, and not under our lock
                drop(task);
                return;
            }
        }
        drop(tasks);
        self.came.notify_one();
    }

    fn pop(&self) -> Option<Runnable> {
        let mut tasks = self.tasks.lock().unwrap();
        loop {
            if let Some(task) = tasks.as_mut()?.pop_front() {
                return Some(task);
            }
            tasks = self.came.wait(tasks).unwrap();
        }
    }

    fn work(&self) {
        while let Some(task) = self.pop() {
            self.polls.fetch_add(1, Relaxed);
            match task.run() {
                Ran::Woken(again) | Ran::Yielded(again) => again.schedule(),
                Ran::Idle | Ran::Done => {}
            }
        }
    }
}

impl Executor {
    fn new(threads: usize) -> Self {
        let queue = Arc::new(Queue { tasks: Mutex::new(Some(VecDeque::new())), ..Queue::default() });
        let start = |_| {
            let queue = queue.clone();
            thread::spawn(move || queue.work())
        };
        let threads = (0..threads).map(start).collect();
        Self { queue, threads }
    }

    fn spawn<F>(&self, future: F) -> TaskHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let queue = self.queue.clone();
        task::spawn(future, move |task| queue.push(task))
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        let left = self.queue.tasks.lock().unwrap().take();
        self.queue.came.notify_all();
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
        drop(left);
    }
}

/// Counts its drops.
#[derive(Clone)]
struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Lets others run: the waker of a foreign task is all this needs.
async fn give_way() {
    let mut gave = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut gave, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The cell is freed: whoever counts references to `token` sees the last one go.
fn wait_until_alone<T>(token: &Arc<T>) {
    while Arc::strong_count(token) > 1 {
        thread::yield_now();
    }
}

#[test]
fn tasks_join_tasks_on_several_threads() {
    let executor = Arc::new(Executor::new(3));
    let inner = executor.clone();
    let total = executor.spawn(async move {
        let parts: Vec<_> = (0..1_000_u64)
            .map(|number| {
                inner.spawn(async move {
                    for _ in 0..number % 4 {
                        give_way().await;
                    }
                    number
                })
            })
            .collect();
        let mut total = 0;
        for part in parts {
            total += part.await.unwrap();
        }
        total
    });
    assert_eq!(block_on_simple(total).unwrap(), 499_500);
    let polls = executor.queue.polls.load(Relaxed);
    assert!(polls >= 1_000 + 1_500, "each task was polled once more than it gave way: {polls}");
}

#[test]
fn joins_cross_executors_and_runtimes() {
    let (one, other) = (Arc::new(Executor::new(2)), Arc::new(Executor::new(1)));
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    let handle = runtime.handle();
    let (there, back) = (other.clone(), one.clone());
    let chain = one.spawn(async move {
        let back = there.spawn(async move {
            let ours = handle.spawn(async {
                ropewalk::yield_now().await;
                1
            });
            let theirs = back.spawn(async { 10 });
            ours.await.unwrap() + theirs.await.unwrap()
        });
        back.await.unwrap() + 100
    });
    // A task of the runtime waits for a foreign one, by await and by parking its stack in the middle of a poll.
    let fourth = other.spawn(async { 1_000 });
    let waits = runtime.spawn(async move { chain.await.unwrap() + fourth.wait().unwrap() });
    assert_eq!(runtime.block_on(waits).unwrap(), 1_111);
}

#[test]
fn cancelling_and_panicking() {
    let executor = Executor::new(2);
    let drops = Arc::new(AtomicUsize::new(0));
    for round in 0..500 {
        let guard = Guard(drops.clone());
        let endless = executor.spawn(async move {
            let _guard = guard;
            loop {
                give_way().await;
            }
        });
        let waiting = executor.spawn({
            let guard = Guard(drops.clone());
            async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            }
        });
        let failing: TaskHandle<()> = executor.spawn(async move {
            give_way().await;
            std::panic::resume_unwind(Box::new(round));
        });
        if round % 2 == 0 {
            give_way().wait();
        }
        endless.cancel();
        waiting.abort_handle().cancel();
        waiting.cancel();
        assert!(matches!(block_on_simple(endless), Err(TaskError::Cancelled)));
        assert!(matches!(block_on_simple(waiting), Err(TaskError::Cancelled)));
        let panic = block_on_simple(failing).unwrap_err();
        let payload = panic.into_panic().expect("it panicked").into_payload();
        assert_eq!(payload.downcast_ref(), Some(&round));
        assert_eq!(drops.load(SeqCst), 2 * (round + 1));
    }
}

#[test]
fn dropping_the_executor_drops_what_is_queued_and_what_wakes_later() {
    for threads in [0, 1, 3] {
        let executor = Executor::new(threads);
        let drops = Arc::new(AtomicUsize::new(0));
        let bells: Arc<Mutex<Vec<Waker>>> = Arc::default();
        let asleep = |_| {
            let (guard, bells) = (Guard(drops.clone()), bells.clone());
            executor.spawn(async move {
                let _guard = guard;
                poll_fn(|cx| {
                    bells.lock().unwrap().push(cx.waker().clone());
                    Poll::<()>::Pending
                })
                .await;
            })
        };
        let busy = |_| {
            let guard = Guard(drops.clone());
            executor.spawn(async move {
                let _guard = guard;
                loop {
                    give_way().await;
                }
            })
        };
        let handles: Vec<_> = (0..100).map(asleep).chain((0..100).map(busy)).collect();
        while threads > 0 && bells.lock().unwrap().len() < 100 {
            thread::yield_now();
        }
        drop(executor);
        let expected = if threads > 0 { 100 } else { 200 };
        assert_eq!(drops.load(SeqCst), expected, "the busy ones were queued, the others wait");
        // Their wake-ups come too late: the queue is gone, so each is dropped instead of queued.
        let bells = std::mem::take(&mut *bells.lock().unwrap());
        bells.into_iter().for_each(Waker::wake);
        assert_eq!(drops.load(SeqCst), 200);
        for handle in handles {
            assert!(matches!(block_on_simple(handle), Err(TaskError::Cancelled)));
        }
        wait_until_alone(&drops);
    }
}

/// Nobody has the handle and nobody has a waker: such a task comes back once more, to be dropped.
#[test]
fn a_task_that_nothing_can_wake_is_dropped() {
    let executor = Executor::new(1);
    let drops = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let guard = Guard(drops.clone());
        drop(executor.spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        }));
    }
    wait_until_alone(&drops);
    assert_eq!(drops.load(SeqCst), 100);
}

/// Handles may be polled by anything, moved, polled by another waker, and dropped at any moment.
#[test]
fn handles_move_between_waiters() {
    let executor = Executor::new(2);
    let outputs = Arc::new(AtomicUsize::new(0));
    for round in 0..300 {
        let output = Guard(outputs.clone());
        let mut handle = executor.spawn(async move {
            for _ in 0..round % 5 {
                give_way().await;
            }
            output
        });
        let mut cx = std::task::Context::from_waker(Waker::noop());
        let early = pin!(&mut handle).poll(&mut cx);
        match (early, round % 3) {
            (Poll::Ready(output), _) => drop(output.unwrap()),
            (Poll::Pending, 0) => drop(handle),
            (Poll::Pending, 1) => drop(thread::spawn(move || handle.wait().unwrap()).join().unwrap()),
            (Poll::Pending, _) => drop(executor.spawn(handle).wait().unwrap().unwrap()),
        }
    }
    drop(executor);
    wait_until_alone(&outputs);
    assert_eq!(outputs.load(SeqCst), 300);
}
