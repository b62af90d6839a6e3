//! std's mutex: one, or one for each account.

use super::{ACCOUNTS, EACH};
use std::sync::{Mutex, MutexGuard};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics")
}

pub struct Counter(Mutex<u64>);

impl super::Counter for Counter {
    fn new() -> Self {
        Self(Mutex::new(0))
    }
    fn add_one(&self) {
        *lock(&self.0) += 1;
    }
    fn get(&self) -> u64 {
        *lock(&self.0)
    }
}

pub struct OneLock(Mutex<Vec<i64>>);

impl super::Bank for OneLock {
    fn new() -> Self {
        Self(Mutex::new(vec![EACH; ACCOUNTS]))
    }
    fn transfer(&self, from: usize, to: usize, amount: i64) {
        let mut accounts = lock(&self.0);
        accounts[from] -= amount;
        accounts[to] += amount;
    }
    fn total(&self) -> i64 {
        lock(&self.0).iter().sum()
    }
}

pub struct LockEach(Vec<Mutex<i64>>);

impl super::Bank for LockEach {
    fn new() -> Self {
        Self((0..ACCOUNTS).map(|_| Mutex::new(EACH)).collect())
    }
    fn transfer(&self, from: usize, to: usize, amount: i64) {
        // In the order of their numbers, or two that cross would wait for each other.
        let (mut first, mut second) = (lock(&self.0[from.min(to)]), lock(&self.0[from.max(to)]));
        let (from, to) = if from < to { (&mut *first, &mut *second) } else { (&mut *second, &mut *first) };
        *from -= amount;
        *to += amount;
    }
    fn total(&self) -> i64 {
        self.0.iter().map(|account| *lock(account)).sum()
    }
}
