//! Stop: what it costs to hand a turn from one task to another.

use super::gate::Baton;
use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::show::counted;
use ropewalk::RuntimeError;
use ropewalk_core::prim::real::{AtomicU64, Ordering::*};
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) struct Switches;

/// A way to hand the turn over.
struct Game {
    how: &'static str,
    /// Plays so many turns. False: somebody had a turn that was not his.
    play: fn(u64) -> Pin<Box<dyn Future<Output = bool> + Send>>,
    /// What is checked on one worker, and on two.
    rules: [&'static str; 2],
}

const GAMES: [Game; 3] = [
    Game {
        how: "yield_now",
        play: |turns| Box::pin(yields(turns)),
        rules: ["the two alternated strictly on one worker", ""],
    },
    Game {
        how: "waking the other",
        play: |turns| Box::pin(baton(turns)),
        rules: ["no wake-up lost, no turn taken twice, on one worker", "the same on two"],
    },
    Game {
        how: "spawning and joining",
        play: |turns| Box::pin(joins(turns)),
        rules: ["every child's answer was right, on one worker", "the same on two"],
    },
];

impl Stop for Switches {
    fn name(&self) -> &'static str {
        "switches"
    }

    fn title(&self) -> &'static str {
        "Yields and ping-pong"
    }

    fn about(&self) -> &'static str {
        "Two tasks hand a turn to each other, over and over. The cheaper that is, the\n\
         smaller the pieces a program can be cut into. Two OS threads do it as well."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let span = guide.amount(Duration::from_millis(800), Duration::from_millis(50));
        let columns = [
            Column::new("by", "the turn goes on by"),
            Column::new("workers", "workers"),
            Column::new("turns", "turns"),
            Column::new("each_ns", "each"),
            Column::new("turns_per_s", "rate"),
        ];
        let mut findings = Findings::default();
        let mut table = Table::new("Handing over a turn", columns);
        for game in &GAMES {
            for workers in [1, 2] {
                guide.phase_of(format!("{}, {}", game.how, counted(workers as u64, "worker")), span);
                let (turns, took, fair) = play(game, workers, span)?;
                table.row(row(game.how, Value::Count(workers as u64), turns, took));
                let rule = game.rules[workers - 1];
                if !rule.is_empty() {
                    findings.check(fair, format!("{}: {rule}", game.how));
                }
            }
        }
        guide.phase_of("two OS threads", span);
        let (turns, took) = threads(span);
        table.row(row("unparking, two OS threads", Value::Absent, turns, took));
        findings.table(table);
        Ok(findings)
    }
}

fn row(how: &str, workers: Value, turns: u64, took: Duration) -> [Value; 5] {
    [Value::text(how), workers, Value::Count(turns), Value::share(took, turns), Value::rate(turns, took)]
}

/// Plays in lots until `span` is over.
fn play(game: &Game, workers: usize, span: Duration) -> Result<(u64, Duration, bool), RuntimeError> {
    const LOT: u64 = 10_000;
    let runtime = super::builder().worker_threads(workers).build()?;
    let play = game.play;
    let lots = runtime.spawn(async move {
        let mut fair = play(LOT / 10).await; // until everything is warm
        let (from, mut turns) = (Instant::now(), 0);
        while from.elapsed() < span {
            fair &= play(LOT).await;
            turns += LOT;
        }
        (turns, from.elapsed(), fair)
    });
    Ok(runtime.block_on(lots).expect("it neither panics nor is it cancelled"))
}

/// Two tasks that yield. On one worker each must find that the other one ran since its last turn.
async fn yields(turns: u64) -> bool {
    let last = Arc::new(AtomicU64::new(2));
    let player = |me: u64| {
        let last = last.clone();
        async move {
            let mut repeats = 0;
            for _ in 0..turns / 2 {
                repeats += u64::from(last.load(Relaxed) == me);
                last.store(me, Relaxed);
                ropewalk::yield_now().await;
            }
            repeats
        }
    };
    let pair = [ropewalk::spawn(player(0)), ropewalk::spawn(player(1))];
    let mut repeats = 0;
    for player in pair {
        repeats += player.await.expect("it neither panics nor is it cancelled");
    }
    repeats == 0
}

/// Two tasks that wait to be woken by each other.
async fn baton(turns: u64) -> bool {
    let baton = Arc::new(Baton::default());
    let player = |me: usize| {
        let baton = baton.clone();
        async move {
            let mut fair = true;
            for _ in 0..turns / 2 {
                baton.receive(me).await;
                fair &= baton.pass(me);
            }
            fair
        }
    };
    let pair = [ropewalk::spawn(player(0)), ropewalk::spawn(player(1))];
    let mut fair = true;
    for player in pair {
        fair &= player.await.expect("it neither panics nor is it cancelled");
    }
    fair
}

/// A task that spawns a child and waits for its answer: two turns, there and back.
async fn joins(turns: u64) -> bool {
    let mut right = true;
    for turn in 0..turns / 2 {
        right &= ropewalk::spawn(async move { turn }).await.is_ok_and(|answer| answer == turn);
    }
    right
}

/// Two OS threads that unpark each other.
fn threads(span: Duration) -> (u64, Duration) {
    const OVER: u64 = u64::MAX;
    let turn = Arc::new(AtomicU64::new(0));
    let main = thread::current();
    let other = thread::spawn({
        let turn = turn.clone();
        move || loop {
            match turn.load(Acquire) {
                OVER => return,
                mine if mine % 2 == 1 => {
                    turn.store(mine + 1, Release);
                    main.unpark();
                }
                _ => thread::park(),
            }
        }
    });
    let (from, mut done) = (Instant::now(), 0);
    while from.elapsed() < span {
        turn.store(done + 1, Release);
        other.thread().unpark();
        while turn.load(Acquire) != done + 2 {
            thread::park();
        }
        done += 2;
    }
    let took = from.elapsed();
    turn.store(OVER, Release);
    other.thread().unpark();
    other.join().expect("it does not panic");
    (done, took)
}
