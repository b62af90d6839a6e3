//! One thread, many futures of one subject, and a seeded generator that decides what happens next.

use crate::account::{self, End};
use std::env;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Steps of one subject in an ordinary run.
const STEPS: usize = 200_000;
/// Steps after which everything is wound up and a new subject is made.
const EPISODE: usize = 200;
/// Futures that are alive at a time.
const MOST: usize = 12;

/// What is put to the test.
pub trait Subject {
    /// What an operation leaves in the hands of its caller, to be dropped later.
    type Held<'a>: Debug
    where
        Self: 'a;

    /// What that is called.
    const HELD: &'static str;

    fn new(random: &mut Random) -> Self;

    /// Starts an operation that may wait.
    fn start<'a>(&'a self, random: &mut Random) -> Pin<Box<dyn Future<Output = Self::Held<'a>> + 'a>>;

    /// Does something that does not wait, with what is held by now.
    fn act<'a>(&'a self, _random: &mut Random, _held: &mut Vec<Self::Held<'a>>) {}

    /// What must be true after every step.
    fn check(&self, held: &[Self::Held<'_>]);

    /// Everything is held or waiting: does what ends the waiting of those who do not wait for what is held.
    fn relieve(&self) {}

    /// What must be true when nothing is held and nobody waits.
    fn end(&self);
}

/// A splitmix64 generator.
pub struct Random(u64);

impl Random {
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
    /// True once in `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Runs the subject for as many steps as the environment says, or [`STEPS`].
pub fn run<S: Subject>(name: &str) {
    let steps = account::steps(STEPS);
    let first = env::var("ROPEWALK_FUZZ_SEED").map_or(1, |text| text.parse().expect("ROPEWALK_FUZZ_SEED"));
    for seed in first..first + steps.div_ceil(EPISODE) {
        let tell = TellSeed(seed);
        episode::<S>(&mut Random::of(seed as u64));
        std::mem::forget(tell);
    }
    account::report(name, S::HELD);
}

/// Says which seed failed, while the panic unwinds.
struct TellSeed(usize);

impl Drop for TellSeed {
    fn drop(&mut self) {
        eprintln!("failed with ROPEWALK_FUZZ_SEED={} ROPEWALK_FUZZ_STEPS=1", self.0);
    }
}

fn episode<S: Subject>(random: &mut Random) {
    let subject = S::new(random);
    let mut world = World { subject: &subject, waiting: Vec::new(), held: Vec::new() };
    for _ in 0..EPISODE {
        world.step(random);
        subject.check(&world.held);
    }
    world.wind_up(random);
    subject.end();
}

struct World<'a, S: Subject + 'a> {
    subject: &'a S,
    waiting: Vec<Operation<'a, S>>,
    held: Vec<S::Held<'a>>,
}

struct Operation<'a, S: Subject + 'a> {
    future: Pin<Box<dyn Future<Output = S::Held<'a>> + 'a>>,
    /// Set by the waker of its last poll. An older waker does not count: only the last one has to be called.
    woken: Arc<Flag>,
    polled: bool,
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<'a, S: Subject> World<'a, S> {
    fn step(&mut self, random: &mut Random) {
        match random.below(16) {
            0..=3 if self.waiting.len() < MOST => self.start(random),
            4..=8 => self.poll_some(random),
            9..=10 if !self.waiting.is_empty() => self.cancel_some(random),
            11..=13 if !self.held.is_empty() => self.let_go_of_some(random),
            14 => self.subject.act(random, &mut self.held),
            _ => {
                self.poll_woken(random);
            }
        }
    }

    fn start(&mut self, random: &mut Random) {
        let future = self.subject.start(random);
        account::made();
        self.waiting.push(Operation { future, woken: Arc::default(), polled: false });
    }

    fn cancel_some(&mut self, random: &mut Random) {
        let operation = self.waiting.swap_remove(random.below(self.waiting.len()));
        account::ended(End::of_dropped(operation.polled, operation.woken.0.load(Ordering::Relaxed)));
    }

    fn let_go_of_some(&mut self, random: &mut Random) {
        drop(self.held.swap_remove(random.below(self.held.len())));
        account::found(1);
    }

    /// Polls any of them, with its old waker or a new one, woken or not.
    fn poll_some(&mut self, random: &mut Random) {
        if !self.waiting.is_empty() {
            let at = random.below(self.waiting.len());
            self.poll(at, random.once_in(2));
        }
    }

    /// Polls one that was woken or is new. Returns `false` if there is none.
    fn poll_woken(&mut self, random: &mut Random) -> bool {
        let ready =
            |operation: &Operation<'_, S>| !operation.polled || operation.woken.0.load(Ordering::Relaxed);
        let candidates: Vec<_> = (0..self.waiting.len()).filter(|&at| ready(&self.waiting[at])).collect();
        if candidates.is_empty() {
            return false;
        }
        self.poll(candidates[random.below(candidates.len())], false);
        true
    }

    fn poll(&mut self, at: usize, new_waker: bool) {
        let operation = &mut self.waiting[at];
        if new_waker {
            operation.woken = Arc::default();
        }
        operation.woken.0.store(false, Ordering::Relaxed);
        operation.polled = true;
        let waker = Waker::from(operation.woken.clone());
        if let Poll::Ready(held) = operation.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            drop(self.waiting.swap_remove(at));
            account::ended(End::Completed);
            self.held.push(held);
        }
    }

    /// Lets everybody finish who can, by wake-ups alone: whoever is left waiting then was forgotten.
    fn wind_up(&mut self, random: &mut Random) {
        loop {
            while self.poll_woken(random) {
                self.subject.check(&self.held);
            }
            if self.waiting.is_empty() && self.held.is_empty() {
                return;
            }
            if self.held.is_empty() {
                self.subject.relieve();
                assert!(
                    self.poll_woken(random),
                    "{} wait, nothing is held, and nobody was woken",
                    self.waiting.len()
                );
            } else {
                self.let_go_of_some(random);
            }
        }
    }
}
