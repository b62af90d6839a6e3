use super::*;
use crate::runtime::hire;
use crate::strand::{self, Builder, Strand, StrandError};
use crate::{Runtime, Wait, context};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;

/// Four strands that go on until `over`, of which two are sent to `station`.
fn four(pool: &crate::Pool, station: &Station, over: &Arc<AtomicBool>) -> Vec<Strand<'static, ()>> {
    let until_it_is_over = |over: Arc<AtomicBool>| {
        while !over.load(Relaxed) {
            strand::yield_now();
        }
    };
    let one = |over: Arc<AtomicBool>| Builder::new().pool(pool).spawn(move || until_it_is_over(over));
    let strands = (0..4).map(|_| one(over.clone())).collect();
    while station.post.coming() < 2 {
        thread::yield_now();
    }
    strands
}

/// No thread is to be had for a station that strands were sent to already: they start elsewhere.
#[test]
fn what_was_sent_to_where_nobody_came_starts_elsewhere() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let pool = runtime.pool("main").unwrap();
    let (over, strands) = (Arc::new(AtomicBool::new(false)), Mutex::new(Vec::new()));
    let refused = pool.inner().resize(2, |_, station| {
        *strands.lock().unwrap() = four(&pool, &station, &over);
        Err(io::Error::other("no threads"))
    });
    assert_eq!(refused.unwrap_err().to_string(), "no threads");
    let inner = pool.inner();
    let post = &inner.stations().nth(1).unwrap().post;
    assert_eq!((post.status(), post.coming()), (Status::Vacant, 0));
    over.store(true, Relaxed);
    strands.into_inner().unwrap().into_iter().for_each(|strand| strand.join());
}

/// A worker has turned to leave, is called back, is sent strands, and then its pool closes: the next one at its station tells them.
#[test]
fn what_was_sent_to_who_was_called_back_is_told_that_the_pool_closes() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let pool = crate::Pool::builder().name("other").build(&runtime.handle()).unwrap();
    let (inner, nobody) = (pool.inner(), |_, _| Ok(()));
    inner.resize(2, nobody).unwrap();
    let station = inner.stations().nth(1).unwrap().clone();
    let leaving = Box::new(Worker::new(inner.clone(), station.clone(), true));
    inner.resize(1, nobody).unwrap();
    inner.resize(2, nobody).unwrap();
    let strands = four(&pool, &station, &Arc::default());
    inner.close();
    assert!(inner.dismiss(leaving), "there is something for the next one");
    hire(inner, station).unwrap();
    pool.shutdown().wait().unwrap();
    let told = strands.into_iter().map(|strand| strand.try_join());
    assert!(told.into_iter().all(|told| matches!(told, Err(StrandError::Shutdown))));
}

/// A stand-in finds strands that nobody has started: it sends them to those who stay.
#[test]
fn no_strand_starts_at_a_stand_in() {
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    let pool = runtime.pool("main").unwrap();
    let inner = pool.inner();
    inner.reinforced.store(true, Relaxed);
    inner.reinforce(2, hire).unwrap();
    let home = || {
        strand::yield_now();
        context::with_worker(|worker| worker.map(Worker::index))
    };
    let strands: Vec<_> = (0..256).map(|_| Builder::new().pool(&pool).spawn(home)).collect();
    let homes: Vec<_> = strands.into_iter().map(|strand| strand.join().unwrap()).collect();
    assert!(homes.iter().all(|home| *home < 2), "{homes:?}");
}
