//! `#[preemptible]` functions compute what plain ones do, and let others have their turn. A program of its own: some hold their
//! worker until somebody notices, and others would take that for their own delay.

// Strange code is what this is about.
#![allow(clippy::never_loop, clippy::redundant_locals, clippy::match_single_binding, clippy::manual_async_fn)]

#[path = "kit/mod.rs"]
mod kit;

use kit::guarded;
use ropewalk::{Runtime, TaskError, Wait, preemptible, spawn, strand};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::hint::spin_loop;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// A function as it is, and in each way in which the attribute changes it; all of them have to return the same.
macro_rules! in_every_way {
    ($(fn $name:ident($($argument:ident: $type:ty = $value:expr),*) -> $output:ty $body:block)*) => {$(
        #[test]
        fn $name() {
            fn plain($($argument: $type),*) -> $output $body
            #[preemptible]
            fn at_loops($($argument: $type),*) -> $output $body
            #[preemptible(calls)]
            fn at_calls($($argument: $type),*) -> $output $body
            #[preemptible]
            async fn async_at_loops($($argument: $type),*) -> $output $body
            #[preemptible(calls)]
            async fn async_at_calls($($argument: $type),*) -> $output $body

            let expected = plain($($value),*);
            assert_eq!(at_loops($($value),*), expected);
            assert_eq!(at_calls($($value),*), expected);
            assert_eq!(ropewalk::block_on(async_at_loops($($value),*)), expected);
            assert_eq!(ropewalk::block_on(async_at_calls($($value),*)), expected);
        }
    )*};
}

in_every_way! {
    fn a_loop_breaks_with_a_value(limit: u32 = 7) -> u32 {
        let mut n = 0;
        let found = loop {
            n += 1;
            if n * n > limit {
                break n;
            }
        };
        found * 2
    }

    fn labels_are_kept(size: u32 = 9) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        'rows: for row in 0..size {
            'columns: for column in 0.. {
                if column > row {
                    continue 'rows;
                }
                if (row + column) % 3 == 0 {
                    continue 'columns;
                }
                if row * column > 20 {
                    break 'rows;
                }
                pairs.push((row, column));
            }
        }
        pairs
    }

    fn a_for_takes_a_pattern_apart(points: Vec<Point> = vec![Point { x: 1, y: 2 }, Point { x: 3, y: 4 }]) -> i32 {
        let mut sum = 0;
        for (index, Point { x, y }) in points.into_iter().enumerate() {
            sum += (x - y) * index as i32;
        }
        sum
    }

    fn while_let_drains(queue: VecDeque<u8> = (0..9).collect()) -> Vec<u8> {
        let mut queue = queue;
        let mut odd = vec![];
        while let Some(first) = queue.pop_front() && first < 7 {
            if first % 2 == 0 { continue }
            odd.push(first);
        }
        odd
    }

    fn an_early_return_and_a_question_mark(words: Vec<&str> = vec!["1", "2", "x"]) -> Result<u32, String> {
        let mut sum = 0;
        for word in &words {
            sum += word.parse::<u32>().map_err(|error| format!("{word}: {error}"))?;
        }
        Ok(sum)
    }

    fn closures_and_items_inside(limit: usize = 5) -> Vec<usize> {
        const fn squares(n: usize) -> usize {
            let mut sum = 0;
            let mut i = 0;
            while i < n {
                i += 1;
                sum += i * i;
            }
            sum
        }
        let first = |limit: usize| {
            for n in 0.. {
                if n * n > limit {
                    return n;
                }
            }
            0
        };
        let room = [0_u8; {
            let mut n = 0;
            while n < 3 {
                n += 1;
            }
            n
        }];
        let mut all = vec![squares(3), first(limit), room.len(), const { squares(4) }];
        for n in (0..limit).filter(|n| { let mut n = *n; while n > 1 { n -= 2; } n == 0 }) {
            all.push(n);
        }
        all
    }

    fn a_loop_in_every_position(start: u32 = 3) -> (u32, [u32; 2], Point) {
        let mut n = start;
        let pair = [loop { break n }, if n > 2 { while n < 10 { n += 1; } n } else { 0 }];
        let point = Point { x: match n { 10 => loop { n += 1; if n == 12 { break 5 } }, _ => 1 }, ..Point { x: 0, y: 8 } };
        let guarded = match n { n if loop { break n > 3 } => 1, _ => 2 };
        (guarded, pair, point)
    }

    fn one_of_two_last_expressions(n: u32 = 5) -> u32 {
        for _ in 0..n {
            #[cfg(not(test))]
            let _absent = u32::pow(n, 1);
        }
        #[cfg(test)]
        if n > 3 {
            u32::pow(n, 2)
        } else {
            n
        }
        #[cfg(not(test))]
        u32::pow(n, 3)
    }

    fn temporaries_live_as_long_as_they_did(log: Log = Log::default()) -> Vec<String> {
        let log = log;
        let extended = &log.noisy("extended").name;
        let through_a_chain = log.noisy("chain").itself().itself().name.len();
        match log.noisy("scrutinee").itself() {
            noisy => log.say(format!("arm of {}", noisy.name)),
        }
        if log.noisy("condition").itself().name.is_empty() { log.say("empty".into()) } else { log.say("full".into()) }
        *log.noisy("place").slot() = through_a_chain;
        for round in 0..2 {
            while let Some(noisy) = Some(log.noisy("while let")).filter(|_| round == 0) {
                log.say(format!("in {} {round}", noisy.name));
                break;
            }
        }
        let length = { log.say(extended.clone()); log.noisy("tail").itself().name.len() };
        log.say(length.to_string());
        log.take()
    }
}

#[derive(Debug, PartialEq)]
struct Point {
    x: i32,
    y: i32,
}

/// Who was made and dropped, in order.
#[derive(Default)]
struct Log(RefCell<Vec<String>>);

struct Noisy<'a> {
    name: String,
    slot: usize,
    log: &'a Log,
}

impl Log {
    fn say(&self, what: String) {
        self.0.borrow_mut().push(what);
    }

    fn noisy(&self, name: &str) -> Noisy<'_> {
        self.say(format!("made {name}"));
        Noisy { name: name.into(), slot: 0, log: self }
    }

    fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

impl Noisy<'_> {
    fn itself(&self) -> &Self {
        self
    }

    fn slot(&mut self) -> &mut usize {
        &mut self.slot
    }
}

impl Drop for Noisy<'_> {
    fn drop(&mut self) {
        self.log.say(format!("dropped {}", self.name));
    }
}

/// Stands in for Ropewalk, and counts.
mod counting {
    use super::Cell;

    thread_local!(static POINTS: Cell<u32> = const { Cell::new(0) });

    pub fn preempt_point() {
        POINTS.set(POINTS.get() + 1);
    }

    pub async fn preempt() {
        preempt_point();
    }

    pub fn points() -> u32 {
        POINTS.take()
    }
}

#[test]
fn each_iteration_passes_one_point_whatever_led_to_it() {
    #[preemptible(crate = counting)]
    fn outer_and_inner() -> (u32, u32) {
        let (mut outer, mut inner) = (0, 0);
        'outer: while outer < 10 {
            outer += 1;
            for n in 0..3 {
                inner += 1;
                match (outer + n) % 4 {
                    0 => continue 'outer,
                    1 => continue,
                    2 if n > 0 => break,
                    _ => {}
                }
            }
        }
        (outer, inner)
    }
    let (outer, inner) = outer_and_inner();
    assert!(inner > outer);
    assert_eq!(counting::points(), outer + inner);
}

#[test]
fn each_statement_with_a_call_passes_one_point() {
    #[preemptible(calls, crate = counting)]
    async fn factorial(n: u64) -> u64 {
        if n == 0 {
            return 1;
        }
        n * Box::pin(factorial(n - 1)).await
    }
    assert_eq!(ropewalk::block_on(factorial(10)), 3_628_800);
    assert_eq!(counting::points(), 10);
}

#[test]
fn an_async_block_in_a_plain_function_awaits() {
    #[preemptible(crate = counting)]
    fn later(n: u32) -> impl Future<Output = u32> {
        async move {
            let mut sum = 0;
            for n in 0..n {
                sum += n;
            }
            sum
        }
    }
    let sum = later(5);
    assert_eq!(counting::points(), 0);
    assert_eq!(ropewalk::block_on(sum), 10);
    assert_eq!(counting::points(), 5);
}

trait Sums {
    fn items(&self) -> &[u64];

    #[preemptible]
    fn sum(&self) -> u64 {
        let mut sum = 0;
        for item in self.items() {
            sum += item;
        }
        sum
    }
}

struct Items<T>(Vec<T>);

impl Sums for Items<u64> {
    fn items(&self) -> &[u64] {
        &self.0
    }
}

impl<T: Copy + PartialOrd> Items<T> {
    #[preemptible]
    async fn most<'a>(&'a self, start: &'a T) -> &'a T
    where
        T: 'a,
    {
        let mut most = start;
        for item in &self.0 {
            if item > most {
                most = item;
            }
        }
        most
    }

    /// # Safety
    /// There are at least so many.
    #[preemptible]
    unsafe fn first<const N: usize>(&mut self) -> [T; N] {
        let mut first = [self.0[0]; N];
        for (place, index) in first.iter_mut().zip(0..) {
            // SAFETY: the caller says so.
            *place = unsafe { *self.0.get_unchecked(index) };
        }
        first
    }
}

#[test]
fn methods() {
    let mut items = Items(vec![3_u64, 5, 4]);
    assert_eq!(items.sum(), 12);
    assert_eq!(ropewalk::block_on(items.most(&0)), &5);
    // SAFETY: there are three.
    assert_eq!(unsafe { items.first::<2>() }, [3, 5]);
}

#[ropewalk::test]
#[preemptible]
async fn below_the_attribute_of_a_test() {
    for n in 0..3 {
        assert_eq!(spawn(async move { n }).await.unwrap(), n);
    }
}

#[preemptible]
#[ropewalk::test]
fn above_the_attribute_of_a_test() {
    for n in 0..3 {
        assert_eq!(spawn(async move { n }).wait().unwrap(), n);
    }
}

/// One worker, and nobody who stands in for it.
fn alone() -> Runtime {
    Runtime::builder().worker_threads(1).rescue_threshold(Duration::ZERO).build().unwrap()
}

fn preemptions(runtime: &Runtime) -> u64 {
    runtime.metrics().total(|worker| worker.preemptions)
}

#[test]
fn a_task_spins_until_another_one_on_its_worker_has_run() {
    #[preemptible]
    async fn spin_until(flag: &AtomicBool) {
        while !flag.load(SeqCst) {
            spin_loop();
        }
    }
    guarded("a task that spins", || {
        let runtime = alone();
        let task = runtime.spawn(async {
            let flag = Arc::new(AtomicBool::new(false));
            let told = flag.clone();
            let other = spawn(async move { told.store(true, SeqCst) });
            spin_until(&flag).await;
            other.await.unwrap();
        });
        task.wait().unwrap();
        assert!(preemptions(&runtime) > 0);
        assert_eq!(runtime.metrics().pools[0].rescues, 0);
    });
}

/// A strand that has begun stays on its thread: only giving way helps.
fn strand_gives_way_in(spin_until: fn(&AtomicBool)) {
    guarded("a strand that spins", || {
        let runtime = alone();
        runtime.run(|| {
            let flag = AtomicBool::new(false);
            strand::scope(|s| {
                let other = s.spawn(|| flag.store(true, SeqCst));
                spin_until(&flag);
                other.join();
            });
        });
        assert!(preemptions(&runtime) > 0);
        assert_eq!(runtime.metrics().pools[0].rescues, 0);
    });
}

#[test]
fn a_strand_spins_until_another_one_on_its_worker_has_run() {
    #[preemptible]
    fn spin_until(flag: &AtomicBool) {
        while !flag.load(SeqCst) {
            spin_loop();
        }
    }
    strand_gives_way_in(spin_until);
}

#[test]
fn a_strand_spins_in_calls() {
    /// No loop: it goes down, and comes up again.
    #[preemptible(calls)]
    fn look(flag: &AtomicBool, depth: u32) -> bool {
        if depth == 0 {
            return flag.load(SeqCst);
        }
        look(flag, depth - 1) || look(flag, depth - 1)
    }
    // The loop here has no point.
    strand_gives_way_in(|flag| while !look(flag, 10) {});
}

#[test]
fn a_cancelled_task_is_dropped_at_a_point() {
    #[preemptible]
    async fn forever() {
        loop {
            spin_loop();
        }
    }
    guarded("a cancelled task", || {
        let runtime = alone();
        let (begin, begun) = std::sync::mpsc::channel();
        let kept = Arc::new(());
        let held = kept.clone();
        let task = runtime.spawn(async move {
            let _held = held;
            drop(spawn(async {})); // somebody who waits: without, nobody may be looking how long this takes
            begin.send(()).unwrap();
            forever().await;
        });
        begun.recv().unwrap();
        task.cancel();
        assert!(matches!(task.wait(), Err(TaskError::Cancelled)));
        assert_eq!(Arc::strong_count(&kept), 1);
    });
}

#[test]
fn a_cancelled_strand_unwinds_at_a_point() {
    #[preemptible]
    fn forever() {
        loop {
            spin_loop();
        }
    }
    guarded("a cancelled strand", || {
        alone().run(|| {
            strand::scope(|s| {
                let child = s.spawn(|| {
                    strand::current().unwrap().cancel();
                    catch_unwind(forever).unwrap_err().is::<strand::Interrupted>()
                });
                assert!(child.join());
            });
        });
    });
}
