//! `OnceCell`: made once, whoever gives up on the way.

use super::{Census, Citizen, Dice, poll_with, steps};
use crate::account::{self, End};
use ropewalk_core::sync::OnceCell;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Poll, Waker};

/// Waits for that many polls.
async fn polls(count: usize) {
    let mut left = count;
    poll_fn(move |_| {
        left = left.saturating_sub(1);
        if left == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

type Getting<'a> = Pin<Box<dyn Future<Output = Result<&'a Citizen, ()>> + 'a>>;

/// At most one initialiser at a time; one that fails or is dropped leaves the cell to another; nobody waits for nobody.
#[test]
fn one_at_a_time_makes_it_and_nobody_is_forgotten() {
    let (mut dice, census) = (Dice::new(5), Census::default());
    for round in 0..steps() / 100 {
        let (cell, running) = (OnceCell::new(), Cell::new(0));
        let mut getting: Vec<Option<Getting<'_>>> = (0..5).map(|_| None).collect();
        for _ in 0..40 {
            let id = dice.below(getting.len());
            if dice.one_in(5) {
                if getting[id].take().is_some() {
                    account::ended(End::Waiting);
                }
                continue;
            }
            let (length, fails) = (1 + dice.below(4), dice.one_in(3));
            let (cell, running, census) = (&cell, &running, &census);
            let future = getting[id].get_or_insert_with(|| {
                account::made();
                Box::pin(cell.get_or_try_init(move || async move {
                    let _one = Running::start(running);
                    polls(length).await;
                    if fails { Err(()) } else { Ok(census.citizen(round as u64)) }
                }))
            });
            if let Poll::Ready(got) = poll_with(future.as_mut(), Waker::noop()) {
                assert!(got.is_err() || cell.get().is_some());
                getting[id] = None;
                account::ended(End::Completed);
            }
        }
        // Polled to the end, everybody gets an answer: with a value all have it.
        for _ in 0..200 {
            for slot in &mut getting {
                if slot.as_mut().is_some_and(|it| poll_with(it.as_mut(), Waker::noop()).is_ready()) {
                    *slot = None;
                    account::ended(End::Completed);
                }
            }
        }
        assert!(getting.iter().all(Option::is_none), "somebody waits for nobody");
        assert_eq!(census.alive(), usize::from(cell.get().is_some()));
        drop(getting);
        drop(cell);
        assert_eq!(census.alive(), 0);
    }
    account::report("once", "values");
}

struct Running<'a>(&'a Cell<usize>);

impl<'a> Running<'a> {
    fn start(count: &'a Cell<usize>) -> Self {
        assert_eq!(count.replace(1), 0, "two make it at a time");
        Self(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(0);
    }
}
