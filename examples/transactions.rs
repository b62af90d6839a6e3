//! A harbour in transactions: ships need a berth and a crane, both or none; a clerk sees no ship twice and none missing.
//!
//! Tasks, a strand and a thread meet at the same variables, and nobody holds a lock.

use ropewalk::stm::{TQueue, TSemaphore, TVar, Tx, TxResult, atomically, stats};
use ropewalk::{Wait, spawn};

#[derive(Clone)]
struct Harbour {
    berths: TSemaphore,
    cranes: TSemaphore,
    at_sea: TVar<usize>,
    docked: TVar<usize>,
    done: TQueue<String>,
}

const SHIPS: usize = 12;

impl Harbour {
    fn new() -> Self {
        Self {
            berths: TSemaphore::new(3),
            cranes: TSemaphore::new(2),
            at_sea: TVar::named("ships at sea", SHIPS),
            docked: TVar::named("ships that are docked", 0),
            done: TQueue::new(),
        }
    }

    /// Parts of transactions: they wait for what is missing, whatever they are combined with.
    fn dock(&self, tx: &mut Tx) -> TxResult<()> {
        self.berths.acquire(tx, 1)?;
        self.cranes.acquire(tx, 1)?;
        tx.modify(&self.at_sea, |ships| *ships -= 1)?;
        tx.modify(&self.docked, |ships| *ships += 1)
    }

    fn leave(&self, tx: &mut Tx, name: String) -> TxResult<()> {
        self.cranes.release(tx, 1)?;
        self.berths.release(tx, 1)?;
        tx.modify(&self.docked, |ships| *ships -= 1)?;
        self.done.push(tx, name)
    }

    /// Of one moment.
    fn count(&self, tx: &mut Tx) -> TxResult<(usize, usize)> {
        Ok((tx.read(&self.at_sea)?, tx.read(&self.docked)?))
    }
}

fn main() {
    let harbour = Harbour::new();
    for number in 0..SHIPS {
        let harbour = harbour.clone();
        drop(spawn(async move {
            atomically(|tx| harbour.dock(tx)).await; // waits for a berth and a crane
            ropewalk::yield_now().await; // unloads
            atomically(|tx| harbour.leave(tx, format!("ship {number}"))).await;
        }));
    }

    // A clerk on a thread: there are never more docked than there are cranes.
    let clerk = {
        let harbour = harbour.clone();
        std::thread::spawn(move || {
            let mut most = 0;
            loop {
                let (at_sea, docked) = atomically(|tx| harbour.count(tx)).wait();
                assert!(docked <= 2 && at_sea + docked <= SHIPS);
                most = most.max(docked);
                if at_sea == 0 {
                    break;
                }
            }
            most
        })
    };

    // The harbour master is a strand: it takes the reports one by one, and waits when there is none.
    let reports = ropewalk::run(|| {
        let next = || atomically(|tx| harbour.done.pop(tx)).wait();
        (0..SHIPS).map(|_| next()).collect::<Vec<_>>()
    });
    let most = clerk.join().unwrap();
    println!(
        "{} ships came and went, at most {most} seen at once; the last was {}",
        reports.len(),
        reports[SHIPS - 1]
    );
    let done = stats();
    println!(
        "{} commits, {} waited for a change, {} attempts in vain",
        done.commits,
        done.retries,
        done.conflicts()
    );

    assert_eq!(atomically(|tx| harbour.count(tx)).wait(), (0, 0));
    assert_eq!(reports.len(), SHIPS);
}
