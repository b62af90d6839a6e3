//! A hierarchical timing wheel: deadlines go in, what has expired comes out. It knows no clock; whoever uses it says what
//! time it is.
//!
//! Deadlines are plain numbers, as a rule nanoseconds. A *tick* is `2^GRAIN` of them. There are [`LEVELS`] levels of
//! slots: a slot of level 0 holds the entries of one tick, a slot of the next level as many ticks as level 0 has slots, and
//! so on. The exact deadline stays in the entry, and within a tick entries come out by it: the grain decides what the
//! wheel costs, not how precise it is.
//!
//! | level | slots | a slot is | the level spans (`GRAIN` 13, in nanoseconds) |
//! |---|---|---|---|
//! | 0 | 64 | 8 us | 0.5 ms |
//! | 1 | 256 | 0.5 ms | 134 ms |
//! | 2 | 64 | 134 ms | 8.6 s |
//! | 3, 4, 5 | 64 | 8.6 s, 9 min, 10 h | 9 min, 10 h, 26 days |
//!
//! Level 1 is the wide one: most timers of a busy program are there, what is in one of its slots is moved in one go, and
//! narrow slots keep that short.
//!
//! | operation | cost |
//! |---|---|
//! | [`register`](Wheel::register), [`cancel`](Wheel::cancel) | constant |
//! | [`advance`](Wheel::advance) | per entry, at most one move for each level, and its share of sorting one tick; empty stretches cost nothing |
//! | [`next_deadline`](Wheel::next_deadline) | a look at a bounded number of entries |
//!
//! # Invariants
//!
//! The digits of a tick are its bits in groups, one for each level (`BITS`); `elapsed` is the tick up to which time has
//! passed.
//!
//! - **H1** An entry lies where `place_of` says, computed from its deadline and `elapsed`: at the level of the
//!   highest digit in which its tick differs from `elapsed`, in the slot of its own digit there; beyond the last level in
//!   `far`. A tick that has passed counts as `elapsed` itself.
//! - **H2** `elapsed` moves only to a tick before the start of every occupied slot, or onto the start of the first one,
//!   which is then emptied at once if its level is not 0. Both keep H1 for everything else: no digit above an entry's
//!   level changes, and its own stays the larger one.
//! - **H3** So everything in a lower level comes before everything in a higher one, and in a level a lower slot before a
//!   higher one; the first entry is in the first occupied slot, which two bit scans find.
//! - **H4** A bit of `occupied` is set exactly when its slot is not empty.
//! - **H5** Entries with the same deadline come out in the order in which they were registered: lists are first in first
//!   out, a slot is emptied downwards before anything newer can be put below it (H2), back to front, each entry to the
//!   front of its new list, and sorting is stable.
//! - **H6** A registered entry is valid and stays where it is (the caller's promise to [`Wheel::register`]); whoever holds
//!   `&mut Wheel` is the only one to touch its links and deadline.
//!
//! # Rejected
//!
//! - A heap: an insertion costs a logarithm of cache misses, and cancelling needs the index kept in the entry.
//! - Rounding deadlines up to ticks: a fine tick needs more levels, a coarse one is late by it. Keeping the deadline costs
//!   nothing, since the entry needs it anyway to be found again.
//! - A minimum per slot, so that `next_deadline` is always exact: as many words again, and cancelling leaves it wrong.

#[cfg(feature = "alloc")]
mod alarms;
mod sort;
mod trail;

#[cfg(feature = "alloc")]
pub use alarms::{AlarmKey, Alarms};

use crate::list::{Linked, Links, List};
use crate::prefetch;
use crate::prim::UnsafeCell;
use core::fmt;
use core::ptr::{NonNull, null};
use trail::Trail;

/// How many levels a wheel has.
pub const LEVELS: usize = 6;
/// How many bits of a tick a level looks at, and how many are below them.
const BITS: [u32; LEVELS] = [6, 8, 6, 6, 6, 6];
const BELOW: [u32; LEVELS] = [0, 6, 14, 20, 26, 32];
/// Bits of a tick that are beyond the last level.
const BEYOND: u32 = 38;
/// The slots of all levels stand in one row, lower levels first; each 64 of them have a word of `occupied`. Which level a
/// word belongs to, and the first word of each level.
const LEVEL_OF: [usize; WORDS] = [0, 1, 1, 1, 1, 2, 3, 4, 5];
const FIRST_OF: [usize; LEVELS] = [0, 1, 5, 6, 7, 8];
const WORDS: usize = 9;
const SLOTS: usize = 64 * WORDS;
/// How many entries [`Wheel::next_deadline`] looks at before it settles for the start of their slot.
const LOOK: usize = 32;

/// The deadline of an entry, as the wheel keeps it, and the address of another entry that it comes to a little later.
pub struct Deadline {
    at: UnsafeCell<u64>,
    ahead: UnsafeCell<*const ()>,
}

impl Deadline {
    /// A deadline not known yet; [`Wheel::register`] sets it.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { at: UnsafeCell::new(u64::MAX), ahead: UnsafeCell::new(null()) }
    }
    /// A deadline not known yet; [`Wheel::register`] sets it.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { at: UnsafeCell::new(u64::MAX), ahead: UnsafeCell::new(null()) }
    }

    /// The deadline that the entry was registered with last.
    ///
    /// # Safety
    ///
    /// Nobody registers the entry meanwhile (H6).
    pub unsafe fn get(&self) -> u64 {
        // SAFETY: the caller's promise.
        self.at.with(|deadline| unsafe { *deadline })
    }

    /// Remembers a deadline in an entry that is not registered.
    ///
    /// # Safety
    ///
    /// The entry is in no wheel, and nobody else uses it meanwhile.
    pub unsafe fn set(&self, deadline: u64) {
        // SAFETY: the caller's promise.
        self.at.with_mut(|slot| unsafe { *slot = deadline });
    }
}
impl Default for Deadline {
    fn default() -> Self {
        Self::new()
    }
}
impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deadline") // it belongs to the wheel's lock (H6)
    }
}
// SAFETY: it is read and written by whoever holds the wheel, or the unregistered entry (H6); the address is never followed.
unsafe impl Sync for Deadline {}
// SAFETY: as above.
unsafe impl Send for Deadline {}

/// An entry of a [`Wheel`]: it has links and a deadline that nothing but the wheel uses.
///
/// # Safety
///
/// As for [`Linked`], with `deadline` beside `links`: always the same field of the node, found without making a reference
/// to the whole node.
pub unsafe trait Timed: Linked {
    /// Where the deadline of `node` is.
    ///
    /// # Safety
    ///
    /// `node` points to a valid node.
    unsafe fn deadline(node: NonNull<Self>) -> NonNull<Deadline>;
}

/// A timing wheel over entries that bring their own links: nothing is allocated, and nothing is synchronised. A tick is
/// `2^GRAIN` units of time. [`Alarms`] is the same with a safe interface, for whoever can allocate.
///
/// ```
/// use core::{pin::pin, ptr::NonNull};
/// use ropewalk_core::list::{Linked, Links};
/// use ropewalk_core::wheel::{Deadline, Timed, Wheel};
///
/// struct Alarm { name: &'static str, links: Links<Alarm>, deadline: Deadline }
///
/// // SAFETY: both fields are used for nothing else.
/// unsafe impl Linked for Alarm {
///     unsafe fn links(alarm: NonNull<Self>) -> NonNull<Links<Self>> {
///         // SAFETY: the caller passes a valid alarm.
///         unsafe { NonNull::new_unchecked((&raw const (*alarm.as_ptr()).links).cast_mut()) }
///     }
/// }
/// // SAFETY: as above.
/// unsafe impl Timed for Alarm {
///     unsafe fn deadline(alarm: NonNull<Self>) -> NonNull<Deadline> {
///         // SAFETY: the caller passes a valid alarm.
///         unsafe { NonNull::new_unchecked((&raw const (*alarm.as_ptr()).deadline).cast_mut()) }
///     }
/// }
///
/// let alarm = |name| Alarm { name, links: Links::new(), deadline: Deadline::new() };
/// let (tea, eggs) = (pin!(alarm("tea")), pin!(alarm("eggs")));
/// let mut wheel: Wheel<Alarm> = Wheel::new();
/// // SAFETY: both are pinned above and outlive the wheel.
/// unsafe {
///     wheel.register(NonNull::from(&*tea), 180_000_000_000);
///     wheel.register(NonNull::from(&*eggs), 420_000_000_000);
///     assert_eq!(wheel.next_deadline(), Some(180_000_000_000));
///     assert!(wheel.advance(179_999_999_999).is_none(), "never early");
///     assert_eq!(wheel.advance(200_000_000_000).unwrap().as_ref().name, "tea");
///     wheel.cancel(NonNull::from(&*eggs));
/// }
/// assert!(wheel.is_empty());
/// ```
pub struct Wheel<T: Timed, const GRAIN: u32 = 13> {
    slots: [List<T>; SLOTS],
    occupied: [u64; WORDS],
    /// Beyond the last level.
    far: List<T>,
    elapsed: u64,
    /// The slots of level 0 that are not in the order of their deadlines.
    disorder: u64,
    /// Whom the next entry comes after.
    trail: Trail,
    len: usize,
}

/// A list of the wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Slot(usize),
    Far,
}

/// The slots of level 0 are the first.
const LEVEL_0: core::ops::Range<usize> = 0..64;

impl<T: Timed, const GRAIN: u32> Wheel<T, GRAIN> {
    /// A wheel without entries, at time zero.
    pub const fn new() -> Self {
        const { assert!(GRAIN < 64) };
        Self {
            slots: [const { List::new() }; SLOTS],
            occupied: [0; WORDS],
            far: List::new(),
            elapsed: 0,
            disorder: 0,
            trail: Trail::new(),
            len: 0,
        }
    }

    /// How many entries are registered.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether no entry is registered.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an entry that expires at `deadline`: when [`advance`](Self::advance) is called with that time or a later one.
    /// A deadline that has passed expires with the next call; `u64::MAX` is as good as never.
    ///
    /// # Safety
    ///
    /// `node` is valid and pinned, and stays both until it has left this wheel; it is in no wheel and no list now. If its
    /// owner may be on another thread, the wheel and all its entries are under one lock.
    pub unsafe fn register(&mut self, node: NonNull<T>, deadline: u64) {
        // SAFETY: the caller vouches for `node`, which is in no wheel.
        unsafe { T::deadline(node).as_ref().set(deadline) };
        self.len += 1;
        let place = self.place_of(deadline >> GRAIN);
        let ahead = match place {
            Place::Slot(slot) if !LEVEL_0.contains(&slot) => self.trail.step(slot, node.as_ptr().cast()),
            _ => null(),
        };
        self.replace_ahead(node, ahead);
        if let Place::Slot(slot) = place {
            let last = self.slots[slot].back();
            self.occupy(slot, last.is_none_or(|last| self.deadline_of(last) <= deadline));
        }
        // SAFETY: passed on to the caller.
        unsafe { self.list(place).push_back(node) };
    }

    /// Takes an entry out.
    ///
    /// # Safety
    ///
    /// `node` is valid and registered in this wheel.
    pub unsafe fn cancel(&mut self, node: NonNull<T>) {
        self.take_out(node, self.place_of(self.tick_of(node)));
    }

    /// Time has come to `now`: takes out the first entry whose deadline is not later and returns it; call it until it
    /// returns `None`. Entries come out by deadline, and in the order of their registration if that is the same.
    ///
    /// Time does not go back: an earlier `now` than before takes out nothing that would have come out before.
    pub fn advance(&mut self, now: u64) -> Option<NonNull<T>> {
        let now_tick = now >> GRAIN;
        loop {
            let first = self.first().filter(|(_, start)| *start <= now_tick);
            let Some((place, start)) = first else {
                self.elapsed = self.elapsed.max(now_tick); // H2
                return None;
            };
            match place {
                Place::Slot(slot) if LEVEL_0.contains(&slot) => return self.pop_due(slot, start, now),
                Place::Slot(slot) => self.empty_downwards(slot, start),
                Place::Far => self.bring_near(now_tick),
            }
        }
    }

    /// When [`advance`](Self::advance) should be called next; `None` if nothing is registered.
    ///
    /// It is the first deadline, exactly, unless more than a few dozen entries lie far ahead in one slot: then it is a time
    /// before it, at which `advance` finds nothing due but sorts them more finely.
    pub fn next_deadline(&mut self) -> Option<u64> {
        let (place, start) = self.first()?;
        let list = match place {
            Place::Slot(slot) if LEVEL_0.contains(&slot) => {
                self.sort(slot);
                return self.slots[slot].front().map(|node| self.deadline_of(node));
            }
            Place::Slot(slot) => &self.slots[slot],
            Place::Far => &self.far,
        };
        let mut seen = 0;
        let earliest =
            list.iter().take(LOOK + 1).inspect(|_| seen += 1).map(|node| self.deadline_of(node)).min();
        if seen > LOOK { Some(start << GRAIN) } else { earliest }
    }

    /// Where an entry of that tick lies (H1).
    fn place_of(&self, tick: u64) -> Place {
        let tick = tick.max(self.elapsed);
        let level = match 63 - (tick ^ self.elapsed | 1).leading_zeros() {
            0..6 => 0,
            6..14 => 1,
            highest if highest < BEYOND => 2 + (highest as usize - 14) / 6,
            _ => return Place::Far,
        };
        let digit = (tick >> BELOW[level]) as usize & ((1 << BITS[level]) - 1);
        Place::Slot(64 * FIRST_OF[level] + digit)
    }

    /// The first list with something in it, and the tick at which it starts (H3).
    fn first(&self) -> Option<(Place, u64)> {
        for (word, occupied) in self.occupied.iter().enumerate() {
            if *occupied != 0 {
                let (level, slot) = (LEVEL_OF[word], 64 * word + occupied.trailing_zeros() as usize);
                let above = BELOW[level] + BITS[level];
                let digit = (slot - 64 * FIRST_OF[level]) as u64;
                return Some((Place::Slot(slot), self.elapsed >> above << above | digit << BELOW[level]));
            }
        }
        // Entries there differ from `elapsed` above the last level, so this does not overflow.
        let beyond = |_| (Place::Far, ((self.elapsed >> BEYOND) + 1) << BEYOND);
        self.far.front().map(beyond)
    }

    /// An entry comes into `slot`, at one of its ends; `fits` if that keeps the slot in the order of deadlines.
    fn occupy(&mut self, slot: usize, fits: bool) {
        if LEVEL_0.contains(&slot) && !fits {
            self.disorder |= 1 << slot;
        }
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    fn list(&mut self, place: Place) -> &mut List<T> {
        match place {
            Place::Slot(slot) => &mut self.slots[slot],
            Place::Far => &mut self.far,
        }
    }

    fn take_out(&mut self, node: NonNull<T>, place: Place) {
        let list = self.list(place);
        // SAFETY: a registered entry is in the list of its place (H1) and valid (H6).
        let was_there = unsafe { list.remove(node) };
        assert!(was_there, "a registered entry is where its deadline says");
        if let Place::Slot(slot) = place
            && list.is_empty()
        {
            self.occupied[slot / 64] &= !(1 << (slot % 64)); // H4
            if LEVEL_0.contains(&slot) {
                self.disorder &= !(1 << slot);
            }
        }
        self.len -= 1;
    }

    /// The first entry of a level-0 slot, which is the first of all, if it is due.
    fn pop_due(&mut self, slot: usize, start: u64, now: u64) -> Option<NonNull<T>> {
        self.elapsed = start; // H2
        self.sort(slot);
        let first = self.slots[slot].front().filter(|first| self.deadline_of(*first) <= now)?;
        self.take_out(first, Place::Slot(slot));
        Some(first)
    }

    /// Time has come to a slot of a higher level: its entries go to the levels below, in their order.
    fn empty_downwards(&mut self, slot: usize, start: u64) {
        self.elapsed = start;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        let mut entries = self.slots[slot].take();
        self.put_all(&mut entries);
    }

    /// Time has come to what was beyond the last level. All that was before it has expired: time moves on to the first
    /// entry there, or to now.
    fn bring_near(&mut self, now_tick: u64) {
        let first = self.far.iter().map(|node| self.tick_of(node)).min();
        self.elapsed = first.map_or(now_tick, |first| first.min(now_tick));
        let mut entries = self.far.take();
        self.put_all(&mut entries);
    }

    /// Links entries of a list that was emptied where they belong now: from the last one on, each before the ones that
    /// followed it.
    fn put_all(&mut self, entries: &mut List<T>) {
        let mut trail = Trail::new();
        while let Some(node) = entries.pop_back() {
            prefetch::bytes(self.replace_ahead(node, null()), size_of::<Links<T>>());
            let (place, deadline) = (self.place_of(self.tick_of(node)), self.deadline_of(node));
            if let Place::Slot(slot) = place {
                let first = self.slots[slot].front();
                self.occupy(slot, first.is_none_or(|first| deadline <= self.deadline_of(first)));
                // What is moved from a list comes off it in the same order the next time.
                if !LEVEL_0.contains(&slot)
                    && let Some(before) = NonNull::new(trail.step(slot, node.as_ptr().cast()).cast_mut())
                {
                    self.replace_ahead(before.cast(), node.as_ptr().cast());
                }
            }
            // SAFETY: it was in this wheel, so the promise of its registration holds, and is in no list now.
            unsafe { self.list(place).push_front(node) };
        }
    }

    /// Puts the entries of a level-0 slot in the order of their deadlines.
    fn sort(&mut self, slot: usize) {
        if self.disorder >> slot & 1 == 1 {
            sort::by_deadline(&mut self.slots[slot]);
            self.disorder &= !(1 << slot);
        }
    }

    fn tick_of(&self, node: NonNull<T>) -> u64 {
        self.deadline_of(node) >> GRAIN
    }

    fn deadline_of(&self, node: NonNull<T>) -> u64 {
        // SAFETY: called for entries that are registered or about to be, so they are valid, and nobody registers one while
        // the wheel is borrowed (H6).
        unsafe { T::deadline(node).as_ref().get() }
    }

    /// Sets the address that an entry which is registered, or about to be, keeps; returns the one before.
    fn replace_ahead(&mut self, node: NonNull<T>, ahead: *const ()) -> *const () {
        // SAFETY: as in `deadline_of`.
        let slot = unsafe { &T::deadline(node).as_ref().ahead };
        // SAFETY: only the wheel uses it, which is borrowed mutably.
        slot.with_mut(|slot| unsafe { core::mem::replace(&mut *slot, ahead) })
    }

    /// Checks the invariants; returns the number of entries. For tests: it takes time in proportion.
    ///
    /// # Panics
    ///
    /// If one is broken.
    pub fn assert_valid(&self) -> usize {
        let mut count = self.far.assert_valid();
        self.far.iter().for_each(|node| assert_eq!(self.place_of(self.tick_of(node)), Place::Far));
        for (slot, list) in self.slots.iter().enumerate() {
            let occupied = self.occupied[slot / 64] >> (slot % 64) & 1 == 1;
            assert_eq!(occupied, !list.is_empty(), "H4: slot {slot}");
            count += list.assert_valid();
            for node in list.iter() {
                assert_eq!(self.place_of(self.tick_of(node)), Place::Slot(slot), "H1");
            }
            let in_order = list.iter().is_sorted_by_key(|node| self.deadline_of(node));
            let known = !LEVEL_0.contains(&slot) || self.disorder >> slot & 1 == 1;
            assert!(in_order || known, "a slot out of order");
        }
        assert_eq!(count, self.len);
        count
    }
}

impl<T: Timed, const GRAIN: u32> Default for Wheel<T, GRAIN> {
    fn default() -> Self {
        Self::new()
    }
}
impl<T: Timed, const GRAIN: u32> fmt::Debug for Wheel<T, GRAIN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = self.elapsed << GRAIN;
        f.debug_struct("Wheel").field("len", &self.len).field("elapsed", &since).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
