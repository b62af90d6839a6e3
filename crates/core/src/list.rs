//! An intrusive doubly linked list: the links live in the nodes, so no operation allocates and none can fail.
//!
//! The list owns nothing. It holds bare pointers to nodes that somebody else keeps alive, and it is not
//! synchronised: whoever shares it puts it under a lock, the nodes' links included.
//!
//! # Invariants
//!
//! - **L1** Every node in a list was given to [`List::push_back`], whose caller promised that it stays where it is,
//!   valid, until it has left the list. So following a link inside a list is always sound.
//! - **L2** A node is in at most one list, and at most once.
//! - **L3** For neighbours `a`, `b`: `a.next == b` exactly when `b.prev == a`. `head.prev` and `tail.next` are
//!   `None`, and `head` is `None` exactly when `tail` is.
//! - **L4** A node that is in no list has `prev == next == None`. With L2 and L3 a node is in *this* list exactly
//!   when it has a `prev` or is the `head`: no third field is needed to know it.
//! - **L5** Whoever holds `&mut List` is the only one to touch the links of its nodes.
//! - **L6** No node points to the `List` itself. A list may be moved, swapped and appended in constant time, and a
//!   node that is never removed (its owner leaked it) does not stop the list from being dropped.

use crate::prim::UnsafeCell;
use core::fmt;
use core::marker::PhantomPinned;
use core::ptr::NonNull;

/// The part of a node that a [`List`] uses.
///
/// Put one in the node and say where it is with [`linked!`](crate::linked). It makes its node `!Unpin`: a linked node must not move.
pub struct Links<T> {
    /// Touched only by the list that the node is in, or by the call that links it (L5).
    ends: UnsafeCell<Ends<T>>,
    _pinned: PhantomPinned,
}

/// A pair of pointers outwards: for a node its neighbours, for a list its first and last node.
struct Ends<T> {
    /// A node's predecessor; a list's tail.
    prev: Option<NonNull<T>>,
    /// A node's successor; a list's head.
    next: Option<NonNull<T>>,
}

impl<T> Links<T> {
    /// Links of a node that is in no list.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { ends: UnsafeCell::new(Ends { prev: None, next: None }), _pinned: PhantomPinned }
    }
    /// Links of a node that is in no list.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { ends: UnsafeCell::new(Ends { prev: None, next: None }), _pinned: PhantomPinned }
    }
}
impl<T> Default for Links<T> {
    fn default() -> Self {
        Self::new()
    }
}
impl<T> fmt::Debug for Links<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Links") // the pointers belong to the list's lock (L5)
    }
}
// SAFETY: the pointers are only followed through a `List`, which has its own rule (below); by themselves they are data.
unsafe impl<T> Send for Links<T> {}
// SAFETY: as above; nothing of the links is reachable through a shared reference (L5).
unsafe impl<T> Sync for Links<T> {}

/// Finds the [`Links`] inside a node.
///
/// # Safety
///
/// For one node, `links` returns the same pointer at every call; it points to a [`Links`] that is part of the node's
/// memory and that nothing but the list uses; and it is computed without making a reference to the whole node
/// (`&raw const (*node.as_ptr()).links`), because other parts of the node may be borrowed at that moment.
pub unsafe trait Linked: Sized {
    /// Where the links of `node` are.
    ///
    /// # Safety
    ///
    /// `node` points to a valid node.
    unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>>;
}

/// Makes a struct a node: says in which of its fields the [`Links`] are. Nothing else can use these, so this is safe.
///
/// ```
/// use ropewalk_core::{linked, list::Links};
///
/// struct Job { id: u32, links: Links<Job> }
/// linked!(Job, links);
///
/// struct Parcel<T> { content: T, links: Links<Parcel<T>> }
/// linked!(Parcel<T>, links, T); // its parameters follow
/// ```
#[macro_export]
macro_rules! linked {
    ($node:ty, $links:ident $(, $parameter:ident)*) => {
        // SAFETY: a field of the node (not of what it derefs to, and aligned, as the first line shows), the same at every
        // call; `Links` has no function but for the list; the pointer is made without a reference.
        unsafe impl<$($parameter),*> $crate::list::Linked for $node {
            unsafe fn links(node: ::core::ptr::NonNull<Self>) -> ::core::ptr::NonNull<$crate::list::Links<Self>> {
                let _is_a_field = |node: &Self| {
                    let Self { $links, .. } = node;
                    let _: &$crate::list::Links<Self> = $links;
                };
                // SAFETY: the caller passes a valid node.
                unsafe { ::core::ptr::NonNull::new_unchecked((&raw const (*node.as_ptr()).$links).cast_mut()) }
            }
        }
    };
}

/// An intrusive first-in first-out list, with removal from the middle in constant time.
///
/// ```
/// use core::{pin::pin, ptr::NonNull};
/// use ropewalk_core::{linked, list::{Links, List}};
///
/// struct Job { id: u32, links: Links<Job> }
/// linked!(Job, links);
///
/// let (one, two) = (pin!(Job { id: 1, links: Links::new() }), pin!(Job { id: 2, links: Links::new() }));
/// let (one, two) = (NonNull::from(&*one), NonNull::from(&*two));
/// let mut list = List::new();
/// // SAFETY: both jobs are pinned above and outlive the list.
/// unsafe {
///     list.push_back(one);
///     list.push_back(two);
///     assert!(list.remove(one));
///     assert!(!list.remove(one), "it is not in the list any more");
///     assert_eq!(list.pop_front().unwrap().as_ref().id, 2);
/// }
/// assert!(list.is_empty());
/// ```
pub struct List<T: Linked> {
    /// The ring is open: `next` is the head, `prev` the tail, and the nodes at the ends do not point back here (L6).
    ends: Ends<T>,
}

// SAFETY: a list gives out pointers to its nodes and touches their links, so it may travel where its nodes may.
unsafe impl<T: Linked + Send> Send for List<T> {}
// SAFETY: through `&List` one learns only whether it is empty (and `assert_valid` reads links, which nobody can be
// writing while a shared borrow of the list exists, L5).
unsafe impl<T: Linked + Send> Sync for List<T> {}

impl<T: Linked> List<T> {
    /// A list without nodes.
    pub const fn new() -> Self {
        Self { ends: Ends { prev: None, next: None } }
    }

    /// Whether no node is in the list.
    pub const fn is_empty(&self) -> bool {
        self.ends.next.is_none()
    }

    /// The node that [`pop_front`](Self::pop_front) would return.
    pub const fn front(&self) -> Option<NonNull<T>> {
        self.ends.next
    }

    /// The node that was added last.
    pub const fn back(&self) -> Option<NonNull<T>> {
        self.ends.prev
    }

    /// The nodes from front to back.
    pub fn iter(&self) -> impl Iterator<Item = NonNull<T>> + '_ {
        // SAFETY: `node` is in this list (L1), which nobody changes while it is borrowed (L5).
        core::iter::successors(self.front(), |node| unsafe { read(*node, |ends| ends.next) })
    }

    /// Adds `node` at the end.
    ///
    /// # Safety
    ///
    /// `node` is valid and pinned, and it stays both until it has left this list (or the list it was appended to); it
    /// is in no list now. If its owner may be on another thread, the list and all its nodes are under one lock.
    pub unsafe fn push_back(&mut self, node: NonNull<T>) {
        let tail = self.ends.prev;
        // SAFETY: the caller vouches for `node` (L1); it is in no list, so nobody else touches its links (L2, L5).
        unsafe {
            debug_assert!(read(node, |ends| ends.prev.is_none() && ends.next.is_none()), "linked twice");
            write(node, |ends| ends.prev = tail);
        }
        self.set_next_of(tail, Some(node));
        self.ends.prev = Some(node);
    }

    /// Adds `node` at the beginning.
    ///
    /// # Safety
    ///
    /// As for [`push_back`](Self::push_back).
    pub unsafe fn push_front(&mut self, node: NonNull<T>) {
        let head = self.ends.next;
        // SAFETY: as in `push_back`.
        unsafe {
            debug_assert!(read(node, |ends| ends.prev.is_none() && ends.next.is_none()), "linked twice");
            write(node, |ends| ends.next = head);
        }
        self.set_prev_of(head, Some(node));
        self.ends.next = Some(node);
    }

    /// Takes the last node out.
    pub fn pop_back(&mut self) -> Option<NonNull<T>> {
        let node = self.ends.prev?;
        self.unlink(node);
        Some(node)
    }

    /// Takes the first node out.
    pub fn pop_front(&mut self) -> Option<NonNull<T>> {
        let node = self.ends.next?;
        self.unlink(node);
        Some(node)
    }

    /// Takes `node` out, wherever it is. Returns whether it was in the list.
    ///
    /// # Safety
    ///
    /// `node` is valid, and is in this list or in none.
    pub unsafe fn remove(&mut self, node: NonNull<T>) -> bool {
        // SAFETY: the caller vouches for `node`; its links belong to this list or to nobody (L5).
        let linked = unsafe { read(node, |ends| ends.prev.is_some()) } || self.ends.next == Some(node);
        if linked {
            self.unlink(node);
        }
        linked
    }

    /// Moves all nodes of `other` to the end of this list, in their order and in constant time.
    pub fn append(&mut self, other: &mut Self) {
        let Some(first) = other.ends.next.take() else { return };
        let last = other.ends.prev.take();
        let tail = self.ends.prev;
        // SAFETY: `first` is in a list that we hold mutably (L1, L5).
        unsafe { write(first, |ends| ends.prev = tail) };
        self.set_next_of(tail, Some(first));
        self.ends.prev = last;
    }

    /// Leaves this list empty and returns all its nodes.
    #[must_use = "dropping the list forgets its nodes, linked as they are"]
    pub fn take(&mut self) -> Self {
        Self { ends: core::mem::replace(&mut self.ends, Ends { prev: None, next: None }) }
    }

    /// Takes out a node of this list, and leaves it with no neighbours (L4).
    fn unlink(&mut self, node: NonNull<T>) {
        // SAFETY: `node` is in this list (L1, L5).
        let Ends { prev, next } =
            unsafe { write(node, |ends| core::mem::replace(ends, Ends { prev: None, next: None })) };
        self.set_next_of(prev, next);
        self.set_prev_of(next, prev);
    }

    /// Makes `next` follow `node`, where no node means the list itself (L3).
    fn set_next_of(&mut self, node: Option<NonNull<T>>, next: Option<NonNull<T>>) {
        match node {
            // SAFETY: `node` is in this list (L1, L5).
            Some(node) => unsafe { write(node, |ends| ends.next = next) },
            None => self.ends.next = next,
        }
    }

    /// Makes `prev` precede `node`, where no node means the list itself (L3).
    fn set_prev_of(&mut self, node: Option<NonNull<T>>, prev: Option<NonNull<T>>) {
        match node {
            // SAFETY: `node` is in this list (L1, L5).
            Some(node) => unsafe { write(node, |ends| ends.prev = prev) },
            None => self.ends.prev = prev,
        }
    }

    /// Walks the list both ways and checks L3; returns the number of nodes. For tests: it takes time in proportion.
    ///
    /// It ends on a broken list too: a node reached a second time would need two different neighbours on one side.
    ///
    /// # Panics
    ///
    /// If a link does not match its neighbour's.
    pub fn assert_valid(&self) -> usize {
        let (mut forward, mut backward) = (0, 0);
        let (mut before, mut at) = (None, self.ends.next);
        while let Some(node) = at {
            // SAFETY: `node` is in this list (L1), which nobody changes while it is borrowed (L5).
            let (prev, next) = unsafe { read(node, |ends| (ends.prev, ends.next)) };
            assert_eq!(prev, before, "going forward, node {forward} points back to another one");
            (before, at, forward) = (Some(node), next, forward + 1);
        }
        assert_eq!(self.ends.prev, before, "the tail is not the last node");
        let (mut after, mut at) = (None, self.ends.prev);
        while let Some(node) = at {
            // SAFETY: as above.
            let (prev, next) = unsafe { read(node, |ends| (ends.prev, ends.next)) };
            assert_eq!(next, after, "going backward, node {backward} points on to another one");
            (after, at, backward) = (Some(node), prev, backward + 1);
        }
        assert_eq!(self.ends.next, after, "the head is not the first node");
        assert_eq!(forward, backward, "the two directions see different nodes");
        forward
    }
}

/// Reads the links of `node`.
///
/// # Safety
///
/// `node` is valid, and nobody writes its links meanwhile (L5).
unsafe fn read<T: Linked, R>(node: NonNull<T>, f: impl FnOnce(&Ends<T>) -> R) -> R {
    // SAFETY: the caller's promise; `Linked` finds links inside the node.
    unsafe { T::links(node).as_ref().ends.with(|ends| f(&*ends)) }
}

/// Changes the links of `node`.
///
/// # Safety
///
/// `node` is valid, and nobody else reads or writes its links meanwhile (L5).
unsafe fn write<T: Linked, R>(node: NonNull<T>, f: impl FnOnce(&mut Ends<T>) -> R) -> R {
    // SAFETY: the caller's promise; `Linked` finds links inside the node.
    unsafe { T::links(node).as_ref().ends.with_mut(|ends| f(&mut *ends)) }
}

impl<T: Linked> Default for List<T> {
    fn default() -> Self {
        Self::new()
    }
}
impl<T: Linked> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List").field("empty", &self.is_empty()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
