//! What is said of a deadlock.

use crate::blocked::Reason;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::panic::Location;

/// Some who wait for each other, and will for ever.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Deadlock {
    /// Each waits for what the next one has, or for its end; the last one for the first.
    pub members: Vec<Member>,
}

/// One of those who wait for each other.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Member {
    /// Its name, id, and where it was started.
    pub who: String,
    /// What it waits for.
    pub reason: Reason,
    /// Where in the program it asked for that, if that is known.
    pub at: Option<&'static Location<'static>>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.members.len() {
            1 => f.write_str("deadlock: one waits for itself")?,
            count => write!(f, "deadlock: {count} wait for each other")?,
        }
        for (at, member) in self.members.iter().enumerate() {
            let next = &self.members[(at + 1) % self.members.len()];
            write!(f, "\n  {} waits for {}", member.who, member.reason)?;
            if let Some(place) = member.at {
                write!(f, " at {place}")?;
            }
            match member.reason {
                Reason::Join | Reason::Blocking | Reason::Thread => write!(f, ", which is {}", next.who)?,
                Reason::RwLockRead if next.reason == Reason::RwLockWrite => {
                    write!(f, ", which {} holds or waits to write first", next.who)?;
                }
                _ => write!(f, ", held by {}", next.who)?,
            }
        }
        Ok(())
    }
}
