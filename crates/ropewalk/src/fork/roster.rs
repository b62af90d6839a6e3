//! The deques of a station.
//!
//! A strand gets one when it first forks and gives it back when it ends; the next one to fork there uses it again. So there are as
//! many as strands have forked at the same time, and none is freed while the station is there: who walks along them needs no lock, and
//! need not be told who comes and goes.

use super::deque::{Owner, Thief, deque};
use super::job::Loot;
use ropewalk_core::task::TaskId;
use std::panic::Location;
use std::sync::OnceLock;

/// How many forks may be open on a strand before its deque grows.
const CAPACITY: usize = 64;

/// What others see.
#[derive(Default)]
pub(crate) struct Roster {
    first: OnceLock<Box<Listed>>,
}

struct Listed {
    thief: Thief<Loot>,
    next: OnceLock<Box<Listed>>,
}

/// What a strand has to fork with.
pub(crate) struct Fork {
    pub(super) deque: Owner<Loot>,
}

/// Those that no strand has.
pub(crate) type Spare = Vec<Box<Fork>>;

/// What halves of a strand have from it, wherever they run: as much room, the place it was started at, and whose they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) stack_size: usize,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) strand: Option<TaskId>,
}

impl Roster {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Thief<Loot>> {
        let first = self.first.get();
        std::iter::successors(first, |listed| listed.next.get()).map(|listed| &listed.thief)
    }

    /// Another one. Called by the worker at this station.
    pub(crate) fn add(&self) -> Box<Fork> {
        let (deque, thief) = deque(CAPACITY);
        let mut listed = Box::new(Listed { thief, next: OnceLock::new() });
        let mut end = &self.first;
        while let Err(other) = end.set(listed) {
            listed = other;
            end = &end.get().expect("it was set before").next;
        }
        Box::new(Fork { deque })
    }
}

impl Drop for Roster {
    /// One after the other: a long list must not be a deep recursion.
    fn drop(&mut self) {
        let mut next = self.first.take();
        while let Some(mut listed) = next {
            next = listed.next.take();
        }
    }
}
