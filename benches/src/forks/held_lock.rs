//! Rayon's issue 592: a thread that waits in `join` for a stolen half takes on whatever else there is to do, on its stack. If it holds a
//! lock, and what it takes on wants that lock, it would wait for itself. A strand that waits is suspended, and everything else is on
//! stacks of its own.
//!
//! The program below can always end, if each of its halves is a thread of its own:
//!
//! | who | does |
//! |---|---|
//! | the holder | takes the lock, forks the helper, waits until that has begun, and joins it; then it gives the lock back |
//! | the helper | waits until the wanter has begun |
//! | the first | waits until the helper has begun, forks the wanter, waits until that has begun, and joins it |
//! | the wanter | looks who has the lock: it is held, as all the others wait until the wanter has begun; says that it has; takes the lock |
//!
//! With three of rayon's threads there is only one way to go: the first, the holder and the helper have one each when the wanter is forked,
//! so it is taken by the only one that is not kept: the holder's, which waits for the helper.

use super::{Forks, Rayon, Ropewalk};
use ropewalk::sync::Mutex;
use ropewalk::{TaskId, Wait, strand};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, ThreadId};

/// Something that calls are on, one above the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stack {
    Thread(ThreadId),
    Strand(TaskId),
}

trait Stacks: Forks {
    /// The one that this is called on.
    fn stack() -> Stack;

    /// Lets others run.
    fn pause();

    fn until(begun: &AtomicBool) {
        while !begun.load(SeqCst) {
            Self::pause();
        }
    }
}

impl Stacks for Rayon {
    fn stack() -> Stack {
        Stack::Thread(thread::current().id())
    }

    fn pause() {
        thread::yield_now();
    }
}

impl Stacks for Ropewalk {
    fn stack() -> Stack {
        Stack::Strand(strand::id().expect("halves are on strands"))
    }

    fn pause() {
        strand::yield_now();
    }
}

/// Who holds the lock when the wanter wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// Somebody further down on the same stack, who cannot go on before the wanter has returned.
    Below,
    Elsewhere,
}

fn play<F: Stacks>() -> Holder {
    let (lock, held_on) = (Mutex::new(()), OnceLock::new());
    let (helper, wanter) = (AtomicBool::new(false), AtomicBool::new(false));
    let hold = || {
        let _held = lock.try_lock().expect("nobody wants it yet");
        held_on.set(F::stack()).expect("it is taken once");
        let help = || {
            helper.store(true, SeqCst);
            F::until(&wanter);
        };
        F::join(|| F::until(&helper), help);
    };
    let want = || {
        assert!(lock.try_lock().is_err(), "its holder waits for the helper, and that one for this");
        let holder = if held_on.get() == Some(&F::stack()) { Holder::Below } else { Holder::Elsewhere };
        wanter.store(true, SeqCst);
        if holder == Holder::Elsewhere {
            drop(lock.lock().wait()); // above its holder this would never return
        }
        holder
    };
    let first = || {
        F::until(&helper);
        F::join(|| F::until(&wanter), want).1
    };
    F::join(first, hold).0
}

#[test]
fn a_thread_of_rayon_that_holds_a_lock_takes_on_who_wants_it() {
    let pool = Rayon::new(3);
    for _ in 0..20 {
        assert_eq!(pool.run(play::<Rayon>), Holder::Below);
    }
}

#[test]
fn a_strand_that_holds_a_lock_takes_on_nobody() {
    for workers in [1, 2, 3, 16] {
        let runtime = Ropewalk::new(workers);
        for _ in 0..100 {
            assert_eq!(runtime.run(play::<Ropewalk>), Holder::Elsewhere, "{workers} workers");
        }
    }
}
