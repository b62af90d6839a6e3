//! The caller decides how everything inside a call waits.

use crate::kit::{Gate, ON_PURPOSE, on_every_kind, panic_of, quiet, strand_in, until, until_async};
use ropewalk::{Blocking, Handler, OnStrand, Wait, spawn, spawn_local, strand, with_handler, yield_now};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// Counts the waits, and then waits as its surroundings do.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);

impl Counting {
    fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Handler for Counting {
    fn suspend(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        self.0.fetch_add(1, SeqCst);
        future.wait();
    }
}

/// Enters its name in a log, and then waits as its surroundings do.
struct Logging<'a>(&'a str, &'a Mutex<Vec<String>>);

impl Handler for Logging<'_> {
    fn suspend(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        self.1.lock().unwrap().push(format!("{} in", self.0));
        future.wait();
        self.1.lock().unwrap().push(format!("{} out", self.0));
    }
}

/// Written once; the caller decides how it waits.
fn answer() -> u32 {
    spawn(async {
        yield_now().await;
        42
    })
    .wait()
    .unwrap()
}

#[test]
fn blocking_on_a_thread_and_on_a_worker() {
    assert_eq!(with_handler(&Blocking, || async { 42 }.wait()), 42);
    on_every_kind(|kind| {
        let (runtime, gate) = (kind.build(), Gate::new());
        let passed = gate.passed();
        let task = runtime.spawn(async move { with_handler(&Blocking, || passed.wait()) });
        std::thread::scope(|scope| {
            scope.spawn(|| {
                until("it waits", || gate.waiting() > 0);
                gate.open(); // the thread itself is held: somebody else must open
            });
            runtime.block_on(task).unwrap();
        });
        assert_eq!(runtime.metrics().total(|worker| worker.held), 1);
        assert_eq!(runtime.metrics().total(|worker| worker.waits_in_poll), 0);
    });
}

#[test]
fn on_strand_waits_as_the_place_does() {
    assert_eq!(with_handler(&OnStrand, || async { 42 }.wait()), 42);
    on_every_kind(|kind| {
        let runtime = kind.build();
        let parked = || runtime.metrics().total(|worker| worker.waits_in_poll);
        let gate = Gate::new();
        let passed = gate.passed();
        let task = runtime.spawn(async move { with_handler(&OnStrand, || passed.wait()) });
        runtime.block_on(until_async("it waits", || gate.waiting() > 0 && parked() == 1));
        gate.open();
        runtime.block_on(task).unwrap();
        let gate = Gate::new();
        let passed = gate.passed();
        let strand = strand_in(&runtime, move || with_handler(&OnStrand, || passed.wait()));
        runtime.block_on(until_async("it waits", || gate.waiting() > 0));
        gate.open();
        runtime.block_on(strand).unwrap();
        assert_eq!(parked(), 1, "the strand was suspended, no stack was parked");
        assert_eq!(runtime.metrics().total(|worker| worker.held), 0);
    });
}

#[test]
fn one_of_the_users_own_in_every_place() {
    on_every_kind(|kind| {
        let (runtime, counting) = (kind.build(), Counting::default());
        let twice = |counting: &Counting| with_handler(counting, || answer() + answer());
        runtime.block_on(async { assert_eq!(twice(&counting), 84) });
        assert_eq!(counting.count(), 2);
        let there = counting.clone();
        runtime.block_on(runtime.spawn(async move { assert_eq!(twice(&there), 84) })).unwrap();
        assert_eq!(counting.count(), 4);
        let there = counting.clone();
        let strand = strand_in(&runtime, move || twice(&there));
        assert_eq!(runtime.block_on(strand).unwrap(), 84);
        assert_eq!(counting.count(), 6);
        runtime.block_on(async { assert_eq!(answer(), 42) });
        assert_eq!(counting.count(), 6, "and not outside of the call");
    });
}

/// What is ready at once goes through the handler too: it decides about every wait.
#[test]
fn a_ready_future_goes_through_the_handler() {
    let counting = Counting::default();
    assert_eq!(with_handler(&counting, || async { 1 }.wait()), 1);
    assert_eq!(counting.count(), 1);
}

#[test]
fn nested_handlers() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            let log = Mutex::new(Vec::new());
            with_handler(&Logging("outer", &log), || {
                with_handler(&Logging("inner", &log), answer);
                answer();
            });
            answer();
            log.into_inner().unwrap()
        });
        let log = runtime.block_on(task).unwrap();
        assert_eq!(log, ["inner in", "outer in", "outer out", "inner out", "outer in", "outer out"]);
    });
}

/// A handler may wait for something of its own, as its surroundings do.
#[test]
fn a_handler_that_waits_itself() {
    struct AsksFirst<'a>(&'a AtomicUsize);
    impl Handler for AsksFirst<'_> {
        fn suspend(&self, future: Pin<&mut dyn Future<Output = ()>>) {
            self.0.fetch_add(spawn(async { 1 }).wait().unwrap(), SeqCst);
            future.wait();
            yield_now().wait();
        }
    }
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            let asked = AtomicUsize::new(0);
            let outer = Counting::default();
            let answer = with_handler(&outer, || with_handler(&AsksFirst(&asked), answer));
            (answer, asked.into_inner(), outer.count())
        });
        assert_eq!(runtime.block_on(task).unwrap(), (42, 1, 3));
    });
}

#[test]
fn children_do_not_inherit_it() {
    on_every_kind(|kind| {
        let (runtime, counting) = (kind.build(), Counting::default());
        let there = counting.clone();
        let task = runtime.spawn(async move {
            let (free, local, strand) = with_handler(&there, || {
                let free = spawn(async { answer() });
                let local = spawn_local(async { answer() }).unwrap();
                let strand = strand::spawn_local(answer).unwrap();
                let thread = std::thread::spawn(|| async { 42 }.wait());
                assert_eq!(thread.join().unwrap(), 42);
                (free, local, strand)
            });
            free.await.unwrap() + local.await.unwrap() + strand.await.unwrap()
        });
        assert_eq!(runtime.block_on(task).unwrap(), 126);
        assert_eq!(counting.count(), 0);
    });
}

#[test]
fn restored_after_a_panic() {
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            let (outer, inner) = (Counting::default(), Counting::default());
            with_handler(&outer, || {
                let caught = panic_of(|| {
                    with_handler(&inner, || {
                        answer();
                        panic!("{ON_PURPOSE}")
                    })
                });
                assert!(caught.is_some());
                let caught = panic_of(|| with_handler(&inner, || async { panic!("{ON_PURPOSE}") }.wait()));
                assert!(caught.is_some(), "also out of the wait itself");
                answer();
            });
            answer();
            (outer.count(), inner.count())
        });
        let (outer, inner) = runtime.block_on(task).unwrap();
        assert_eq!((outer, inner), (3, 2));
    });
}

/// A stack takes its handlers with it when it is parked, and has them again when it goes on.
#[test]
fn carried_along_when_the_stack_is_parked() {
    on_every_kind(|kind| {
        let (runtime, counting, gate) = (kind.build(), Counting::default(), Gate::new());
        let (there, passed) = (counting.clone(), gate.passed());
        let task = runtime.spawn(async move {
            with_handler(&there, || {
                passed.wait();
                answer() + answer()
            })
        });
        runtime.block_on(until_async("it waits", || gate.waiting() > 0));
        assert_eq!(counting.count(), 1);
        for _ in 0..10 {
            runtime.block_on(runtime.spawn(async { answer() })).unwrap();
        }
        assert_eq!(counting.count(), 1, "the others on its worker wait in their own way");
        gate.open();
        assert_eq!(runtime.block_on(task).unwrap(), 84);
        assert_eq!(counting.count(), 3);
    });
}

/// Two strands that take turns on one worker keep their own handlers.
#[test]
fn two_strands_interleaved_on_one_worker() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            let log = Arc::new(Mutex::new(Vec::new()));
            let start = |name: &'static str| {
                let log = log.clone();
                strand::spawn_local(move || {
                    let count = Counting::default();
                    with_handler(&count, || {
                        for _ in 0..5 {
                            yield_now().wait();
                            log.lock().unwrap().push(name);
                        }
                    });
                    yield_now().wait();
                    count.count()
                })
                .unwrap()
            };
            let (one, two) = (start("one"), start("two"));
            let plain = strand::spawn_local(|| (0..5).for_each(|_| yield_now().wait())).unwrap();
            let counts = (one.await.unwrap(), two.await.unwrap());
            plain.await.unwrap();
            let turns = log.lock().unwrap().windows(2).filter(|pair| pair[0] != pair[1]).count();
            (counts, turns)
        });
        let (counts, turns) = runtime.block_on(task).unwrap();
        assert_eq!(counts, (5, 5));
        assert!(turns >= 5, "they took turns: {turns}");
    });
}

/// The same for stacks parked in polls, which end in the order opposite to the one in which they began.
#[test]
fn many_parked_stacks_keep_their_handlers() {
    const MANY: usize = 20;
    on_every_kind(|kind| {
        let runtime = kind.build();
        let gates: Vec<_> = (0..MANY).map(|_| Gate::new()).collect();
        let counts: Vec<_> = (0..MANY).map(|_| Counting::default()).collect();
        let tasks: Vec<_> = (0..MANY)
            .map(|number| {
                let (passed, counting) = (gates[number].passed(), counts[number].clone());
                runtime.spawn(async move {
                    with_handler(&counting, || {
                        passed.wait();
                        (0..number).for_each(|_| yield_now().wait());
                    });
                })
            })
            .collect();
        runtime.block_on(until_async("all wait", || gates.iter().all(|gate| gate.waiting() > 0)));
        gates.iter().rev().for_each(Gate::open);
        tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
        for (number, counting) in counts.iter().enumerate() {
            assert_eq!(counting.count(), number + 1);
        }
    });
}
