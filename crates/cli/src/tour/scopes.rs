//! Stop: strands that borrow from the call they are started in, and a tree of them cancelled at its root.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use ropewalk::strand::{self, StrandError};
use ropewalk::sync::Notify;
use ropewalk::{Runtime, Wait};
use ropewalk_core::prim::real::{AtomicU64, Ordering::*};
use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many numbers a strand adds up by itself.
const PART: usize = 4096;
/// Children of each strand in the tree.
const FAN: u64 = 4;

pub(crate) struct Scopes;

impl Stop for Scopes {
    fn name(&self) -> &'static str {
        "scopes"
    }

    fn title(&self) -> &'static str {
        "Strands that borrow"
    }

    fn about(&self) -> &'static str {
        "A scope is not left before its strands have ended: they may use what lies in\n\
         the caller's frame. Cancelling one unwinds it, and all that is below it."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let runtime = super::builder().build()?;
        let mut findings = Findings::default();
        borrow(guide, &runtime, &mut findings);
        fell(guide, &runtime, guide.amount(6, 3), &mut findings);
        Ok(findings)
    }
}

/// Adds up numbers that the caller keeps, alone and by strands.
fn borrow(guide: &Guide, runtime: &Runtime, findings: &mut Findings) {
    let numbers: Vec<u64> = (0..guide.amount(1 << 23, 1 << 16)).collect();
    let strands = Arc::new(AtomicU64::new(0));
    let (seen, parts) = (strands.clone(), (numbers.len() / PART) as f64);
    guide.phase("strands add up borrowed numbers", move || seen.load(Relaxed) as f64 / parts);
    let columns = [
        Column::new("by", "by"),
        Column::new("numbers", "numbers"),
        Column::new("strands", "strands"),
        Column::new("took_ns", "took"),
        Column::new("sum", "sum"),
    ];
    let mut table = Table::new("A vector of the caller's, halved by one scope in another", columns);
    let mut row = |by, strands, (took, sum)| {
        let numbers = Value::Count(numbers.len() as u64);
        table.row([Value::text(by), numbers, Value::Count(strands), Value::time(took), Value::Count(sum)]);
        sum
    };
    let alone = row("the caller alone", 0, timed(|| numbers.iter().sum()));
    let together = timed(|| runtime.run(|| sum(&numbers, &strands)));
    let together = row("strands", strands.load(Relaxed), together);
    findings.table(table);
    findings
        .check(alone == together, "both sums are the same: the strands added up the caller's own numbers");
}

/// One half by a child, the other here, until it is little.
fn sum(numbers: &[u64], strands: &AtomicU64) -> u64 {
    if numbers.len() <= PART {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    strand::scope(|s| {
        strands.fetch_add(1, Relaxed);
        let left = s.spawn(|| sum(left, strands));
        let right = sum(right, strands);
        left.join() + right
    })
}

fn timed(f: impl FnOnce() -> u64) -> (Duration, u64) {
    let from = Instant::now();
    let value = f();
    (from.elapsed(), value)
}

/// What becomes of a tree.
struct Account {
    strands: u64,
    alive: Arc<AtomicU64>,
    destroyed: AtomicU64,
    /// All of them wait.
    grown: Notify,
}

/// Grows a tree, and cancels it at its root.
fn fell(guide: &Guide, runtime: &Runtime, depth: u32, findings: &mut Findings) {
    let strands = (FAN.pow(depth + 1) - 1) / (FAN - 1);
    let alive = Arc::new(AtomicU64::new(0));
    let seen = alive.clone();
    guide.phase("a tree of strands grows", move || seen.load(Relaxed) as f64 / strands as f64);
    let account = Account { strands, alive, destroyed: AtomicU64::new(0), grown: Notify::new() };
    let (grown, cancelled, end) = runtime.run(|| {
        strand::scope(|s| {
            let from = Instant::now();
            let root = s.spawn(|| grow(depth, &account));
            account.grown.notified().wait();
            let grown = from.elapsed();
            let from = Instant::now();
            root.cancel();
            let end = root.try_join();
            (grown, from.elapsed(), end)
        })
    });
    let (left, destroyed) = (account.alive.load(Acquire), account.destroyed.load(Acquire));
    let columns = [
        Column::new("strands", "strands"),
        Column::new("grown_each_ns", "grown, each"),
        Column::new("cancelled_each_ns", "cancelled, each"),
        Column::new("took_ns", "all in"),
        Column::new("destroyed", "destructors"),
        Column::new("left", "left"),
    ];
    let mut table = Table::new("A tree of strands that wait, cancelled at its root", columns);
    table.row([
        Value::Count(strands),
        Value::share(grown, strands),
        Value::share(cancelled, strands),
        Value::time(cancelled),
        Value::Count(destroyed),
        Value::Count(left),
    ]);
    findings.table(table);
    findings.check(left == 0, "when the root was joined, nothing of the tree was left");
    findings.check(destroyed == strands, "every destructor ran, also those that had to wait");
    findings
        .check(matches!(end, Err(StrandError::Cancelled)), "the root's handle said that it was cancelled");
}

/// What a strand of the tree has on its stack.
struct Held<'a>(&'a Account);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        strand::yield_now(); // it waits, in the middle of unwinding
        self.0.destroyed.fetch_add(1, AcqRel);
        self.0.alive.fetch_sub(1, AcqRel);
    }
}

/// A strand that has children, to that depth, and waits.
fn grow(depth: u32, account: &Account) {
    strand::scope(|s| {
        for _ in 0..if depth > 0 { FAN } else { 0 } {
            drop(s.spawn(|| grow(depth - 1, account)));
        }
        let _held = Held(account);
        if account.alive.fetch_add(1, AcqRel) + 1 == account.strands {
            account.grown.notify_one();
        }
        pending().wait()
    })
}
