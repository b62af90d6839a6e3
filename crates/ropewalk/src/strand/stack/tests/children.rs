//! What ends a process, or fills one: each test runs again in a process of its own.

use super::*;
use std::fmt::Write as _;
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

const CHILD: &str = "ROPEWALK_STACK_TEST_CHILD";

/// In the child: runs `there`. Else starts it: what became of it, and what it wrote to standard error.
fn in_child(test: &str, there: impl FnOnce()) -> Option<(Output, String)> {
    if std::env::var_os(CHILD).is_some() {
        there();
        return None;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let test = format!("strand::stack::tests::children::{test}");
    child.args([&test, "--exact", "--nocapture", "--include-ignored", "--test-threads=1"]).env(CHILD, "1");
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!said.contains("running 0 tests"), "there is no test {test}");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((output, errors))
}

/// Whether a sanitizer has handlers of its own, and the memory to go with them. (`ci/asan` sets its options.)
fn is_sanitized(what: &str) -> bool {
    let is_so = cfg!(tsan) || std::env::var_os("ASAN_OPTIONS").is_some();
    if is_so {
        eprintln!("skipped: {what}");
    }
    is_so
}

/// More than any stack holds.
#[inline(never)]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 32]);
    if depth == black_box(u64::MAX) { 0 } else { recurse(depth + 1) + black_box(frame)[3] }
}

/// Runs `f` on a stack of 64 KiB that belongs to a strand with that name.
fn on_a_stack(guards: &'static Guards, name: Option<&'static str>, f: impl FnOnce() + 'static) {
    unsafe fn describe(owner: NonNull<()>, line: &mut Line) {
        // SAFETY: it is the name below (K5).
        let name = unsafe { owner.cast::<&str>().as_ref() };
        let _fits = write!(line, "strand {} {name:?} (spawned at {})", 17, std::panic::Location::caller());
    }
    DESCRIBE.get_or_init(|| describe);
    if cfg!(tsan) {
        take_away_signal_stack(); // TSan handles signals there, too, and needs more than std's has
    }
    let _signals = prepare_thread();
    let stack = Class::new(Shape::of(64 << 10).unwrap(), guards).take().unwrap();
    stack.set_owner(name.as_ref().map(|name| NonNull::from(name).cast()));
    Coroutine::with_stack(stack, |_: &Yielder<(), ()>, ()| f()).resume(());
}

fn overflow() {
    black_box(recurse(0));
}

fn assert_reported(child: Option<(Output, String)>, who: &str) {
    let Some((output, errors)) = child else { return };
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{output:?}");
    let line = errors.lines().find(|line| line.starts_with("ropewalk: ")).expect(&errors);
    assert!(line.starts_with(&format!("ropewalk: {who}")), "{line}");
    let rest = " has overflowed its stack of 65536 bytes; Builder::stack_size or strand_stack_size gives it a larger one";
    assert!(line.ends_with(rest), "{line}");
}

#[test]
fn an_overflow_names_the_strand_and_aborts() {
    let child = in_child("an_overflow_names_the_strand_and_aborts", || {
        on_a_stack(&GUARDS, Some("the \"one\""), overflow);
    });
    assert_reported(child, r#"strand 17 "the \"one\"" (spawned at "#);
}

#[test]
fn an_overflow_into_a_protected_page_is_reported_too() {
    let child = in_child("an_overflow_into_a_protected_page_is_reported_too", || {
        on_a_stack(&BY_PROTECTION, Some("it"), overflow);
    });
    assert_reported(child, r#"strand 17 "it" (spawned at "#);
}

#[test]
fn an_overflow_of_nobodys_stack_is_a_strands() {
    let child = in_child("an_overflow_of_nobodys_stack_is_a_strands", || on_a_stack(&GUARDS, None, overflow));
    assert_reported(child, "a strand");
}

#[test]
fn a_name_that_is_too_long_leaves_room_for_the_rest() {
    let child = in_child("a_name_that_is_too_long_leaves_room_for_the_rest", || {
        on_a_stack(&GUARDS, Some(Box::leak("é".repeat(1000).into_boxed_str())), overflow);
    });
    assert_reported(child, r#"strand 17 "ééé"#);
}

/// The second of two stacks side by side.
#[test]
fn the_right_strand_is_named() {
    let child = in_child("the_right_strand_is_named", || {
        on_a_stack(&GUARDS, Some("outer"), || on_a_stack(&GUARDS, Some("inner"), overflow));
    });
    assert_reported(child, r#"strand 17 "inner""#);
}

fn take_away_signal_stack() {
    let none = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 1 << 16 };
    // SAFETY: it only stops the use of the one that is there.
    assert_eq!(unsafe { libc::sigaltstack(&none, null_mut()) }, 0);
}

/// As if `main` were not Rust's: the thread has no stack for signals until it is prepared.
#[test]
fn a_thread_without_a_stack_for_signals_gets_one() {
    let child = in_child("a_thread_without_a_stack_for_signals_gets_one", || {
        take_away_signal_stack();
        drop(prepare_thread());
        let first = prepare_thread();
        let second = prepare_thread(); // there is one
        drop(second);
        on_a_stack(&GUARDS, Some("it"), overflow);
        drop(first);
    });
    assert_reported(child, r#"strand 17 "it""#);
}

fn write_to_null() {
    // SAFETY: none: that is what is tested.
    unsafe { black_box(std::ptr::without_provenance_mut::<u64>(8)).write_volatile(1) };
}

#[test]
fn another_fault_on_a_strand_is_what_it_was() {
    let child = in_child("another_fault_on_a_strand_is_what_it_was", || {
        if !is_sanitized("the sanitizer has a report of its own") {
            on_a_stack(&GUARDS, Some("it"), write_to_null);
        }
    });
    let Some((output, errors)) = child else { return };
    if !errors.contains("skipped: ") {
        assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
        assert!(!errors.contains("ropewalk: "), "{errors}");
    }
}

/// A wild pointer into the guard of a stack that is not run on.
#[test]
fn a_guard_hit_from_elsewhere_is_no_overflow() {
    let child = in_child("a_guard_hit_from_elsewhere_is_no_overflow", || {
        if is_sanitized("the sanitizer has a report of its own") {
            return;
        }
        on_a_stack(&GUARDS, Some("it"), || {
            let other = Stack::new(64 << 10).unwrap();
            // SAFETY: none: that is what is tested.
            unsafe { (limit(&other) as *mut u8).write_volatile(1) };
        });
    });
    let Some((output, errors)) = child else { return };
    if !errors.contains("skipped: ") && cfg!(target_os = "linux") {
        assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
        assert!(!errors.contains("ropewalk: "), "{errors}");
    }
}

#[test]
fn a_signal_that_somebody_sent_does_what_it_did() {
    let child = in_child("a_signal_that_somebody_sent_does_what_it_did", || {
        // SAFETY: the action is the default; nobody needs the one before.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
        drop(Stack::new(64 << 10).unwrap());
        // SAFETY: it sends a signal.
        unsafe { libc::raise(libc::SIGBUS) };
    });
    let Some((output, _)) = child else { return };
    assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
}

#[test]
fn a_handler_that_was_there_before_is_called() {
    extern "C" fn handler(_: libc::c_int) {
        // SAFETY: it ends the process.
        unsafe { libc::_exit(77) };
    }
    let child = in_child("a_handler_that_was_there_before_is_called", || {
        // SAFETY: the handler does nothing but end the process.
        unsafe { libc::signal(libc::SIGSEGV, handler as *const () as usize) };
        on_a_stack(&GUARDS, Some("it"), write_to_null);
    });
    let Some((output, errors)) = child else { return };
    assert_eq!(output.status.code(), Some(77), "{output:?} {errors}");
}

#[test]
fn a_thread_that_overflows_has_the_report_of_std() {
    let child = in_child("a_thread_that_overflows_has_the_report_of_std", || {
        if is_sanitized("the sanitizer has a report of its own") {
            return;
        }
        on_a_stack(&GUARDS, Some("it"), || {});
        let thread = std::thread::Builder::new().name("plain".to_owned()).stack_size(128 << 10);
        thread.spawn(overflow).unwrap().join().unwrap();
    });
    let Some((output, errors)) = child else { return };
    if !errors.contains("skipped: ") {
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{output:?}");
        assert!(errors.contains("thread 'plain'") && errors.contains("has overflowed its stack"), "{errors}");
        assert!(!errors.contains("ropewalk: "), "{errors}");
    }
}

#[cfg(target_os = "linux")]
fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

#[test]
#[cfg(target_os = "linux")]
fn a_hundred_thousand_stacks_take_few_mappings() {
    let child = in_child("a_hundred_thousand_stacks_take_few_mappings", || {
        let _first = Stack::new(64 << 10).unwrap();
        if GUARDS.split_mappings() {
            return eprintln!("skipped: this kernel has no guard regions");
        }
        let before = mappings();
        let stacks: Vec<_> = (0..100_000).map(|_| Stack::new(64 << 10).unwrap()).collect();
        let more = mappings() - before;
        eprintln!("100,000 stacks: {more} mappings more");
        assert!(more < 200, "{more}");
        assert!(stacks.iter().step_by(1000).all(is_guarded));
        drop(stacks);
        let _again = Stack::new(64 << 10).unwrap();
        assert!(mappings() - before < 200);
    });
    let Some((output, errors)) = child else { return };
    assert!(output.status.success(), "{errors}");
    eprint!("{errors}");
}

#[test]
#[cfg(target_os = "linux")]
fn mappings_that_have_run_out_are_an_error_and_what_is_there_goes_on() {
    let child = in_child("mappings_that_have_run_out_are_an_error_and_what_is_there_goes_on", || {
        let limit: usize =
            std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse().unwrap();
        if limit > 200_000 {
            return eprintln!("skipped: vm.max_map_count is {limit}");
        }
        if is_sanitized("the sanitizer maps memory, too, and does not go on without") {
            return;
        }
        let class = Class::new(Shape::of(8 << 10).unwrap(), &BY_PROTECTION);
        let mut stacks = Vec::with_capacity(limit);
        let error = loop {
            match class.take() {
                Ok(stack) => stacks.push(stack),
                Err(error) => break error,
            }
        };
        let again = class.take().unwrap_err();
        let other = stacks.pop().map(|stack| super::limit(&stack)).unwrap();
        let reused = class.take().unwrap();
        assert_eq!((super::limit(&reused), is_guarded(&reused)), (other, true));
        drop(reused);
        let count = stacks.len();
        drop(stacks);
        eprintln!("{count} stacks, then: {error}");
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        assert!(error.to_string().starts_with("no stack of 8192 bytes: "), "{error}");
        assert!(error.to_string().contains("vm.max_map_count"), "{error}");
        assert_eq!(error.to_string(), again.to_string());
        assert!(count > limit / 3, "{count}");
    });
    let Some((output, errors)) = child else { return };
    assert!(output.status.success(), "{errors}");
}
