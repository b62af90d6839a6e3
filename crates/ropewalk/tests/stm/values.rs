//! When values are dropped, and what their code may do.

use crate::kit::panic_of;
use ropewalk::Wait;
use ropewalk::stm::{TMVar, TQueue, TVar, atomically};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

/// Counts those that are alive.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, SeqCst);
        Self(alive.clone())
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Nobody else has a transaction: what is replaced, undone or thrown away is dropped at once.
#[test]
fn dropped_at_once_if_nobody_looks() {
    // Other tests of this program have transactions: a child has not.
    if !crate::kit::is_child() {
        let output = crate::kit::run_as_child("values::dropped_at_once_if_nobody_looks", |_| ());
        assert!(output.status.success(), "{}", crate::kit::stderr_of(&output));
        return;
    }
    let alive = Arc::new(AtomicUsize::new(0));
    let count = |expected: usize, when: &str| assert_eq!(alive.load(SeqCst), expected, "{when}");
    let variable = TVar::new(Counted::new(&alive));
    count(1, "made");
    atomically(|tx| tx.write(&variable, Counted::new(&alive))).wait();
    count(1, "replaced");
    atomically(|tx| {
        tx.write(&variable, Counted::new(&alive))?;
        tx.write(&variable, Counted::new(&alive))
    })
    .wait();
    count(1, "replaced twice");
    let _undone: Result<(), ()> = ropewalk::stm::try_atomically(|tx| {
        tx.write(&variable, Counted::new(&alive))?;
        Ok(Err(()))
    })
    .wait();
    count(1, "undone");
    assert!(
        panic_of(|| atomically(|tx| -> ropewalk::stm::TxResult<()> {
            tx.write(&variable, Counted::new(&alive))?;
            panic!("on purpose")
        })
        .wait())
        .is_some()
    );
    count(1, "panicked");
    atomically(|tx| {
        tx.or_else(
            |tx| {
                tx.write(&variable, Counted::new(&alive))?;
                tx.retry()
            },
            |_| Ok(()),
        )
    })
    .wait();
    count(1, "or else");
    let kept = atomically(|tx| tx.read_arc(&variable)).wait();
    atomically(|tx| tx.write(&variable, Counted::new(&alive))).wait();
    count(2, "one is kept");
    drop(kept);
    count(1, "and not any more");
    let other = variable.clone();
    drop(variable);
    count(1, "a handle is left");
    drop(other);
    count(0, "and none");
}

/// A transaction that is under way may look at it until it is over.
#[test]
fn dropped_when_the_last_one_who_may_look_is_done() {
    let alive = Arc::new(AtomicUsize::new(0));
    let variable = TVar::new(Counted::new(&alive));
    atomically(|tx| {
        tx.read_with(&variable, |seen| {
            thread::scope(|s| {
                s.spawn(|| atomically(|tx| tx.write(&variable, Counted::new(&alive))).wait());
            });
            assert_eq!(seen.0.load(SeqCst), 2, "ours is there as long as we look at it");
        })
    })
    .wait();
    crate::kit::until("the old one is dropped", || alive.load(SeqCst) == 1);
    drop(variable);
    crate::kit::until("all are dropped", || alive.load(SeqCst) == 0);
}

#[test]
fn a_variable_that_is_dropped_inside_is_there_until_the_end() {
    let alive = Arc::new(AtomicUsize::new(0));
    atomically(|tx| {
        let inner = TVar::new(Counted::new(&alive));
        tx.read_with(&inner, |_| ())?;
        tx.write(&inner, Counted::new(&alive))?;
        drop(inner);
        Ok(())
    })
    .wait();
    crate::kit::until("all are dropped", || alive.load(SeqCst) == 0);
}

/// A destructor may do what it likes: it runs after the transaction.
#[test]
fn destructors_may_have_transactions_of_their_own() {
    struct Counts(TVar<u32>);
    impl Drop for Counts {
        fn drop(&mut self) {
            atomically(|tx| tx.modify(&self.0, |count| *count += 1)).wait();
        }
    }
    let drops = TVar::new(0);
    let variable = TVar::new(Counts(drops.clone()));
    atomically(|tx| tx.write(&variable, Counts(drops.clone()))).wait();
    atomically(|tx| {
        tx.write(&variable, Counts(drops.clone()))?;
        tx.write(&variable, Counts(drops.clone()))
    })
    .wait();
    drop(variable);
    crate::kit::until("all have counted", || drops.get() == 4);
}

/// The transaction is over by then: the panic is reported, and that is all.
#[test]
fn a_destructor_that_panics_undoes_nothing() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("on purpose: in a destructor");
        }
    }
    let variables = [TVar::new(Some(Panics)), TVar::new(Some(Panics))];
    atomically(|tx| variables.iter().try_for_each(|variable| tx.write(variable, None))).wait();
    let empty = |tx: &mut ropewalk::stm::Tx, at: usize| tx.read_with(&variables[at], Option::is_none);
    assert!(atomically(|tx| Ok(empty(tx, 0)? && empty(tx, 1)?)).wait(), "it is committed");
}

/// A value that has handles of variables in it.
#[test]
fn a_chain_of_variables_is_dropped_without_a_deep_stack() {
    let queue = TQueue::new();
    atomically(|tx| queue.extend(tx, 0..200_000)).wait();
    assert_eq!(atomically(|tx| queue.pop(tx)).wait(), 0);
    drop(queue);

    // The usual list: a node has the variable that has the next one.
    struct Node(#[expect(dead_code, reason = "it is there to be dropped")] TVar<Option<Arc<Node>>>);
    let list = (0..100_000).fold(None, |next, _| Some(Arc::new(Node(TVar::new(next)))));
    thread::Builder::new().stack_size(256 << 10).spawn(move || drop(list)).unwrap().join().unwrap();

    #[derive(Clone)]
    struct Link(Option<TMVar<u32>>);
    let last = TMVar::new(1);
    let link = TVar::new(Link(Some(last.clone())));
    let taken = atomically(|tx| match tx.replace(&link, Link(None))?.0 {
        Some(next) => next.take(tx),
        None => tx.retry(),
    });
    assert_eq!(taken.wait(), 1);
    assert!(atomically(|tx| last.is_empty(tx)).wait());
}
