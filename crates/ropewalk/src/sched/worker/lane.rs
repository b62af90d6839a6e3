//! A lane: runnable tasks in the order in which they came, free ones in a ring that thieves see, pinned ones beside it.
//!
//! * **LA1** A lane is not `Sync`, so one thread has it at a time, and nothing that is called while its pinned tasks are borrowed calls back into it.

use super::super::ring::Producer;
use ropewalk_core::task::Runnable;
use std::cell::UnsafeCell;
use std::collections::VecDeque;

/// A pinned task, and the ring's tail when it came: the two queues are one FIFO by position.
type Pinned = (u64, Runnable);

pub(super) struct Lane {
    pub(super) ring: Producer<Runnable>,
    local: UnsafeCell<VecDeque<Pinned>>,
}

impl Lane {
    pub(super) fn new(ring: Producer<Runnable>) -> Self {
        Self { ring, local: UnsafeCell::default() }
    }

    /// Takes the oldest task, free or pinned.
    #[inline]
    pub(super) fn oldest(&self) -> Option<Runnable> {
        let local_first = self.with_local(|local| local.front().map(|(position, _)| *position));
        match local_first {
            Some(position) if self.ring.head_position() >= position => self.pop_pinned(),
            Some(_) => self.ring.pop().or_else(|| self.pop_pinned()),
            None => self.ring.pop(),
        }
    }

    pub(super) fn push_pinned(&self, task: Runnable) {
        let position = self.ring.tail_position();
        self.with_local(|local| local.push_back((position, task)));
    }

    pub(super) fn pop_pinned(&self) -> Option<Runnable> {
        self.with_local(|local| local.pop_front()).map(|(_, task)| task)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ring.is_empty() && !self.has_pinned()
    }

    #[inline]
    pub(super) fn has_pinned(&self) -> bool {
        self.with_local(|local| !local.is_empty())
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len() + self.with_local(|local| local.len())
    }

    /// Makes room for so many pinned tasks in all.
    pub(super) fn reserve_pinned(&self, room: usize) {
        self.with_local(|local| local.reserve(room.saturating_sub(local.len())));
    }

    /// The free tasks changed places: `moved` says where those before a pinned one went.
    pub(super) fn follow_ring(&self, moved: impl Fn(u64) -> u64) {
        self.with_local(|local| local.iter_mut().for_each(|(position, _)| *position = moved(*position)));
    }

    /// `f` must not call back into the lane.
    #[inline]
    fn with_local<R>(&self, f: impl FnOnce(&mut VecDeque<Pinned>) -> R) -> R {
        // SAFETY: LA1: the closures are those of this file.
        f(unsafe { &mut *self.local.get() })
    }
}
