//! A family: a task and the children that it does not outlive.
//!
//! Any task may become a parent, so cells have no room for it: the record is made at the first child, and a field of the
//! state word (KIN) says that there is one. The host keeps it, finds it again when it is asked
//! [`may_end`](super::Host::may_end), and lets children [`leave`](Membership::leave) when they [`ended`](super::Host::ended).
//!
//! Parent, when its body is over (`may_end`):
//!
//! 1. under the lock: nobody alive: it ends. Otherwise it leaves a reference to itself, and takes those of its children
//! 2. the first time: cancels them
//! 3. goes idle; a wake-up since 1 sends it round again
//!
//! Child, when it is over (`leave`):
//!
//! 1. its output is published
//! 2. under the lock: it leaves its seat; the last one takes the parent's reference
//! 3. wakes the parent
//!
//! * **K1** Only the parent itself, while it runs, adds children; so in its own hands "nobody alive" stays true.
//! * **K2** The last child's 2 comes before the parent's 1, which then sees nobody; or after it, and then it finds the
//!   reference. So the parent is never left waiting, and whatever the children did comes before its end.
//! * **K3** A child that is itself a parent leaves when its own family is gone: what waits for the children waits for all
//!   that stems from them.
//! * **K4** Who comes when the parent's body is over (a destructor of its output may spawn) is cancelled at once.

use super::{Header, TaskId, TaskRef};
use crate::prim::{Arc, Lock};
use alloc::vec::Vec;
use core::fmt;
use core::ptr::NonNull;

/// A task and its children: the record by which a [`Host`](super::Host) keeps the rule that a task ends after them.
pub struct Family {
    /// It lives as long as any child does.
    parent: Head,
    /// Its id, for those who look at a child that may end meanwhile.
    id: TaskId,
    /// The family in which the parent is a child.
    above: Option<Arc<Family>>,
    members: Lock<Members>,
}

#[derive(Default)]
struct Members {
    /// Children that are not over (K1).
    alive: usize,
    /// Where each of them can be reached; `None` before it is made, and after its end.
    seats: Vec<Option<TaskRef>>,
    /// Seats that can be had again; has room for all of them.
    free: Vec<u32>,
    /// The parent's body is over (K4).
    over: bool,
    /// The parent, when it waits for the last child (K2).
    waiting: Option<TaskRef>,
}

impl Family {
    /// Makes `parent` a parent; `above` is the family to which it belongs itself. `None`: it is over, and only a waker or
    /// a destructor of its output still runs.
    ///
    /// # Safety
    /// `parent` is the task that runs on this thread, and has no family yet.
    pub unsafe fn found(parent: NonNull<Header>, above: Option<Arc<Family>>) -> Option<Arc<Family>> {
        // SAFETY: a running task is alive (T3).
        let header = unsafe { parent.as_ref() };
        if header.join.done().is_some() {
            return None;
        }
        header.state.set_parent();
        let (parent, id, members) = (Head(parent), header.id, Lock::new(Members::default()));
        Some(Arc::new(Self { parent, id, above, members }))
    }

    /// Whether `task` has, or had, children.
    ///
    /// # Safety
    /// `task` is alive.
    pub unsafe fn exists_for(task: NonNull<Header>) -> bool {
        // SAFETY: passed on to the caller.
        unsafe { task.as_ref() }.state.load().is_parent()
    }

    /// A seat for a child that is about to be made by the parent, which runs on this thread (K1).
    #[must_use = "a seat that is never left holds the parent back for ever"]
    pub fn enrol(family: &Arc<Self>) -> Membership {
        let mut members = family.members.lock();
        members.alive += 1;
        let seat = members.free.pop().unwrap_or_else(|| {
            members.seats.push(None);
            let room = members.seats.len() - members.free.len();
            members.free.reserve(room);
            (members.seats.len() - 1) as u32
        });
        Membership { family: family.clone(), seat }
    }

    /// The body of `parent`, the head of this family, is over: may the task end? If not, the children are cancelled, and
    /// the last of them wakes it.
    ///
    /// # Safety
    /// `parent` is the head of this family and alive.
    pub unsafe fn may_end(&self, parent: NonNull<Header>) -> bool {
        debug_assert_eq!(parent, self.parent.0);
        let mut members = self.members.lock();
        if members.alive == 0 {
            return true;
        }
        let first = !core::mem::replace(&mut members.over, true);
        let children: Vec<_> =
            if first { members.seats.iter().flatten().cloned().collect() } else { Vec::new() };
        if members.waiting.is_none() {
            // SAFETY: passed on to the caller.
            members.waiting = Some(unsafe { Header::reference(parent) });
        }
        drop(members);
        children.iter().for_each(TaskRef::cancel);
        false
    }

    /// Whether `task` is the head of this family or of one above it: who belongs to it cannot wait for `task`.
    pub fn is_under(&self, task: NonNull<Header>) -> bool {
        self.heads().any(|head| head == task)
    }

    /// The head of this family and of those above it. They are alive as long as the family has children that are not over.
    pub fn heads(&self) -> impl Iterator<Item = NonNull<Header>> {
        core::iter::successors(Some(self), |family| family.above.as_deref()).map(|family| family.parent.0)
    }

    /// The id of the parent.
    pub fn parent_id(&self) -> TaskId {
        self.id
    }

    /// Children that are not over.
    pub fn alive(&self) -> usize {
        self.members.lock().alive
    }
}

/// The address of a parent.
struct Head(NonNull<Header>);

// SAFETY: it is compared, or followed by who knows that the task is alive, as any thread may that has a reference to it.
unsafe impl Send for Head {}
// SAFETY: as above.
unsafe impl Sync for Head {}

/// A long line of ancestors goes one by one, not one inside the other.
impl Drop for Family {
    fn drop(&mut self) {
        let mut above = self.above.take();
        while let Some(family) = above {
            above = Arc::try_unwrap(family).ok().and_then(|mut last| last.above.take());
        }
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Family").field("alive", &self.alive()).finish_non_exhaustive()
    }
}

/// A child's place in a [`Family`].
#[derive(Debug)]
pub struct Membership {
    family: Arc<Family>,
    seat: u32,
}

impl Membership {
    /// The child is made: from now on the family can reach it. Called before it is queued.
    pub fn take_seat(&self, child: TaskRef) {
        let mut members = self.family.members.lock();
        let late = members.over.then(|| child.clone());
        members.seats[self.seat as usize] = Some(child);
        drop(members);
        if let Some(child) = late {
            child.cancel();
        }
    }

    /// The child is over. Called once.
    pub fn leave(&self) {
        let mut members = self.family.members.lock();
        let child = members.seats[self.seat as usize].take();
        members.free.push(self.seat);
        members.alive -= 1;
        let waiting = if members.alive == 0 { members.waiting.take() } else { None };
        drop(members);
        drop(child);
        if let Some(parent) = waiting {
            parent.wake();
        }
    }

    /// The family.
    pub fn family(&self) -> &Arc<Family> {
        &self.family
    }
}
