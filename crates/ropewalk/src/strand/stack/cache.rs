//! A worker's own few stacks.

use super::Stack;
use super::depot::Class;
use std::cell::Cell;
use std::io;

/// How many stacks a worker keeps.
const KEPT: usize = 16;
/// How many of them it gives away at once when it has too many: those that were put first.
const SURPLUS: usize = KEPT / 2;

/// Warm stacks of one size, with the memory that was touched: taken and put without a lock or a system call. One worker's.
#[derive(Default)]
pub(crate) struct StackCache {
    /// The class of what is here: that of the last one put.
    class: Cell<Option<&'static Class>>,
    /// The first `kept` are there.
    stacks: [Cell<Option<Stack>>; KEPT],
    kept: Cell<usize>,
    /// One was put since the last [`rest`](Self::rest).
    used: Cell<bool>,
}

impl StackCache {
    /// The stack put last, if it is of that size; else one from the depot.
    ///
    /// # Errors
    /// As [`Stack::new`].
    #[inline]
    pub(crate) fn take(&self, usable: usize) -> io::Result<Stack> {
        if self.class.get().is_some_and(|class| class.shape.is_for(usable))
            && let Some(stack) = self.pop()
        {
            return Ok(stack);
        }
        Stack::new(usable)
    }

    /// Keeps a stack, or gives it to the depot if there are enough. Stacks of another size make room for it.
    #[inline]
    pub(crate) fn put(&self, stack: Stack) {
        let kept = self.kept.get();
        let same = self.class.get().is_some_and(|class| std::ptr::eq(class, stack.class()));
        if !same || kept >= KEPT {
            return self.put_elsewhere(stack, same);
        }
        stack.set_owner(None);
        self.used.set(true);
        self.stacks[kept].set(Some(stack));
        self.kept.set(kept + 1);
    }

    #[cold]
    fn put_elsewhere(&self, stack: Stack, same: bool) {
        if same {
            self.give_away(SURPLUS);
        } else {
            self.trim();
            self.class.set(Some(stack.class()));
        }
        self.put(stack);
    }

    /// The worker is about to sleep. If it has not used its stacks since the last time, it keeps none.
    #[inline]
    pub(crate) fn rest(&self) {
        if !self.used.replace(false) && self.kept.get() > 0 {
            self.trim();
        }
    }

    /// Gives all stacks to the depot, and their memory to the system.
    pub(crate) fn trim(&self) {
        self.give_away(self.kept.get());
    }

    /// Gives so many to the depot.
    fn give_away(&self, count: usize) {
        let Some(class) = self.class.get() else { return };
        let first = self.stacks[..count].iter();
        let slots: Vec<_> = first.filter_map(Cell::take).map(Stack::into_slot).collect();
        class.give_back_all(&slots);
        let left = self.kept.get() - count;
        (0..left).for_each(|to| self.stacks[to].swap(&self.stacks[to + count]));
        self.kept.set(left);
    }

    #[inline]
    fn pop(&self) -> Option<Stack> {
        let last = self.kept.get().checked_sub(1)?;
        self.kept.set(last);
        self.stacks[last].take()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::arena::Shape;
    use super::super::guard::GUARDS;
    use super::*;

    /// Stacks of a class that no other test has.
    fn stacks(class: &'static Class, count: usize) -> Vec<Stack> {
        (0..count).map(|_| class.take().unwrap()).collect()
    }

    fn at(stack: &Stack) -> usize {
        corosensei::stack::Stack::limit(stack).get()
    }

    #[test]
    fn the_stack_put_last_is_taken_first() {
        let cache = StackCache::default();
        let class = Class::new(Shape::of(64 << 10).unwrap(), &GUARDS);
        let mut put: Vec<_> =
            stacks(class, 3).into_iter().map(|stack| (at(&stack), cache.put(stack)).0).collect();
        while let Some(expected) = put.pop() {
            assert_eq!(at(&cache.pop().unwrap()), expected);
        }
        assert!(cache.pop().is_none());
    }

    #[test]
    fn who_rests_twice_without_using_them_keeps_none() {
        let cache = StackCache::default();
        let class = Class::new(Shape::of(64 << 10).unwrap(), &GUARDS);
        stacks(class, 3).into_iter().for_each(|stack| cache.put(stack));
        cache.rest();
        assert_eq!(cache.kept.get(), 3);
        cache.rest();
        assert_eq!(cache.kept.get(), 0);
    }

    #[test]
    fn a_hit_is_the_same_stack_with_what_was_on_it() {
        let cache = StackCache::default();
        let first = cache.take(70 << 10).unwrap();
        let (place, word) = (at(&first), (first.0.base().get() - 64) as *mut u64);
        // SAFETY: nothing runs on that stack: its memory is ours.
        unsafe { word.write(42) };
        cache.put(first);
        let again = cache.take(70 << 10).unwrap();
        // SAFETY: as above.
        assert_eq!((at(&again), unsafe { word.read() }), (place, 42));
    }

    #[test]
    fn what_is_too_much_goes_to_the_depot() {
        let cache = StackCache::default();
        let class = Class::new(Shape::of(64 << 10).unwrap(), &GUARDS);
        let all = stacks(class, KEPT + 1);
        let mut places: Vec<_> = all.iter().map(at).collect();
        all.into_iter().for_each(|stack| cache.put(stack));
        assert_eq!(cache.kept.get(), KEPT + 1 - SURPLUS);
        let kept: Vec<_> = std::iter::from_fn(|| cache.pop()).collect();
        for stack in &kept {
            assert_eq!(Some(at(stack)), places.pop());
        }
        let mut given: Vec<_> = stacks(class, SURPLUS).iter().map(at).collect();
        given.sort();
        places.sort();
        assert_eq!(given, places);
    }

    #[test]
    fn trimmed_or_dropped_it_has_given_all_back() {
        let class = Class::new(Shape::of(64 << 10).unwrap(), &GUARDS);
        for drops in [false, true] {
            let cache = StackCache::default();
            let all = stacks(class, 5);
            let mut put: Vec<_> = all.iter().map(at).collect();
            all.into_iter().for_each(|stack| cache.put(stack));
            if drops {
                drop(cache)
            } else {
                cache.trim()
            }
            let mut again: Vec<_> = stacks(class, 5).iter().map(at).collect();
            again.sort();
            put.sort();
            assert_eq!(put, again);
        }
    }

    #[test]
    fn stacks_of_another_size_make_room() {
        let cache = StackCache::default();
        cache.put(Stack::new(100 << 10).unwrap());
        cache.put(Stack::new(100 << 10).unwrap());
        cache.put(Stack::new(200 << 10).unwrap());
        assert_eq!(cache.kept.get(), 1);
        assert_eq!(cache.take(100 << 10).unwrap().usable(), 100 << 10);
        assert_eq!((cache.kept.get(), cache.take(200 << 10).unwrap().usable()), (1, 200 << 10));
        assert_eq!(cache.kept.get(), 0);
    }

    #[test]
    fn a_kept_stack_has_no_owner() {
        let cache = StackCache::default();
        let stack = Stack::new(110 << 10).unwrap();
        let owner = stack.0.owner();
        stack.set_owner(Some(std::ptr::NonNull::dangling()));
        assert!(!owner.load(ropewalk_core::prim::real::Ordering::Relaxed).is_null());
        cache.put(stack);
        assert!(owner.load(ropewalk_core::prim::real::Ordering::Relaxed).is_null());
    }
}
