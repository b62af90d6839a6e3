//! Trees grown at random: spawn, join, cancel, panic, shield, sleep, destructors that wait; and an exact account of every end.

use crate::kit::{ON_PURPOSE, guarded};
use ropewalk::strand::{self, Interrupted, StrandError};
use ropewalk::{Runtime, UnhandledPanic};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// What became of all strands.
#[derive(Debug, Default)]
struct Account {
    begun: AtomicU64,
    /// How those ended that began.
    returned: AtomicU64,
    panicked: AtomicU64,
    interrupted: AtomicU64,
    /// Destructors that ran, one for each that began.
    destroyed: AtomicU64,
    /// All that were started, and what they were given that is gone.
    started: AtomicU64,
    let_go: AtomicU64,
}

/// How one child ended, by its own account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum End {
    NeverBegan,
    Runs,
    Returned,
    Panicked,
    Interrupted,
}

const ENDS: [End; 5] = [End::NeverBegan, End::Runs, End::Returned, End::Panicked, End::Interrupted];

/// What a child has with it: it is there until the child is gone, whether that has run or not.
struct Lot<'a>(&'a Account, Arc<AtomicU8>);

impl<'a> Lot<'a> {
    fn new(account: &'a Account) -> Self {
        account.started.fetch_add(1, SeqCst);
        Self(account, Arc::new(AtomicU8::new(End::NeverBegan as u8)))
    }
}

impl Drop for Lot<'_> {
    fn drop(&mut self) {
        self.0.let_go.fetch_add(1, SeqCst);
    }
}

/// What its handle says is what became of it.
fn check(told: &Result<(), StrandError>, slot: &AtomicU8) {
    let end = ENDS[usize::from(slot.load(SeqCst))];
    let agree = match told {
        Ok(()) => end == End::Returned,
        Err(StrandError::Panicked(_)) => end == End::Panicked,
        Err(StrandError::Cancelled) => matches!(end, End::NeverBegan | End::Interrupted),
        Err(_) => false,
    };
    assert!(agree, "a child ended as {end:?}, and its handle says {told:?}");
}

struct Destroyed<'a>(&'a Account, u64);

impl Drop for Destroyed<'_> {
    fn drop(&mut self) {
        self.0.destroyed.fetch_add(1, SeqCst); // if the strand was cancelled and does not unwind yet, it does here
        match self.1 % 3 {
            0 => strand::yield_now(),
            1 => strand::sleep(Duration::from_micros(self.1 % 50)),
            _ => {}
        }
    }
}

/// xorshift: the same tree for the same seed, as far as the scheduler lets it.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn live(lot: Lot<'_>, seed: u64, depth: u32) {
    let account = lot.0;
    lot.1.store(End::Runs as u8, SeqCst);
    account.begun.fetch_add(1, SeqCst);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let _destroyed = Destroyed(account, seed);
        act(account, &mut Dice(seed | 1), depth);
    }));
    let (counter, end) = match &ended {
        Ok(()) => (&account.returned, End::Returned),
        Err(payload) if payload.is::<Interrupted>() => (&account.interrupted, End::Interrupted),
        Err(_) => (&account.panicked, End::Panicked),
    };
    counter.fetch_add(1, SeqCst);
    lot.1.store(end as u8, SeqCst);
    if let Err(payload) = ended {
        resume_unwind(payload);
    }
}

/// Children, each of which is joined, or cancelled and joined, or dropped, or forgotten.
macro_rules! grow {
    ($scope:ident, $account:ident, $dice:ident, $count:ident, $depth:ident, $family:ident) => {{
        let mut children = Vec::new();
        for number in 0..$count {
            let seed = $dice.0.wrapping_mul(6364136223846793005).wrapping_add(number);
            let (lot, has_sibling) = (Lot::new($account), $dice.throw(5) == 0);
            let slot = lot.1.clone();
            let child = $scope.spawn(move || {
                if has_sibling {
                    let lot = Lot::new($account); // perhaps the scope is being left
                    drop($scope.spawn(move || live(lot, !seed, 0)));
                }
                live(lot, seed, $depth - 1);
            });
            children.push((child, slot));
        }
        for (child, slot) in children {
            match $dice.throw(6) {
                0 => drop(child),
                1 => std::mem::forget(child),
                2 => {
                    child.cancel();
                    check(&child.try_join(), &slot);
                }
                3 => child.join(),
                _ => check(&child.try_join(), &slot),
            }
        }
        if $dice.throw(2) == 0 {
            $scope.join_all();
        }
        let _alive = $family($scope);
    }};
}
fn act(account: &Account, dice: &mut Dice, depth: u32) {
    for _ in 0..1 + dice.throw(3) {
        match dice.throw(10) {
            0 => strand::yield_now(),
            1 => strand::sleep(Duration::from_micros(dice.throw(100))),
            2 => strand::shield(|| strand::sleep(Duration::from_micros(20))),
            3 if depth < 4 => panic!("{ON_PURPOSE}: {depth}"),
            4 => strand::current().unwrap().cancel(),
            5..=8 if depth > 0 => {
                let (count, seed, fails) = (1 + dice.throw(4), dice.0, dice.throw(2) == 0);
                let family = |s: &strand::Scope<'_, '_>| s.len();
                let mut dice = Dice(seed);
                let grown = catch_unwind(AssertUnwindSafe(|| {
                    if fails {
                        strand::nursery(|s| grow!(s, account, dice, count, depth, family))
                    } else {
                        strand::scope(|s| grow!(s, account, dice, count, depth, family))
                    }
                }));
                if let Err(payload) = grown
                    && dice.throw(2) == 0
                {
                    resume_unwind(payload);
                }
            }
            _ => {}
        }
    }
}

/// For so long on each runtime; `ROPEWALK_FUZZ_SECONDS` says otherwise.
fn span() -> Duration {
    let seconds = std::env::var("ROPEWALK_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(2.0))
}

#[cfg(feature = "roaming")]
fn builder(roam: bool) -> ropewalk::Builder {
    // SAFETY: nothing in this file keeps anything of its thread across a wait.
    unsafe { Runtime::builder().roaming_strands(roam) }
}

#[cfg(not(feature = "roaming"))]
fn builder(_: bool) -> ropewalk::Builder {
    Runtime::builder()
}

fn fuzz(workers: usize, roam: bool) {
    guarded(format!("{workers} workers"), || {
        let runtime = builder(roam)
            .worker_threads(workers)
            .unhandled_panic(UnhandledPanic::Report)
            .strand_stack_size(256 << 10) // sanitizers have large frames
            .build()
            .unwrap();
        let (begin, mut seed) = (Instant::now(), 0x5eed_0f5f_7a4d + workers as u64);
        while begin.elapsed() < span() {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let account = Account::default();
            let root = catch_unwind(AssertUnwindSafe(|| runtime.run(|| live(Lot::new(&account), seed, 5))));
            drop(root);
            let counts = [&account.returned, &account.panicked, &account.interrupted];
            let ended: u64 = counts.iter().map(|count| count.load(SeqCst)).sum();
            assert_eq!(account.begun.load(SeqCst), ended, "seed {seed}: {account:?}");
            assert_eq!(account.destroyed.load(SeqCst), ended, "seed {seed}: {account:?}");
            assert_eq!(account.let_go.load(SeqCst), account.started.load(SeqCst), "seed {seed}: {account:?}");
            assert!(ended <= account.started.load(SeqCst), "seed {seed}: {account:?}");
        }
    });
}

#[test]
fn trees_on_one_worker() {
    fuzz(1, false);
}

#[test]
fn trees_on_two_workers() {
    fuzz(2, false);
}

#[test]
fn trees_on_sixteen_workers() {
    fuzz(16, false);
}

#[cfg(feature = "roaming")]
#[test]
fn trees_that_roam_on_two_workers() {
    fuzz(2, true);
}

#[cfg(feature = "roaming")]
#[test]
fn trees_that_roam_on_sixteen_workers() {
    fuzz(16, true);
}
