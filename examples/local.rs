//! Tasks that are not `Send`: they stay on the worker they are spawned on, on a runtime with any number of workers.

use ropewalk::{Runtime, Wait};
use std::cell::RefCell;
use std::rc::Rc;
use std::thread;

fn main() {
    let runtime = Runtime::builder().worker_threads(2).build().expect("two threads can be had");

    // Only the local tasks touch the `Rc`. The task that starts them is an ordinary one, and free to move.
    let log = runtime.spawn(async {
        let family = ropewalk::spawn_local(async {
            let log = Rc::new(RefCell::new(Vec::new()));
            let children: Vec<_> = (0..3)
                .map(|child| ropewalk::spawn_local(write(child, log.clone())).expect("we are on a worker"))
                .collect();
            for child in children {
                child.await.expect("it neither panics nor is it cancelled");
            }
            Rc::into_inner(log).expect("the children are gone").into_inner()
        });
        // The handle is `Send`, because what it gives is.
        family.expect("we are on a worker").await.expect("it neither panics nor is it cancelled")
    });
    let log = log.wait().expect("it neither panics nor is it cancelled");
    println!("{log:#?}");
    assert_eq!(log.len(), 9);

    // Off a worker there is nowhere to stay: the future comes back in the error, and nothing is lost.
    let error = ropewalk::spawn_local(async { "and now?" }).expect_err("this thread is not a worker");
    println!("{error}");
    assert_eq!(error.0.wait(), "and now?");
}

async fn write(child: usize, log: Rc<RefCell<Vec<String>>>) {
    let home = thread::current().id();
    for line in 0..3 {
        log.borrow_mut().push(format!("child {child}, line {line}"));
        ropewalk::yield_now().await;
        assert_eq!(thread::current().id(), home, "it never moves");
    }
}
