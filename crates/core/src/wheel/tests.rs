//! The wheel against a sorted list, by thousands of seeded random runs, and its edges by hand.

use super::*;
use crate::list::Links;
use std::boxed::Box;
use std::vec::Vec;

struct Node {
    links: Links<Node>,
    deadline: Deadline,
    id: usize,
}

crate::linked!(Node, links);
// SAFETY: the field is the wheel's alone.
unsafe impl Timed for Node {
    unsafe fn deadline(node: NonNull<Self>) -> NonNull<Deadline> {
        // SAFETY: the caller passes a valid node.
        unsafe { NonNull::new_unchecked((&raw const (*node.as_ptr()).deadline).cast_mut()) }
    }
}

/// splitmix64.
struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
    /// A span of any order of magnitude up to `2^bits`.
    fn span(&mut self, bits: u64) -> u64 {
        let bits = self.below(bits + 1);
        self.next().checked_shr(64 - bits as u32).unwrap_or(0)
    }
}

/// The wheel, the list that it must agree with, and the nodes, which stay where they are.
struct Twins<const GRAIN: u32> {
    wheel: Wheel<Node, GRAIN>,
    /// Deadline, number of the registration, node.
    list: Vec<(u64, usize, usize)>,
    nodes: Vec<NonNull<Node>>,
    now: u64,
    registrations: usize,
}

impl<const GRAIN: u32> Twins<GRAIN> {
    fn new(now: u64) -> Self {
        let mut wheel = Wheel::new();
        assert!(wheel.advance(now).is_none());
        Self { wheel, list: Vec::new(), nodes: Vec::new(), now, registrations: 0 }
    }

    fn register(&mut self, node: Option<usize>, deadline: u64) {
        let id = node.unwrap_or_else(|| {
            let id = self.nodes.len();
            let node = Node { links: Links::new(), deadline: Deadline::new(), id };
            self.nodes.push(NonNull::from(Box::leak(Box::new(node))));
            id
        });
        // SAFETY: freed after the wheel; it is not registered: new, or cancelled just before.
        unsafe { self.wheel.register(self.nodes[id], deadline) };
        self.list.push((deadline, self.registrations, id));
        self.registrations += 1;
    }

    /// Cancels the `at`-th of the list; answers which node that was.
    fn cancel(&mut self, at: usize) -> usize {
        let (_, _, id) = self.list.swap_remove(at);
        // SAFETY: it is in the list, so it is registered.
        unsafe { self.wheel.cancel(self.nodes[id]) };
        id
    }

    /// Both move on, and what comes out is the same in the same order; at most so many come out.
    fn advance(&mut self, by: u64, most: usize) {
        self.now = self.now.saturating_add(by);
        self.list.sort_unstable();
        let due = self.list.iter().take_while(|(deadline, ..)| *deadline <= self.now).count().min(most);
        for (deadline, _, id) in self.list.drain(..due) {
            let node = self.wheel.advance(self.now).expect("due");
            // SAFETY: nodes are freed last.
            let (found, at) = unsafe { (node.as_ref().id, node.as_ref().deadline.get()) };
            assert_eq!((found, at), (id, deadline));
        }
        if due < most {
            assert!(self.wheel.advance(self.now).is_none(), "never early");
        }
    }

    /// The next deadline is never too late, and exact when few are there; following it always gets on.
    fn check_next(&mut self) {
        let first = self.list.iter().map(|(deadline, ..)| *deadline).min();
        let next = self.wheel.next_deadline();
        assert_eq!(next.is_some(), first.is_some());
        assert!(next <= first, "{next:?} is too late for {first:?}");
        assert!(self.list.len() > LOOK || next == first);
        assert_eq!(self.wheel.assert_valid(), self.list.len());
    }
}

impl<const GRAIN: u32> Drop for Twins<GRAIN> {
    fn drop(&mut self) {
        self.wheel = Wheel::new();
        for node in &self.nodes {
            // SAFETY: from `Box::leak`, and in no wheel that is used again.
            drop(unsafe { Box::from_raw(node.as_ptr()) });
        }
    }
}

fn random_run<const GRAIN: u32>(seed: u64, steps: u64) {
    let mut random = Random(seed);
    let bits = 4 + random.below(60);
    let start = random.span(bits);
    let mut twins = Twins::<GRAIN>::new(start);
    for _ in 0..steps {
        let any = |random: &mut Random, count: usize| random.below(count as u64) as usize;
        match random.below(10) {
            0..5 => {
                let deadline = match random.below(20) {
                    0 => u64::MAX,
                    1 => twins.now.saturating_sub(random.span(bits)),
                    // The same as another one: the order of registration decides.
                    2..5 if !twins.list.is_empty() => twins.list[any(&mut random, twins.list.len())].0,
                    _ => twins.now.saturating_add(random.span(bits)),
                };
                twins.register(None, deadline);
            }
            5..7 if !twins.list.is_empty() => {
                let id = twins.cancel(any(&mut random, twins.list.len()));
                if random.below(2) == 0 {
                    twins.register(Some(id), twins.now.saturating_add(random.span(bits)));
                }
            }
            7 => {
                let next = twins.wheel.next_deadline().unwrap_or(twins.now);
                twins.advance(next.saturating_sub(twins.now), usize::MAX);
            }
            _ => {
                let most = if random.below(3) == 0 { any(&mut random, 5) } else { usize::MAX };
                twins.advance(random.span(bits), most);
            }
        }
        twins.check_next();
    }
}

/// Fewer where they take long and show nothing more: one thread has no race.
const RUNS: u64 = if cfg!(any(loom, shuttle)) {
    1
} else if cfg!(tsan) {
    100
} else {
    1_500
};

#[test]
fn random_runs_agree_with_a_sorted_list() {
    for seed in 0..RUNS {
        random_run::<0>(seed, 60);
        random_run::<3>(seed + 1_000_000, 60);
        random_run::<13>(seed + 2_000_000, 60);
    }
    for seed in 0..RUNS / 100 {
        random_run::<13>(seed, 1_500);
    }
}

#[test]
fn following_the_next_deadline_ends_and_is_never_early() {
    for seed in 0..RUNS / 10 {
        let (mut random, mut twins) = (Random(seed), Twins::<13>::new(0));
        (0..200).for_each(|_| twins.register(None, random.span(60)));
        let mut steps = 0;
        while let Some(next) = twins.wheel.next_deadline() {
            twins.advance(next - twins.now, usize::MAX);
            steps += 1;
            assert!(steps <= 200 * (LEVELS + 2), "it goes round and round");
        }
        assert!(twins.list.is_empty());
    }
}

#[test]
fn a_lone_entry_is_found_exactly_however_far_it_is() {
    for bits in 0..64 {
        for deadline in [1 << bits, (1 << bits) - 1, u64::MAX] {
            let mut twins = Twins::<13>::new(0);
            twins.register(None, deadline);
            assert_eq!(twins.wheel.next_deadline(), Some(deadline));
            twins.advance(deadline.saturating_sub(1), if deadline == 0 { 0 } else { usize::MAX });
            twins.advance(1, usize::MAX);
            assert!(twins.list.is_empty(), "{deadline}");
        }
    }
}

#[test]
fn many_in_one_tick_come_out_by_deadline_and_then_by_age() {
    let (mut random, mut twins) = (Random(7), Twins::<13>::new(0));
    (0..3_000).for_each(|_| twins.register(None, 40_000 + random.below(500)));
    for _ in 0..20 {
        twins.advance(2_010, 100);
        twins.register(None, 40_000 + random.below(500)); // into a slot that is in order already
    }
    twins.advance(10_000, usize::MAX);
    assert!(twins.list.is_empty());
}

#[cfg(feature = "alloc")]
#[test]
fn one_in_a_box_is_like_any_other() {
    let mut boxed = Wheel::<Node>::boxed();
    assert_eq!((boxed.assert_valid(), boxed.next_deadline()), (0, None));
    let nodes: Vec<_> = [5, 1 << 30, 1 << 45, u64::MAX]
        .map(|_| Node { links: Links::new(), deadline: Deadline::new(), id: 0 })
        .into_iter()
        .map(Box::new)
        .collect();
    for (node, deadline) in nodes.iter().zip([5, 1 << 30, 1 << 45, u64::MAX]) {
        // SAFETY: boxed, and freed after the wheel has given it back.
        unsafe { boxed.register(NonNull::from(&**node), deadline) };
    }
    assert_eq!(boxed.assert_valid(), 4);
    for node in &nodes {
        assert_eq!(boxed.advance(u64::MAX), Some(NonNull::from(&**node)));
    }
    assert!(boxed.is_empty());
}

#[test]
fn time_that_goes_back_brings_out_nothing() {
    let mut twins = Twins::<13>::new(1 << 40);
    twins.register(None, (1 << 40) + 5);
    assert!(twins.wheel.advance(3).is_none());
    twins.check_next();
    twins.advance(5, usize::MAX);
    assert!(twins.list.is_empty());
}

#[cfg(feature = "alloc")]
mod owned {
    use super::super::{AlarmKey, Alarms};
    use super::Random;
    use std::collections::HashMap;
    use std::rc::Rc;
    use std::vec::Vec;

    #[test]
    fn keys_of_what_is_over_mean_nothing() {
        let mut alarms: Alarms<u64> = Alarms::new();
        let (mut random, mut keys) = (Random(3), HashMap::<AlarmKey, u64>::new());
        let (mut over, mut now) = (Vec::new(), 0);
        for value in 0..2_000 {
            keys.insert(alarms.register(now + random.span(40), value), value);
            if random.below(3) == 0 {
                let key = *keys.keys().next().unwrap();
                assert_eq!(alarms.cancel(key), keys.remove(&key));
                over.push(key);
            }
            now += random.span(38);
            while let Some((deadline, value)) = alarms.advance(now) {
                assert!(deadline <= now);
                let key = *keys.iter().find(|(_, of)| **of == value).unwrap().0;
                keys.remove(&key);
                over.push(key);
            }
            assert_eq!(alarms.len(), keys.len());
        }
        assert!(over.iter().all(|key| alarms.cancel(*key).is_none()));
    }

    #[test]
    fn dropping_it_drops_what_it_holds_once() {
        let probe = Rc::new(());
        let mut alarms: Alarms<Rc<()>> = Alarms::default();
        let keys: Vec<_> = (0..10).map(|at| alarms.register(at * 1_000_000, probe.clone())).collect();
        drop(alarms.cancel(keys[4]));
        drop(alarms.advance(0));
        assert_eq!(Rc::strong_count(&probe), 9);
        drop(alarms);
        assert_eq!(Rc::strong_count(&probe), 1);
    }
}
