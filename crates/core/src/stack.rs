//! A lock-free intrusive stack that is emptied whole: many threads push, whoever wants takes everything with one swap.
//!
//! It is how work is handed to a thread that will look at it later: a push is one compare-and-swap, a take is one swap,
//! and because nobody ever takes a single node there is no ABA problem and nothing to reclaim: a pushed node that finds
//! the same head again, whatever happened in between, is right to sit on top of it.
//!
//! # Invariants
//!
//! - **S1** Every node in a stack or chain was given to [`Stack::push`] or [`Chain::push`], whose caller promised that it
//!   stays valid, and in no other stack, until it comes out of a [`Taken`]. The stack owns no node.
//! - **S2** A node's link is written only while the node is not reachable from `head`: by the pusher before its
//!   compare-and-swap succeeds, or by the taker after its swap. So links are plain cells, not atomics.
//! - **S3** The compare-and-swap of a push is a release and the swap of a take is an acquire. Pushes by others in between
//!   are read-modify-writes, so they continue the release sequence: the taker has seen what every pusher wrote to its
//!   node, the link included.

use crate::prim::{AtomicPtr, Ordering, UnsafeCell};
use core::fmt;
use core::iter::FusedIterator;
use core::ptr::{self, NonNull};

/// The part of a node that a [`Stack`] uses. Put one in the node and say where it is with [`Stackable`].
pub struct StackLink<T> {
    /// The node below. Who may touch it when: S2.
    below: UnsafeCell<Option<NonNull<T>>>,
}

impl<T> StackLink<T> {
    /// The link of a node that is in no stack.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { below: UnsafeCell::new(None) }
    }
    /// The link of a node that is in no stack.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { below: UnsafeCell::new(None) }
    }
}
impl<T> Default for StackLink<T> {
    fn default() -> Self {
        Self::new()
    }
}
impl<T> fmt::Debug for StackLink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StackLink") // the pointer may only be read by its present holder (S2)
    }
}
// SAFETY: the link is only touched through a stack, chain or `Taken`, which have their own rule; it is data by itself.
unsafe impl<T> Send for StackLink<T> {}
// SAFETY: as above; nothing of it is reachable through a shared reference.
unsafe impl<T> Sync for StackLink<T> {}

/// Finds the [`StackLink`] inside a node.
///
/// # Safety
///
/// For one node, `link` returns the same pointer at every call; it points to a [`StackLink`] that is part of the node's
/// memory and that nothing but the stack uses; and it is computed without making a reference to the whole node.
pub unsafe trait Stackable: Sized {
    /// Where the link of `node` is.
    ///
    /// # Safety
    ///
    /// `node` points to a valid node.
    unsafe fn link(node: NonNull<Self>) -> NonNull<StackLink<Self>>;
}

/// A lock-free stack of nodes that somebody else keeps alive.
///
/// ```
/// use core::ptr::NonNull;
/// use ropewalk_core::stack::{Stack, Stackable, StackLink};
///
/// struct Message { text: &'static str, link: StackLink<Message> }
///
/// // SAFETY: `link` is a field of its own, used for nothing else.
/// unsafe impl Stackable for Message {
///     unsafe fn link(message: NonNull<Self>) -> NonNull<StackLink<Self>> {
///         // SAFETY: the caller passes a valid message.
///         unsafe { NonNull::new_unchecked((&raw const (*message.as_ptr()).link).cast_mut()) }
///     }
/// }
///
/// let (a, b) = (Message { text: "a", link: StackLink::new() }, Message { text: "b", link: StackLink::new() });
/// let stack = Stack::new();
/// // SAFETY: both messages outlive the stack and are pushed once.
/// unsafe {
///     assert!(stack.push(NonNull::from(&a)), "the stack was empty: its reader may be asleep");
///     assert!(!stack.push(NonNull::from(&b)));
/// }
/// // SAFETY: both messages are still there.
/// let texts: Vec<_> = stack.take_all().oldest_first().map(|m| unsafe { m.as_ref().text }).collect();
/// assert_eq!(texts, ["a", "b"]);
/// ```
pub struct Stack<T> {
    head: AtomicPtr<T>,
}

// SAFETY: a stack passes pointers to nodes from thread to thread, so the nodes must be fit to be sent (S1, S3).
unsafe impl<T: Send> Send for Stack<T> {}
// SAFETY: as above: all that `&Stack` does is send nodes.
unsafe impl<T: Send> Sync for Stack<T> {}

impl<T> Stack<T> {
    /// An empty stack.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { head: AtomicPtr::new(ptr::null_mut()) }
    }
    /// An empty stack.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { head: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Whether a take would, at this moment, find nothing. A hint: it orders nothing.
    pub fn is_empty(&self) -> bool {
        self.head.load(Ordering::Relaxed).is_null()
    }
}

impl<T: Stackable> Stack<T> {
    /// Puts `node` on top. Returns whether the stack was empty, so that the first pusher, and only it, wakes the reader.
    ///
    /// # Safety
    ///
    /// `node` is valid and in no stack or chain, and stays so until it comes out of a [`Taken`] (S1).
    pub unsafe fn push(&self, node: NonNull<T>) -> bool {
        // SAFETY: the caller's promise is the one that `splice` wants for a chain of one.
        unsafe { self.splice(node, node) }
    }

    /// Puts a whole chain on top with one compare-and-swap, as if its nodes were pushed one after the other with nothing
    /// in between. Returns whether the stack was empty; `false` for an empty chain.
    pub fn push_many(&self, chain: Chain<T>) -> bool {
        match chain.ends {
            // SAFETY: `Chain::push` took the promise for each node, and the chain is ours (S1).
            Some((newest, oldest)) => unsafe { self.splice(newest, oldest) },
            None => false,
        }
    }

    /// Puts the nodes from `newest` down to `oldest`, which are linked already, on top.
    ///
    /// # Safety
    ///
    /// S1 for each of the nodes, and nobody else can reach them (S2).
    unsafe fn splice(&self, newest: NonNull<T>, oldest: NonNull<T>) -> bool {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: not yet reachable from `head`, so the link is ours (S2).
            unsafe { set_below(oldest, NonNull::new(head)) };
            let new = newest.as_ptr();
            match self.head.compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return head.is_null(),
                Err(now) => head = now,
            }
        }
    }

    /// Takes everything with one swap. The nodes come newest first; see [`Taken::oldest_first`].
    pub fn take_all(&self) -> Taken<T> {
        Taken { top: NonNull::new(self.head.swap(ptr::null_mut(), Ordering::Acquire)) }
    }
}

impl<T> Default for Stack<T> {
    fn default() -> Self {
        Self::new()
    }
}
impl<T> fmt::Debug for Stack<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("empty", &self.is_empty()).finish_non_exhaustive()
    }
}

/// Nodes that are linked already, to be pushed together by [`Stack::push_many`]. Dropping it forgets them.
pub struct Chain<T> {
    /// The node pushed last and the one pushed first. The link of the latter means nothing until it is spliced.
    ends: Option<(NonNull<T>, NonNull<T>)>,
}
// SAFETY: it carries pointers to nodes that nobody else can reach (S2).
unsafe impl<T: Send> Send for Chain<T> {}

impl<T: Stackable> Chain<T> {
    /// A chain without nodes.
    pub const fn new() -> Self {
        Self { ends: None }
    }

    /// Whether there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    /// Adds `node` on top.
    ///
    /// # Safety
    ///
    /// The same promise as for [`Stack::push`] (S1).
    pub unsafe fn push(&mut self, node: NonNull<T>) {
        let Some((newest, oldest)) = self.ends else {
            self.ends = Some((node, node));
            return;
        };
        // SAFETY: the caller vouches for the node, which nobody else can reach (S2).
        unsafe { set_below(node, Some(newest)) };
        self.ends = Some((node, oldest));
    }
}
impl<T: Stackable> Default for Chain<T> {
    fn default() -> Self {
        Self::new()
    }
}
impl<T> fmt::Debug for Chain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("empty", &self.ends.is_none()).finish_non_exhaustive()
    }
}

/// What [`Stack::take_all`] took: gives the nodes out one by one. Dropping it forgets those that are left.
///
/// Each node is free to be pushed again, or to be freed, as soon as it was given out.
#[must_use = "dropping it forgets the nodes"]
pub struct Taken<T> {
    top: Option<NonNull<T>>,
}
// SAFETY: it carries pointers to nodes that nobody else can reach (S2).
unsafe impl<T: Send> Send for Taken<T> {}

impl<T: Stackable> Taken<T> {
    /// The same nodes in the order in which they were pushed. Takes time in proportion to their number.
    pub fn oldest_first(self) -> Self {
        let mut turned = Taken { top: None };
        for node in self {
            // SAFETY: the node was taken out by us, so its link is ours (S2).
            unsafe { set_below(node, turned.top) };
            turned.top = Some(node);
        }
        turned
    }
}
impl<T: Stackable> Iterator for Taken<T> {
    type Item = NonNull<T>;
    fn next(&mut self) -> Option<NonNull<T>> {
        let node = self.top?;
        // SAFETY: the node is valid (S1), was taken out, and its pusher's writes were seen (S2, S3).
        self.top = unsafe { T::link(node).as_ref().below.with(|below| *below) };
        Some(node)
    }
}
impl<T: Stackable> FusedIterator for Taken<T> {}
impl<T> fmt::Debug for Taken<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taken").field("empty", &self.top.is_none()).finish_non_exhaustive()
    }
}

/// Writes the link of `node`.
///
/// # Safety
///
/// `node` is valid (S1) and nobody else can reach its link (S2).
unsafe fn set_below<T: Stackable>(node: NonNull<T>, below: Option<NonNull<T>>) {
    // SAFETY: the caller's promise.
    unsafe { T::link(node).as_ref().below.with_mut(|link| *link = below) }
}

#[cfg(test)]
mod tests;
