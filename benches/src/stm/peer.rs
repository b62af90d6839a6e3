//! The crate `stm`.

use super::{ACCOUNTS, EACH};
use ::stm::{TVar, atomically};

pub struct Counter(TVar<u64>);

impl super::Counter for Counter {
    fn new() -> Self {
        Self(TVar::new(0))
    }
    fn add_one(&self) {
        atomically(|tx| self.0.modify(tx, |count| count + 1));
    }
    fn get(&self) -> u64 {
        self.0.read_atomic()
    }
}

pub struct Bank(Vec<TVar<i64>>);

impl super::Bank for Bank {
    fn new() -> Self {
        Self((0..ACCOUNTS).map(|_| TVar::new(EACH)).collect())
    }
    fn transfer(&self, from: usize, to: usize, amount: i64) {
        atomically(|tx| {
            self.0[from].modify(tx, |balance| balance - amount)?;
            self.0[to].modify(tx, |balance| balance + amount)
        });
    }
    fn total(&self) -> i64 {
        atomically(|tx| {
            let mut sum = 0;
            for account in &self.0 {
                sum += account.read(tx)?;
            }
            Ok(sum)
        })
    }
}
