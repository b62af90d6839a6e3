use super::*;
use crate::prim;
use std::sync::Arc;

struct Node {
    /// Written by the pusher before the push and read by the taker after the take, with no other synchronisation.
    value: UnsafeCell<u32>,
    link: StackLink<Node>,
}
// SAFETY: `link` is a field of the node that only the stack uses.
unsafe impl Stackable for Node {
    unsafe fn link(node: NonNull<Self>) -> NonNull<StackLink<Self>> {
        // SAFETY: the caller passes a valid node.
        unsafe { NonNull::new_unchecked((&raw const (*node.as_ptr()).link).cast_mut()) }
    }
}
// SAFETY: the tests touch `value` only while the node is theirs by the stack's rules (S2), which loom checks.
unsafe impl Sync for Node {}

struct Shared<const N: usize> {
    stack: Stack<Node>,
    nodes: [Node; N],
}

impl<const N: usize> Shared<N> {
    fn new() -> Arc<Self> {
        let node = |_| Node { value: UnsafeCell::new(u32::MAX), link: StackLink::new() };
        Arc::new(Self { stack: Stack::new(), nodes: core::array::from_fn(node) })
    }
    /// The node, with its value written as its pusher does.
    fn prepare(&self, id: u32) -> NonNull<Node> {
        let node = &self.nodes[id as usize];
        // SAFETY: the node is in no stack, so it is ours (S2).
        node.value.with_mut(|value| unsafe { *value = id });
        NonNull::from(node)
    }
    fn push(&self, id: u32) -> bool {
        // SAFETY: each test pushes a node only while it is in no stack, and the nodes outlive the stack (S1).
        unsafe { self.stack.push(self.prepare(id)) }
    }
    fn push_many(&self, ids: impl IntoIterator<Item = u32>) -> bool {
        let mut chain = Chain::new();
        for id in ids {
            // SAFETY: as in `push`.
            unsafe { chain.push(self.prepare(id)) };
        }
        self.stack.push_many(chain)
    }
    fn take(&self) -> Vec<u32> {
        values(self.stack.take_all())
    }
}

fn values(taken: Taken<Node>) -> Vec<u32> {
    // SAFETY: the nodes outlive the stack (S1) and were taken out (S2).
    taken.map(|node| unsafe { node.as_ref().value.with(|value| *value) }).collect()
}

// mutation: stack-push-does-not-publish
// - in crates/core/src/stack.rs: `compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed)`
// + `compare_exchange_weak(head, new, Ordering::Relaxed, Ordering::Relaxed)`
// mutation: stack-take-does-not-acquire
// - in crates/core/src/stack.rs: `self.head.swap(ptr::null_mut(), Ordering::Acquire)`
// + `self.head.swap(ptr::null_mut(), Ordering::Relaxed)`
// mutation: stack-take-in-two-steps
// - in crates/core/src/stack.rs: `self.head.swap(ptr::null_mut(), Ordering::Acquire)`
// + `{ let top = self.head.load(Ordering::Acquire); self.head.store(ptr::null_mut(), Ordering::Release); top }`
// mutation: stack-push-overwrites-after-losing
// - in crates/core/src/stack.rs: `Err(now) => head = now,`
// + `Err(now) => { head = now; self.head.swap(new, Ordering::AcqRel); return false; }`
#[test]
fn model_stack_gives_each_node_out_once_and_whole() {
    prim::model(|| {
        let shared = Shared::<3>::new();
        let one = shared.clone();
        let pusher = prim::thread::spawn(move || one.push(0));
        let many = shared.clone();
        let chainer = prim::thread::spawn(move || many.push_many([1, 2]));
        let mut seen = shared.take();
        pusher.join().unwrap();
        chainer.join().unwrap();
        // What was taken last comes last in time: put the oldest first throughout.
        let mut rest = shared.take();
        seen.reverse();
        rest.reverse();
        seen.extend(rest);
        let place = |id| seen.iter().position(|&seen| seen == id).expect("no node is lost");
        assert_eq!(seen.len(), 3, "no node comes twice");
        assert_eq!(place(1) + 1, place(2), "a chain arrives in one piece, in its order");
        place(0);
    });
}

// mutation: stack-push-tells-everybody-it-was-empty
// - in crates/core/src/stack.rs: `Ok(_) => return head.is_null(),`
// + `Ok(_) => return oldest == newest,`
#[test]
fn model_stack_tells_exactly_one_pusher_that_it_was_empty() {
    prim::model(|| {
        let shared = Shared::<2>::new();
        let other = shared.clone();
        let pusher = prim::thread::spawn(move || other.push(0));
        let here = shared.push(1);
        assert_ne!(here, pusher.join().unwrap());
        assert_eq!(shared.take().len(), 2);
    });
}

// mutation: stack-retake-races-with-the-next-push
// - in crates/core/src/stack.rs: `self.head.swap(ptr::null_mut(), Ordering::Acquire)`
// + `self.head.swap(ptr::null_mut(), Ordering::Relaxed)`
#[test]
fn model_stack_node_goes_round() {
    // A node that was taken is pushed again by its taker: no third party may still look at its link.
    prim::model(|| {
        let shared = Shared::<1>::new();
        shared.push(0);
        let other = shared.clone();
        let turn = move |shared: Arc<Shared<1>>| {
            let taken = shared.take();
            if let [id] = taken[..] {
                shared.push(id);
            }
            taken.len()
        };
        let thread = prim::thread::spawn(move || turn(other));
        let here = turn(shared.clone());
        let there = thread.join().unwrap();
        assert!((1..=2).contains(&(here + there)));
        assert_eq!(shared.take(), [0]);
    });
}

#[test]
fn nodes_come_newest_first_and_can_be_turned() {
    let shared = Shared::<4>::new();
    assert!(shared.stack.is_empty());
    assert!(shared.push(0));
    assert!(!shared.push_many([1, 2]));
    assert!(!shared.push(3));
    assert!(!shared.stack.is_empty());
    assert_eq!(shared.take(), [3, 2, 1, 0]);
    assert!(shared.take().is_empty());

    assert!(shared.push_many([2, 1]), "nodes may be pushed again, in any order");
    shared.push_many([0, 3]);
    assert_eq!(values(shared.stack.take_all().oldest_first()), [2, 1, 0, 3]);
}

#[test]
fn an_empty_chain_changes_nothing() {
    let shared = Shared::<1>::new();
    assert!(!shared.push_many([]));
    assert!(shared.stack.is_empty());
    shared.push(0);
    assert!(!shared.push_many([]));
    assert_eq!(shared.take(), [0]);
}

#[test]
fn a_chain_of_one_is_a_push() {
    let shared = Shared::<1>::new();
    assert!(shared.push_many([0]));
    assert_eq!(values(shared.stack.take_all().oldest_first()), [0]);
}

#[test]
fn a_taken_node_may_be_pushed_while_the_rest_is_walked() {
    let shared = Shared::<3>::new();
    shared.push_many([0, 1, 2]);
    for node in shared.stack.take_all() {
        // SAFETY: the node was given out, so it is free to be pushed again (S1).
        unsafe { shared.stack.push(node) };
    }
    assert_eq!(shared.take(), [0, 1, 2]);
}
