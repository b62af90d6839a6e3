use super::super::entry::ledger::{Ledger, Token};
use super::super::ring::ring;
use super::*;
use ropewalk_core::prim::Ordering::{Relaxed, SeqCst};
use ropewalk_core::prim::{AtomicBool, fence, model, thread};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

// mutation: close-does-not-close
// - in crates/ropewalk/src/sched/injector.rs: `self.queue.lock().closed = true;`
// + `self.queue.lock().closed = false;`
// mutation: length-is-shown-after-the-unlock
// - in crates/ropewalk/src/sched/injector.rs: `self.len.store(queue.len, Release);`
// + `let len = queue.len; drop(queue); self.len.store(len, Release); #[cfg(any())]`
#[test]
fn model_push_against_pop_and_close() {
    model(|| {
        let ledger = Ledger::new(3);
        let queue = Arc::new(Injector::new());
        let pusher = {
            let (ledger, queue) = (ledger.clone(), queue.clone());
            thread::spawn(move || {
                let refused = queue.push(ledger.issue(1)).map_err(|token| ledger.redeem(token)).is_err();
                let mut batch = vec![ledger.issue(2), ledger.issue(3)];
                let closed = queue.push_batch(&mut batch) == Err(Closed);
                assert_eq!(closed, !batch.is_empty(), "all or none");
                assert!(closed || !refused, "closed and open again");
                ledger.redeem_all(|| batch.pop());
            })
        };
        let popper = {
            let (ledger, queue) = (ledger.clone(), queue.clone());
            thread::spawn(move || queue.pop().map(|token| ledger.redeem(token)))
        };
        queue.close();
        let before = ledger.redeem_all(|| queue.pop());
        assert!(before.is_sorted());
        pusher.join().expect("the pusher is fine");
        popper.join().expect("the popper is fine");
        assert!(queue.pop().is_none(), "something came in after the close and the drain");
        ledger.settle();
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
        queue.push(ledger.issue(1)).expect("it is open");
        fence(SeqCst);
        let saw_sleeper = asleep.load(Relaxed);
        let saw_entry = sleeper.join().expect("the sleeper is fine");
        assert!(saw_sleeper || saw_entry, "a wake-up was lost");
        ledger.redeem_all(|| queue.pop());
        ledger.settle();
    });
}

fn filled(ledger: &Ledger, queue: &Injector<Token>, numbers: std::ops::RangeInclusive<usize>) {
    numbers.for_each(|number| queue.push(ledger.issue(number)).expect("it is open"));
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
fn batches_keep_the_order_and_their_bounds() {
    let ledger = Ledger::new(3 * BLOCK);
    let queue = Injector::new();
    let mut batch: Vec<Token> = (1..=3 * BLOCK).map(|number| ledger.issue(number)).collect();
    assert_eq!(queue.push_batch(&mut batch), Ok(()));
    assert!(batch.is_empty());
    let mut some = Vec::with_capacity(BLOCK + 1);
    let room = some.capacity();
    assert_eq!(queue.pop_batch(&mut some), room);
    assert_eq!(queue.pop_batch(&mut some), 0, "it is full");
    let mut some = some.into_iter();
    let mut all = ledger.redeem_all(|| some.next());
    all.extend(ledger.redeem_all(|| queue.pop()));
    assert_eq!(all, (1..=3 * BLOCK).collect::<Vec<_>>());
    assert_eq!(queue.pop_batch(&mut Vec::with_capacity(8)), 0, "it is empty");
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
        let mut got: Vec<usize> =
            queue.pop_into(most, &owner).map(|first| ledger.redeem(first)).into_iter().collect();
        got.extend(ledger.redeem_all(|| owner.pop()));
        assert_eq!(got, (1..=taken).collect::<Vec<_>>());
        assert_eq!(queue.len(), present - taken);
        ledger.redeem_all(|| queue.pop());
        ledger.settle();
    }
}

#[test]
fn closed_queue_gives_back_what_is_pushed_and_keeps_what_it_has() {
    let ledger = Ledger::new(4);
    let queue = Injector::new();
    filled(&ledger, &queue, 1..=2);
    queue.close();
    queue.close();
    assert_eq!(queue.push(ledger.issue(3)).map_err(|token| ledger.redeem(token)), Err(3));
    let mut batch = vec![ledger.issue(4)];
    assert_eq!(queue.push_batch(&mut batch), Err(Closed));
    assert_eq!(ledger.redeem_all(|| batch.pop()), [4]);
    let mut rest = queue.drain();
    assert_eq!(ledger.redeem_all(|| rest.next()), [1, 2]);
    ledger.settle();
}

/// Drops in the queue are the queue's own end; every entry goes once, and none of them under the lock.
#[test]
fn entries_are_dropped_outside_the_lock() {
    struct Nosy(Arc<Injector<Nosy>>, Arc<AtomicUsize>);
    impl Drop for Nosy {
        fn drop(&mut self) {
            // Would deadlock if the lock were held.
            self.0.reserve(0);
            self.1.fetch_add(1, Relaxed);
        }
    }
    let (queue, count) = (Arc::new(Injector::new()), Arc::new(AtomicUsize::new(0)));
    let nosy = || Nosy(queue.clone(), count.clone());
    assert!(queue.push(nosy()).is_ok());
    assert!(queue.push_batch(&mut vec![nosy(), nosy()]).is_ok());
    drop(queue.pop());
    queue.close();
    drop(queue.push(nosy()));
    assert_eq!(queue.push_batch(&mut vec![nosy()]), Err(Closed));
    queue.drain().for_each(drop);
    assert_eq!(count.load(Relaxed), 5);
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
                assert!((0..reserved).all(|entry| queue.push(entry).is_ok()));
                assert!((0..offset.min(reserved)).all(|entry| queue.pop() == Some(entry)));
                batch.extend(0..offset.min(reserved));
                assert_eq!(queue.push_batch(&mut batch), Ok(()));
                assert_eq!(queue.pop_batch(&mut batch), reserved);
                batch.clear();
            }
        });
        assert_eq!(made, 0, "with {reserved} reserved");
    }
}

#[test]
fn push_beyond_the_reserve_allocates_and_loses_nothing() {
    let queue: Injector<usize> = Injector::new();
    queue.reserve(1);
    let made = allocations(|| assert!((0..4 * BLOCK).all(|entry| queue.push(entry).is_ok())));
    assert!(made >= 3, "three more blocks");
    let again = allocations(|| {
        assert!((0..4 * BLOCK).all(|entry| queue.pop() == Some(entry)));
        assert!((0..4 * BLOCK).all(|entry| queue.push(entry).is_ok()));
    });
    assert_eq!(again, 0, "blocks are used again");
    assert!(queue.drain().eq(0..4 * BLOCK));
}
