//! Trees grown at random: spawn, join, cancel, panic, shield, sleep, destructors that wait; and an exact account of every end.

use crate::kit::{ON_PURPOSE, guarded};
use ropewalk::strand::{self, Interrupted, StrandError};
use ropewalk::{Runtime, UnhandledPanic};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
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

fn live(account: &Account, seed: u64, depth: u32) {
    account.begun.fetch_add(1, SeqCst);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let _destroyed = Destroyed(account, seed);
        act(account, &mut Dice(seed | 1), depth);
    }));
    let counter = match &ended {
        Ok(()) => &account.returned,
        Err(payload) if payload.is::<Interrupted>() => &account.interrupted,
        Err(_) => &account.panicked,
    };
    counter.fetch_add(1, SeqCst);
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
            children.push($scope.spawn(move || live($account, seed, $depth - 1)));
        }
        for child in children {
            match $dice.throw(6) {
                0 => drop(child),
                1 => std::mem::forget(child),
                2 => {
                    child.cancel();
                    let _ended: Result<(), StrandError> = child.try_join();
                }
                3 => child.join(),
                _ => drop(child.try_join()),
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
            let root = catch_unwind(AssertUnwindSafe(|| runtime.run(|| live(&account, seed, 5))));
            drop(root);
            let counts = [&account.returned, &account.panicked, &account.interrupted];
            let ended: u64 = counts.iter().map(|count| count.load(SeqCst)).sum();
            assert_eq!(account.begun.load(SeqCst), ended, "seed {seed}: {account:?}");
            assert_eq!(account.destroyed.load(SeqCst), ended, "seed {seed}: {account:?}");
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
