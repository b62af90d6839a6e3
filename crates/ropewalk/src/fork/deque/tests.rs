use super::*;
use crate::sched::entry::ledger::{Ledger, Token};
use ropewalk_core::prim::model;
use ropewalk_core::prim::thread::{self, JoinHandle};

fn push(owner: &Owner<Token>, ledger: &Ledger, numbers: std::ops::RangeInclusive<usize>) {
    for number in numbers {
        let _asked = owner.push(ledger.issue(number));
    }
}

fn publish(owner: &Owner<Token>, count: usize) {
    owner.publish(count, |_| {});
}

/// A thief that comes so many times: what it got, in order, which is checked.
fn thief(ledger: &std::sync::Arc<Ledger>, from: &Thief<Token>, times: usize) -> JoinHandle<Vec<usize>> {
    let (ledger, from) = (ledger.clone(), from.clone());
    thread::spawn(move || {
        let got: Vec<_> = (0..times).filter_map(|_| from.steal()).map(|token| ledger.redeem(token)).collect();
        assert!(got.is_sorted(), "stolen out of order: {got:?}");
        got
    })
}

/// Ends a model: what is left comes out newest first, and nothing is lost.
fn finish(owner: &Owner<Token>, ledger: &Ledger, thieves: impl IntoIterator<Item = JoinHandle<Vec<usize>>>) {
    for thief in thieves {
        thief.join().expect("the thief is fine");
    }
    let left = ledger.redeem_all(|| owner.pop());
    assert!(left.iter().rev().is_sorted(), "left out of order: {left:?}");
    assert_eq!((owner.public(), owner.private()), (0, 0));
    ledger.settle();
}

// mutation: deque-published-relaxed
// - in crates/ropewalk/src/fork/deque.rs: `self.deque.shown.split.store(split, Release);`
// + `self.deque.shown.split.store(split, Relaxed);`
// mutation: deque-thief-reads-split-relaxed
// - in crates/ropewalk/src/fork/deque.rs: `if top >= deque.shown.split.load(Acquire) {`
// + `if top >= deque.shown.split.load(Relaxed) {`
// mutation: deque-taken-in-two-steps
// - in crates/ropewalk/src/fork/deque.rs: `if deque.top.compare_exchange(top, top + 1, Release, Relaxed).is_ok() {`
// + `if { deque.top.store(top + 1, Release); true } {`
#[test]
fn model_thieves_see_what_was_published() {
    model(|| {
        let ledger = Ledger::new(2);
        let (owner, shown) = deque(2);
        let thieves = [thief(&ledger, &shown, 1), thief(&ledger, &shown, 1)];
        push(&owner, &ledger, 1..=2);
        publish(&owner, 2);
        finish(&owner, &ledger, thieves);
    });
}

// mutation: deque-last-without-exchange
// - in crates/ropewalk/src/fork/deque.rs: `let mine = top == at && deque.top.compare_exchange(at, split, Relaxed, Relaxed).is_ok();`
// + `let mine = top == at; if mine { deque.top.store(split, Relaxed); }`
// mutation: deque-owner-has-no-barrier
// - in crates/ropewalk/src/fork/deque.rs: `fence(SeqCst); // barrier of the owner`
// + ``
#[test]
fn model_owner_and_thief_meet_at_the_last() {
    model(|| {
        let ledger = Ledger::new(2);
        let (owner, shown) = deque(2);
        push(&owner, &ledger, 1..=2);
        publish(&owner, 2);
        let thief = thief(&ledger, &shown, 2);
        ledger.redeem_all(|| owner.pop());
        finish(&owner, &ledger, [thief]);
    });
}

// mutation: deque-thief-has-no-barrier
// - in crates/ropewalk/src/fork/deque.rs: `fence(SeqCst); // barrier of the thief`
// + ``
// mutation: deque-lowered-without-looking
// - in crates/ropewalk/src/fork/deque.rs: `if top < at {`
// + `if top <= at {`
#[test]
fn model_owner_takes_back_what_two_thieves_are_after() {
    model(|| {
        let ledger = Ledger::new(2);
        let (owner, shown) = deque(2);
        push(&owner, &ledger, 1..=2);
        publish(&owner, 2);
        let thieves = [thief(&ledger, &shown, 1), thief(&ledger, &shown, 1)];
        owner.pop().map(|token| ledger.redeem(token));
        finish(&owner, &ledger, thieves);
    });
}

// mutation: deque-lowered-relaxed
// - in crates/ropewalk/src/fork/deque.rs: `self.show(at);`
// + `self.split.set(at); deque.shown.split.store(at, Relaxed);`
#[test]
fn model_thief_sees_the_entry_below_a_lowered_split() {
    model(|| {
        let ledger = Ledger::new(2);
        let (owner, shown) = deque(2);
        let thief = thief(&ledger, &shown, 1);
        push(&owner, &ledger, 1..=2);
        publish(&owner, 2);
        owner.pop().map(|token| ledger.redeem(token));
        finish(&owner, &ledger, [thief]);
    });
}

// mutation: deque-grown-slots-relaxed
// - in crates/ropewalk/src/fork/deque.rs: `self.deque.shown.slots.store(ptr::from_ref(&*slots).cast_mut(), Release);`
// + `self.deque.shown.slots.store(ptr::from_ref(&*slots).cast_mut(), Relaxed);`
// mutation: deque-thief-reads-slots-relaxed
// - in crates/ropewalk/src/fork/deque.rs: `&*deque.shown.slots.load(Acquire)`
// + `&*deque.shown.slots.load(Relaxed)`
// mutation: deque-grows-without-copying
// - in crates/ropewalk/src/fork/deque.rs: `for position in top..self.bottom.get() {`
// + `for position in top + 1..self.bottom.get() {`
#[test]
fn model_grows_while_a_thief_takes() {
    model(|| {
        let ledger = Ledger::new(3);
        let (owner, shown) = deque(2);
        push(&owner, &ledger, 1..=2);
        publish(&owner, 1);
        let thief = thief(&ledger, &shown, 2);
        push(&owner, &ledger, 3..=3);
        publish(&owner, 1);
        finish(&owner, &ledger, [thief]);
    });
}

// mutation: deque-slot-reused-while-it-is-read
// - in crates/ropewalk/src/fork/deque.rs: `if self.bottom.get() - top > self.mask.get() {`
// + `if self.bottom.get() - top > self.mask.get() + 1 {`
// mutation: deque-limit-too-far
// - in crates/ropewalk/src/fork/deque.rs: `self.limit.set(top + self.mask.get() + 1);`
// + `self.limit.set(top + self.mask.get() + 2);`
#[test]
fn model_slots_are_used_again_while_a_thief_takes() {
    model(|| {
        let ledger = Ledger::new(4);
        let (owner, shown) = deque(2);
        push(&owner, &ledger, 1..=2);
        publish(&owner, 2);
        shown.steal().map(|token| ledger.redeem(token));
        let thief = thief(&ledger, &shown, 1);
        push(&owner, &ledger, 3..=4);
        finish(&owner, &ledger, [thief]);
    });
}

/// Who answers a thief sees what it took. (That a request which comes later is not lost is beyond loom: it lets an exchange overlook
/// a store.)
// mutation: deque-answered-without-looking
// - in crates/ropewalk/src/fork/deque.rs: `self.deque.asked.swap(false, AcqRel)`
// + `{ let asked = self.deque.asked.load(Relaxed); self.deque.asked.store(false, Relaxed); asked }`
// mutation: deque-theft-unseen
// - in crates/ropewalk/src/fork/deque.rs: `deque.asked.store(true, Release);`
// + `deque.asked.store(true, Relaxed);`
#[test]
fn model_a_theft_is_known_to_who_answers() {
    model(|| {
        let ledger = Ledger::new(1);
        let (owner, shown) = deque(2);
        owner.answer();
        push(&owner, &ledger, 1..=1);
        publish(&owner, 1);
        let thief = thief(&ledger, &shown, 1);
        if owner.answer() {
            assert_eq!(owner.public(), 0, "asked, and the reason is not to be seen");
        }
        assert_eq!(thief.join().expect("the thief is fine"), [1]);
        ledger.settle();
    });
}

/// Publishing is submitting (`sched/README.md`): who publishes and who falls asleep, one of them sees the other.
// mutation: deque-one-is-not-worth-a-look
// - in crates/ropewalk/src/fork/deque.rs: `top < self.deque.shown.split.load(Acquire)`
// + `top + 1 < self.deque.shown.split.load(Acquire)`
#[test]
fn model_a_sleeper_or_its_sight_is_seen() {
    model(|| {
        let ledger = Ledger::new(1);
        let (owner, shown) = deque(2);
        let asleep = Arc::new(AtomicBool::new(false));
        let sleeper = {
            let asleep = asleep.clone();
            thread::spawn(move || {
                asleep.store(true, Relaxed);
                fence(SeqCst);
                shown.has_loot()
            })
        };
        push(&owner, &ledger, 1..=1);
        publish(&owner, 1);
        fence(SeqCst);
        let saw_sleeper = asleep.load(Relaxed);
        let saw_entry = sleeper.join().expect("the sleeper is fine");
        assert!(saw_sleeper || saw_entry, "a wake-up was lost");
        finish(&owner, &ledger, []);
    });
}

#[cfg(not(any(loom, shuttle)))]
mod plain {
    use super::*;
    use crate::sched::entry::ledger::Dropped;
    use ropewalk_core::prim::real;

    #[test]
    fn owner_takes_the_newest_and_thieves_the_oldest() {
        let ledger = Ledger::new(6);
        let (owner, shown) = deque(2);
        push(&owner, &ledger, 1..=6);
        assert!(shown.steal().is_none() && !shown.has_loot(), "nothing is public yet");
        publish(&owner, 2);
        assert_eq!((owner.public(), owner.private()), (2, 4));
        assert_eq!(shown.steal().map(|token| ledger.redeem(token)), Some(1));
        assert_eq!(owner.pop().map(|token| ledger.redeem(token)), Some(6));
        publish(&owner, 100);
        assert_eq!((owner.public(), owner.private()), (4, 0));
        assert_eq!(shown.steal().map(|token| ledger.redeem(token)), Some(2));
        assert_eq!(ledger.redeem_all(|| owner.pop()), [5, 4, 3]);
        assert!(owner.pop().is_none() && shown.steal().is_none());
        ledger.settle();
    }

    #[test]
    fn a_request_is_heard_once_and_a_theft_is_one() {
        let ledger = Ledger::new(4);
        let (owner, shown) = deque(2);
        assert!(owner.push(ledger.issue(1)), "it begins with one");
        assert!(owner.answer() && !owner.answer());
        assert!(!owner.push(ledger.issue(2)));
        shown.ask();
        shown.ask();
        assert!(owner.push(ledger.issue(3)) && owner.answer());
        publish(&owner, 1);
        assert_eq!(shown.steal().map(|token| ledger.redeem(token)), Some(1));
        assert!(owner.push(ledger.issue(4)) && owner.answer());
        finish(&owner, &ledger, []);
        assert!(!owner.answer(), "who takes back private ones wants nothing");
    }

    #[test]
    fn what_is_taken_back_last_leaves_a_request() {
        let ledger = Ledger::new(2);
        let (owner, _shown) = deque(2);
        owner.answer();
        push(&owner, &ledger, 1..=2);
        publish(&owner, 2);
        assert_eq!(owner.pop().map(|token| ledger.redeem(token)), Some(2));
        assert!(!owner.answer(), "another one is public");
        assert_eq!(owner.pop().map(|token| ledger.redeem(token)), Some(1));
        assert!(owner.answer(), "nothing is");
    }

    #[test]
    fn dropping_the_owner_drops_what_it_holds_once() {
        let count = std::sync::Arc::new(real::AtomicU32::new(0));
        let (owner, shown) = deque(2);
        for _ in 0..5 {
            let _asked = owner.push(Dropped::new(&count));
        }
        owner.publish(2, |_| {});
        drop(shown.steal());
        assert_eq!(count.load(Relaxed), 1);
        drop(owner);
        assert_eq!(count.load(Relaxed), 5);
        assert!(shown.steal().is_none());
    }

    /// Any sequence of steps does what a plain queue with two ends does.
    #[test]
    fn any_sequence_of_steps_is_that_of_a_plain_deque() {
        let mut seed = 0x9E37_79B9_7F4A_7C15u64;
        let mut random = move |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        for _ in 0..300 {
            let ledger = Ledger::new(400);
            let (owner, shown) = deque(2);
            let (mut expected, mut public) = (std::collections::VecDeque::new(), 0);
            let mut issued = 0;
            for _ in 0..400 {
                match random(8) {
                    0..=3 => {
                        issued += 1;
                        push(&owner, &ledger, issued..=issued);
                        expected.push_back(issued);
                    }
                    4 | 5 => {
                        assert_eq!(owner.pop().map(|token| ledger.redeem(token)), expected.pop_back());
                        public = public.min(expected.len());
                    }
                    6 => {
                        let count = random(4) as usize;
                        publish(&owner, count);
                        public = expected.len().min(public + count);
                    }
                    _ => {
                        let stolen = shown.steal().map(|token| ledger.redeem(token));
                        let oldest = if public > 0 { expected.pop_front() } else { None };
                        assert_eq!(stolen, oldest);
                        public = public.saturating_sub(1);
                    }
                }
                assert_eq!((owner.public(), owner.private()), (public, expected.len() - public));
                assert_eq!(shown.has_loot(), public > 0);
            }
            finish(&owner, &ledger, []);
        }
    }

    /// Threads that push, take back, publish and steal as fast as they can: each entry arrives once.
    #[test]
    fn nothing_is_lost_or_taken_twice_under_load() {
        const ENTRIES: usize = 60_000;
        let ledger = Ledger::new(ENTRIES);
        let (owner, shown) = deque(2);
        let over = std::sync::Arc::new(real::AtomicBool::new(false));
        let thieves: Vec<_> = (0..3)
            .map(|_| {
                let (ledger, shown, over) = (ledger.clone(), shown.clone(), over.clone());
                std::thread::spawn(move || {
                    let mut got = Vec::new();
                    while !over.load(Acquire) || shown.has_loot() {
                        match shown.steal() {
                            Some(token) => got.push(ledger.redeem(token)),
                            None => shown.ask(),
                        }
                    }
                    got.len()
                })
            })
            .collect();
        let (mut issued, mut kept) = (0, 0);
        while issued < ENTRIES {
            for _ in 0..(issued % 13).min(ENTRIES - issued) + 1 {
                if issued == ENTRIES {
                    break;
                }
                issued += 1;
                if owner.push(ledger.issue(issued)) && owner.answer() {
                    publish(&owner, 2);
                }
            }
            for _ in 0..issued % 11 {
                kept += owner.pop().map_or(0, |token| ledger.redeem(token).min(1));
            }
        }
        kept += ledger.redeem_all(|| owner.pop()).len();
        over.store(true, Release);
        let stolen: usize = thieves.into_iter().map(|thief| thief.join().expect("the thief is fine")).sum();
        assert_eq!(kept + stolen, ENTRIES);
        ledger.settle();
    }
}
