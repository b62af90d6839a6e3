//! Stop: a bank whose total is always the same, without a lock.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use ropewalk::stm::{TVar, Tx, TxResult, atomically, stats};
use ropewalk::{Runtime, Wait};
use ropewalk_core::prim::real::{AtomicBool, AtomicU64, Ordering::*};
use std::error::Error;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

const EACH: i64 = 1_000;

pub(crate) struct Bank;

impl Stop for Bank {
    fn name(&self) -> &'static str {
        "bank"
    }

    fn title(&self) -> &'static str {
        "A bank without locks"
    }

    fn about(&self) -> &'static str {
        "A task, a strand and a thread move money, and an auditor adds it all up.\n\
         A transaction is seen as a whole or not at all; who waits is woken by it."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let (accounts, transfers) = guide.amount((500, 1_000_000_u64), (20, 2_000));
        let runtime = super::builder().worker_threads(2).build()?;
        let bank: Arc<[TVar<i64>]> = (0..accounts).map(|_| TVar::new(EACH)).collect();
        let total = EACH * accounts;
        let (done, before) = (Arc::new(AtomicU64::new(0)), stats());
        let seen = done.clone();
        guide.phase("money moves", move || seen.load(Relaxed) as f64 / (3 * transfers) as f64);

        let over = Arc::new(AtomicBool::new(false));
        let auditor = audit(&runtime, &bank, total, &over);
        let saver = wait_for_riches(&runtime, &bank);
        let from = Instant::now();
        let rates = move_money(&runtime, &bank, transfers, &done)?;
        let took = from.elapsed();
        over.store(true, Relaxed);
        let (audits, wrong) = auditor.wait()?;
        // Whatever became of it by chance, now it is rich enough.
        atomically(|tx| gather(tx, &bank)).wait();
        let saved = saver.wait()?;
        guide.pause();

        let mut who = Table::new(
            "Transfers between two accounts",
            [Column::new("who", "who"), Column::new("transfers", "transfers"), Column::new("per_s", "rate")],
        );
        for (name, rate) in rates {
            who.row([Value::text(name), Value::Count(transfers), rate]);
        }
        let now = stats();
        let mut all = Table::new(
            "All of them together",
            [
                Column::new("commits_per_s", "commits"),
                Column::new("conflicts", "attempts in vain"),
                Column::new("audits", "audits"),
                Column::new("alone", "with the floor"),
            ],
        );
        all.row([
            Value::rate(now.commits - before.commits, took),
            Value::Count(now.conflicts() - before.conflicts()),
            Value::Count(audits),
            Value::Count(now.alone - before.alone),
        ]);
        let left: i64 = bank.iter().map(TVar::get).sum();
        let mut findings = Findings::default();
        findings.table(who);
        findings.table(all);
        findings.check(wrong == 0, "every audit, in the middle of it all, found the same total");
        findings.check(left == total, "nothing was lost, and nothing was made");
        findings.check(saved >= RICH, "who waited for money was woken when it was there");
        Ok(findings)
    }
}

/// Moves one from an account to the next but some.
fn transfer(tx: &mut Tx, bank: &[TVar<i64>], random: u64) -> TxResult<()> {
    let from = (random >> 33) as usize % bank.len();
    let to = (from + 1 + (random >> 48) as usize % (bank.len() - 1)) % bank.len();
    tx.modify(&bank[from], |balance| *balance -= 1)?;
    tx.modify(&bank[to], |balance| *balance += 1)
}

fn next(random: u64) -> u64 {
    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

/// How fast each of them was.
fn move_money(
    runtime: &Runtime,
    bank: &Arc<[TVar<i64>]>,
    transfers: u64,
    done: &Arc<AtomicU64>,
) -> Result<[(&'static str, Value); 3], Box<dyn Error + Send + Sync>> {
    let blocking = |seed: u64| {
        let (bank, done) = (bank.clone(), done.clone());
        move || {
            let (from, mut random) = (Instant::now(), seed);
            for _ in 0..transfers {
                random = next(random);
                atomically(|tx| transfer(tx, &bank, random)).wait();
                done.fetch_add(1, Relaxed);
            }
            Value::rate(transfers, from.elapsed())
        }
    };
    let (accounts, count) = (bank.clone(), done.clone());
    let task = runtime.spawn(async move {
        let (from, mut random) = (Instant::now(), 1);
        for _ in 0..transfers {
            random = next(random);
            atomically(|tx| transfer(tx, &accounts, random)).await;
            count.fetch_add(1, Relaxed);
        }
        Value::rate(transfers, from.elapsed())
    });
    let thread = thread::spawn(blocking(2));
    let strand = runtime.run(blocking(3));
    let thread = thread.join().map_err(|_| "a thread panicked")?;
    Ok([("a task", task.wait()?), ("a strand", strand), ("a thread", thread)])
}

/// Adds up all accounts, again and again: how often, and how often the sum was not the total.
fn audit(
    runtime: &Runtime,
    bank: &Arc<[TVar<i64>]>,
    total: i64,
    over: &Arc<AtomicBool>,
) -> ropewalk::TaskHandle<(u64, u64)> {
    let (bank, over) = (bank.clone(), over.clone());
    runtime.spawn(async move {
        let (mut audits, mut wrong) = (0, 0);
        while !over.load(Relaxed) || audits == 0 {
            let sum =
                atomically(|tx| bank.iter().try_fold(0, |sum, account| Ok(sum + tx.read(account)?))).await;
            audits += 1;
            wrong += u64::from(sum != total);
            ropewalk::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        (audits, wrong)
    })
}

const RICH: i64 = 10 * EACH;

/// Sleeps until the first account has enough; nothing but a change of that account wakes it.
fn wait_for_riches(runtime: &Runtime, bank: &Arc<[TVar<i64>]>) -> ropewalk::TaskHandle<i64> {
    let first = bank[0].clone();
    runtime.spawn(async move {
        atomically(|tx| {
            let balance = tx.read(&first)?;
            tx.check(balance >= RICH)?;
            Ok(balance)
        })
        .await
    })
}

/// All the money goes to the first account.
fn gather(tx: &mut Tx, bank: &[TVar<i64>]) -> TxResult<()> {
    for account in &bank[1..] {
        let balance = tx.replace(account, 0)?;
        tx.modify(&bank[0], |first| *first += balance)?;
    }
    Ok(())
}
