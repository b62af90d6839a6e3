//! Arenas: large mappings cut into slots, and how the slot of an address is found.

use super::depot::Class;
use corosensei::stack::StackPointer;
use corosensei::stack::valgrind::ValgrindStackRegistration;
use ropewalk_core::prim::real::{AtomicPtr, Ordering};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use std::fmt;
use std::iter::successors;
use std::ptr::null_mut;

/// No stack has fewer bytes to use.
const LEAST: usize = 8 << 10;
/// No guard has fewer. Rust code looks at each page of its frames in turn; C code may be compiled without that, and is caught
/// unless a frame of it is larger than this. Guards take no memory.
const GUARD: usize = 16 << 10;

/// How a slot is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// The smallest request that it is for.
    pub(super) least: usize,
    /// Bytes of the stack itself.
    pub(super) usable: usize,
    /// Bytes of the guard below it.
    pub(super) guard: usize,
}

/// How large a page is. (Not rustix's, which reads more of what the kernel passes to a process than valgrind lets it.)
pub(super) fn page_size() -> usize {
    // SAFETY: it only asks.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("pages have a size")
}

impl Shape {
    /// The shape for a stack of at least so many bytes, if there can be one.
    pub(super) fn of(asked: usize) -> Option<Self> {
        let page = page_size();
        let usable = asked.max(LEAST).checked_next_multiple_of(page)?;
        let least = if usable == LEAST.next_multiple_of(page) { 0 } else { usable - page + 1 };
        let guard = GUARD.next_multiple_of(page);
        // An odd number of pages from one stack to the next, or their tops, which are in use most, would share a few sets of a
        // cache.
        let odd = (usable.checked_add(guard)? / page) % 2 == 1;
        let guard = if odd { guard } else { guard + page };
        let fits = usable.checked_add(guard)? <= isize::MAX as usize;
        fits.then_some(Self { least, usable, guard })
    }

    /// Whether it is the shape for a stack of at least so many bytes.
    #[inline]
    pub(super) fn is_for(&self, asked: usize) -> bool {
        self.least <= asked && asked <= self.usable
    }

    /// Bytes from one slot to the next.
    #[inline]
    pub(super) fn stride(&self) -> usize {
        self.guard + self.usable
    }
}

/// A mapping of equal slots.
pub(super) struct Arena {
    start: usize,
    class: &'static Class,
    labels: Box<[Label]>,
    /// The one mapped before it, of whatever class. Written before it is published, never afterwards.
    older: AtomicPtr<Arena>,
}

/// What is known of one slot.
pub(super) struct Label {
    /// Whom the stack belongs to; null: nobody that has a name.
    owner: AtomicPtr<()>,
    class: &'static Class,
}

/// The newest of all arenas.
static NEWEST: AtomicPtr<Arena> = AtomicPtr::new(null_mut());

impl Arena {
    /// Maps so many slots, and publishes them for ever (K1).
    pub(super) fn map(class: &'static Class, slots: usize) -> rustix::io::Result<&'static Self> {
        let length = class.shape.stride().checked_mul(slots).ok_or(rustix::io::Errno::NOMEM)?;
        // SAFETY: it is a new mapping wherever there is room: nobody's memory changes.
        let start =
            unsafe { mmap_anonymous(null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags())? };
        // One page touched costs one page, not a huge one. Where there are no huge pages, or this cannot be said, it is so anyway.
        #[cfg(target_os = "linux")]
        // SAFETY: the mapping is ours, and its contents stay as they are.
        let _unknown = unsafe { rustix::mm::madvise(start, length, rustix::mm::Advice::LinuxNoHugepage) };
        let labels = (0..slots).map(|_| Label { owner: AtomicPtr::new(null_mut()), class }).collect();
        let arena = Self { start: start as usize, class, labels, older: AtomicPtr::new(null_mut()) };
        let arena: &'static Self = Box::leak(Box::new(arena));
        arena.publish();
        Ok(arena)
    }

    fn publish(&'static self) {
        let mut newest = NEWEST.load(Ordering::Relaxed);
        loop {
            self.older.store(newest, Ordering::Relaxed);
            let this = std::ptr::from_ref(self).cast_mut();
            match NEWEST.compare_exchange_weak(newest, this, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => newest = other,
            }
        }
    }

    pub(super) fn slots(&'static self) -> impl DoubleEndedIterator<Item = Slot> + ExactSizeIterator {
        (0..self.labels.len()).map(|index| self.slot(index))
    }

    fn slot(&'static self, index: usize) -> Slot {
        let base = self.start + (index + 1) * self.class.shape.stride();
        let base = StackPointer::new(base).expect("nothing is mapped at the end of the address space");
        Slot { base, label: &self.labels[index] }
    }
}

fn flags() -> MapFlags {
    #[cfg(not(target_os = "freebsd"))]
    return MapFlags::PRIVATE | MapFlags::NORESERVE;
    #[cfg(target_os = "freebsd")]
    return MapFlags::PRIVATE;
}

/// The slot whose guard the address is in. For the handler of faults: no lock, and nothing is allocated (K4).
pub(super) fn guard_at(address: usize) -> Option<Slot> {
    // SAFETY: what was published is never freed or changed (K1).
    let arena = |at: *mut Arena| unsafe { at.as_ref() };
    let newest = arena(NEWEST.load(Ordering::Acquire));
    // Relaxed: who published the newer one had seen all of the older one.
    let mut all = successors(newest, |newer| arena(newer.older.load(Ordering::Relaxed)));
    all.find_map(|arena| {
        let offset = address.checked_sub(arena.start)?;
        let shape = &arena.class.shape;
        let (index, within) = (offset / shape.stride(), offset % shape.stride());
        let is_guard = index < arena.labels.len() && within < shape.guard;
        is_guard.then(|| arena.slot(index))
    })
}

/// One slot: where it is, and no right to it (K2).
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// The end. Every switch asks for it, so it is here.
    base: StackPointer,
    label: &'static Label,
}

impl Slot {
    /// The end: the address after the highest.
    #[inline]
    pub(super) fn base(self) -> StackPointer {
        self.base
    }

    /// The lowest address, that of the guard.
    #[inline]
    pub(super) fn limit(self) -> usize {
        self.base.get() - self.shape().stride()
    }

    #[inline]
    pub(super) fn class(self) -> &'static Class {
        self.label.class
    }

    #[inline]
    pub(super) fn shape(self) -> &'static Shape {
        &self.label.class.shape
    }

    #[inline]
    pub(super) fn owner(self) -> &'static AtomicPtr<()> {
        &self.label.owner
    }

    /// Tells Valgrind, if this runs under it, that it is a stack, for ever.
    pub(super) fn make_known(self) {
        let stack = ValgrindStackRegistration::new(self.limit() as *mut u8, self.shape().stride());
        std::mem::forget(stack);
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}..{:#x}", self.limit(), self.base)
    }
}
