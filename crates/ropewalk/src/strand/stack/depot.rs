//! Depots: where the stacks of each size are while nobody has them.

use super::Stack;
use super::arena::{Arena, Shape, Slot};
use super::guard::{GUARDS, Guards};
use super::{overflow, release};
use rustix::io::Errno;
use std::io;
use std::sync::{Mutex, PoisonError};

/// The first arena of a class has so many slots, each of the next as many as there are by then, up to `MOST_SLOTS` and to
/// `MOST_BYTES`.
const FIRST_SLOTS: usize = 16;
const MOST_SLOTS: usize = 1024;
const MOST_BYTES: usize = if cfg!(target_pointer_width = "64") { 128 << 20 } else { 8 << 20 };

/// All stacks of one size. There for ever.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) shape: Shape,
    guards: &'static Guards,
    depot: Mutex<Depot>,
}

#[derive(Debug, Default)]
struct Depot {
    /// Guarded. The one given back last is taken first. There is room for all slots, so giving back allocates nothing.
    free: Vec<Slot>,
    /// Never used, without a guard.
    bare: Vec<Slot>,
    /// How many slots there are, wherever they are.
    slots: usize,
}

/// Few: a program has one or two sizes.
static CLASSES: Mutex<Vec<&'static Class>> = Mutex::new(Vec::new());

impl Class {
    /// The class for stacks of at least so many bytes.
    pub(super) fn of(asked: usize) -> io::Result<&'static Self> {
        let mut classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(class) = classes.iter().find(|class| class.shape.is_for(asked)) {
            return Ok(class);
        }
        let too_large =
            || io::Error::new(io::ErrorKind::InvalidInput, format!("no stack can have {asked} bytes"));
        let class = Self::new(Shape::of(asked).ok_or_else(too_large)?, &GUARDS);
        classes.push(class);
        Ok(class)
    }

    pub(super) fn new(shape: Shape, guards: &'static Guards) -> &'static Self {
        Box::leak(Box::new(Self { shape, guards, depot: Mutex::default() }))
    }

    /// A stack that was given back, or one that is new.
    pub(super) fn take(&'static self) -> io::Result<Stack> {
        let slot = {
            let mut depot = self.lock();
            if let Some(slot) = depot.free.pop() {
                return Ok(Stack(slot));
            }
            if depot.bare.is_empty() {
                depot.grow(self).map_err(|error| self.refusal(error))?;
            }
            depot.bare.pop().expect("an arena has a slot")
        };
        if let Err(error) = self.guards.install(slot) {
            self.lock().bare.push(slot);
            return Err(self.refusal(error));
        }
        slot.make_known();
        Ok(Stack(slot))
    }

    /// The slot of a stack that is no more.
    pub(super) fn give_back(&self, slot: Slot) {
        release::one(slot);
        self.lock().free.push(slot);
    }

    /// Many of them, which is cheaper than one by one.
    pub(super) fn give_back_all(&self, slots: &[Slot]) {
        release::all(slots);
        self.lock().free.extend(slots);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Depot> {
        self.depot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refusal(&self, error: Errno) -> io::Error {
        let usable = self.shape.usable;
        let text = if error == Errno::NOMEM && self.guards.split_mappings() {
            format!(
                "no stack of {usable} bytes: {error}. Either memory has run out, or the mappings of the process, of which \
                 each stack takes two: vm.max_map_count is how many it may have"
            )
        } else {
            format!("no stack of {usable} bytes: {error}")
        };
        io::Error::new(io::Error::from(error).kind(), text)
    }
}

impl Depot {
    /// Maps another arena: a smaller one if there is no room for what would be next.
    fn grow(&mut self, class: &'static Class) -> Result<(), Errno> {
        overflow::install_once();
        let mut slots = self.next(class.shape.stride());
        let arena = loop {
            match Arena::map(class, slots) {
                Err(_) if slots > 1 => slots /= 2,
                answer => break answer?,
            }
        };
        self.slots += arena.slots().len();
        self.free.reserve(self.slots - self.free.len());
        self.bare.extend(arena.slots().rev()); // from the lowest address on
        Ok(())
    }

    /// How many slots the next arena is to have: as many as there are.
    fn next(&self, stride: usize) -> usize {
        self.slots.clamp(FIRST_SLOTS, MOST_SLOTS).min(MOST_BYTES / stride).max(1)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn arenas_grow_up_to_a_bound() {
        let next = |slots, stride| Depot { slots, ..Depot::default() }.next(stride);
        assert_eq!([0, 16, 32, 48, 5_000].map(|slots| next(slots, 84 << 10)), [16, 16, 32, 48, 1024]);
        assert_eq!(next(5_000, 8 << 20), MOST_BYTES / (8 << 20));
        assert_eq!(next(0, MOST_BYTES + 1), 1);
    }

    #[test]
    fn a_size_has_one_class() {
        let of = |asked| Class::of(asked).unwrap();
        assert!(std::ptr::eq(of(300 << 10), of((300 << 10) - 1)));
        assert!(!std::ptr::eq(of(300 << 10), of((300 << 10) + 1)));
        assert!(std::ptr::eq(of(0), of(8 << 10)));
    }
}
