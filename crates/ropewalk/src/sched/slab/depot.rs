//! The depot: all memory of a pool's tasks. Everything here is under a lock and cold: workers come in lots.

use super::{CLASSES, MAGAZINE, Magazine, PAGE, Page, Prefix, STEP, class_of, slots_per_page};
use crate::sched::pool::Pool;
use ropewalk_core::prim::{AtomicU32, BriefLock, Lock, Ordering::*};
use ropewalk_core::task::{Header, TaskRef};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

/// Segments double up to this many pages.
const SEGMENT: usize = 64;
/// The registry of big tasks is spread over this many locks.
const SHARDS: usize = 8;

/// All memory of a pool's tasks.
pub(crate) struct Depot {
    /// Held for a few instructions; now and then for a fresh page, and hardly ever for a segment of them.
    stock: BriefLock<Stock>,
    /// Tasks with memory of their own, so that they are found again.
    big: [Lock<Vec<NonNull<Header>>>; SHARDS],
}

// SAFETY: M1: what the pointers lead to is owned by the depot or by whoever took it, under its locks.
unsafe impl Send for Depot {}
// SAFETY: as above.
unsafe impl Sync for Depot {}

#[derive(Default)]
struct Shelf {
    magazines: Vec<Magazine>,
    pages: Vec<NonNull<Page>>,
}

#[derive(Default)]
struct Stock {
    shelves: Vec<Shelf>,
    segments: Vec<(NonNull<u8>, usize)>,
    /// Pages of the last segment that are not used yet.
    unused: (usize, usize),
    carved: usize,
    free: usize,
    big: usize,
    /// The injection queue has room for this many of them.
    most_big: usize,
    sealed: bool,
    /// M3: the pool itself, while it is sealed and tasks are outstanding.
    keeper: Option<Arc<Pool>>,
}

impl Depot {
    pub(crate) fn new() -> Self {
        let mut stock = Stock::default();
        stock.shelves.resize_with(CLASSES, Shelf::default);
        Self { stock: BriefLock::new(stock), big: std::array::from_fn(|_| Lock::new(Vec::new())) }
    }

    /// A magazine with at least one slot.
    pub(super) fn take(&self, pool: &Arc<Pool>, class: usize) -> Magazine {
        let mut stock = self.stock.lock();
        let magazine = match stock.shelves[class].magazines.pop() {
            Some(magazine) => magazine,
            None => stock.carve(pool, class),
        };
        stock.free -= magazine.len as usize;
        magazine
    }

    pub(super) fn put(&self, class: usize, magazine: Magazine) {
        let mut stock = self.stock.lock();
        stock.free += magazine.len as usize;
        stock.shelves[class].magazines.push(magazine);
        let last = stock.release_keeper();
        drop(stock);
        drop(last);
    }

    /// Memory for a small task, for a thread that is no worker of the pool.
    pub(crate) fn alloc(&self, pool: &Arc<Pool>, layout: Layout) -> NonNull<u8> {
        let class = class_of(layout);
        let mut stock = self.stock.lock();
        if stock.shelves[class].magazines.is_empty() {
            let fresh = stock.carve(pool, class);
            stock.shelves[class].magazines.push(fresh);
        }
        let shelf = &mut stock.shelves[class];
        let magazine = shelf.magazines.last_mut().expect("just filled");
        let slot = magazine.pop().expect("empty magazines are taken off");
        if magazine.len == 0 {
            shelf.magazines.pop();
        }
        stock.free -= 1;
        stock.keep(pool);
        slot
    }

    /// Takes one slot back from a thread that is no worker of the pool.
    ///
    /// # Safety
    /// The task in it is over, and it is of this pool. The depot may be gone when this returns.
    pub(crate) unsafe fn free(&self, task: NonNull<Header>, layout: Layout) {
        let class = class_of(layout);
        let mut stock = self.stock.lock();
        let shelf = &mut stock.shelves[class].magazines;
        if shelf.last().is_none_or(|magazine| magazine.len >= MAGAZINE) {
            shelf.push(Magazine::EMPTY);
        }
        // SAFETY: passed on to the caller.
        unsafe { shelf.last_mut().expect("just pushed").push(task.cast()) };
        stock.free += 1;
        let last = stock.release_keeper();
        drop(stock);
        drop(last);
    }

    /// Memory for a task that does not fit a slot.
    pub(crate) fn alloc_big(&self, pool: &Arc<Pool>, layout: Layout) -> NonNull<u8> {
        let (whole, offset) = big_layout(layout);
        // SAFETY: the layout is not empty.
        let Some(base) = NonNull::new(unsafe { alloc(whole) }) else { handle_alloc_error(whole) };
        // SAFETY: `offset` is within the allocation and leaves room for the prefix before it.
        let task = unsafe { base.add(offset) };
        let header: NonNull<Header> = task.cast();
        let mut shard = self.shard(header).lock();
        // SAFETY: fresh memory; `big_layout` aligned the prefix. M2: vacated before it is registered.
        unsafe {
            let prefix = task.sub(size_of::<Prefix>()).cast::<Prefix>();
            prefix.write(Prefix { pool: Arc::as_ptr(pool), index: Cell::new(shard.len()) });
            Header::vacate(header);
        }
        shard.push(header);
        drop(shard);
        let mut stock = self.stock.lock();
        stock.big += 1;
        let most_so_far = stock.big > stock.most_big;
        stock.most_big = stock.most_big.max(stock.big);
        stock.keep(pool);
        drop(stock);
        if most_so_far {
            pool.injector.reserve(1);
        }
        task
    }

    /// # Safety
    /// The task is over; it came from [`alloc_big`](Self::alloc_big) with this layout. The depot may be gone afterwards.
    pub(crate) unsafe fn free_big(&self, task: NonNull<Header>, layout: Layout) {
        let mut shard = self.shard(task).lock();
        // SAFETY: registered tasks have prefixes, whose index is ours to change under the shard's lock.
        unsafe {
            let prefix = |task: NonNull<Header>| task.byte_sub(size_of::<Prefix>()).cast::<Prefix>();
            let index = prefix(task).as_ref().index.get();
            shard.swap_remove(index);
            if let Some(moved) = shard.get(index) {
                prefix(*moved).as_ref().index.set(index);
            }
        }
        drop(shard);
        let (whole, offset) = big_layout(layout);
        // SAFETY: allocated by `alloc_big` with this layout.
        unsafe { dealloc(task.as_ptr().cast::<u8>().sub(offset), whole) };
        let mut stock = self.stock.lock();
        stock.big -= 1;
        let last = stock.release_keeper();
        drop(stock);
        drop(last);
    }

    fn shard(&self, task: NonNull<Header>) -> &Lock<Vec<NonNull<Header>>> {
        &self.big[(task.addr().get() >> 9) % SHARDS]
    }

    /// Every task that is not over. Tasks made meanwhile may be missed.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(TaskRef)) {
        self.for_each_while(|task| {
            visit(task);
            true
        });
    }

    /// The same, while `visit` says that it wants more.
    pub(crate) fn for_each_while(&self, mut visit: impl FnMut(TaskRef) -> bool) {
        let pages: Vec<_> = self.stock.lock().shelves.iter().flat_map(|shelf| shelf.pages.clone()).collect();
        for page in pages {
            // SAFETY: M3: pages live as long as the pool.
            let (class, carved) = unsafe { (page.as_ref().class, page.as_ref().carved.load(Acquire)) };
            for index in 0..carved as usize {
                // SAFETY: M2: a carved slot's state word is an atomic.
                unsafe {
                    let slot = page.byte_add(size_of::<Page>() + index * class * STEP).cast();
                    if TaskRef::find(slot).is_some_and(|task| !visit(task)) {
                        return;
                    }
                }
            }
        }
        for shard in &self.big {
            // SAFETY: registered memory is not freed while the shard is locked.
            let found: Vec<_> =
                shard.lock().iter().filter_map(|task| unsafe { TaskRef::find(*task) }).collect();
            if !found.into_iter().all(&mut visit) {
                return;
            }
        }
    }

    /// No worker is left: from now on the pool lives as long as tasks are outstanding (M3).
    pub(crate) fn seal(&self, pool: &Arc<Pool>) {
        let mut stock = self.stock.lock();
        stock.sealed = true;
        stock.keep(pool);
        let none_left = stock.release_keeper();
        drop(stock);
        drop(none_left);
    }
}

impl Stock {
    /// Makes a magazine from fresh slots.
    fn carve(&mut self, pool: &Arc<Pool>, class: usize) -> Magazine {
        let per_page = slots_per_page(class);
        // SAFETY: M3: the page lives as long as the pool.
        let open = self.shelves[class]
            .pages
            .last()
            .copied()
            .filter(|page| unsafe { page.as_ref() }.has_room(per_page));
        let page = open.unwrap_or_else(|| self.add_page(pool, class));
        // SAFETY: as above.
        let from = unsafe { page.as_ref() }.carved.load(Relaxed) as usize;
        let to = per_page.min(from + MAGAZINE as usize);
        let mut magazine = Magazine::EMPTY;
        for index in (from..to).rev() {
            // SAFETY: the slot is within the page and was never shown: vacate it first (M2), then it is free (M1).
            unsafe {
                let slot = page.byte_add(size_of::<Page>() + index * class * STEP);
                Header::vacate(slot.cast());
                magazine.push(slot.cast());
            }
        }
        // SAFETY: as above.
        unsafe { page.as_ref() }.carved.store(to as u32, Release);
        self.carved += to - from;
        self.free += to - from;
        magazine
    }

    fn add_page(&mut self, pool: &Arc<Pool>, class: usize) -> NonNull<Page> {
        let (next, left) = self.unused;
        let (next, left) = if left > 0 { (next, left) } else { self.add_segment() };
        self.unused = (next + 1, left - 1);
        let (base, _) = *self.segments.last().expect("a segment was added");
        // SAFETY: page `next` of the last segment is ours and unused.
        let page = unsafe {
            let page = base.add(next * PAGE).cast::<Page>();
            page.write(Page { pool: Arc::as_ptr(pool), class, carved: AtomicU32::new(0) });
            page
        };
        self.shelves[class].pages.push(page);
        // Each task is queued at most once, so with this reserve a wake-up never allocates.
        pool.injector.reserve(slots_per_page(class));
        page
    }

    fn add_segment(&mut self) -> (usize, usize) {
        let pages = (1 << self.segments.len().min(30)).min(SEGMENT);
        let layout = segment_layout(pages);
        // SAFETY: the layout is not empty.
        let Some(base) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        self.segments.push((base, pages));
        (0, pages)
    }

    fn outstanding(&self) -> usize {
        self.carved - self.free + self.big
    }

    fn keep(&mut self, pool: &Arc<Pool>) {
        if self.sealed && self.keeper.is_none() && self.outstanding() > 0 {
            self.keeper = Some(pool.clone());
        }
    }

    /// The pool's hold on itself, if nothing is outstanding any more; to be dropped after the lock.
    #[must_use]
    fn release_keeper(&mut self) -> Option<Arc<Pool>> {
        if self.outstanding() == 0 { self.keeper.take() } else { None }
    }
}

impl Page {
    fn has_room(&self, per_page: usize) -> bool {
        (self.carved.load(Relaxed) as usize) < per_page
    }
}

impl Drop for Depot {
    fn drop(&mut self) {
        for (base, pages) in core::mem::take(&mut self.stock.lock().segments) {
            // SAFETY: allocated by `add_segment`; M3: no task is left in it.
            unsafe { dealloc(base.as_ptr(), segment_layout(pages)) };
        }
    }
}

fn segment_layout(pages: usize) -> Layout {
    Layout::from_size_align(pages * PAGE, PAGE).expect("a few pages fit the address space")
}

fn big_layout(task: Layout) -> (Layout, usize) {
    let offset = size_of::<Prefix>().next_multiple_of(task.align());
    let whole = Layout::from_size_align(offset + task.size(), task.align().max(align_of::<Prefix>()));
    (whole.expect("a task that fits memory fits it with its prefix"), offset)
}
