//! Waiting for a change of what was read.
//!
//! A transaction that cannot go on puts one [`Watcher`] to every variable it has read, and marks the variable's word. A commit that
//! locks a marked word takes its watchers along, and calls them when it has unlocked everything (`word.rs` says why none is missed).
//! Nobody else calls them: so a transaction is run again only if something that it read has changed.

use super::log::Reads;
use super::var::Kept;
use ropewalk_core::blocked::{self, Reason, address_of};
use ropewalk_core::prim::{Arc, BriefLock};
use std::task::{Context, Poll, Waker};

/// Who waits: the same one at each of its variables.
pub(super) struct Watcher(BriefLock<Seen>);

#[derive(Default)]
struct Seen {
    changed: bool,
    waker: Option<Waker>,
}

impl Watcher {
    /// One of the variables has changed. The first time there is somebody to wake.
    pub(super) fn change(&self) -> Option<Waker> {
        let mut seen = self.0.lock();
        seen.changed = true;
        seen.waker.take()
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone(); // code of the user: not under the lock
        let mut seen = self.0.lock();
        if seen.changed {
            return Poll::Ready(());
        }
        let _old = seen.waker.replace(waker);
        drop(seen); // before the old one
        Poll::Pending
    }
}

/// A transaction that waits. Dropped, it waits no more.
pub(super) struct Watch {
    watcher: Arc<Watcher>,
    variables: Vec<Kept>,
}

/// What was tried.
pub(super) enum Watching {
    Yes(Watch),
    /// Something has changed already.
    Changed,
    /// Nothing that was read can ever change.
    Never,
}

impl Watch {
    /// Begins to wait for a change of what was read. The caller's transaction is under way.
    pub(super) fn begin(reads: &mut Reads) -> Watching {
        let mut watch =
            Self { watcher: Arc::new(Watcher(BriefLock::new(Seen::default()))), variables: Vec::new() };
        for read in reads.each() {
            // SAFETY: it was read by a transaction that is under way (V2).
            let core = unsafe { &*read.core };
            let Some(kept) = core.keep() else { continue }; // without handles nobody will change it
            core.watchers.lock().push(watch.watcher.clone());
            watch.variables.push(kept);
            if !core.word.watch().is_free_at(read.version) {
                return Watching::Changed;
            }
        }
        if watch.variables.is_empty() { Watching::Never } else { Watching::Yes(watch) }
    }

    pub(super) fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let changed = self.watcher.poll(cx);
        if changed.is_pending() {
            blocked::note(
                Reason::Transaction,
                self.variables.first().map_or(0, |first| address_of(&**first)),
            );
        }
        changed
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for variable in &self.variables {
            variable.watchers.lock().retain(|other| !Arc::ptr_eq(other, &self.watcher));
        }
    }
}
