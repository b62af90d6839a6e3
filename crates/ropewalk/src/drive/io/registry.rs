//! Where the readiness of every registration is: slots in pages that never move. Events find theirs by number, the owner of a
//! registration has its address.
//!
//! A slot is used by one registration after another, each with its own generation (`readiness.rs`, E4). A number that a
//! driver made up finds no slot, or one of another generation.
//!
//! * **G1** A page is neither moved nor freed before its reactor is, and every [`Place`] has a share of the reactor.

use super::contract::{Ready, Token};
use super::reactor::Reactor;
use super::readiness::Readiness;
use ropewalk_core::prim::Lock;
use std::fmt;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// The first page has so many slots, each of the next twice as many as the one before, up to `LARGEST`. The number of a slot is
/// its page and its place there, as if all pages were as large.
const FIRST: usize = 32;
const LARGEST: usize = 1024;
/// Pages come in groups, of which there are so many: most runtimes need one.
const GROUP: usize = 64;
const GROUPS: usize = 32;

type Page = OnceLock<Box<[Slot]>>;

/// The readiness of one registration after another, and what whoever has one needs to know of its reactor: a cache line, which
/// is all that an operation has to fetch.
#[repr(align(64))]
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) readiness: Readiness,
    /// Where it is; to be used by a [`Place`].
    reactor: *const Reactor,
    index: u32,
    pub(super) manner: Manner,
}
// SAFETY: `reactor` is only the address of something that is `Sync`.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

/// What a driver is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// It is to be told when something was found not to be ready.
    pub(super) needs_rearm: bool,
    /// It says so when there is more, also if a read has left nothing.
    pub(super) short_is_empty: bool,
}

/// The right to one slot, for as long as a registration lasts.
pub(super) struct Place(NonNull<Slot>);
// SAFETY: it is a reference to a slot and a share of a reactor, both of which are `Send` and `Sync`.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

impl Slot {
    /// The generation is that of the registration that is here, until it ends.
    pub(super) fn token(&self) -> Token {
        Token::new(self.index, self.readiness.look().generation())
    }
}

impl Place {
    /// `slot` is one of this reactor's.
    pub(super) fn new(slot: &Slot, reactor: &Arc<Reactor>) -> Self {
        assert!(std::ptr::eq(slot.reactor, Arc::as_ptr(reactor)), "it is another reactor's slot");
        std::mem::forget(reactor.clone()); // the share (G1)
        Self(NonNull::from(slot))
    }

    /// Its reactor, for as long as this is borrowed.
    pub(super) fn reactor(&self) -> impl Deref<Target = Arc<Reactor>> + use<'_> {
        // SAFETY: it came from an `Arc` in `new`, and the share that this one has is not given up by a `ManuallyDrop` (G1).
        ManuallyDrop::new(unsafe { Arc::from_raw(self.reactor) })
    }
}

impl Deref for Place {
    type Target = Slot;
    #[inline]
    fn deref(&self) -> &Slot {
        // SAFETY: the slot is there for as long as its reactor is, of which we have a share (G1).
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // SAFETY: this is the share that was taken in `new`. The slot is not used after it.
        drop(unsafe { Arc::from_raw(self.reactor) });
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("token", &self.token()).field("readiness", &self.readiness).finish()
    }
}

#[derive(Debug)]
pub(super) struct Registry {
    manner: Manner,
    groups: [OnceLock<Box<[Page; GROUP]>>; GROUPS],
    free: Lock<Free>,
}

/// The numbers that are not in use.
#[derive(Debug, Default)]
struct Free {
    /// With the generation of their next use.
    given_back: Vec<(u32, u32)>,
    never_used: u32,
}

impl Registry {
    pub(super) fn new(manner: Manner) -> Self {
        Self { manner, groups: [const { OnceLock::new() }; GROUPS], free: Lock::new(Free::default()) }
    }

    /// A slot for a new registration, which counts as ready for anything. `reactor`: where this registry is.
    ///
    /// # Errors
    /// There are more than two million.
    pub(super) fn take(&self, reactor: *const Reactor, ready: Ready) -> io::Result<&Slot> {
        let (index, generation) = {
            let mut free = self.free.lock();
            match free.given_back.pop() {
                Some(known) => known,
                None if (free.never_used as usize) < GROUPS * GROUP * LARGEST => (free.next(), 0),
                None => {
                    let most = "too many open files and sockets in one runtime (two million)";
                    return Err(io::Error::other(most));
                }
            }
        };
        let (page, offset) = place(index as usize);
        let group = &self.groups[page / GROUP];
        let group = group.get_or_init(|| Box::new([const { OnceLock::new() }; GROUP]));
        let page = &group[page % GROUP];
        let begin = index - offset as u32;
        let slots = page.get_or_init(|| {
            let slot = |at| Slot {
                readiness: Readiness::new(),
                reactor,
                index: begin + at as u32,
                manner: self.manner,
            };
            (0..size(index as usize)).map(slot).collect()
        });
        slots[offset].readiness.begin(generation, ready);
        Ok(&slots[offset])
    }

    /// The registration is over; who still waits for it is told.
    pub(super) fn give_back(&self, token: Token) {
        if let Some(slot) = self.get(token) {
            slot.end(token.generation());
            self.free.lock().given_back.push((token.index() as u32, token.generation().wrapping_add(1)));
        }
    }

    /// Where a token belongs; what is there may have another generation.
    #[inline]
    pub(super) fn get(&self, token: Token) -> Option<&Readiness> {
        let (page, offset) = place(token.index());
        let slots = self.groups.get(page / GROUP)?.get()?[page % GROUP].get()?;
        slots.get(offset).map(|slot| &slot.readiness)
    }

    /// No event will come any more, to anybody.
    pub(super) fn end_all(&self) {
        self.for_each(|slot| slot.readiness.end(slot.token().generation()));
    }

    /// Nobody knows what is ready: all who wait to read or to write try again.
    pub(super) fn nudge_all(&self) {
        let ready = Ready::READABLE | Ready::WRITABLE;
        self.for_each(|slot| slot.readiness.event(slot.token().generation(), ready));
    }

    fn for_each(&self, each: impl Fn(&Slot)) {
        let groups = self.groups.iter().map_while(OnceLock::get);
        for page in groups.flat_map(|group| group.iter().map_while(OnceLock::get)) {
            page.iter().for_each(&each);
        }
    }
}

impl Free {
    /// A number that was never used.
    fn next(&mut self) -> u32 {
        let index = self.never_used;
        let (page, offset) = place(index as usize);
        let fills = offset + 1 == size(index as usize);
        self.never_used = if fills { ((page + 1) * LARGEST) as u32 } else { index + 1 };
        index
    }
}

/// The page of a slot, and where in it.
#[inline]
fn place(index: usize) -> (usize, usize) {
    (index / LARGEST, index % LARGEST)
}

/// How many slots the page of a slot has.
fn size(index: usize) -> usize {
    let (page, _) = place(index);
    if page < (LARGEST / FIRST).ilog2() as usize { FIRST << page } else { LARGEST }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::ptr::null;

    fn registry() -> Registry {
        Registry::new(Manner { needs_rearm: false, short_is_empty: false })
    }

    #[test]
    fn slots_are_all_different_and_fill_their_pages() {
        let (mut free, mut expected) = (Free::default(), (0, 0));
        for _ in 0..10_000 {
            let index = free.next() as usize;
            assert_eq!(place(index), expected);
            expected.1 += 1;
            if expected.1 == size(index) {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!([0, 1, 4, 5, 6, 99].map(|page| size(page * LARGEST)), [32, 64, 512, 1024, 1024, 1024]);
    }

    #[test]
    fn a_slot_is_used_again_with_another_token_and_the_old_one_reaches_nobody() {
        let registry = registry();
        let first = registry.take(null(), Ready::NONE).unwrap().token();
        registry.give_back(first);
        let second = registry.take(null(), Ready::NONE).unwrap().token();
        assert_eq!(first.index(), second.index());
        assert_ne!(first, second);
        let slot = registry.get(second).unwrap();
        slot.event(first.generation(), Ready::READABLE);
        assert!(slot.look().ready().is_none());
        slot.event(second.generation(), Ready::READABLE);
        assert!(slot.look().ready().is_readable());
    }

    #[test]
    fn a_made_up_token_finds_nothing() {
        let registry = registry();
        assert!(registry.get(Token::from_bits(u64::MAX)).is_none());
        assert!(registry.get(Token::from_bits(5)).is_none());
        registry.take(null(), Ready::NONE).unwrap();
        assert!(registry.get(Token::from_bits(31)).is_some());
        assert!(registry.get(Token::from_bits(32)).is_none(), "the first page is small");
    }
}
