use super::{ACCOUNTS, EACH};
use ropewalk::Wait;
use ropewalk::stm::{TVar, TxResult, atomically};

pub struct Counter(TVar<u64>);

impl super::Counter for Counter {
    fn new() -> Self {
        Self(TVar::new(0))
    }
    fn add_one(&self) {
        atomically(|tx| tx.modify(&self.0, |count| *count += 1)).wait();
    }
    fn get(&self) -> u64 {
        self.0.get()
    }
}

pub struct Bank(Vec<TVar<i64>>);

impl super::Bank for Bank {
    fn new() -> Self {
        Self((0..ACCOUNTS).map(|_| TVar::new(EACH)).collect())
    }
    fn transfer(&self, from: usize, to: usize, amount: i64) {
        atomically(|tx| {
            tx.modify(&self.0[from], |balance| *balance -= amount)?;
            tx.modify(&self.0[to], |balance| *balance += amount)
        })
        .wait();
    }
    fn total(&self) -> i64 {
        atomically(|tx| self.0.iter().try_fold(0, |sum, account| TxResult::Ok(sum + tx.read(account)?)))
            .wait()
    }
}
