//! The tree of cancellation tokens: who stems from whom, under one lock per tree.
//!
//! # Invariants
//!
//! - **CT1** `kin` and `links` of a node are touched only under the lock of its tree. `cancelled` is written there too.
//! - **CT2** A node is in the list that its `place` names: among the children of its parent, in the list of the doomed, or in
//!   none. A parent that `place` names is valid.
//! - **CT3** A cancelled node that has children is doomed. A doomed node is cancelled. So when nobody is doomed, all
//!   descendants of a cancelled node are cancelled.
//! - **CT4** A node without handles (a *ghost*) stays only while it holds at least two children together, while it is doomed,
//!   or while it is pinned. So a tree has fewer ghosts than living nodes, and a chain of tokens of which only the last is
//!   kept is one node.
//! - **CT5** A node is freed after it left its list under the lock, without handles, not pinned, by who took it out. Nobody
//!   finds it any more: handles come from handles only, and children of a node that goes have another place before.
//! - **CT6** No user code runs under the lock: whom a cancellation wakes is woken by closing the node's queue after it, with the
//!   node pinned meanwhile.
//!
//! Nothing here recurses, and each turn under the lock takes a bounded number of steps, so neither depth nor width of a tree
//! matters. Who cancels goes on until nobody is doomed, also on behalf of others who cancel at that moment; so when
//! `cancel` returns, everything below is cancelled.

use crate::list::{Links, List};
use crate::prim::{Arc, AtomicBool, AtomicUsize, BriefGuard, BriefLock, Ordering, UnsafeCell};
use crate::wait_queue::WaitQueue;
use alloc::boxed::Box;
use core::ptr::NonNull;

/// How many nodes are woken after one locking, and how many steps are taken under it.
const BATCH: usize = if cfg!(loom) { 1 } else { 16 };
const STEPS: usize = if cfg!(loom) { 2 } else { 64 };

struct Tree {
    /// Cancelled nodes whose children are still to be cancelled, or who are still to be woken.
    doomed: BriefLock<List<Node>>,
}

/// The lock of a tree, held: the right to touch `kin` of its nodes (CT1).
type Held<'a> = BriefGuard<'a, List<Node>>;

pub(super) struct Node {
    links: Links<Node>,
    tree: Arc<Tree>,
    kin: UnsafeCell<Kin>,
    handles: AtomicUsize,
    cancelled: AtomicBool,
    /// Those who wait for the cancellation; closed by it.
    pub(super) queue: WaitQueue,
}

struct Kin {
    place: Place,
    children: List<Node>,
    /// There are no handles any more (CT4).
    ghost: bool,
    /// Somebody is about to close its queue (CT6).
    pinned: bool,
}

#[derive(Clone, Copy)]
enum Place {
    /// In no list: a root, or cancelled and done with.
    Alone,
    ChildOf(NonNull<Node>),
    Doomed,
}

crate::linked!(Node, links);
// SAFETY: what is not atomic in it is under the lock of its tree (CT1).
unsafe impl Send for Node {}
// SAFETY: as above.
unsafe impl Sync for Node {}

/// A handle of a node: keeps it (CT5).
pub(super) struct Handle(NonNull<Node>);

// SAFETY: nodes may be shared between threads.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    pub(super) fn root() -> Self {
        Self::of_new_node(Arc::new(Tree { doomed: BriefLock::new(List::new()) }))
    }

    fn of_new_node(tree: Arc<Tree>) -> Self {
        let kin = Kin { place: Place::Alone, children: List::new(), ghost: false, pinned: false };
        let node = Box::new(Node {
            links: Links::new(),
            tree,
            kin: UnsafeCell::new(kin),
            handles: AtomicUsize::new(1),
            cancelled: AtomicBool::new(false),
            queue: WaitQueue::new(),
        });
        Self(NonNull::from(Box::leak(node)))
    }

    /// A node below this one; cancelled at once if this one is.
    pub(super) fn child(&self) -> Self {
        let child = Self::of_new_node(self.tree.clone());
        let held = self.tree.doomed.lock();
        let born_cancelled = self.is_cancelled(); // under the lock
        if born_cancelled {
            child.cancelled.store(true, Ordering::Release);
        } else {
            // SAFETY: both are held by handles; the child leaves the list before it is freed (CT5); the lock is held (CT1).
            unsafe {
                kin(child.0, &held, |kin| kin.place = Place::ChildOf(self.0));
                kin(self.0, &held, |kin| kin.children.push_back(child.0));
            }
        }
        drop(held);
        if born_cancelled {
            child.queue.close();
        }
        child
    }

    /// Cancels this node and all below it, and wakes who waits for that.
    pub(super) fn cancel(&self) {
        let mut held = self.tree.doomed.lock();
        let mut freed = [None; 2];
        if !self.is_cancelled() {
            // SAFETY: a handle keeps it, and the lock is held (CT1).
            let place = unsafe { doom(self.0, &mut held) };
            if let Place::ChildOf(parent) = place {
                // SAFETY: the parent is valid (CT2), and the lock is held (CT1).
                freed = unsafe { tidy(parent, &held) };
            }
        }
        drop(held);
        // SAFETY: `tidy` took them out (CT5).
        unsafe { free(freed) };
        Reaper { tree: &self.tree, batch: [None; BATCH], done: false }.run();
    }
}

impl core::ops::Deref for Handle {
    type Target = Node;
    fn deref(&self) -> &Node {
        // SAFETY: the handle keeps it (CT5).
        unsafe { self.0.as_ref() }
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        self.handles.fetch_add(1, Ordering::Relaxed);
        Self(self.0)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.handles.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let tree = self.tree.clone(); // the node may go before the lock is let go
        let held = tree.doomed.lock();
        // SAFETY: nobody frees it before it is a ghost (CT5), and the lock is held (CT1).
        let freed = unsafe {
            kin(self.0, &held, |kin| kin.ghost = true);
            tidy(self.0, &held)
        };
        drop(held);
        // SAFETY: `tidy` took them out (CT5).
        unsafe { free(freed) };
    }
}

impl Node {
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }
}

/// Touches what the lock guards.
///
/// # Safety
///
/// `node` is valid, and `held` is the lock of its tree. `f` touches no other node's `kin`.
unsafe fn kin<R>(node: NonNull<Node>, _held: &Held<'_>, f: impl FnOnce(&mut Kin) -> R) -> R {
    // SAFETY: passed on to the caller (CT1).
    unsafe { node.as_ref().kin.with_mut(|kin| f(&mut *kin)) }
}

/// Takes `node` out of the list it is in. Returns where it was.
///
/// # Safety
///
/// `node` is valid and not doomed, and `held` is the lock of its tree.
unsafe fn detach(node: NonNull<Node>, held: &Held<'_>) -> Place {
    // SAFETY: passed on to the caller; the parent is valid and the node in its list (CT2).
    unsafe {
        let place = kin(node, held, |kin| core::mem::replace(&mut kin.place, Place::Alone));
        if let Place::ChildOf(parent) = place {
            let was_linked = kin(parent, held, |kin| kin.children.remove(node));
            debug_assert!(was_linked, "a child is linked (CT2)");
        }
        place
    }
}

/// Cancels `node` itself; those below it follow (CT3). Returns where it was.
///
/// # Safety
///
/// `node` is valid and not cancelled, and `held` is the lock of its tree.
unsafe fn doom(node: NonNull<Node>, held: &mut Held<'_>) -> Place {
    // SAFETY: passed on to the caller; it is freed only after it left the list (CT5).
    unsafe {
        let place = detach(node, held);
        node.as_ref().cancelled.store(true, Ordering::Release);
        kin(node, held, |kin| kin.place = Place::Doomed);
        held.push_back(node);
        place
    }
}

/// Takes `node` out of the tree if it is a ghost that CT4 does not keep, and then perhaps its parent. Returns what is to be
/// freed: at most two, because the parent's parent has as many children as before.
///
/// # Safety
///
/// `node` is valid, and `held` is the lock of its tree.
unsafe fn tidy(node: NonNull<Node>, held: &Held<'_>) -> [Option<NonNull<Node>>; 2] {
    // SAFETY: passed on to the caller; a parent is valid (CT2).
    unsafe {
        match take_out(node, held) {
            None => [None; 2],
            Some(Place::ChildOf(parent)) => [Some(node), take_out(parent, held).map(|_| parent)],
            Some(_) => [Some(node), None],
        }
    }
}

/// Takes `node` out of the tree if it is a ghost that CT4 does not keep; an only child takes its place. Returns where it was.
///
/// # Safety
///
/// `node` is valid, and `held` is the lock of its tree.
unsafe fn take_out(node: NonNull<Node>, held: &Held<'_>) -> Option<Place> {
    // SAFETY: passed on to the caller; children and parent are valid (CT2).
    unsafe {
        let only_child = kin(node, held, |kin| {
            let kept = !kin.ghost || kin.pinned || matches!(kin.place, Place::Doomed);
            let (first, last) = (kin.children.front(), kin.children.back());
            if kept || first != last { None } else { Some(kin.children.pop_front()) }
        })?;
        let place = detach(node, held);
        if let Some(child) = only_child {
            kin(child, held, |kin| kin.place = place);
            if let Place::ChildOf(parent) = place {
                kin(parent, held, |kin| kin.children.push_back(child));
            }
        }
        Some(place)
    }
}

/// # Safety
///
/// They were taken out of their tree by the caller, whose lock is not held any more (CT5).
unsafe fn free(nodes: [Option<NonNull<Node>>; 2]) {
    for node in nodes.into_iter().flatten() {
        // SAFETY: `Handle::of_new_node` made it by `Box::leak`, and nobody finds it any more (CT5).
        drop(unsafe { Box::from_raw(node.as_ptr()) });
    }
}

/// One `cancel` under way. It goes through to the end even if a waker panics: nobody else may do it.
struct Reaper<'a> {
    tree: &'a Tree,
    /// Pinned nodes, to be closed after unlocking.
    batch: [Option<NonNull<Node>>; BATCH],
    done: bool,
}

impl Reaper<'_> {
    fn run(&mut self) {
        while !self.done {
            self.collect();
            self.wake();
        }
    }

    /// Goes on cancelling, for a bounded number of steps, and pins whom to wake.
    fn collect(&mut self) {
        let mut room = 0;
        let mut held = self.tree.doomed.lock();
        for _ in 0..STEPS {
            let Some(node) = held.front().filter(|_| room < BATCH) else { break };
            // SAFETY: a doomed node is valid (CT5), so are its children (CT2); the lock is held (CT1).
            unsafe {
                if let Some(child) = kin(node, &held, |kin| kin.children.front()) {
                    doom(child, &mut held);
                    continue;
                }
                held.pop_front();
                kin(node, &held, |kin| {
                    kin.place = Place::Alone;
                    kin.pinned = true;
                });
            }
            self.batch[room] = Some(node);
            room += 1;
        }
        self.done = held.is_empty();
    }

    /// Closes the queues of the batch, and lets go of its nodes.
    fn wake(&mut self) {
        while let Some(node) = self.batch.iter_mut().find_map(Option::take) {
            let _unpin = Unpin(self.tree, node);
            // SAFETY: it is pinned (CT5).
            unsafe { node.as_ref() }.queue.close();
        }
    }
}

/// Only a panicking waker leaves something to do here.
impl Drop for Reaper<'_> {
    fn drop(&mut self) {
        self.wake();
        self.run();
    }
}

/// Lets go of a pinned node.
struct Unpin<'a>(&'a Tree, NonNull<Node>);

impl Drop for Unpin<'_> {
    fn drop(&mut self) {
        let held = self.0.doomed.lock();
        // SAFETY: it was pinned until now (CT5), and the lock is held (CT1).
        let freed = unsafe {
            kin(self.1, &held, |kin| kin.pinned = false);
            tidy(self.1, &held)
        };
        drop(held);
        // SAFETY: `tidy` took them out (CT5).
        unsafe { free(freed) };
    }
}
