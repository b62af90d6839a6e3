//! Strands: the tree and its rules, cancellation, unwinding, placement.

#[path = "../kit/mod.rs"]
mod kit;

mod at_once;
mod cancelling;
mod colours;
mod forgotten;
mod forks;
mod heard;
mod leaving;
mod nurseries;
mod placement;
mod pools;
#[cfg(feature = "roaming")]
mod roaming;
mod soundness;
mod tree;
mod unwinding;

use ropewalk::Wait;
use ropewalk::strand::{self, Scope, Strand};
use ropewalk::sync::Notify;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Longer than any test.
const AGES: Duration = Duration::from_secs(3600);

/// What `f` panics with.
fn thrown<T>(f: impl FnOnce() -> T) -> Box<dyn Any + Send> {
    catch_unwind(AssertUnwindSafe(|| drop(f()))).expect_err("it panics")
}

/// The text of a panic.
fn text(payload: Box<dyn Any + Send>) -> String {
    let string = payload.downcast::<String>().map(|text| *text);
    string.unwrap_or_else(|payload| payload.downcast::<&str>().expect("it says something").to_string())
}

/// Waits when it is dropped.
struct WaitsInDrop<'a>(&'a Notify);

impl Drop for WaitsInDrop<'_> {
    fn drop(&mut self) {
        self.0.notified().wait();
    }
}

/// A strand that is suspended in the middle of unwinding, until `go`.
fn one_that_unwinds<'scope>(
    s: &'scope Scope<'scope, '_>,
    began: &'scope Notify,
    go: &'scope Notify,
) -> Strand<'scope, ()> {
    let unwinds = s.spawn(|| {
        let _waits = WaitsInDrop(go);
        began.notify_one();
        strand::sleep(AGES);
    });
    began.notified().wait();
    unwinds.cancel();
    (0..20).for_each(|_| strand::yield_now());
    unwinds
}
