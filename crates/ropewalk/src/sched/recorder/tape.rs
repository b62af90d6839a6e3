//! A ring of events with one writer, who never waits: the newest are there, and readers copy them while it goes on.
//!
//! ```text
//!   the writer, event number n                        a reader
//!     1. head is n                                      1. h = head (Acquire)
//!     2. Release fence                                  2. copies the places of the last `capacity` before h
//!     3. writes the words of place n mod capacity       3. Acquire fence
//!     4. head = n + 1 (Release)                         4. now = head: keeps those after `now - capacity`
//! ```
//!
//! # Invariants
//!
//! - **TP1** Who sees the head sees the events before it, and what was amended before them.
//! - **TP2** Of event n nothing was overwritten while the head that is read afterwards is not past `n + capacity - 1`: whoever read a word of event
//!   `n + capacity` finds, after its fence, a head of `n + capacity` at least. So what a reader keeps is whole. (The oldest place may be the
//!   one that is written now: it is never kept.)
//! - **TP3** What is amended is the last word of an event that is still there: it is read as it was or as it is, and both belong to the others.

use super::act::{Event, Words};
use ropewalk_core::prim::{AtomicPtr, AtomicU64, Ordering::*, fence};

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Tape {
    /// How many events were written, ever.
    head: AtomicU64,
    /// From when on what happens is written, and one; 0: not yet.
    begun: AtomicU64,
    places: Box<[Place]>,
}

#[derive(Debug)]
struct Place {
    time: AtomicU64,
    id: AtomicU64,
    what: AtomicPtr<()>,
    word: AtomicU64,
}

impl Tape {
    /// Room for so many events, a power of two.
    pub(crate) fn new(capacity: usize) -> Self {
        debug_assert!(capacity.is_power_of_two());
        let place = || Place {
            time: AtomicU64::new(0),
            id: AtomicU64::new(0),
            what: AtomicPtr::new(std::ptr::null_mut()),
            word: AtomicU64::new(0),
        };
        let zero = || AtomicU64::new(0);
        Self { head: zero(), begun: zero(), places: (0..capacity).map(|_| place()).collect() }
    }

    /// What happens from now on is written, or was already; zero: from the beginning, for nothing has happened yet. Only the writer calls this, or who makes it.
    pub(crate) fn begin(&self, now: u64) {
        if self.begun().is_none() {
            self.begun.store(now + 1, Relaxed);
        }
    }

    /// Since when what happens is written. `None`: it is not, yet.
    pub(crate) fn begun(&self) -> Option<u64> {
        self.begun.load(Relaxed).checked_sub(1)
    }

    #[inline]
    fn place(&self, number: u64) -> &Place {
        &self.places[number as usize & (self.places.len() - 1)]
    }

    /// Writes an event, and says its number. Only the writer calls this.
    #[inline]
    pub(crate) fn push(&self, event: Event) -> u64 {
        let (number, words) = (self.head.load(Relaxed), event.to_words());
        fence(Release); // TP2: after the head, before the words
        let place = self.place(number);
        place.time.store(words.time, Relaxed);
        place.id.store(words.id, Relaxed);
        place.what.store(words.what.cast_mut(), Relaxed);
        place.word.store(words.word, Relaxed);
        self.head.store(number + 1, Release); // TP1
        number
    }

    /// Event `number` has become `event`: more is known of it, but what it is about is the same. If it was overwritten, it is
    /// written again. Only the writer calls this.
    #[inline]
    pub(crate) fn amend(&self, number: u64, event: Event) {
        if self.head.load(Relaxed).wrapping_sub(number) > self.places.len() as u64 {
            self.push(event); // TP3: its place is another one's
        } else {
            self.place(number).word.store(event.to_words().word, Relaxed);
        }
    }

    /// The newest events, in the order in which they were written, and how many were written before them.
    pub(crate) fn copy(&self) -> (Vec<Event>, u64) {
        let (head, capacity) = (self.head.load(Acquire), self.places.len() as u64); // TP1
        let first = head.saturating_sub(capacity);
        let copied: Vec<Words> = (first..head).map(|number| self.place(number).words()).collect();
        fence(Acquire);
        let kept = (self.head.load(Relaxed) + 1).saturating_sub(capacity).clamp(first, head); // TP2
        let events = copied[(kept - first) as usize..].iter();
        // SAFETY: TP2, TP3: what is kept is what was written for one event, but for its last word, which may have been amended.
        (events.filter_map(|words| unsafe { Event::from_words(*words) }).collect(), kept)
    }
}

impl Place {
    fn words(&self) -> Words {
        Words {
            time: self.time.load(Relaxed),
            id: self.id.load(Relaxed),
            what: self.what.load(Relaxed).cast_const(),
            word: self.word.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::act::{Act, Slept};
    use super::*;
    use ropewalk_core::prim::{self, Arc, thread};

    fn parked(number: u64, took: Option<u64>) -> Event {
        let ended = took.map(|took| (Slept::Own, took));
        Event { time: number, id: number, act: Act::Parked { ended } }
    }

    fn took(event: &Event) -> Option<u64> {
        match event.act {
            Act::Parked { ended } => ended.map(|(_, took)| took),
            ref other => panic!("{other:?}"),
        }
    }

    #[cfg(not(any(loom, shuttle)))]
    #[test]
    fn the_newest_are_kept_and_those_before_are_counted() {
        let tape = Tape::new(4);
        let ids = || tape.copy().0.iter().map(|event| event.id).collect::<Vec<_>>();
        assert_eq!((ids(), tape.copy().1), (vec![], 0));
        (0..3).for_each(|number| assert_eq!(tape.push(parked(number, None)), number));
        assert_eq!((ids(), tape.copy().1), (vec![0, 1, 2], 0));
        (3..10).for_each(|number| _ = tape.push(parked(number, None)));
        assert_eq!((ids(), tape.copy().1), (vec![7, 8, 9], 7), "the oldest place may be written to just now");
    }

    #[cfg(not(any(loom, shuttle)))]
    #[test]
    fn what_is_amended_stays_where_it_is_or_comes_last() {
        let tape = Tape::new(4);
        let first = tape.push(parked(0, None));
        tape.push(parked(1, None));
        tape.amend(first, parked(0, Some(8)));
        assert_eq!(tape.copy().0.iter().map(took).collect::<Vec<_>>(), [Some(8), None]);
        (2..5).for_each(|number| _ = tape.push(parked(number, None)));
        tape.amend(first, parked(0, Some(9)));
        let events = tape.copy().0;
        assert_eq!(events.iter().map(|event| event.id).collect::<Vec<_>>(), [3, 4, 0]);
        assert_eq!(took(&events[2]), Some(9));
    }

    /// A reader copies while the writer comes around, and amends the first event, which is there or not any more.
    // mutation: tape-words-are-written-before-the-head-is-out
    // - in crates/ropewalk/src/sched/recorder/tape.rs: `fence(Release); // TP2: after the head, before the words`
    // + ``
    // mutation: tape-head-is-out-before-the-words
    // - in crates/ropewalk/src/sched/recorder/tape.rs: `self.head.store(number + 1, Release); // TP1`
    // + `self.head.store(number + 1, Relaxed);`
    // mutation: tape-the-place-that-is-written-is-kept
    // - in crates/ropewalk/src/sched/recorder/tape.rs: `(self.head.load(Relaxed) + 1).saturating_sub(capacity)`
    // + `self.head.load(Relaxed).saturating_sub(capacity)`
    // mutation: tape-no-second-look-at-the-head
    // - in crates/ropewalk/src/sched/recorder/tape.rs: `(self.head.load(Relaxed) + 1).saturating_sub(capacity)`
    // + `first`
    // mutation: tape-another-event-is-amended
    // - in crates/ropewalk/src/sched/recorder/tape.rs: `if self.head.load(Relaxed).wrapping_sub(number) > self.places.len() as u64 {`
    // + `if self.head.load(Relaxed).wrapping_sub(number) > self.places.len() as u64 + 1 {`
    #[test]
    fn model_what_is_copied_is_whole_and_in_order() {
        prim::deep_model(3, || {
            let tape = Arc::new(Tape::new(2));
            tape.push(parked(1, None));
            let there = tape.clone();
            let reader = thread::spawn(move || {
                let (events, before) = there.copy();
                for (at, event) in events.iter().enumerate() {
                    assert_eq!(event.time, event.id, "whole");
                    let number = before + at as u64;
                    assert_eq!(event.id, if number == 3 { 1 } else { number + 1 }, "in order");
                    assert!(took(event).is_none_or(|took| took == event.id), "its own end");
                    let open = took(event).is_none();
                    assert!(
                        !open || number == 0 && at + 1 == events.len(),
                        "who sees the next sees how it ended"
                    );
                }
                (before, events.len())
            });
            tape.amend(0, parked(1, Some(1)));
            tape.push(parked(2, Some(2)));
            tape.push(parked(3, Some(3)));
            tape.amend(0, parked(1, Some(1)));
            let (before, copied) = reader.join().unwrap();
            assert!(
                before + copied as u64 >= 1 && copied <= 1,
                "of what was there, but for the place that may be written to"
            );
            assert_eq!(tape.copy().0.iter().map(|event| event.id).collect::<Vec<_>>(), [1]);
        });
    }
}
