//! Stop a task. Its future is dropped where it waits, destructors included; who waits for it is told.

use ropewalk::TaskError;
use std::future::pending;
use std::sync::mpsc;

/// Says when it is dropped.
struct Guard(mpsc::Sender<&'static str>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.send("cleaned up").expect("somebody listens");
    }
}

fn main() {
    ropewalk::block_on(async {
        a_task_that_waits().await;
        a_task_that_only_computes().await;
    });
}

/// It is dropped at once: no poll of it comes after.
async fn a_task_that_waits() {
    let (events, seen) = mpsc::channel();
    let task = ropewalk::spawn(async move {
        let guard = Guard(events);
        guard.0.send("waiting for ever").expect("somebody listens");
        pending::<()>().await;
    });
    while seen.try_recv() != Ok("waiting for ever") {
        ropewalk::yield_now().await;
    }
    task.cancel();
    let end = task.await;
    println!("the handle says: {end:?}; the destructor said: {:?}", seen.recv());
    assert!(matches!(end, Err(TaskError::Cancelled)));
}

/// A task between two suspensions is not torn away from under its feet; it can ask, and leave early.
async fn a_task_that_only_computes() {
    let (events, seen) = mpsc::channel();
    let task = ropewalk::spawn(async move {
        events.send("computing").expect("somebody listens");
        let mut steps = 0_u64;
        while !ropewalk::task::is_cancelled() {
            steps += 1;
        }
        steps
    });
    // The right to cancel can be kept apart from the right to the result.
    let abort = task.abort_handle();
    std::thread::spawn(move || {
        seen.recv().expect("it computes");
        abort.cancel();
    });
    // It noticed and returned, so there is a result.
    let steps = task.await.expect("it finished by itself");
    println!("asked to stop after {steps} steps, it gave its result");
}
