//! The real post and queue; sender, worker and pool are toys that follow the steps of `placement.rs`, `Worker` and `Pool`.

use super::super::entry::ledger::{Ledger, Token};
use super::super::injector::Injector;
use super::super::park::ThreadParker;
use super::*;
use ropewalk_core::prim::{Lock, model, thread};
use std::sync::Arc;

struct Station {
    post: Post,
    inbox: Injector<Token>,
    parker: ThreadParker,
    census: Lock<()>,
    ledger: Arc<Ledger>,
}

impl Station {
    fn new(tokens: usize) -> Arc<Self> {
        let (post, ledger) = (Post::new(), Ledger::new(tokens));
        post.set(Status::Active);
        let (inbox, parker, census) = (Injector::new(), ThreadParker::default(), Lock::new(()));
        Arc::new(Self { post, inbox, parker, census, ledger })
    }

    /// As `Worker::place`. False: it starts where it is.
    fn send(&self, number: usize) -> bool {
        let sent = self.post.expect();
        if sent {
            self.inbox.push(self.ledger.issue(number));
            self.parker.unpark();
        }
        sent
    }

    /// As `Pool::resize`.
    fn resize(&self, to: Status) {
        let census = self.census.lock();
        if self.post.status() != Status::Vacant {
            self.post.set(to);
        }
        drop(census);
        self.parker.unpark();
    }

    /// As `Worker::work`, `may_go` and `Pool::vacate`: starts what came, until it leaves. How many it has started.
    fn work(&self) -> usize {
        let mut started = 0;
        loop {
            while let Some(task) = self.inbox.pop() {
                self.post.arrived();
                self.ledger.redeem(task);
                started += 1;
            }
            if !self.post.may_leave() {
                self.parker.park(None);
                continue;
            }
            let _census = self.census.lock();
            if self.post.may_leave() {
                self.post.set(Status::Vacant);
                return started;
            }
        }
    }
}

/// A strand is sent while the worker retires: it starts there, or it was not sent.
// mutation: sent-whatever-the-status
// - in crates/ropewalk/src/sched/post.rs: `(status_of(word) == Status::Active).then_some(word + COMING)`
// + `Some(word + COMING)`
// mutation: sent-after-the-look
// - in crates/ropewalk/src/sched/post.rs: `self.change(|word| (status_of(word) == Status::Active).then_some(word + COMING))`
// + `self.status() == Status::Active && self.change(|word| Some(word + COMING))`
// mutation: retiring-forgets-who-comes
// - in crates/ropewalk/src/sched/post.rs: `Some(word & !STATUS | status as usize)`
// + `Some(status as usize)`
// mutation: leaves-whoever-comes
// - in crates/ropewalk/src/sched/post.rs: `self.0.load(Acquire) == Status::Retiring as usize`
// + `self.status() == Status::Retiring`
#[test]
fn model_a_strand_is_sent_to_a_worker_that_leaves() {
    model(|| {
        let station = Station::new(1);
        let (sender, pool) = (station.clone(), station.clone());
        let sender = thread::spawn(move || sender.send(1));
        let pool = thread::spawn(move || pool.resize(Status::Retiring));
        let started = station.work();
        pool.join().expect("the pool is fine");
        let sent = sender.join().expect("the sender is fine");
        assert_eq!(started, usize::from(sent), "it was sent to where nobody is");
        assert!(station.inbox.is_empty());
        assert!(!station.post.expect(), "nobody is there");
        assert_eq!((station.post.status(), station.post.coming()), (Status::Vacant, 0));
    });
}

/// The worker is called back while it turns to leave, and something is sent to it: it goes on, or a new one would.
// mutation: leaves-though-called-back
// - in crates/ropewalk/src/sched/post.rs: `self.0.load(Acquire) == Status::Retiring as usize`
// + `self.coming() == 0`
#[test]
fn model_a_worker_is_called_back_and_sent_a_strand() {
    model(|| {
        let station = Station::new(1);
        station.resize(Status::Retiring);
        let pool = station.clone();
        let pool = thread::spawn(move || {
            pool.resize(Status::Active);
            let (called_back, sent) = (pool.post.status() == Status::Active, pool.send(1));
            pool.resize(Status::Retiring);
            (called_back, sent)
        });
        let started = station.work();
        let (called_back, sent) = pool.join().expect("the pool is fine");
        assert_eq!(sent, called_back, "who was called back takes work");
        assert_eq!(started, usize::from(sent), "it was sent to where nobody is");
        assert_eq!((station.post.status(), station.post.coming()), (Status::Vacant, 0));
    });
}

#[cfg(not(any(loom, shuttle)))]
#[test]
fn a_post_counts_and_is_left() {
    let post = Post::new();
    assert!(!post.expect() && !post.may_leave());
    post.set(Status::Active);
    assert!(post.expect() && post.expect() && !post.may_leave());
    post.set(Status::Retiring);
    assert_eq!((post.status(), post.coming()), (Status::Retiring, 2));
    assert!(!post.expect() && !post.may_leave());
    post.arrived();
    post.arrived();
    assert!(post.may_leave());
    assert_eq!(post.coming(), 0);
}
