//! Task locals: seen inside their scope, wherever that runs, and nowhere else.

mod inherit;
mod places;

use crate::kit::{ON_PURPOSE, guarded, on_every_kind, panic_of, quiet};
use ropewalk::{block_on, spawn, task_local, yield_now};
use std::cell::Cell;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

task_local! {
    /// Documented.
    static NUMBER: u32;
    #[allow(dead_code)]
    pub(crate) static OTHER: u32;
    static SHARED: Rc<Cell<u32>>; // need not be Send
    static TEXT: String
}

#[test]
fn declarations_may_be_empty_or_end_without_a_semicolon() {
    task_local! {}
    task_local! { static ONE: u8 }
    ONE.sync_scope(1, || assert_eq!((ONE.get(), TEXT.try_get().is_err()), (1, true)));
}

#[test]
fn a_variable_is_set_in_its_scope_only() {
    guarded("scope", || {
        assert!(NUMBER.try_get().is_err());
        block_on(async {
            let inner = NUMBER.scope(1, async {
                assert_eq!(NUMBER.get(), 1);
                yield_now().await;
                let deeper = NUMBER.scope(2, async {
                    yield_now().await;
                    NUMBER.with(|number| *number)
                });
                assert_eq!((deeper.await, NUMBER.get()), (2, 1));
                assert!(OTHER.try_with(|_| ()).is_err());
                "done"
            });
            assert!(NUMBER.try_get().is_err(), "not before it is polled");
            assert_eq!(inner.await, "done");
            assert!(NUMBER.try_get().is_err());
        });
    });
}

#[test]
fn sync_scopes_nest_and_end_with_a_panic_too() {
    quiet();
    guarded("sync", || {
        NUMBER.sync_scope(1, || {
            let told = panic_of(|| NUMBER.sync_scope(2, || panic!("{ON_PURPOSE}: {}", NUMBER.get())));
            assert_eq!(told.unwrap(), format!("{ON_PURPOSE}: 2"));
            assert_eq!(NUMBER.get(), 1);
            OTHER.sync_scope(5, || assert_eq!((NUMBER.get(), OTHER.get()), (1, 5)));
        });
        assert!(NUMBER.try_get().is_err());
    });
}

#[test]
fn asking_where_it_is_not_set() {
    let error = NUMBER.try_get().unwrap_err();
    assert!(error.to_string().contains("NUMBER") && error.to_string().contains("scope"), "{error}");
    assert_eq!(NUMBER.try_with(|_| ()).unwrap_err(), error);
    for told in [panic_of(|| NUMBER.get()).unwrap(), panic_of(|| NUMBER.with(|_| ())).unwrap()] {
        assert!(told.contains("NUMBER"), "{told}");
    }
    assert!(format!("{NUMBER:?}").contains("NUMBER"));
}

/// A value need be neither Send nor Clone, and may change inside.
#[test]
fn values_of_one_thread() {
    let cell = Rc::new(Cell::new(1));
    SHARED.sync_scope(cell.clone(), || SHARED.with(|shared| shared.set(shared.get() + 1)));
    assert_eq!((cell.get(), Rc::strong_count(&cell)), (2, 1), "and is dropped with its scope");
}

/// What asks in its destructor sees the value: when it is done, cancelled, panicked or dropped unpolled.
#[test]
fn destructors_see_the_value() {
    quiet();
    static SEEN: AtomicU32 = AtomicU32::new(0);
    struct Asks;
    impl Drop for Asks {
        fn drop(&mut self) {
            SEEN.fetch_add(NUMBER.try_get().unwrap_or(1000), SeqCst);
        }
    }
    let seen = || SEEN.swap(0, SeqCst);
    on_every_kind(|kind| {
        let runtime = kind.build();
        let asks = Asks;
        runtime.block_on(NUMBER.scope(1, async move { drop(asks) }));
        assert_eq!(seen(), 1, "in the body");
        let asks = Asks;
        // Kept until it is done: dropped with the future, in the poll that ends it.
        runtime.block_on(NUMBER.scope(2, Keeps(asks, async { yield_now().await })));
        assert_eq!(seen(), 2, "at the end");
        let asks = Asks;
        let task = runtime.spawn(NUMBER.scope(4, async move {
            let _asks = asks;
            pending::<()>().await;
        }));
        let cancelled = runtime.block_on(async {
            yield_now().await;
            task.cancel();
            task.await
        });
        assert!(cancelled.unwrap_err().is_cancelled());
        assert_eq!(seen(), 4, "cancelled");
        let asks = Asks;
        let task = runtime.spawn(NUMBER.scope(8, async move {
            let _asks = asks;
            panic!("{ON_PURPOSE}: with a local");
        }));
        assert!(runtime.block_on(task).unwrap_err().is_panic());
        assert_eq!(seen(), 8, "panicked");
        let asks = Asks;
        drop(NUMBER.scope(16, async move { drop(asks) }));
        assert_eq!(seen(), 16, "never polled");
        let asks = Asks;
        drop(runtime.spawn(NUMBER.scope(32, async move {
            let _asks = asks;
            pending::<()>().await;
        })));
        drop(runtime);
        assert_eq!(seen(), 32, "its runtime ended");
    });
}

struct Keeps<T, F>(T, F);
impl<T, F: Future> Future for Keeps<T, F> {
    type Output = F::Output;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the second field is pinned with us; the first one is not touched.
        unsafe { self.map_unchecked_mut(|this| &mut this.1) }.poll(cx)
    }
}

/// A poll that panics leaves nothing bound, and the scope may be dropped after it.
#[test]
fn a_panicking_poll_unbinds() {
    quiet();
    let mut scope =
        Box::pin(NUMBER.scope(1, poll_fn(|_| -> Poll<()> { panic!("{ON_PURPOSE}: {}", NUMBER.get()) })));
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(panic_of(|| scope.as_mut().poll(&mut cx)).unwrap(), format!("{ON_PURPOSE}: 1"));
    assert!(NUMBER.try_get().is_err());
    drop(scope);
    assert!(NUMBER.try_get().is_err());
}

#[test]
fn a_scope_polled_after_its_end_panics() {
    let mut scope = pin!(NUMBER.scope(1, async { NUMBER.get() }));
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(scope.as_mut().poll(&mut cx), Poll::Ready(1));
    assert!(panic_of(|| scope.as_mut().poll(&mut cx)).unwrap().contains("after its end"));
}

/// Two tasks with the same variable do not see each other's, however they are interleaved and stolen.
#[test]
fn tasks_do_not_see_each_other() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let tasks = (0..64u32).map(|me| {
            let body = NUMBER.scope(me, async move {
                for _ in 0..50 {
                    assert_eq!(NUMBER.get(), me);
                    assert!(spawn(async { NUMBER.try_get() }).await.unwrap().is_err(), "it is not inherited");
                    yield_now().await;
                }
                NUMBER.get()
            });
            runtime.spawn(body)
        });
        let tasks: Vec<_> = tasks.collect();
        let sum: u32 = runtime.block_on(async {
            let mut sum = 0;
            for task in tasks {
                assert!(NUMBER.try_get().is_err());
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 63 * 64 / 2);
    });
}
