use super::*;
use crate::noop_waker;
use std::cell::Cell;
use std::format;
use std::string::ToString;

std::thread_local! {
    /// Who acts, and whether it waits plainly; the tests play all actors on one thread.
    static ACTS: Cell<(u64, bool)> = const { Cell::new((0, true)) };
}

struct Played(u64, bool);

impl Seat for Played {
    fn waits_plainly(&self) -> bool {
        self.1
    }
    fn describe(&self) -> String {
        format!("actor {}", self.0)
    }
}

fn waits(_waker: &Waker) -> Option<Who> {
    let (id, plain) = ACTS.get();
    (id > 0).then(|| Who { actor: Actor::Task(id), seat: Box::new(Played(id, plain)) })
}

fn runs() -> Option<Actor> {
    let (id, _) = ACTS.get();
    (id > 0).then_some(Actor::Task(id))
}

/// Ids that no other test uses.
fn ids<const N: usize>() -> [u64; N] {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    install(waits, runs, || ());
    std::array::from_fn(|_| NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Does something as that actor.
fn act<R>(id: u64, f: impl FnOnce() -> R) -> R {
    ACTS.set((id, true));
    let done = f();
    ACTS.set((0, true));
    done
}

fn wait(id: u64, needs: Needs<'_>, reason: Reason) -> Waiting {
    let waiting = Waiting::new();
    act(id, || waiting.begin(needs, reason, &noop_waker(), Here::caller()));
    waiting
}

fn lock(id: u64, key: &Key) -> Waiting {
    wait(id, Needs::Lock(key), Reason::Mutex)
}

/// The actors of the deadlocks that these are part of.
fn among(ids: &[u64]) -> Vec<Vec<String>> {
    let _found_by_any_test = check();
    let of = |deadlock: &Arc<Deadlock>| deadlock.members.iter().map(|member| member.who.clone()).collect();
    let mine =
        |names: &Vec<String>| names.iter().any(|name| ids.iter().any(|id| *name == format!("actor {id}")));
    found().iter().map(of).filter(mine).collect()
}

#[test]
fn two_locks_in_different_order() {
    let [a, b] = ids();
    let (one, other) = (Key::new(), Key::new());
    act(a, || acquired(&one, true));
    act(b, || acquired(&other, true));
    let _first = lock(a, &other);
    assert!(among(&[a, b]).is_empty(), "one of them can go on");
    let _second = lock(b, &one);
    assert_eq!(among(&[a, b]), [[format!("actor {a}"), format!("actor {b}")]]);
    assert_eq!(among(&[a, b]).len(), 1, "it is found once");
    let text =
        found().iter().map(|found| found.to_string()).find(|text| text.contains(&format!("actor {a} ")));
    let text = text.unwrap();
    assert!(
        text.contains(&format!("actor {a} waits for a mutex at ")) && text.contains("tests.rs"),
        "{text}"
    );
    assert!(text.contains(&format!("held by actor {b}")), "{text}");
}

#[test]
fn one_that_locks_twice() {
    let [a] = ids();
    let key = Key::new();
    act(a, || acquired(&key, true));
    let _again = lock(a, &key);
    assert_eq!(among(&[a]), [[format!("actor {a}")]]);
}

#[test]
fn a_wait_that_is_not_plain_does_not_count() {
    let [a, b] = ids();
    let (one, other) = (Key::new(), Key::new());
    act(a, || acquired(&one, true));
    act(b, || acquired(&other, true));
    let _plain = lock(a, &other);
    let _limited = {
        let waiting = Waiting::new();
        ACTS.set((b, false));
        waiting.begin(Needs::Lock(&one), Reason::Mutex, &noop_waker(), Here::unknown());
        ACTS.set((0, true));
        waiting
    };
    assert!(GRAPH.lock().cycles(false).iter().any(|cycle| cycle.len() == 2), "it is worth another look");
    assert!(among(&[a, b]).is_empty());
}

#[test]
fn one_that_waits_for_two_things_does_not_count() {
    let [a, b] = ids();
    let (one, other, third) = (Key::new(), Key::new(), Key::new());
    act(a, || acquired(&one, true));
    act(b, || acquired(&other, true));
    let _waits = (lock(a, &other), lock(a, &third), lock(b, &one));
    assert!(among(&[a, b]).is_empty());
}

#[test]
fn what_was_given_back_or_given_up_is_gone() {
    let [a, b] = ids();
    let (one, other) = (Key::new(), Key::new());
    act(a, || acquired(&one, true));
    act(b, || acquired(&other, true));
    let first = lock(a, &other);
    drop(first);
    let _second = lock(b, &one);
    let _third = lock(a, &Key::new());
    act(b, || released(&other));
    assert!(among(&[a, b]).is_empty());
}

#[test]
fn ends_of_tasks_are_needed_too() {
    let [a, b, c] = ids();
    let key = Key::new();
    act(a, || acquired(&key, true));
    let _waits = (wait(a, Needs::End(b), Reason::Join), wait(b, Needs::End(c), Reason::Join), lock(c, &key));
    assert_eq!(among(&[a, b, c])[0].len(), 3);
}

#[test]
fn a_writer_needs_every_reader() {
    let [a, b, c] = ids();
    let (lock_a, key) = (Key::new(), Key::new());
    act(a, || acquired(&key, false));
    act(b, || acquired(&key, false));
    act(c, || acquired(&lock_a, true));
    // One of the two readers waits for what the writer has; that the other one can go on does not help.
    let _waits = (wait(c, Needs::Lock(&key), Reason::RwLockWrite), lock(b, &lock_a));
    assert_eq!(among(&[a, b, c])[0].len(), 2);
}

#[test]
fn a_reader_needs_the_writers_before_it() {
    let [a, w] = ids();
    let key = Key::new();
    act(a, || acquired(&key, false));
    let _early = wait(w, Needs::Lock(&key), Reason::RwLockWrite);
    let _again = wait(a, Needs::Lock(&key), Reason::RwLockRead);
    assert_eq!(among(&[a, w])[0].len(), 2);
}

#[test]
fn but_not_those_behind_it() {
    let [a, w] = ids();
    let key = Key::new();
    act(a, || acquired(&key, false));
    let again = Waiting::new();
    again.queue();
    let _late = wait(w, Needs::Lock(&key), Reason::RwLockWrite);
    act(a, || again.begin(Needs::Lock(&key), Reason::RwLockRead, &noop_waker(), Here::unknown()));
    assert!(among(&[a, w]).is_empty());
}

#[test]
fn a_reader_does_not_need_other_readers() {
    let [a, b] = ids();
    let (key, other) = (Key::new(), Key::new());
    act(a, || acquired(&key, false));
    act(b, || acquired(&other, true));
    let _waits = (lock(a, &other), wait(b, Needs::Lock(&key), Reason::RwLockRead));
    assert!(among(&[a, b]).is_empty());
}

#[test]
fn a_lock_whose_guard_was_passed_on_is_left_out() {
    let [a, b, c] = ids();
    let (one, other) = (Key::new(), Key::new());
    act(a, || acquired(&one, true));
    act(c, || released(&one)); // dropped by another
    act(a, || acquired(&one, true));
    act(b, || acquired(&other, true));
    let _waits = (lock(a, &other), lock(b, &one));
    assert!(among(&[a, b, c]).is_empty());
}

#[test]
fn a_lock_that_counts_no_more_is_left_out() {
    let [a] = ids();
    let key = Key::new();
    act(a, || acquired(&key, true));
    counts_no_more(&key);
    let _again = lock(a, &key);
    assert!(among(&[a]).is_empty());
}

#[test]
fn a_future_that_somebody_else_polls_now_is_not_known() {
    let [a] = ids();
    let key = Key::new();
    let again = lock(a, &key);
    again.begin(Needs::Lock(&key), Reason::Mutex, &noop_waker(), Here::unknown());
    act(a, || acquired(&key, true)); // not before: another test's check would find the two of them
    assert!(among(&[a]).is_empty());
}
