//! Those who wait for each other for ever: found, named and reported (feature `deadlock_detection`).
//!
//! With the feature on, each wait for a `sync::Mutex`, `RwLock` or `Semaphore` of one permit, and for the end of a task, a
//! job or a thread, is known, and so is who holds these locks. A thread of its own looks for cycles after somebody began
//! to wait; what it finds is printed on standard error, once, with the names of those who wait, where they were started
//! and where they ask for the lock. It costs a lock of the whole process per wait: for tests, and for hunting.
//!
//! ```
//! use ropewalk::{Runtime, Wait, deadlock, sync::Mutex};
//!
//! static LOCK: Mutex<u32> = Mutex::new(0);
//!
//! let runtime = Runtime::builder().worker_threads(0).build()?;
//! let _task = runtime.spawn(async {
//!     let _guard = LOCK.lock().await;
//!     let _again = LOCK.lock().await; // never
//! });
//! runtime.run_until_stalled()?;
//! deadlock::check();
//! let found = deadlock::deadlocks();
//! assert!(found[0].to_string().contains("waits for a mutex at "));
//! # Ok::<(), ropewalk::RuntimeError>(())
//! ```
//!
//! **A report is never false**: a wait counts only if nothing else can end it. One with a timeout, in a `select!` or a
//! `join!`, or one whose task was asked to stop, does not count. A writer needs every reader to finish, so one reader that
//! needs the writer is enough; a reader needs the writer, or the writers that came before it. A semaphore counts while
//! it has one permit in all. Owned guards are made for being passed on and have no owner: what they hold does not count.
//! A borrowed guard counts for whoever took it; do not pass it to another task in a program that is looked at so. Somebody
//! from outside can end a deadlock that was reported: by cancelling one of the tasks, or by adding permits.

mod seat;

pub use ropewalk_core::deadlock::{Deadlock, Member};
pub(crate) use seat::{as_thread_of, known_as};

use crate::runtime::complain;
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

/// Until then most polls that were under way are over.
const SOON: Duration = Duration::from_millis(20);
/// There is a cycle, but not all of it was at rest.
const LATER: Duration = Duration::from_millis(250);

type Hook = Arc<dyn Fn(&Deadlock) + Send + Sync>;

static ASKED: AtomicBool = AtomicBool::new(false);
static HOOK: Lock<Option<Hook>> = Lock::new(None);

/// Every deadlock that was found in this process, the oldest first.
pub fn deadlocks() -> Vec<Arc<Deadlock>> {
    ropewalk_core::deadlock::found()
}

/// Looks for deadlocks now and reports those that are new; they are the answer. Those who have not suspended yet are
/// not counted.
pub fn check() -> Vec<Arc<Deadlock>> {
    look().0
}

/// Calls `hook` with each deadlock that is found from now on, after it was printed, on the thread that found it. It
/// replaces the hook that was set before.
///
/// ```
/// ropewalk::deadlock::on_deadlock(|found| eprintln!("{} of them", found.members.len()));
/// ```
pub fn on_deadlock(hook: impl Fn(&Deadlock) + Send + Sync + 'static) {
    let before = HOOK.lock().replace(Arc::new(hook));
    drop(before);
}

fn look() -> (Vec<Arc<Deadlock>>, bool) {
    let checked = ropewalk_core::deadlock::check();
    let hook = HOOK.lock().clone();
    for deadlock in &checked.new {
        complain(format_args!("{deadlock}"));
        if let Some(hook) = &hook {
            hook(deadlock);
        }
    }
    (checked.new, checked.suspicious)
}

/// Waits are known from now on.
pub(crate) fn install() {
    ropewalk_core::deadlock::install(seat::waits, seat::runs, ask);
}

/// Somebody begins to wait: the one who looks is told. Where no thread is to be had, only [`check`] looks.
fn ask() {
    static LOOKS: OnceLock<Option<Thread>> = OnceLock::new();
    let start = || {
        let watch = || {
            loop {
                thread::park();
                while ASKED.swap(false, Relaxed) {
                    thread::sleep(SOON);
                    while look().1 {
                        thread::sleep(LATER);
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("ropewalk-deadlock".to_owned()).spawn(watch);
        thread.ok().map(|thread| thread.thread().clone())
    };
    if !ASKED.swap(true, Relaxed)
        && let Some(thread) = LOOKS.get_or_init(start)
    {
        thread.unpark();
    }
}
