//! Values that belong to a request, not to a thread: seen by everything inside it, and by its children if they say so.

use ropewalk::{Wait, spawn, spawn_blocking, strand, task_local, thread, yield_now};
use std::sync::Arc;

task_local! {
    /// Stays with the task that handles the request.
    static USER: &'static str;
    /// Goes to everything that is started on its behalf.
    #[inherit]
    static TRACE: Arc<str>;
}

#[ropewalk::main(threads = 2)]
async fn main() {
    let requests = [("ann", "trace-1"), ("bob", "trace-2")]
        .map(|(user, trace)| spawn(USER.scope(user, TRACE.scope(trace.into(), handle()))));
    for request in requests {
        println!("{}", request.await.expect("it does not panic"));
    }
    println!("outside: {}", USER.try_get().expect_err("nobody set it here"));
}

async fn handle() -> String {
    yield_now().await; // perhaps on another worker from here on
    let user = USER.get();
    let seen = [
        spawn(async { TRACE.get() }).await.expect("a task"),
        spawn_blocking(|| TRACE.get()).await.expect("a job"),
        thread::spawn(|| TRACE.get()).expect("a thread").await.expect("a thread"),
        strand::spawn_local(|| spawn(async { TRACE.get() }).wait())
            .expect("on a worker")
            .await
            .expect("a strand")
            .expect("a task"),
    ];
    assert!(seen.iter().all(|trace| *trace == TRACE.get()), "{seen:?}");
    assert!(spawn(async { USER.try_get() }).await.expect("a task").is_err(), "the user is not inherited");
    format!("{user}: task, job, thread and strand saw {}", TRACE.get())
}
