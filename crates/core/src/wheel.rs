//! A hierarchical timing wheel: deadlines go in, what has expired comes out. It knows no clock; whoever uses it says what
//! time it is.
//!
//! Deadlines are plain numbers, as a rule nanoseconds. A *tick* is `2^GRAIN` of them. There are [`LEVELS`] levels of
//! slots: a slot of level 0 holds the entries of one tick, a slot of the next level as many ticks as a turn of level 0 has,
//! and so on. The exact deadline stays in the entry, and within a tick entries come out by it: the grain decides what the
//! wheel costs, not how precise it is.
//!
//! | level | slots in a turn | a slot is | a turn is (`GRAIN` 13, in nanoseconds) |
//! |---|---|---|---|
//! | 0 | 64 | 8 us | 0.5 ms |
//! | 1 | 256 | 0.5 ms | 134 ms |
//! | 2 | 64 | 134 ms | 8.6 s |
//! | 3, 4, 5 | 64 | 8.6 s, 9 min, 10 h | 9 min, 10 h, 26 days |
//!
//! Level 1 is the wide one: most timers of a busy program are there, what is in one of its slots is moved in one go, and
//! narrow slots keep that short.
//!
//! The levels above 0 have slots for two turns, the current one and the next. So what is in the slot of a higher level
//! whose time comes next has its place below already, and goes there little by little while other entries expire
//! (`ON_THE_WAY`): a slot may hold a hundred thousand entries, and to move all of them at once takes milliseconds, in
//! which nothing expires.
//!
//! | operation | cost |
//! |---|---|
//! | [`register`](Wheel::register), [`cancel`](Wheel::cancel) | constant |
//! | [`advance`](Wheel::advance) | per entry, at most one move for each level, and its share of sorting one tick; empty stretches cost nothing |
//! | [`next_deadline`](Wheel::next_deadline) | a look at a bounded number of entries |
//!
//! # Invariants
//!
//! `elapsed` is the tick up to which time has passed. The *number* of a slot is its start in ticks, divided by its width;
//! a number has its place in the row of its level modulo the row's length, two turns.
//!
//! - **H1** An entry remembers its level and lies in the slot of its tick there (a tick that had passed when it was
//!   registered counts as the `elapsed` of then). In level 0 that is a slot of the current turn, and not before `elapsed`.
//!   In a higher level it is behind the current slot, and in the current turn or the next. What is behind the next turn of
//!   the last level is in `far`. A new entry is put into the lowest level where this holds (`place_of`). A lower one would do
//!   for it later, if and only if it is in the slot that comes next.
//! - **H2** `elapsed` moves only to a tick before the start of every occupied slot, or onto the start of the first ones,
//!   which are then emptied at once where the level is not 0. Both keep H1.
//! - **H3** So everything in level 0 comes before everything else. What a higher level has in its current turn comes
//!   before everything above it. What it has in its next turn comes before everything above it but what is in the slot
//!   that comes next there, which starts before it or with it.
//! - **H4** A bit of `occupied` is set exactly when its slot is not empty.
//! - **H5** Entries with the same deadline come out in the order in which they were registered. In a list the older one is
//!   before the newer one, and in different levels it is in the higher one: a new entry goes to the end of a list in the
//!   lowest level there is for it, and what goes down goes to the next level where its time has not come, back to front,
//!   each to the front of its new list, lower levels first. Sorting is stable.
//! - **H6** A registered entry is valid and stays where it is (the caller's promise to [`Wheel::register`]); whoever holds
//!   `&mut Wheel` is the only one to touch its links and deadline.
//! - **H7** `far_from` is not later than the tick of any entry in `far`.
//!
//! # Rejected
//!
//! - A heap: an insertion costs a logarithm of cache misses, and cancelling needs the index kept in the entry.
//! - Rounding deadlines up to ticks: a fine tick needs more levels, a coarse one is late by it. Keeping the deadline costs
//!   nothing, since the entry needs it anyway to be found again.
//! - One turn in each level, placed by the digits of a tick: all that is in a slot goes down at the moment when it must not
//!   take long. Every 134 ms, 100,000 sleeps that are spread over a second were up to 2.5 ms late, and those of 100 ms each up to
//!   10 ms.
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
/// A slot of each level is so many ticks wide, as a power of two, and a turn of it: the next one's slot.
const WIDTH: [u32; LEVELS] = [0, 6, 14, 20, 26, 32];
const TURN: [u32; LEVELS] = [6, 14, 20, 26, 32, 38];
/// The slots of all levels stand in one row, lower levels first; each 64 of them have a word of `occupied`. The words of a
/// level: one turn for level 0, two for the others.
const FIRST_WORD: [usize; LEVELS + 1] = [0, 1, 9, 11, 13, 15, WORDS];
const WORDS: usize = 17;
const SLOTS: usize = 64 * WORDS;
/// What is behind the last level, as a level.
const FAR: usize = LEVELS;
/// How many entries go down on the way for each that expires, and whenever no other is due. Each entry that expires went
/// down once from each level, so in the long run one would do.
const ON_THE_WAY: [usize; 2] = [2, 8];
/// How many entries [`Wheel::next_deadline`] looks at before it settles for the start of their slot.
const LOOK: usize = 32;

/// The deadline of an entry, as the wheel keeps it.
pub struct Deadline {
    at: UnsafeCell<u64>,
    /// The level it is in (H1), and the address of another entry that the wheel comes to a little later, or null.
    notes: UnsafeCell<usize>,
}

/// The bits of a note that are its level; the others are its address, which need not be exact.
const LEVEL: usize = 0b111;

impl Deadline {
    /// A deadline not known yet; [`Wheel::register`] sets it.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { at: UnsafeCell::new(u64::MAX), notes: UnsafeCell::new(0) }
    }
    /// A deadline not known yet; [`Wheel::register`] sets it.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { at: UnsafeCell::new(u64::MAX), notes: UnsafeCell::new(0) }
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
/// use ropewalk_core::{linked, list::Links};
/// use ropewalk_core::wheel::{Deadline, Timed, Wheel};
///
/// struct Alarm { name: &'static str, links: Links<Alarm>, deadline: Deadline }
///
/// linked!(Alarm, links);
///
/// // SAFETY: the field is used for nothing else.
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
    /// Behind the last level.
    far: List<T>,
    far_from: u64,
    elapsed: u64,
    /// The slots of level 0 that are not in the order of their deadlines.
    disorder: u64,
    /// Whom the next entry comes after.
    trail: Trail,
    len: usize,
}

/// A list of the wheel: a level, and in it the slot, among those of all levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    level: usize,
    slot: usize,
}

impl Place {
    /// Where a tick is in a level.
    #[inline]
    fn of(level: usize, tick: u64) -> Self {
        if level == FAR { Self { level, slot: SLOTS } } else { Self::numbered(level, tick >> WIDTH[level]) }
    }

    /// The slot of a level with that number.
    #[inline]
    fn numbered(level: usize, number: u64) -> Self {
        let row = 64 * (FIRST_WORD[level + 1] - FIRST_WORD[level]);
        Self { level, slot: 64 * FIRST_WORD[level] + (number as usize & (row - 1)) }
    }
}

impl<T: Timed, const GRAIN: u32> Wheel<T, GRAIN> {
    /// A wheel without entries, at time zero.
    pub const fn new() -> Self {
        const { assert!(GRAIN < 64) };
        Self {
            slots: [const { List::new() }; SLOTS],
            occupied: [0; WORDS],
            far: List::new(),
            far_from: u64::MAX,
            elapsed: 0,
            disorder: 0,
            trail: Trail::new(),
            len: 0,
        }
    }

    /// The same in a box. It is made there: a wheel is large, and the stack of a strand is not.
    #[cfg(feature = "alloc")]
    pub fn boxed() -> alloc::boxed::Box<Self> {
        const { assert!(GRAIN < 64) };
        let mut memory = alloc::boxed::Box::<Self>::new_uninit();
        let wheel = memory.as_mut_ptr();
        // SAFETY: memory for a wheel, of which every field is written before it is taken for one.
        unsafe {
            let slots = (&raw mut (*wheel).slots).cast::<List<T>>();
            (0..SLOTS).for_each(|slot| slots.add(slot).write(List::new()));
            (&raw mut (*wheel).occupied).write([0; WORDS]);
            (&raw mut (*wheel).far).write(List::new());
            (&raw mut (*wheel).far_from).write(u64::MAX);
            (&raw mut (*wheel).elapsed).write(0);
            (&raw mut (*wheel).disorder).write(0);
            (&raw mut (*wheel).trail).write(Trail::new());
            (&raw mut (*wheel).len).write(0);
            memory.assume_init()
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
        let tick = (deadline >> GRAIN).max(self.elapsed);
        let place = self.place_of(tick);
        let ahead = if place.level == 0 { null() } else { self.trail.step(place.slot, node.as_ptr().cast()) };
        self.note(node, place.level, ahead);
        if place.level < FAR {
            let last = self.slots[place.slot].back();
            self.occupy(place, last.is_none_or(|last| self.deadline_of(last) <= deadline));
        } else {
            self.far_from = self.far_from.min(tick); // H7
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
        self.take_out(node, self.place_now(node));
    }

    /// Time has come to `now`: takes out the first entry whose deadline is not later and returns it; call it until it
    /// returns `None`. Entries come out by deadline, and in the order of their registration if that is the same.
    ///
    /// Time does not go back: an earlier `now` than before takes out nothing that would have come out before.
    pub fn advance(&mut self, now: u64) -> Option<NonNull<T>> {
        let now_tick = now >> GRAIN;
        loop {
            let Some((place, start)) = self.first().filter(|(_, start)| *start <= now_tick) else {
                self.elapsed = self.elapsed.max(now_tick); // H2
                self.bring_down(ON_THE_WAY[1]);
                return None;
            };
            match place.level {
                0 => {
                    let due = self.pop_due(place, start, now);
                    self.bring_down(ON_THE_WAY[due.is_none() as usize]);
                    return due;
                }
                FAR => self.bring_near(start),
                _ => self.arrive(start),
            }
        }
    }

    /// When [`advance`](Self::advance) should be called next; `None` if nothing is registered.
    ///
    /// It is the first deadline, exactly, unless more than a few dozen entries lie far ahead in one slot: then it is a time
    /// before it, at which `advance` finds nothing due but sorts them more finely.
    pub fn next_deadline(&mut self) -> Option<u64> {
        let mut next = None;
        let mut level = 0;
        while let Some((place, start)) = self.first_from(level) {
            if place.level == 0 {
                self.sort(place.slot);
                return self.slots[place.slot].front().map(|node| self.deadline_of(node));
            }
            let list = if place.level == FAR { &self.far } else { &self.slots[place.slot] };
            let mut seen = 0;
            let earliest =
                list.iter().take(LOOK + 1).inspect(|_| seen += 1).map(|node| self.deadline_of(node)).min();
            let bound = if seen > LOOK { Some(start << GRAIN) } else { earliest };
            next = next.into_iter().chain(bound).min();
            if self.is_this_turn(place.level, start) {
                break;
            }
            level = place.level + 1;
        }
        next
    }

    /// Where an entry of that tick, which has not passed, is put (H1).
    #[inline]
    fn place_of(&self, tick: u64) -> Place {
        if tick >> TURN[0] == self.elapsed >> TURN[0] {
            return Place::of(0, tick);
        }
        let fits = |level: &usize| (tick >> TURN[*level]) - (self.elapsed >> TURN[*level]) <= 1;
        Place::of((1..LEVELS).find(fits).unwrap_or(FAR), tick)
    }

    /// Where a registered entry is. (A tick that had passed when it came was `elapsed`, and still is: H1, H2.)
    #[inline]
    fn place_now(&self, node: NonNull<T>) -> Place {
        Place::of(self.level_of(node), self.tick_of(node).max(self.elapsed))
    }

    /// The first list with something in it, and the tick at which it starts. Of those that start together, the highest.
    fn first(&self) -> Option<(Place, u64)> {
        let mut first = None;
        let mut level = 0;
        while let Some((place, start)) = self.first_from(level) {
            if first.is_none_or(|(_, other)| start <= other) {
                first = Some((place, start));
            }
            if self.is_this_turn(place.level, start) {
                break; // H3
            }
            level = place.level + 1;
        }
        first
    }

    /// The first list of the lowest level with something in it, from that level on, and the tick at which it starts.
    #[inline]
    fn first_from(&self, from: usize) -> Option<(Place, u64)> {
        let in_level = |level| {
            self.first_number(level).map(|number| (Place::numbered(level, number), number << WIDTH[level]))
        };
        if let Some(first) = (from..LEVELS).find_map(in_level) {
            return Some(first);
        }
        // H7; its turn is not the current one.
        let beyond = |_| (Place::of(FAR, 0), self.far_from >> TURN[LEVELS - 1] << TURN[LEVELS - 1]);
        self.far.front().filter(|_| from <= FAR).map(beyond)
    }

    /// The number of the first occupied slot of a level: from the current one on (H1), round its row.
    #[inline]
    fn first_number(&self, level: usize) -> Option<u64> {
        let current = self.elapsed >> WIDTH[level];
        let words = &self.occupied[FIRST_WORD[level]..FIRST_WORD[level + 1]];
        let (word, bit) = (current as usize / 64 % words.len(), current % 64);
        let rest = words[word] >> bit;
        if rest != 0 {
            return Some(current + u64::from(rest.trailing_zeros()));
        }
        // The last of them is the first again: what is before the current one there.
        (1..=words.len()).find_map(|ahead| {
            let found = words[(word + ahead) % words.len()];
            (found != 0).then(|| current - bit + 64 * ahead as u64 + u64::from(found.trailing_zeros()))
        })
    }

    /// Whether a slot of that level that starts there is in the level's current turn.
    #[inline]
    fn is_this_turn(&self, level: usize, start: u64) -> bool {
        level < FAR && start >> TURN[level] == self.elapsed >> TURN[level]
    }

    /// An entry comes into a slot, at one of its ends; `fits` if that keeps the slot in the order of deadlines.
    #[inline]
    fn occupy(&mut self, Place { level, slot }: Place, fits: bool) {
        if level == 0 && !fits {
            self.disorder |= 1 << slot;
        }
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    #[inline]
    fn is_occupied(&self, Place { slot, .. }: Place) -> bool {
        self.occupied[slot / 64] >> (slot % 64) & 1 == 1
    }

    /// A slot may be empty by now.
    #[inline]
    fn vacate(&mut self, Place { level, slot }: Place) {
        if level < FAR && self.slots[slot].is_empty() {
            self.occupied[slot / 64] &= !(1 << (slot % 64)); // H4
            if level == 0 {
                self.disorder &= !(1 << slot);
            }
        }
    }

    #[inline]
    fn list(&mut self, place: Place) -> &mut List<T> {
        if place.level == FAR { &mut self.far } else { &mut self.slots[place.slot] }
    }

    fn take_out(&mut self, node: NonNull<T>, place: Place) {
        // SAFETY: a registered entry is in the list of its place (H1) and valid (H6).
        let was_there = unsafe { self.list(place).remove(node) };
        assert!(was_there, "a registered entry is where its deadline says");
        self.vacate(place);
        self.len -= 1;
    }

    /// The first entry of a level-0 slot, which is the first of all, if it is due.
    fn pop_due(&mut self, place: Place, start: u64, now: u64) -> Option<NonNull<T>> {
        self.elapsed = start; // H2
        self.sort(place.slot);
        let first = self.slots[place.slot].front().filter(|first| self.deadline_of(*first) <= now)?;
        self.take_out(first, place);
        Some(first)
    }

    /// Time has come to where a slot of a higher level starts. What is in it goes to the levels below; what starts at the
    /// same time in higher levels yet goes after it, because it is older (H5).
    fn arrive(&mut self, start: u64) {
        self.elapsed = start;
        for level in 1..LEVELS {
            let current = Place::of(level, start);
            if self.is_occupied(current) {
                self.go_down(current, usize::MAX);
            }
        }
    }

    /// Some of the entries whose slot comes next in their level go to the level below, which has room for its next turn.
    #[inline]
    fn bring_down(&mut self, most: usize) {
        for (level, width) in WIDTH.iter().enumerate().skip(2) {
            let next = Place::numbered(level, (self.elapsed >> width) + 1);
            if self.is_occupied(next) {
                self.go_down(next, most);
            }
        }
    }

    /// The time of those in `far` comes: the first of them are in the turn that starts at `start`, if `far_from` is right.
    /// Time stops before that turn, so that they have places among what is there.
    #[cold]
    fn bring_near(&mut self, start: u64) {
        let first = self.far.iter().map(|node| self.tick_of(node)).min().unwrap_or(u64::MAX);
        if first >> TURN[LEVELS - 1] << TURN[LEVELS - 1] > start {
            self.far_from = first;
            return;
        }
        self.elapsed = self.elapsed.max(start - 1);
        self.far_from = u64::MAX;
        let mut entries = self.far.take();
        let mut trail = Trail::new();
        while let Some(node) = entries.pop_back() {
            let level = if self.place_of(self.tick_of(node)).level < FAR { LEVELS - 1 } else { FAR };
            self.put(node, level, &mut trail);
        }
    }

    /// Up to `most` entries of a slot go to the next lower level, or as far down as their time has come.
    fn go_down(&mut self, place: Place, most: usize) {
        let mut trail = Trail::new();
        for _ in 0..most {
            let Some(node) = self.slots[place.slot].pop_back() else { break };
            prefetch::bytes(self.ahead_of(node), size_of::<Links<T>>());
            let tick = self.tick_of(node);
            let is_behind = |level: &usize| tick >> WIDTH[*level] > self.elapsed >> WIDTH[*level];
            let level = (1..place.level).rev().find(is_behind).unwrap_or(0);
            self.put(node, level, &mut trail);
        }
        self.vacate(place);
    }

    /// Links an entry at a level, before those that are there: they are newer, or followed it in the list it came from.
    fn put(&mut self, node: NonNull<T>, level: usize, trail: &mut Trail) {
        let (tick, deadline) = (self.tick_of(node), self.deadline_of(node));
        let place = Place::of(level, tick);
        self.note(node, place.level, null());
        if place.level < FAR {
            let first = self.slots[place.slot].front();
            self.occupy(place, first.is_none_or(|first| deadline <= self.deadline_of(first)));
        } else {
            self.far_from = self.far_from.min(tick); // H7
        }
        // What is moved from a list comes off it in the same order the next time.
        if place.level > 0
            && let Some(before) = NonNull::new(trail.step(place.slot, node.as_ptr().cast()).cast_mut())
        {
            self.note(before.cast(), place.level, node.as_ptr().cast());
        }
        // SAFETY: it was in this wheel, so the promise of its registration holds, and is in no list now.
        unsafe { self.list(place).push_front(node) };
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

    fn level_of(&self, node: NonNull<T>) -> usize {
        self.notes(node) & LEVEL
    }

    /// The address that the entry keeps.
    fn ahead_of(&self, node: NonNull<T>) -> *const () {
        core::ptr::without_provenance(self.notes(node) & !LEVEL)
    }

    fn notes(&self, node: NonNull<T>) -> usize {
        // SAFETY: as in `deadline_of`.
        unsafe { T::deadline(node).as_ref().notes.with(|notes| *notes) }
    }

    /// Sets what an entry that is registered, or about to be, keeps: its level, and the address of another one.
    fn note(&mut self, node: NonNull<T>, level: usize, ahead: *const ()) {
        // SAFETY: as in `deadline_of`; the wheel is borrowed mutably.
        unsafe { T::deadline(node).as_ref().notes.with_mut(|notes| *notes = ahead.addr() & !LEVEL | level) }
    }

    /// Checks the invariants; returns the number of entries. For tests: it takes time in proportion.
    ///
    /// # Panics
    ///
    /// If one is broken.
    pub fn assert_valid(&self) -> usize {
        let mut count = self.far.assert_valid();
        for node in self.far.iter() {
            let turns = |tick: u64| tick >> TURN[LEVELS - 1];
            assert!(self.level_of(node) == FAR && turns(self.tick_of(node)) > turns(self.elapsed), "H1: far");
            assert!(self.far_from <= self.tick_of(node), "H7");
        }
        for (level, words) in FIRST_WORD.windows(2).enumerate() {
            for slot in 64 * words[0]..64 * words[1] {
                let list = &self.slots[slot];
                assert_eq!(self.is_occupied(Place { level, slot }), !list.is_empty(), "H4: slot {slot}");
                if list.is_empty() {
                    continue;
                }
                count += list.assert_valid();
                list.iter().for_each(|node| self.assert_placed(node, Place { level, slot }));
                let in_order = list.iter().is_sorted_by_key(|node| self.deadline_of(node));
                assert!(in_order || level > 0 || self.disorder >> slot & 1 == 1, "a slot out of order");
            }
        }
        assert_eq!(count, self.len);
        count
    }

    /// H1 for one entry.
    fn assert_placed(&self, node: NonNull<T>, place: Place) {
        assert_eq!(self.place_now(node), place, "H1");
        let (tick, level) = (self.tick_of(node), place.level);
        let ahead = (tick >> WIDTH[level]).saturating_sub(self.elapsed >> WIDTH[level]);
        let lowest = self.place_of(tick.max(self.elapsed)).level;
        assert!(level == 0 || ahead > 0, "H1: time has come");
        assert!(level == lowest || level > lowest && ahead == 1, "H1: level {level}, not {lowest}");
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
