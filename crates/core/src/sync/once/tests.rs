use super::*;
use crate::block_on_simple;
use crate::kit::waiting;
use crate::prim::{self, real};
use core::future::pending;
use std::sync::Arc;

// mutation: once-ready-not-released
// - in crates/core/src/sync/once.rs: `cell.state.store(READY, Ordering::Release);`
// + `cell.state.store(READY, Ordering::Relaxed);`
// mutation: once-ready-not-acquired
// - in crates/core/src/sync/once.rs: `(self.state.load(Ordering::Acquire) == READY) // READY, then the value`
// + `(self.state.load(Ordering::Relaxed) == READY)`
// mutation: once-ready-wakes-nobody
// - in crates/core/src/sync/once.rs: `cell.queue.wake_all();`
// + `;`
#[test]
fn model_once_two_make_it_once() {
    prim::model(|| {
        let cell = Arc::new(OnceCell::new());
        let made = Arc::new(real::AtomicUsize::new(0));
        let get = {
            let (cell, made) = (cell.clone(), made.clone());
            move |id| {
                let init = || async {
                    made.fetch_add(1, real::Ordering::SeqCst);
                    id
                };
                *block_on_simple(cell.get_or_init(init))
            }
        };
        let thread = prim::thread::spawn({
            let get = get.clone();
            move || get(1)
        });
        let here = get(2);
        assert_eq!(thread.join().unwrap(), here);
        assert_eq!(made.load(real::Ordering::SeqCst), 1);
    });
}

// mutation: once-a-dropped-claim-wakes-nobody
// - in crates/core/src/sync/once.rs: `self.0.queue.wake_one(); // OC3`
// + `;`
// mutation: once-a-dropped-claim-is-kept
// - in crates/core/src/sync/once.rs: `self.0.state.store(EMPTY, Ordering::Release);`
// + `self.0.state.store(RUNNING, Ordering::Release);`
#[test]
fn model_once_dropping_the_initialiser_lets_another_do_it() {
    prim::model(|| {
        let cell = Arc::new(OnceCell::new());
        let first = waiting({
            let cell = cell.clone();
            async move { *cell.get_or_init(pending::<u32>).await }
        });
        let thread = prim::thread::spawn({
            let cell = cell.clone();
            move || *block_on_simple(cell.get_or_init(|| async { 5 }))
        });
        drop(first);
        assert_eq!(thread.join().unwrap(), 5);
    });
}

#[cfg(not(any(loom, shuttle)))]
mod plain {
    use super::*;
    use crate::kit::{Census, poll};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn set_get_take() {
        let mut cell = OnceCell::new();
        assert_eq!(cell.get(), None);
        assert_eq!(cell.set(1), Ok(()));
        assert_eq!(cell.set(2), Err(SetError::Ready(2)));
        *cell.get_mut().unwrap() += 9;
        assert_eq!((cell.take(), cell.get()), (Some(10), None));
        assert_eq!(cell.set(3), Ok(()));
        assert_eq!(cell.into_inner(), Some(3));
        assert_eq!(OnceCell::from("x").get(), Some(&"x"));
    }

    #[test]
    fn the_value_is_dropped_once() {
        let census = Census::default();
        let cell = OnceCell::from(census.citizen(1));
        assert_eq!(census.alive(), 1);
        let second = cell.set(census.citizen(2)).unwrap_err().into_inner();
        assert_eq!((second.1, census.alive()), (2, 2));
        drop((cell, second));
        assert_eq!(census.alive(), 0);
    }

    #[test]
    fn while_one_makes_it_nobody_sets_it_and_the_others_wait() {
        let cell = OnceCell::new();
        let first = waiting(cell.get_or_init(pending));
        assert_eq!(cell.set(2), Err(SetError::Running(2)));
        let mut second = waiting(cell.get_or_init(|| async { 3 }));
        let third = waiting(cell.get_or_init(|| async { 4 }));
        drop(first);
        drop(third);
        assert_eq!(poll(&mut second).map(|value| *value), core::task::Poll::Ready(3));
    }

    #[test]
    fn a_chosen_one_that_is_dropped_passes_it_on() {
        let cell = OnceCell::new();
        let first = waiting(cell.get_or_init(pending));
        let second = waiting(cell.get_or_init(|| async { 3 }));
        let mut third = waiting(cell.get_or_init(|| async { 4 }));
        drop(first); // chooses the second
        drop(second);
        assert_eq!(poll(&mut third).map(|value| *value), core::task::Poll::Ready(4));
    }

    #[test]
    fn a_failure_and_a_panic_leave_it_empty() {
        let cell = OnceCell::<u32>::new();
        assert_eq!(block_on_simple(cell.get_or_try_init(|| async { Err("no") })), Err("no"));
        let bang =
            AssertUnwindSafe(|| block_on_simple(cell.get_or_init(|| async { panic!("bang") })).min(&0));
        assert!(catch_unwind(|| *bang()).is_err());
        assert_eq!(block_on_simple(cell.get_or_init(|| async { 1 })), &1);
    }

    #[test]
    fn lazy_starts_again_after_it_was_cancelled() {
        let calls = real::AtomicUsize::new(0);
        let lazy = crate::sync::Lazy::new(|| async {
            if calls.fetch_add(1, real::Ordering::SeqCst) == 0 { pending().await } else { 7 }
        });
        drop(waiting(lazy.get()));
        assert_eq!(lazy.ready(), None);
        assert_eq!(block_on_simple(lazy.get()), &7);
        assert_eq!(block_on_simple(lazy.get()), &7);
        assert_eq!(calls.load(real::Ordering::SeqCst), 2);
    }

    #[test]
    fn it_may_be_shared_if_the_value_may() {
        fn may_travel<T: Send + Sync>(_: &T) {}
        may_travel(&OnceCell::<u32>::new());
    }
}
