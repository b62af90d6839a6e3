use super::*;
use crate::Runtime;
use crate::strand::{self, Builder};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;

/// No thread is to be had for a station that strands were sent to already: they start elsewhere.
#[test]
fn what_was_sent_to_where_nobody_came_starts_elsewhere() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let pool = runtime.pool("main").unwrap();
    let (over, strands) = (Arc::new(AtomicBool::new(false)), Mutex::new(Vec::new()));
    let refused = pool.inner().resize(2, |_, station| {
        for _ in 0..4 {
            let over = over.clone();
            let until_it_is_over = move || {
                while !over.load(Relaxed) {
                    strand::yield_now();
                }
            };
            strands.lock().unwrap().push(Builder::new().pool(&pool).spawn(until_it_is_over));
        }
        while station.post.coming() < 2 {
            thread::yield_now();
        }
        Err(io::Error::other("no threads"))
    });
    assert_eq!(refused.unwrap_err().to_string(), "no threads");
    let inner = pool.inner();
    let post = &inner.stations().nth(1).unwrap().post;
    assert_eq!((post.status(), post.coming()), (Status::Vacant, 0));
    over.store(true, Relaxed);
    strands.into_inner().unwrap().into_iter().for_each(|strand| strand.join());
}
