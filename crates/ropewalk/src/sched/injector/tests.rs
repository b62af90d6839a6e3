use super::super::entry::ledger::{Dropped, Ledger, Token};
use super::super::ring::ring;
use super::*;
use ropewalk_core::prim::Ordering::{Relaxed, SeqCst};
use ropewalk_core::prim::{AtomicBool, fence, model, real, thread};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

/// Redeems what one `pop_into` takes, the returned entry first and then those in the ring.
fn redeem_batch(ledger: &Ledger, queue: &Injector<Token>, most: usize, ring: &Producer<Token>) -> Vec<usize> {
    let mut first = queue.pop_into(most, ring);
    ledger.redeem_all(|| first.take().or_else(|| ring.pop()))
}

// mutation: length-is-shown-after-the-unlock
// - in crates/ropewalk/src/sched/injector.rs: `self.len.store(queue.len, Release);`
// + `let len = queue.len; drop(queue); self.len.store(len, Release); #[cfg(any())]`
// mutation: emptied-queue-keeps-its-length
// - in crates/ropewalk/src/sched/injector.rs: `self.len.store(queue.len, Release);`
// + `if queue.len != 0 { self.len.store(queue.len, Release); }`
// mutation: glance-is-believed-under-the-lock
// - in crates/ropewalk/src/sched/injector.rs: `let count = most.min(self.len).min(BLOCK - self.first);`
// + `let count = most.min(BLOCK - self.first);`
// mutation: first-of-a-batch-is-not-the-oldest
// - in crates/ropewalk/src/sched/injector.rs: `let first = queue.take();`
// + `ring.fill(&mut queue.take().into_iter()); let first = queue.take();`
// mutation: block-is-taken-from-the-wrong-end
// - in crates/ropewalk/src/sched/injector.rs: `self.spare.extend(self.chain.pop_front());`
// + `self.spare.extend(self.chain.pop_back());`
#[test]
fn model_pushes_against_pops() {
    model(|| {
        let ledger = Ledger::new(4);
        let queue = Arc::new(Injector::new());
        let pusher = {
            let (ledger, queue) = (ledger.clone(), queue.clone());
            thread::spawn(move || {
                queue.push(ledger.issue(1));
                queue.push_batch(&mut vec![ledger.issue(2), ledger.issue(3), ledger.issue(4)]);
            })
        };
        let popper = {
            let (ledger, queue) = (ledger.clone(), queue.clone());
            thread::spawn(move || redeem_batch(&ledger, &queue, 2, &ring(2).0))
        };
        let mut gone = ledger.redeem_all(|| queue.pop());
        assert!(gone.is_sorted());
        pusher.join().expect("the pusher is fine");
        let batch = popper.join().expect("the popper is fine");
        assert!(batch.windows(2).all(|pair| pair[0] + 1 == pair[1]), "something came between");
        gone.extend(batch);
        gone.sort();
        assert_eq!(queue.len(), 4 - gone.len(), "nobody is at work, so the length is exact");
        gone.extend(ledger.redeem_all(|| queue.pop()));
        assert_eq!(gone, [1, 2, 3, 4], "what was taken early is the oldest, and all is there");
    });
}

// mutation: push-does-not-show-its-length
// - in crates/ropewalk/src/sched/injector.rs: `self.len.store(queue.len, Release);`
// + `if queue.len != 1 { self.len.store(queue.len, Release); }`
// mutation: glance-finds-nothing
// - in crates/ropewalk/src/sched/injector.rs: `self.len.load(Acquire)`
// + `0`
#[test]
fn model_injected_push_is_seen_after_the_fence() {
    model(|| {
        let ledger = Ledger::new(1);
        let queue = Arc::new(Injector::new());
        let asleep = Arc::new(AtomicBool::new(false));
        let sleeper = {
            let (queue, asleep) = (queue.clone(), asleep.clone());
            thread::spawn(move || {
                asleep.store(true, Relaxed);
                fence(SeqCst);
                !queue.is_empty()
            })
        };
        queue.push(ledger.issue(1));
        fence(SeqCst);
        let saw_sleeper = asleep.load(Relaxed);
        let saw_entry = sleeper.join().expect("the sleeper is fine");
        assert!(saw_sleeper || saw_entry, "a wake-up was lost");
        ledger.redeem_all(|| queue.pop());
        ledger.settle();
    });
}

fn filled(ledger: &Ledger, queue: &Injector<Token>, numbers: std::ops::RangeInclusive<usize>) {
    numbers.for_each(|number| queue.push(ledger.issue(number)));
}

#[test]
fn order_is_kept_over_the_ends_of_blocks() {
    let total = 5 * BLOCK;
    let ledger = Ledger::new(total);
    let queue = Injector::new();
    let (mut pushed, mut popped) = (0, 0);
    // Each turn leaves one entry more behind, so the queue wanders over the blocks.
    for turn in 1.. {
        let more = turn.min(total - pushed);
        filled(&ledger, &queue, pushed + 1..=pushed + more);
        pushed += more;
        for _ in 1..turn.min(queue.len() + 1) {
            popped += 1;
            assert_eq!(queue.pop().map(|token| ledger.redeem(token)), Some(popped));
        }
        assert_eq!(queue.len(), pushed - popped);
        if pushed == total {
            break;
        }
    }
    assert_eq!(ledger.redeem_all(|| queue.pop()), (popped + 1..=total).collect::<Vec<_>>());
    assert!(queue.is_empty());
    ledger.settle();
}

#[test]
fn batches_keep_the_order_over_the_ends_of_blocks() {
    let total = 5 * BLOCK;
    // Batches of one size go in and of another come out, so both meet the end of a block at every offset.
    for (pushed, popped) in [(1, BLOCK + 1), (BLOCK - 1, 2 * BLOCK), (3 * BLOCK, BLOCK - 1), (total, total)] {
        let ledger = Ledger::new(total);
        let (queue, (owner, _)) = (Injector::new(), ring(total));
        let mut numbers = 1..=total;
        let mut out = Vec::new();
        while out.len() < total {
            let mut batch: Vec<Token> =
                numbers.by_ref().take(pushed).map(|number| ledger.issue(number)).collect();
            queue.push_batch(&mut batch);
            assert!(batch.is_empty());
            let there = queue.len();
            let got = redeem_batch(&ledger, &queue, popped, &owner);
            assert_eq!(got.len(), popped.min(there));
            out.extend(got);
        }
        assert_eq!(out, (1..=total).collect::<Vec<_>>());
        assert!(queue.is_empty());
    }
}

#[test]
fn first_of_a_batch_is_returned_and_the_rest_goes_to_the_ring() {
    // (how many there are, the most to take, the room in the ring, how many are taken)
    for (present, most, room, taken) in
        [(0, 9, 4, 0), (1, 9, 4, 1), (9, 0, 4, 0), (9, 3, 4, 3), (9, 9, 4, 5), (3, 9, 4, 3)]
    {
        let ledger = Ledger::new(9);
        let (queue, (owner, _)) = (Injector::new(), ring(room));
        filled(&ledger, &queue, 1..=present);
        let got = redeem_batch(&ledger, &queue, most, &owner);
        assert_eq!(got, (1..=taken).collect::<Vec<_>>());
        assert_eq!(queue.len(), present - taken);
        ledger.redeem_all(|| queue.pop());
        ledger.settle();
    }
}

#[test]
fn entries_are_dropped_outside_the_lock() {
    struct Nosy(Arc<Injector<Nosy>>, Arc<real::AtomicU32>);
    impl Drop for Nosy {
        fn drop(&mut self) {
            // Would deadlock if the lock were held.
            self.0.reserve(0);
            self.1.fetch_add(1, Relaxed);
        }
    }
    let (queue, count) = (Arc::new(Injector::new()), Arc::new(real::AtomicU32::new(0)));
    let nosy = || Nosy(queue.clone(), count.clone());
    queue.push(nosy());
    queue.push_batch(&mut vec![nosy(), nosy()]);
    assert_eq!(count.load(Relaxed), 0);
    std::iter::from_fn(|| queue.pop()).for_each(drop);
    assert_eq!(count.load(Relaxed), 3);
}

/// Every entry goes once: when its taker lets go of it, or with the queue.
#[test]
fn dropping_the_queue_drops_its_entries_once() {
    let (queue, count) = (Injector::new(), Arc::new(real::AtomicU32::new(0)));
    (0..2 * BLOCK).for_each(|_| queue.push(Dropped::new(&count)));
    queue.push_batch(&mut vec![Dropped::new(&count), Dropped::new(&count)]);
    assert_eq!(count.load(Relaxed), 0);
    drop(queue.pop());
    assert_eq!(count.load(Relaxed), 1);
    drop(queue);
    assert_eq!(count.load(Relaxed) as usize, 2 * BLOCK + 2);
}

/// Counts what the thread that asks has allocated, so that tests running beside it do not matter.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is left to the system's allocator; the count lives in a cell that needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's contract is that of the system's allocator.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(of: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    of();
    ALLOCATIONS.get() - before
}

#[test]
fn push_within_the_reserve_does_not_allocate() {
    let reserves = [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5];
    let total = reserves.iter().sum::<usize>();
    let queue: Injector<usize> = Injector::new();
    let mut reserved = 0;
    let mut batch = Vec::with_capacity(total);
    for more in reserves {
        queue.reserve(more);
        reserved += more;
        let made = allocations(|| {
            // Every offset within a block, filled to the brim by single pushes and by batches.
            for offset in 0..BLOCK {
                (0..reserved).for_each(|entry| queue.push(entry));
                assert!((0..offset.min(reserved)).all(|entry| queue.pop() == Some(entry)));
                batch.extend(0..offset.min(reserved));
                queue.push_batch(&mut batch);
                assert!((0..reserved).all(|_| queue.pop().is_some()));
                assert!(queue.is_empty());
            }
        });
        assert_eq!(made, 0, "with {reserved} reserved");
    }
}

#[test]
fn push_beyond_the_reserve_allocates_and_loses_nothing() {
    let queue: Injector<usize> = Injector::new();
    queue.reserve(1);
    let made = allocations(|| (0..4 * BLOCK).for_each(|entry| queue.push(entry)));
    assert!(made >= 3, "three more blocks");
    let again = allocations(|| {
        assert!((0..4 * BLOCK).all(|entry| queue.pop() == Some(entry)));
        (0..4 * BLOCK).for_each(|entry| queue.push(entry));
    });
    assert_eq!(again, 0, "blocks are used again");
    assert!(std::iter::from_fn(|| queue.pop()).eq(0..4 * BLOCK));
}
