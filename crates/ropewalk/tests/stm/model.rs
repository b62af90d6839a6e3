//! Random transactions at once, against a model that runs them one after the other.
//!
//! Each takes its place in a list of all of them, inside of the transaction: so the list says in which order they came. Run in that order
//! on plain values, each must see and leave what it saw and left.

use crate::kit::guarded;
use crate::stress::Random;
use ropewalk::stm::{TVar, Tx, TxResult, atomically};
use ropewalk::{Runtime, Wait};
use std::sync::Arc;
use std::thread;

const VARIABLES: usize = 6;

#[derive(Clone, Copy, Debug)]
enum Step {
    Read(usize),
    Write(usize, i64),
    /// Adds the one to the other.
    Add(usize, usize),
    Swap(usize, usize),
    /// Writes, and undoes that; then writes something else.
    OrElse(usize, i64, i64),
}

fn program(random: &mut Random) -> Vec<Step> {
    (0..1 + random.below(6))
        .map(|_| {
            let (a, b, value) = (random.below(VARIABLES), random.below(VARIABLES), random.below(1000) as i64);
            match random.below(5) {
                0 => Step::Read(a),
                1 => Step::Write(a, value),
                2 => Step::Add(a, b),
                3 => Step::Swap(a, b),
                _ => Step::OrElse(a, value, value + 1),
            }
        })
        .collect()
}

fn run(tx: &mut Tx, steps: &[Step], numbers: &[TVar<i64>], texts: &[TVar<String>]) -> TxResult<Vec<i64>> {
    let mut seen = Vec::new();
    for step in steps {
        match *step {
            Step::Read(at) => seen.push(tx.read(&numbers[at])?),
            Step::Write(at, value) => tx.write(&numbers[at], value)?,
            Step::Add(from, to) => {
                let by = tx.read(&numbers[from])?;
                seen.push(tx.modify(&numbers[to], |value| {
                    *value = value.wrapping_add(by);
                    *value
                })?);
            }
            Step::Swap(one, other) => tx.swap(&numbers[one], &numbers[other])?,
            Step::OrElse(at, first, second) => tx.or_else(
                |tx| {
                    tx.write(&numbers[at], first)?;
                    tx.retry()
                },
                |tx| tx.write(&numbers[at], second),
            )?,
        }
    }
    // The same once more as text, which is not held in place.
    for (number, text) in numbers.iter().zip(texts) {
        let now = tx.read(number)?.to_string();
        if tx.read_with(text, |text| *text != now)? {
            tx.write(text, now)?;
        }
    }
    Ok(seen)
}

fn run_alone(steps: &[Step], numbers: &mut [i64]) -> Vec<i64> {
    let mut seen = Vec::new();
    for step in steps {
        match *step {
            Step::Read(at) => seen.push(numbers[at]),
            Step::Write(at, value) => numbers[at] = value,
            Step::Add(from, to) => {
                numbers[to] = numbers[to].wrapping_add(numbers[from]);
                seen.push(numbers[to]);
            }
            Step::Swap(one, other) => numbers.swap(one, other),
            Step::OrElse(at, _, second) => numbers[at] = second,
        }
    }
    seen
}

#[test]
fn they_are_as_if_one_after_the_other() {
    for seed in 0..6 {
        guarded(format!("seed {seed}"), || one_after_the_other(seed));
    }
}

fn one_after_the_other(seed: u64) {
    const PARTIES: usize = 6;
    const EACH: usize = 300;
    let numbers: Arc<Vec<TVar<i64>>> = Arc::new((0..VARIABLES as i64).map(TVar::new).collect());
    let texts: Arc<Vec<TVar<String>>> = Arc::new((0..VARIABLES).map(|_| TVar::default()).collect());
    let order = TVar::new(0_usize);
    let runtime = Runtime::builder().worker_threads(3).build().unwrap();
    let parties: Vec<_> = (0..PARTIES)
        .map(|party| {
            let (numbers, texts, order) = (numbers.clone(), texts.clone(), order.clone());
            let work = async move {
                let mut random = Random(seed * 100 + party as u64);
                let mut done = Vec::new();
                for _ in 0..EACH {
                    let steps = program(&mut random);
                    let (place, seen) = atomically(|tx| {
                        let seen = run(tx, &steps, &numbers, &texts)?;
                        Ok((tx.modify(&order, |next| std::mem::replace(next, *next + 1))?, seen))
                    })
                    .await;
                    done.push((place, steps, seen));
                }
                done
            };
            // Tasks and threads.
            let runtime = runtime.handle();
            thread::spawn(
                move || if party % 2 == 0 { work.wait() } else { runtime.spawn(work).wait().unwrap() },
            )
        })
        .collect();
    let mut all: Vec<_> = parties.into_iter().flat_map(|party| party.join().unwrap()).collect();
    all.sort_by_key(|(place, ..)| *place);
    assert_eq!(all.len(), PARTIES * EACH);
    let mut model: Vec<i64> = (0..VARIABLES as i64).collect();
    for (expected, (place, steps, seen)) in all.iter().enumerate() {
        assert_eq!(*place, expected);
        assert_eq!(*seen, run_alone(steps, &mut model), "number {place}: {steps:?}");
    }
    assert_eq!(numbers.iter().map(TVar::get).collect::<Vec<_>>(), model);
    assert_eq!(
        texts.iter().map(TVar::get).collect::<Vec<_>>(),
        model.iter().map(i64::to_string).collect::<Vec<_>>()
    );
}
