use super::*;
use crate::block_on_simple;
use crate::prim;

// mutation: cancel-wakes-nobody
// - in crates/core/src/sync/cancel/tree.rs: `unsafe { node.as_ref() }.queue.close();`
// + `let _ = unsafe { node.as_ref() };`
// mutation: cancel-forgets-the-children
// - in crates/core/src/sync/cancel/tree.rs: `doom(child, &mut held);`
// + `detach(child, &held);`
#[test]
fn model_cancel_against_who_waits_below() {
    prim::model(|| {
        let token = CancellationToken::new();
        let child = token.child_token();
        let thread = prim::thread::spawn(move || token.cancel());
        block_on_simple(child.cancelled());
        assert!(child.is_cancelled());
        thread.join().unwrap();
    });
}

// mutation: cancel-a-late-child-does-not-ask
// - in crates/core/src/sync/cancel/tree.rs: `let born_cancelled = self.is_cancelled(); // under the lock`
// + `let born_cancelled = false;`
#[test]
fn model_cancel_against_a_new_child() {
    prim::model(|| {
        let token = CancellationToken::new();
        let other = token.clone();
        let thread = prim::thread::spawn(move || other.cancel());
        let child = token.child_token();
        thread.join().unwrap();
        assert!(child.is_cancelled());
    });
}

// mutation: cancel-returns-while-others-are-at-it
// - in crates/core/src/sync/cancel/tree.rs: `if !self.is_cancelled() {`
// + `if self.is_cancelled() { return; } {`
#[test]
fn model_cancel_twice_and_each_returns_when_all_below_are_cancelled() {
    prim::model(|| {
        let top = CancellationToken::new();
        let middle = top.child_token();
        let bottom = middle.child_token();
        let (here, there) = (middle.clone(), bottom.clone());
        let thread = prim::thread::spawn(move || {
            here.cancel();
            assert!(there.is_cancelled());
        });
        top.cancel();
        assert!(middle.is_cancelled() && bottom.is_cancelled());
        thread.join().unwrap();
    });
}

// mutation: cancel-frees-what-is-pinned
// - in crates/core/src/sync/cancel/tree.rs: `let kept = !kin.ghost || kin.pinned || matches!(kin.place, Place::Doomed);`
// + `let kept = !kin.ghost || matches!(kin.place, Place::Doomed);`
// mutation: cancel-frees-the-doomed
// - in crates/core/src/sync/cancel/tree.rs: `let kept = !kin.ghost || kin.pinned || matches!(kin.place, Place::Doomed);`
// + `let kept = !kin.ghost || kin.pinned;`
// mutation: cancel-unpins-without-freeing
// - in crates/core/src/sync/cancel/tree.rs: `kin(self.1, &held, |kin| kin.pinned = false);`
// + `kin(self.1, &held, |kin| kin.pinned = true);`
#[test]
fn model_cancel_against_dropping_what_is_cancelled() {
    prim::model(|| {
        let top = CancellationToken::new();
        let child = top.child_token();
        let thread = prim::thread::spawn(move || drop(child));
        top.cancel();
        thread.join().unwrap();
    });
}

// mutation: cancel-a-ghost-forgets-its-child
// - in crates/core/src/sync/cancel/tree.rs: `kin(parent, held, |kin| kin.children.push_back(child));`
// + `let _ = parent;`
#[test]
fn model_cancel_against_dropping_the_one_between() {
    prim::model(|| {
        let top = CancellationToken::new();
        let middle = top.child_token();
        let bottom = middle.child_token();
        let thread = prim::thread::spawn(move || drop(middle));
        top.cancel();
        assert!(bottom.is_cancelled());
        thread.join().unwrap();
    });
}

// mutation: cancel-a-ghost-with-handles
// - in crates/core/src/sync/cancel/tree.rs: `if self.handles.fetch_sub(1, Ordering::AcqRel) != 1 {`
// + `if self.handles.fetch_sub(1, Ordering::AcqRel) > 2 {`
#[test]
fn model_cancel_dropping_parent_child_and_clone() {
    prim::model(|| {
        let top = CancellationToken::new();
        let (child, clone) = (top.child_token(), top.clone());
        let thread = prim::thread::spawn(move || drop(child));
        let another = prim::thread::spawn(move || drop(clone));
        drop(top);
        thread.join().unwrap();
        another.join().unwrap();
    });
}

#[cfg(not(any(loom, shuttle)))]
mod plain {
    use super::*;
    use crate::kit::{Counter, panicking_waker, poll, poll_with, waiting};
    use core::future::{pending, ready};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const DEEP: usize = 100_000;

    #[test]
    fn down_but_not_up() {
        let top = CancellationToken::new();
        let (left, right) = (top.child_token(), top.child_token());
        let below = left.child_token();
        left.cancel();
        left.cancel();
        let states = [&top, &left, &right, &below].map(CancellationToken::is_cancelled);
        assert_eq!(states, [false, true, false, true]);
        assert!(left.child_token().is_cancelled());
        block_on_simple(left.child_token().cancelled());
        drop(left);
        top.cancel();
        assert!(right.is_cancelled() && top.is_cancelled());
    }

    #[test]
    fn who_is_below_a_dropped_token_stays_below_those_above() {
        let top = CancellationToken::new();
        let middle = top.child_token();
        let (one, two, three) = (middle.child_token(), middle.child_token(), middle.child_token());
        drop(middle); // holds three together
        drop(one); // still two
        assert!(!two.is_cancelled());
        let below = two.child_token();
        drop(two); // one left: the dropped one goes
        top.cancel();
        assert!(three.is_cancelled() && below.is_cancelled());
    }

    #[test]
    fn a_dropped_root_cancels_nothing() {
        let top = CancellationToken::new();
        let (one, two) = (top.child_token(), top.child_token());
        drop(top);
        one.cancel();
        assert!(!two.is_cancelled());
        let below = two.child_token();
        two.cancel();
        assert!(below.is_cancelled());
    }

    fn chain() -> Vec<CancellationToken> {
        let mut tokens = vec![CancellationToken::new()];
        while tokens.len() < DEEP {
            tokens.push(tokens[tokens.len() - 1].child_token());
        }
        tokens
    }

    /// On a small stack, so that recursion would show.
    fn on_a_small_stack(f: impl FnOnce() + Send + 'static) {
        std::thread::Builder::new().stack_size(64 << 10).spawn(f).unwrap().join().unwrap();
    }

    #[test]
    fn a_deep_chain_is_cancelled_from_the_top() {
        on_a_small_stack(|| {
            let tokens = chain();
            let (counter, waker) = Counter::new();
            let mut waits: Vec<_> =
                tokens.iter().rev().take(3).map(|token| Box::pin(token.cancelled())).collect();
            waits.iter_mut().for_each(|wait| assert!(poll_with(wait, &waker).is_pending()));
            tokens[0].cancel();
            assert!(tokens.iter().all(CancellationToken::is_cancelled));
            assert_eq!(counter.count(), 3);
        });
    }

    #[test]
    fn a_deep_chain_is_dropped_in_any_order() {
        on_a_small_stack(|| {
            drop(chain()); // from the top
            chain().into_iter().rev().for_each(drop); // from the bottom
            let mut tokens = chain();
            let (top, bottom) = (tokens.remove(0), tokens.pop().unwrap());
            let mut odd = false;
            tokens.retain(|_| {
                odd = !odd;
                odd
            });
            drop(tokens);
            top.cancel();
            assert!(bottom.is_cancelled());
        });
    }

    #[test]
    fn a_wide_tree_is_cancelled() {
        let top = CancellationToken::new();
        let children: Vec<_> = (0..1_000).map(|_| top.child_token()).collect();
        let grandchildren: Vec<_> =
            children.iter().flat_map(|child| [child.child_token(), child.child_token()]).collect();
        drop(children);
        top.cancel();
        assert!(grandchildren.iter().all(CancellationToken::is_cancelled));
    }

    /// A chain of which only the last is kept does not grow; ghosts hold at least two together. Random trees, against sets.
    #[test]
    fn random_trees_cancel_what_a_simple_model_says() {
        let mut seed = 7_u64;
        let mut random = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % n
        };
        for _ in 0..200 {
            // Per token: its parent in the model, whether it is cancelled, and the token while it is kept.
            let mut model: Vec<(Option<usize>, bool)> = vec![(None, false)];
            let mut tokens = vec![Some(CancellationToken::new())];
            for _ in 0..60 {
                let pick = random(tokens.len());
                match (random(5), &tokens[pick]) {
                    (0..=2, Some(token)) => {
                        tokens.push(Some(token.child_token()));
                        model.push((Some(pick), model[pick].1));
                    }
                    (3, Some(_)) => tokens[pick] = None,
                    (4, Some(token)) if random(4) == 0 => {
                        token.cancel();
                        model[pick].1 = true;
                        for id in pick + 1..model.len() {
                            model[id].1 |= model[id].0.is_some_and(|parent| model[parent].1);
                        }
                    }
                    _ => {}
                }
                for (token, (_, cancelled)) in tokens.iter().zip(&model) {
                    assert!(token.as_ref().is_none_or(|token| token.is_cancelled() == *cancelled));
                }
            }
        }
    }

    #[test]
    fn run_until_cancelled() {
        let token = CancellationToken::new();
        assert_eq!(block_on_simple(token.run_until_cancelled(ready(1))), Some(1));
        let mut runs = waiting(token.run_until_cancelled(pending::<()>()));
        token.cancel();
        assert_eq!(poll(&mut runs), Poll::Ready(None));
        let never = poll_fn(|_| -> Poll<()> { unreachable!("not even polled") });
        assert_eq!(block_on_simple(token.run_until_cancelled(never)), None);
        block_on_simple(token.clone().cancelled_owned());
    }

    #[test]
    fn a_guard_cancels_unless_it_is_disarmed() {
        let token = CancellationToken::new();
        let same = token.clone().drop_guard().disarm();
        assert!(!token.is_cancelled());
        drop(same.drop_guard());
        assert!(token.is_cancelled());
    }

    #[test]
    fn a_waker_that_panics_leaves_all_cancelled_and_woken() {
        let top = CancellationToken::new();
        let children: Vec<_> = (0..40).map(|_| top.child_token()).collect();
        let mut bad = Box::pin(children[3].cancelled());
        assert!(poll_with(&mut bad, &panicking_waker()).is_pending());
        let (counter, waker) = Counter::new();
        let mut good: Vec<_> = children.iter().map(|child| Box::pin(child.cancelled())).collect();
        good.iter_mut().for_each(|wait| assert!(poll_with(wait, &waker).is_pending()));
        assert!(catch_unwind(AssertUnwindSafe(|| top.cancel())).is_err());
        assert!(children.iter().all(CancellationToken::is_cancelled));
        assert_eq!(counter.count(), 40);
    }

    /// A waker that uses the tree: it would deadlock under its lock.
    #[test]
    fn wakers_are_called_without_the_lock() {
        struct Uses(CancellationToken);
        impl std::task::Wake for Uses {
            fn wake(self: std::sync::Arc<Self>) {
                assert!(self.0.child_token().is_cancelled());
                self.0.cancel();
            }
        }
        let token = CancellationToken::new();
        let mut waits = Box::pin(token.cancelled());
        assert!(poll_with(&mut waits, &std::sync::Arc::new(Uses(token.clone())).into()).is_pending());
        token.cancel();
        assert!(poll(&mut waits).is_ready() && poll(&mut waits).is_ready());
    }

    #[test]
    fn tokens_and_futures_may_travel() {
        fn may_travel<T: Send + Sync>(_: &T) {}
        let token = CancellationToken::new();
        may_travel(&token);
        may_travel(&token.cancelled());
        may_travel(&token.run_until_cancelled(ready(1)));
    }
}
