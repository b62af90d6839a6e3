//! A tree of strands, cancelled at its root. What each of them waits for unwinds, so destructors run, the leaves' first; one may
//! even wait. When the root has been joined, nothing of the tree is left: no strand, no lock, no file.

use ropewalk::strand::{self, StrandError};
use ropewalk::{Wait, sync::Notify};
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const FAN: usize = 3;
const DEPTH: usize = 5;
/// 1 + 3 + 9 + ... strands.
const STRANDS: usize = (FAN.pow(DEPTH as u32 + 1) - 1) / (FAN - 1);

/// What became of everything in the tree.
#[derive(Default)]
struct Account {
    made: AtomicUsize,
    destroyed: AtomicUsize,
    /// Destructors that waited before they were done.
    waited: AtomicUsize,
    /// Strands that have nothing left to do but wait.
    settled: AtomicUsize,
    all_settled: Notify,
}

/// Something that must be given back: each strand has one on its stack.
struct Held<'a> {
    account: &'a Account,
    depth: usize,
}

impl<'a> Held<'a> {
    fn new(account: &'a Account, depth: usize) -> Self {
        account.made.fetch_add(1, SeqCst);
        Self { account, depth }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        assert!(strand::panicking(), "it goes because its strand is interrupted");
        if self.depth == DEPTH {
            strand::yield_now(); // a leaf's has to wait, and may
            self.account.waited.fetch_add(1, SeqCst);
        }
        self.account.destroyed.fetch_add(1, SeqCst);
    }
}

fn main() {
    let account = Account::default();
    ropewalk::run(|| {
        strand::scope(|s| {
            let root = s.spawn(|| grow(&account, 0));
            account.all_settled.notified().wait();
            println!("{} strands wait, each with something in its hands", account.made.load(SeqCst));
            assert_eq!(account.destroyed.load(SeqCst), 0);

            root.cancel();
            let end = root.try_join(); // returns when the whole tree is gone
            println!("the root says: {}", end.as_ref().expect_err("it had no chance to end"));
            assert!(matches!(end, Err(StrandError::Cancelled)));
            assert!(s.is_empty());
        });
    });
    let [made, destroyed, waited] =
        [account.made, account.destroyed, account.waited].map(AtomicUsize::into_inner);
    println!("{destroyed} of {made} destructors ran, {waited} of them waited");
    assert_eq!([made, destroyed, waited], [STRANDS, STRANDS, FAN.pow(DEPTH as u32)]);
}

/// A strand with children, which have children, down to the leaves. All of them wait for ever.
fn grow(account: &Account, depth: usize) {
    let _held = Held::new(account, depth);
    strand::scope(|s| {
        for _ in 0..if depth < DEPTH { FAN } else { 0 } {
            drop(s.spawn(|| grow(account, depth + 1))); // the handle; the child is the scope's
        }
        if account.settled.fetch_add(1, SeqCst) + 1 == STRANDS {
            account.all_settled.notify_one();
        }
        pending().wait()
    })
}
