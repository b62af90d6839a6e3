//! Who unwinds: `thread::panicking` speaks of a thread, on which many stacks take turns.
//!
//! A stack that waits in a destructor while it unwinds is suspended with the thread's count of panics raised. As long as there is
//! one, `thread::panicking` says yes to all others too; what it then knows of itself is up to each of them (`seat.rs`, S3). When it
//! says no, that is true of all. A thread that drives a runtime in a destructor, while it unwinds, is such a stack to what runs there.

use crate::runtime::wake_safely;
use std::cell::{Cell, RefCell};
use std::sync::Once;
use std::task::Waker;
use std::thread::panicking;

thread_local! {
    /// Stacks of this thread that are suspended and, as far as is known, unwind. Those that were left behind stay.
    static SUSPENDED: Cell<u32> = const { Cell::new(0) };
    /// Strands that were not interrupted because it was not known whether they unwind themselves.
    static SPARED: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
    /// How often those were woken, and one: a strand remembers when it was put there.
    static ROUND: Cell<u64> = const { Cell::new(1) };
}

/// Whether what runs now unwinds; `None`: it may be somebody else.
#[inline]
pub(super) fn is_certain() -> Option<bool> {
    if !panicking() {
        return Some(false);
    }
    (suspended() == 0).then_some(true)
}

#[cold]
#[inline(never)] // TL1
fn suspended() -> u32 {
    SUSPENDED.get()
}

/// Calls `suspend`, which lets other stacks run; `unwinds` says whether this one does.
#[inline]
pub(crate) fn apart(unwinds: bool, suspend: impl FnOnce()) {
    if !unwinds {
        return suspend();
    }
    let suspended = Suspended::new();
    suspend();
    drop(suspended);
    // From now on it runs. Whoever was spared because of it is polled after it: when it has given its thread back it may be known again
    // who unwinds. If not, they are spared again.
    wake_spared();
}

/// A thread begins to run others. If it unwinds itself, for a runtime without threads may be driven in a destructor, that is none of their business
/// until the answer is dropped. If it does not, they may have been spared because it did.
pub(crate) fn drive() -> Option<Suspended> {
    if panicking() {
        return Some(Suspended::new()); // and those who were spared stay so: nothing has changed
    }
    wake_spared();
    None
}

/// One more who unwinds, but does not run, until this is dropped.
#[must_use]
pub(crate) struct Suspended(());

impl Suspended {
    fn new() -> Self {
        SUSPENDED.set(SUSPENDED.get() + 1);
        Self(())
    }
}

impl Drop for Suspended {
    fn drop(&mut self) {
        SUSPENDED.set(SUSPENDED.get() - 1);
    }
}

fn wake_spared() {
    let spared = SPARED.try_with(RefCell::take).unwrap_or_default(); // a thread that ends may still drive
    if !spared.is_empty() {
        ROUND.set(ROUND.get() + 1);
        spared.into_iter().for_each(wake_safely);
    }
}

/// `waker` is called when it is known again who unwinds, if it is not now. `since`: in which round it was left here last.
#[inline(never)] // TL1
pub(super) fn wake_later(waker: &Waker, since: &Cell<u64>) {
    if is_certain().is_none() && since.replace(ROUND.get()) != ROUND.get() {
        let waker = waker.clone();
        let _thread_ends = SPARED.try_with(|spared| spared.borrow_mut().push(waker));
    }
}

/// From now on strands are told of the panics that begin on them.
pub(super) fn know_of_panics() {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| {
        if std::thread::panicking() {
            return; // hooks cannot be changed now
        }
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            super::with_seat(|_, seat| seat.set_unwinding(true));
            before(panic);
        }));
    });
}
