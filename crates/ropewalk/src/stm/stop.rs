//! Why a transaction stops: because it must wait, because it met another one, or because it was given up.

use std::fmt;
use std::panic::Location;

/// What a transaction's operations return: go on, or stop here (`?`), to be run again.
pub type TxResult<T> = Result<T, Stop>;

/// The transaction cannot go on, and is to be run again: at once, or when something changed. Pass it on with `?`.
///
/// ```
/// use ropewalk::stm::{TVar, Tx, TxResult};
///
/// fn withdraw(tx: &mut Tx, account: &TVar<i64>, amount: i64) -> TxResult<()> {
///     let balance = tx.read(account)?;
///     tx.check(balance >= amount)?; // or waits until there is enough
///     tx.write(account, balance - amount)
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Stop(pub(super) Why);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It asked to wait for a change.
    Retry,
    /// What it read has changed.
    Conflict,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Why::Retry => "the transaction waits for a change of what it read; return this error from it",
            Why::Conflict => "the transaction met another one and runs again; return this error from it",
        })
    }
}

impl std::error::Error for Stop {}

/// Where a variable was made, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) location: &'static Location<'static>,
    pub(super) name: Option<Box<str>>,
}

impl Place {
    pub(super) fn as_transaction(&self) -> String {
        match &self.name {
            Some(name) => format!("the transaction `{name}` (at {})", self.location),
            None => format!("the transaction at {}", self.location),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "`{name}` (at {})", self.location),
            None => write!(f, "the one made at {}", self.location),
        }
    }
}

/// A transaction with a [limit](super::Atomically::limit) met others too often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abandoned {
    pub(super) transaction: Place,
    pub(super) attempts: u32,
    /// At which variables, and how often.
    pub(super) met: Vec<(Place, u32)>,
}

impl Abandoned {
    /// How often it was tried.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }
}

impl fmt::Display for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} was given up after {} attempts; it met others",
            self.transaction.as_transaction(),
            self.attempts
        )?;
        let commas = std::iter::once(" ").chain(std::iter::repeat(", "));
        for (comma, (place, times)) in commas.zip(&self.met) {
            write!(f, "{comma}at {place}, {times} times")?;
        }
        Ok(())
    }
}

impl std::error::Error for Abandoned {}
