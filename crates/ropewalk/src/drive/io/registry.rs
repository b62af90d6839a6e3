//! Where the readiness of every registration is: slots in pages that never move, found by number.
//!
//! A slot is used by one registration after another, each with its own generation (`readiness.rs`, E4). A number that a
//! driver made up finds no slot, or one of another generation.

use super::contract::{Ready, Token};
use super::readiness::Readiness;
use ropewalk_core::prim::Lock;
use std::io;
use std::sync::OnceLock;

/// The first page has so many slots, each of the next twice as many as the one before, up to `LARGEST`. The number of a slot is
/// its page and its place there, as if all pages were as large.
const FIRST: usize = 32;
const LARGEST: usize = 1024;
/// Pages come in groups, of which there are so many: most runtimes need one.
const GROUP: usize = 64;
const GROUPS: usize = 32;

type Page = OnceLock<Box<[Readiness]>>;

#[derive(Debug)]
pub(super) struct Registry {
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
    pub(super) fn new() -> Self {
        Self { groups: [const { OnceLock::new() }; GROUPS], free: Lock::new(Free::default()) }
    }

    /// A slot for a new registration, which counts as ready for anything.
    ///
    /// # Errors
    /// There are more than two million.
    pub(super) fn take(&self, ready: Ready) -> io::Result<Token> {
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
        let slots = page.get_or_init(|| (0..size(index as usize)).map(|_| Readiness::new()).collect());
        slots[offset].begin(generation, ready);
        Ok(Token::new(index, generation))
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
        self.at(token.index())
    }

    #[inline]
    pub(super) fn at(&self, index: usize) -> Option<&Readiness> {
        let (page, offset) = place(index);
        self.groups.get(page / GROUP)?.get()?[page % GROUP].get()?.get(offset)
    }

    /// No event will come any more, to anybody.
    pub(super) fn end_all(&self) {
        let groups = self.groups.iter().map_while(OnceLock::get);
        for page in groups.flat_map(|group| group.iter().map_while(OnceLock::get)) {
            page.iter().for_each(|slot| slot.end(slot.look().generation()));
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
        let registry = Registry::new();
        let first = registry.take(Ready::NONE).unwrap();
        registry.give_back(first);
        let second = registry.take(Ready::NONE).unwrap();
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
        let registry = Registry::new();
        assert!(registry.get(Token::from_bits(u64::MAX)).is_none());
        assert!(registry.get(Token::from_bits(5)).is_none());
        registry.take(Ready::NONE).unwrap();
        assert!(registry.get(Token::from_bits(31)).is_some());
        assert!(registry.get(Token::from_bits(32)).is_none(), "the first page is small");
    }
}
