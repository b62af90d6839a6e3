use super::*;
use std::collections::VecDeque;

struct Node {
    id: usize,
    links: Links<Node>,
}
crate::linked!(Node, links);

/// Nodes that stay in place until the end of a test. Declared before the lists, so dropped after them.
struct Nodes(Box<[Node]>);
impl Nodes {
    fn new(n: usize) -> Self {
        Self((0..n).map(|id| Node { id, links: Links::new() }).collect())
    }
    fn at(&self, id: usize) -> NonNull<Node> {
        NonNull::from(&self.0[id])
    }
}

fn id(node: NonNull<Node>) -> usize {
    // SAFETY: the tests keep their nodes alive (L1).
    unsafe { node.as_ref().id }
}

fn filled(nodes: &Nodes, ids: impl IntoIterator<Item = usize>) -> List<Node> {
    let mut list = List::new();
    for id in ids {
        // SAFETY: `nodes` outlives the list, and each test gives each id once (L1, L2).
        unsafe { list.push_back(nodes.at(id)) };
    }
    list.assert_valid();
    list
}

fn drain(mut list: List<Node>) -> Vec<usize> {
    core::iter::from_fn(|| list.pop_front().map(id)).collect()
}

/// A small generator (xorshift): the same seed gives the same steps on every machine.
struct Random(u64);
impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Two lists beside two `VecDeque`s: after every random step both must agree, and the links must be valid.
#[test]
fn random_steps_agree_with_vecdeque() {
    for seed in 1..=60 {
        let mut random = Random(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let nodes = Nodes::new(12);
        let mut lists = [List::new(), List::new()];
        let mut expected = [VecDeque::new(), VecDeque::new()];
        for _ in 0..300 {
            step(&mut random, &nodes, &mut lists, &mut expected);
            for (list, expected) in lists.iter().zip(&expected) {
                assert_eq!(list.assert_valid(), expected.len(), "seed {seed}");
                assert_eq!(list.is_empty(), expected.is_empty(), "seed {seed}");
                assert_eq!(list.front().map(id), expected.front().copied(), "seed {seed}");
            }
        }
        for (list, expected) in lists.into_iter().zip(expected) {
            assert_eq!(drain(list), Vec::from(expected), "seed {seed}");
        }
    }
}

fn step(
    random: &mut Random,
    nodes: &Nodes,
    lists: &mut [List<Node>; 2],
    expected: &mut [VecDeque<usize>; 2],
) {
    let (side, pick) = (random.below(2), random.below(nodes.0.len()));
    let linked_at = [0, 1].into_iter().find(|&s| expected[s].contains(&pick));
    match random.below(8) {
        0..=1 if linked_at.is_none() => {
            // SAFETY: the node is in no list and outlives both (L1, L2).
            unsafe { lists[side].push_front(nodes.at(pick)) };
            expected[side].push_front(pick);
        }
        2..=3 if linked_at.is_none() => {
            // SAFETY: as above.
            unsafe { lists[side].push_back(nodes.at(pick)) };
            expected[side].push_back(pick);
        }
        0..=5 => {
            let side = linked_at.unwrap_or(side);
            // SAFETY: the node is in this list or in none.
            let removed = unsafe { lists[side].remove(nodes.at(pick)) };
            assert_eq!(removed, linked_at.is_some());
            expected[side].retain(|&id| id != pick);
        }
        6 if random.below(2) == 0 => assert_eq!(lists[side].pop_back().map(id), expected[side].pop_back()),
        6 => assert_eq!(lists[side].pop_front().map(id), expected[side].pop_front()),
        _ if random.below(2) == 0 => {
            let mut moved = lists[1 - side].take();
            lists[side].append(&mut moved);
            assert!(moved.is_empty());
            let moved = core::mem::take(&mut expected[1 - side]);
            expected[side].extend(moved);
        }
        _ => {
            let [a, b] = lists;
            a.append(b);
            let [a, b] = expected;
            a.append(b);
        }
    }
}

#[test]
fn a_node_can_be_linked_again_after_it_left() {
    let nodes = Nodes::new(1);
    let mut list = filled(&nodes, [0]);
    assert_eq!(list.pop_front().map(id), Some(0));
    assert_eq!(list.pop_front(), None);
    // SAFETY: the node just left the list (L2).
    unsafe { list.push_back(nodes.at(0)) };
    assert_eq!(drain(list), [0]);
}

#[test]
fn the_only_node_is_known_to_be_linked() {
    let nodes = Nodes::new(2);
    let mut list = filled(&nodes, [0]);
    // SAFETY: node 1 is in no list, node 0 in this one.
    unsafe {
        assert!(!list.remove(nodes.at(1)));
        assert!(list.remove(nodes.at(0)));
        assert!(!list.remove(nodes.at(0)));
    }
    assert_eq!(list.assert_valid(), 0);
}

#[test]
fn appending_to_or_from_an_empty_list() {
    let nodes = Nodes::new(3);
    let (mut full, mut empty) = (filled(&nodes, 0..3), List::new());
    full.append(&mut empty);
    assert_eq!((full.assert_valid(), empty.assert_valid()), (3, 0));
    empty.append(&mut full);
    assert_eq!((full.assert_valid(), empty.assert_valid()), (0, 3));
    assert_eq!(drain(empty), [0, 1, 2]);
}

#[test]
fn a_moved_list_keeps_its_nodes() {
    let nodes = Nodes::new(3);
    let list = Box::new(filled(&nodes, 0..3));
    let mut moved = *list;
    // SAFETY: the node is in this list.
    assert!(unsafe { moved.remove(nodes.at(1)) });
    assert_eq!(moved.assert_valid(), 2);
    assert_eq!(drain(moved), [0, 2]);
}

#[test]
#[should_panic(expected = "points back to another one")]
fn assert_valid_notices_a_wrong_link_back() {
    let nodes = Nodes::new(3);
    let list = filled(&nodes, 0..3);
    // SAFETY: the node is alive and nobody else looks at it.
    unsafe { write(nodes.at(2), |ends| ends.prev = Some(nodes.at(0))) };
    list.assert_valid();
}

#[test]
#[should_panic(expected = "the tail is not the last node")]
fn assert_valid_notices_a_lost_tail() {
    let nodes = Nodes::new(2);
    let mut list = filled(&nodes, 0..2);
    list.ends.prev = Some(nodes.at(0));
    list.assert_valid();
}

#[test]
#[should_panic(expected = "points back to another one")]
fn assert_valid_ends_on_a_ring() {
    let nodes = Nodes::new(2);
    let list = filled(&nodes, 0..2);
    // SAFETY: the node is alive and nobody else looks at it.
    unsafe { write(nodes.at(1), |ends| ends.next = Some(nodes.at(0))) };
    list.assert_valid();
}
