//! What is recorded, and how it fits into the four words of a place on a [`Tape`](super::tape::Tape).
//!
//! ```text
//!   time   nanoseconds since the recorder was made
//!   id     the task it is about, or a number
//!   what   a spawn place (`Location`), the bytes of a name, or nothing
//!   word   63             16        8      0
//!          | a number, 48 | details | kind |
//! ```
//!
//! The kind says what `what` points to: a word and a pointer that were written together are read as what they were.

use std::panic::Location;
use std::ptr::{NonNull, null};

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) time: u64,
    /// The task it is about; 0: none.
    pub(crate) id: u64,
    pub(crate) act: Act,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// It runs, and did so for that long.
    Poll {
        place: &'static Location<'static>,
        noun: Noun,
        resumed: bool,
        ended: Option<(End, u64)>,
    },
    /// It can run from now on; `new`: it was spawned; `ticket`: it brings a parked stack back.
    Woken {
        place: &'static Location<'static>,
        new: bool,
        ticket: bool,
    },
    /// It was taken from another worker, as the first of so many.
    Stolen {
        from: u16,
        count: u32,
    },
    /// The worker sleeps, and did so for that long.
    Parked {
        ended: Option<(Slept, u64)>,
    },
    /// So many events of the driver became wake-ups, or so many timers; it took that long.
    Io {
        count: u64,
        took: u64,
    },
    Timers {
        count: u64,
        took: u64,
    },
    /// So many tasks wait at this worker, and so many in the pool's queue.
    Queues {
        here: u32,
        outside: u32,
    },
    /// A span of the user's.
    SpanBegins {
        number: u32,
        name: &'static str,
    },
    SpanEnds {
        number: u32,
    },
}

macro_rules! codes {
    ($(#[$meta:meta])* $name:ident { $first:ident $(, $rest:ident)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $first $(, $rest)* }
        impl $name {
            fn of(code: u64) -> Self {
                [Self::$first $(, Self::$rest)*].into_iter().find(|one| *one as u64 == code).unwrap_or(Self::$first)
            }
        }
    };
}
codes! {
    /// What it is that runs.
    Noun { Task, Strand, Job, Root, Ticket }
}
codes! {
    /// How a poll ended.
    End { Waits, Woken, Yielded, Done, Parked, Switched }
}
codes! {
    /// Where a worker slept.
    Slept { Driver, StandingBy, Own, Aside, Guest }
}

const POLL: u64 = 1;
const WOKEN: u64 = 2;
const STOLEN: u64 = 3;
const PARKED: u64 = 4;
const IO: u64 = 5;
const TIMERS: u64 = 6;
const QUEUES: u64 = 7;
const SPAN_BEGINS: u64 = 8;
const SPAN_ENDS: u64 = 9;

/// The longest time, and the largest number, that a word has room for.
const MOST: u64 = (1 << 48) - 1;
/// The longest name of a span, in bytes.
const LONGEST_NAME: usize = u16::MAX as usize;

/// An event as words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    pub(super) time: u64,
    pub(super) id: u64,
    pub(super) what: *const (),
    pub(super) word: u64,
}

fn word(kind: u64, details: u64, number: u64) -> u64 {
    number.min(MOST) << 16 | details << 8 | kind
}

/// How far it is, and how long that took: no details before it has ended.
fn ending<E>(ended: Option<(E, u64)>, code: impl Fn(E) -> u64) -> (u64, u64) {
    ended.map_or((0, 0), |(end, took)| (code(end) + 1, took))
}

impl Event {
    pub(super) fn to_words(self) -> Words {
        let Self { time, id, act } = self;
        let nothing = null();
        let (id, what, word) = match act {
            Act::Poll { place, noun, resumed, ended } => {
                let (end, took) = ending(ended, |end| end as u64);
                let details = end << 4 | u64::from(resumed) << 3 | noun as u64;
                (id, std::ptr::from_ref(place).cast(), word(POLL, details, took))
            }
            Act::Woken { place, new, ticket } => {
                let details = u64::from(ticket) << 1 | u64::from(new);
                (id, std::ptr::from_ref(place).cast(), word(WOKEN, details, 0))
            }
            Act::Stolen { from, count } => {
                (id, nothing, word(STOLEN, 0, u64::from(from) << 32 | u64::from(count)))
            }
            Act::Parked { ended } => {
                let (berth, took) = ending(ended, |berth| berth as u64);
                (id, nothing, word(PARKED, berth, took))
            }
            Act::Io { count, took } => (count, nothing, word(IO, 0, took)),
            Act::Timers { count, took } => (count, nothing, word(TIMERS, 0, took)),
            Act::Queues { here, outside } => {
                (u64::from(here) << 32 | u64::from(outside), nothing, word(QUEUES, 0, 0))
            }
            Act::SpanBegins { number, name } => {
                let name = &name[..name.floor_char_boundary(LONGEST_NAME)];
                (id, name.as_ptr().cast(), word(SPAN_BEGINS, 0, u64::from(number) << 16 | name.len() as u64))
            }
            Act::SpanEnds { number } => (id, nothing, word(SPAN_ENDS, 0, u64::from(number))),
        };
        Words { time, id, what, word }
    }

    /// What the words mean. `None`: nothing was ever written there.
    ///
    /// # Safety
    /// They are what `to_words` gave for one event; or `word` is from a later one of the same kind and about the same.
    pub(super) unsafe fn from_words(words: Words) -> Option<Self> {
        let Words { time, mut id, what, word } = words;
        let (details, number) = (word >> 8 & 0xFF, word >> 16);
        // SAFETY: the contract; of these kinds it points to a spawn place, which is there for ever.
        let place = || unsafe { what.cast::<Location<'static>>().as_ref() };
        let ended = |code: u64| (code > 0).then(|| code - 1);
        let act = match word & 0xFF {
            POLL => Act::Poll {
                place: place()?,
                noun: Noun::of(details & 7),
                resumed: details & 8 != 0,
                ended: ended(details >> 4).map(|end| (End::of(end), number)),
            },
            WOKEN => Act::Woken { place: place()?, new: details & 1 != 0, ticket: details & 2 != 0 },
            STOLEN => Act::Stolen { from: (number >> 32) as u16, count: number as u32 },
            PARKED => Act::Parked { ended: ended(details).map(|berth| (Slept::of(berth), number)) },
            IO => Act::Io { count: std::mem::take(&mut id), took: number },
            TIMERS => Act::Timers { count: std::mem::take(&mut id), took: number },
            QUEUES => {
                let both = std::mem::take(&mut id);
                Act::Queues { here: (both >> 32) as u32, outside: both as u32 }
            }
            SPAN_BEGINS => {
                let bytes = NonNull::new(what.cast_mut().cast::<u8>())?;
                let length = (number & 0xFFFF) as usize;
                // SAFETY: the contract; these many bytes of a name, which is text and is there for ever.
                let name = unsafe {
                    std::str::from_utf8_unchecked(std::slice::from_raw_parts(bytes.as_ptr(), length))
                };
                Act::SpanBegins { number: (number >> 16) as u32, name }
            }
            SPAN_ENDS => Act::SpanEnds { number: number as u32 },
            _ => return None,
        };
        Some(Self { time, id, act })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn back(act: Act) -> String {
        let event = Event { time: 7, id: 9, act };
        // SAFETY: just made.
        let read = unsafe { Event::from_words(event.to_words()) }.unwrap();
        assert!(read.time == 7 && (read.id == 9 || read.id == 0), "{read:?}");
        assert_eq!(format!("{:?}", read.act), format!("{act:?}"));
        format!("{read:?}")
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let place = Location::caller();
        for (noun, end) in [(Noun::Task, End::Waits), (Noun::Ticket, End::Switched), (Noun::Job, End::Done)] {
            back(Act::Poll { place, noun, resumed: false, ended: None });
            back(Act::Poll { place, noun, resumed: true, ended: Some((end, MOST)) });
        }
        back(Act::Woken { place, new: true, ticket: false });
        back(Act::Woken { place, new: false, ticket: true });
        back(Act::Stolen { from: u16::MAX, count: u32::MAX });
        back(Act::Parked { ended: None });
        back(Act::Parked { ended: Some((Slept::Guest, 12)) });
        back(Act::Io { count: u64::MAX, took: 3 });
        back(Act::Timers { count: 2, took: 3 });
        back(Act::Queues { here: u32::MAX, outside: 1 });
        back(Act::SpanBegins { number: u32::MAX, name: "näme" });
        back(Act::SpanBegins { number: 1, name: "" });
        back(Act::SpanEnds { number: u32::MAX });
    }

    #[test]
    fn what_is_too_long_is_cut() {
        let place = Location::caller();
        let took =
            |took| Act::Poll { place, noun: Noun::Task, resumed: false, ended: Some((End::Done, took)) };
        let read = |act| {
            // SAFETY: just made.
            unsafe { Event::from_words(Event { time: 0, id: 1, act }.to_words()) }.unwrap().act
        };
        assert!(matches!(read(took(u64::MAX)), Act::Poll { ended: Some((End::Done, MOST)), .. }));
        let long: &'static str = String::leak("é".repeat(LONGEST_NAME));
        assert!(
            matches!(read(Act::SpanBegins { number: 3, name: long }), Act::SpanBegins { number: 3, name } if name.len() == LONGEST_NAME - 1)
        );
    }
}
