//! Stacks as their users see them. What ends a process is in `tests/children.rs`.

mod children;

use super::arena::Shape;
use super::arena::page_size;
use super::guard::{GUARDS, Guards};
use super::*;
use corosensei::stack::STACK_ALIGNMENT;
use corosensei::{Coroutine, CoroutineResult, Yielder};

static BY_PROTECTION: Guards = Guards::by_protection();

/// A class that no other test has.
fn class_of(usable: usize) -> &'static Class {
    Class::new(Shape::of(usable).unwrap(), &GUARDS)
}

fn limit(stack: &Stack) -> usize {
    stack.limit().get()
}

/// How many of a stack's own pages take memory.
#[cfg(target_os = "linux")]
fn pages_in_memory(stack: &Stack) -> usize {
    let start = stack.base().get() - stack.usable();
    let mut pages = vec![0u8; stack.usable() / page_size()];
    // SAFETY: there is a byte for each page.
    let answer = unsafe { libc::mincore(start as *mut _, stack.usable(), pages.as_mut_ptr()) };
    assert_eq!(answer, 0, "{}", io::Error::last_os_error());
    pages.into_iter().filter(|page| page & 1 == 1).count()
}

/// Writes to every page of it.
fn touch(stack: &Stack) {
    let start = stack.base().get() - stack.usable();
    for page in (start..stack.base().get()).step_by(page_size()) {
        // SAFETY: nothing runs on it: its memory is ours.
        unsafe { (page as *mut u8).write(1) };
    }
}

/// Whether reading there faults: the kernel is asked to, which says so instead.
fn faults(address: usize) -> bool {
    let (_reader, writer) = std::io::pipe().unwrap();
    // SAFETY: `write` only reads, and refuses what cannot be read.
    let answer = unsafe { libc::write(std::os::fd::AsRawFd::as_raw_fd(&writer), address as *const _, 1) };
    answer == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

fn is_guarded(stack: &Stack) -> bool {
    let guard = limit(stack)..stack.base().get() - stack.usable();
    guard.step_by(page_size()).all(faults) && !faults(stack.base().get() - stack.usable())
}

#[test]
fn stacks_can_be_sent_and_caches_cannot_be_shared() {
    fn is_send<T: Send>() {}
    is_send::<Stack>();
    is_send::<StackCache>();
    // `StackCache` has a `Cell`: that it is not `Sync` is the compiler's to say.
}

#[test]
fn sizes_are_rounded_up_and_both_ends_are_aligned() {
    let page = page_size();
    for (asked, usable) in
        [(0, 8usize << 10), (1, 8 << 10), (8 << 10, 8 << 10), (64 << 10, 64 << 10), (65_537, 69_632)]
    {
        let stack = Stack::new(asked).unwrap();
        assert_eq!(stack.usable(), usable.next_multiple_of(page));
        let whole = stack.base().get() - limit(&stack);
        assert!(whole >= stack.usable() + page, "{asked}: there is a guard");
        assert_eq!((stack.base().get() % page, limit(&stack) % page), (0, 0));
        assert_eq!(stack.base().get() % STACK_ALIGNMENT, 0);
        assert_eq!(whole / page % 2, 1);
    }
}

#[test]
fn a_size_that_cannot_be_is_an_error() {
    for asked in [usize::MAX, usize::MAX - 4096, isize::MAX as usize] {
        let error = Stack::new(asked).unwrap_err();
        assert_eq!(error.to_string(), format!("no stack can have {asked} bytes"));
    }
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_size_that_there_is_no_room_for_is_an_error() {
    let error = Stack::new(1 << 60).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
    assert!(error.to_string().starts_with("no stack of 1152921504606846976 bytes: "), "{error}");
}

#[test]
fn the_stack_given_back_last_is_taken_first() {
    let class = class_of(64 << 10);
    let stacks: Vec<_> = (0..3).map(|_| class.take().unwrap()).collect();
    let places: Vec<_> = stacks.iter().map(limit).collect();
    stacks.into_iter().for_each(drop);
    let again: Vec<_> = (0..3).map(|_| class.take().unwrap()).collect();
    let again: Vec<_> = again.iter().map(limit).collect();
    assert_eq!(again, places.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn stacks_do_not_overlap() {
    let (small, large) = (class_of(8 << 10), class_of(1 << 20));
    let mut ranges: Vec<_> = (0..200)
        .map(|n| if n % 2 == 0 { small.take().unwrap() } else { large.take().unwrap() })
        .map(|stack| (limit(&stack), stack.base().get(), stack))
        .collect();
    ranges.sort_by_key(|range| range.0);
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
}

#[test]
#[cfg(target_os = "linux")]
fn one_page_touched_is_one_page_of_memory() {
    let stack = class_of(1 << 20).take().unwrap();
    assert_eq!(pages_in_memory(&stack), 0);
    // SAFETY: nothing runs on it: its memory is ours.
    unsafe { ((stack.base().get() - 8) as *mut u64).write(1) };
    assert_eq!(pages_in_memory(&stack), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn a_stack_given_back_has_no_memory_and_its_guard_is_still_one() {
    for guards in [&GUARDS, &BY_PROTECTION] {
        let class = Class::new(Shape::of(64 << 10).unwrap(), guards);
        let stack = class.take().unwrap();
        assert!(is_guarded(&stack));
        touch(&stack);
        assert_eq!(pages_in_memory(&stack), stack.usable() / page_size());
        let place = limit(&stack);
        drop(stack);
        let stack = class.take().unwrap();
        assert_eq!((limit(&stack), pages_in_memory(&stack)), (place, 0));
        assert!(is_guarded(&stack));
        touch(&stack);
        assert!(is_guarded(&stack));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn many_given_back_at_once_have_no_memory() {
    let class = class_of(64 << 10);
    let mut stacks: Vec<_> = (0..100).map(|_| class.take().unwrap()).collect();
    stacks.iter().for_each(touch);
    let kept = stacks.split_off(95);
    class.give_back_all(&stacks.into_iter().map(Stack::into_slot).collect::<Vec<_>>());
    assert!(kept.iter().all(|stack| pages_in_memory(stack) == stack.usable() / page_size()));
    let again: Vec<_> = (0..95).map(|_| class.take().unwrap()).collect();
    assert!(again.iter().all(|stack| pages_in_memory(stack) == 0 && is_guarded(stack)));
}

#[test]
fn each_stack_is_guarded_also_by_protection() {
    for guards in [&GUARDS, &BY_PROTECTION] {
        let class = Class::new(Shape::of(8 << 10).unwrap(), guards);
        let stacks: Vec<_> = (0..100).map(|_| class.take().unwrap()).collect();
        assert!(stacks.iter().all(is_guarded));
        stacks.iter().for_each(touch);
        assert!(stacks.iter().all(is_guarded));
    }
}

#[test]
fn coroutines_run_and_unwind_on_them() {
    for guards in [&GUARDS, &BY_PROTECTION] {
        let class = Class::new(Shape::of(64 << 10).unwrap(), guards);
        let mut stack = class.take().unwrap();
        for n in 0..10 {
            let mut routine = Coroutine::with_stack(stack, move |yielder: &Yielder<u32, u32>, first| {
                let second = yielder.suspend(first + n);
                std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(second)))
            });
            assert!(matches!(routine.resume(1), CoroutineResult::Yield(got) if got == 1 + n));
            let CoroutineResult::Return(unwound) = routine.resume(7) else { panic!("it returns") };
            assert_eq!(*unwound.unwrap_err().downcast::<u32>().unwrap(), 7);
            stack = routine.into_stack();
        }
    }
}

#[test]
fn threads_take_and_give_back_at_once() {
    let class = class_of(16 << 10);
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            scope.spawn(move || {
                for round in 0..50 {
                    let stacks: Vec<_> = (0..round % 20).map(|_| class.take().unwrap()).collect();
                    let word = |stack: &Stack| (stack.base().get() - 1) as *mut u8;
                    // SAFETY: nothing runs on them: their memory is ours.
                    stacks.iter().for_each(|stack| unsafe { word(stack).write(thread) });
                    // SAFETY: as above.
                    assert!(stacks.iter().all(|stack| unsafe { word(stack).read() } == thread));
                }
            });
        }
    });
}
