//! Threads, strands, tasks, hooks and blocking jobs that all drive, wait, cancel, panic and drop at once, and an account of all of it:
//! each piece of work that was accepted ran to its end, or its owner was told that it did not; and nothing of it is left.
//!
//! `ROPEWALK_SOAK_SECONDS` says for how long (3); `ROPEWALK_SOAK_SEED` with which seed it begins.

use crate::kit::{ON_PURPOSE, RuntimeKind, guarded, quiet, until};
use ropewalk::strand::{self, Interrupted, LiveStrands};
use ropewalk::{Handle, Pool, Runtime, TaskHandle, UnhandledPanic, Wait, select_wait, time, yield_now};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

/// Reproducible numbers.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) % sides
    }

    /// For another stack.
    fn other(&mut self) -> Self {
        Self(self.roll(1 << 30) * 2 + 1)
    }
}

/// What there is of work, and what became of it.
#[derive(Default)]
struct Ledger {
    accepted: AtomicU64,
    ran: AtomicU64,
    told: AtomicU64,
    alive: AtomicI64,
}

/// A piece of work; it is counted as long as it is there.
struct Piece {
    ledger: Arc<Ledger>,
    has_run: Arc<AtomicBool>,
}

impl Piece {
    fn new(ledger: &Arc<Ledger>) -> Self {
        ledger.accepted.fetch_add(1, SeqCst);
        ledger.alive.fetch_add(1, SeqCst);
        Self { ledger: ledger.clone(), has_run: Arc::default() }
    }

    /// The last that it does.
    fn done(&self) {
        self.has_run.store(true, SeqCst);
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.ledger.alive.fetch_sub(1, SeqCst);
    }
}

/// What is known of a piece to its owner, who must learn what became of it, also if it unwinds itself.
struct Owed {
    ledger: Arc<Ledger>,
    has_run: Arc<AtomicBool>,
}

impl Owed {
    fn of(piece: &Piece) -> Self {
        Self { ledger: piece.ledger.clone(), has_run: piece.has_run.clone() }
    }

    fn ended(self, well: bool) {
        assert!(!well || self.has_run.load(SeqCst), "it gave a value without having run");
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        let count = if self.has_run.load(SeqCst) { &self.ledger.ran } else { &self.ledger.told };
        count.fetch_add(1, SeqCst);
    }
}

#[derive(Clone)]
struct World {
    threadless: Handle,
    outer: Handle,
    pool: Pool,
    /// Another one without threads, which one thread drives now and then.
    ticked: Pool,
    ledger: Arc<Ledger>,
}

/// What is documented is not shown: it would take most of the time.
fn very_quiet() {
    static ONCE: Once = Once::new();
    quiet();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !is_known(info.payload_as_str().unwrap_or_default()) {
                usual(info);
            }
        }));
    });
}

fn is_known(text: &str) -> bool {
    const KNOWN: [&str; 5] =
        [ON_PURPOSE, "ropewalk: run:", "ropewalk: block_on:", "ropewalk: a wait:", "ropewalk: a strand that"];
    KNOWN.iter().any(|known| text.contains(known))
}

/// Whether something may end early in this way.
fn may_end_by(payload: &(dyn Any + Send)) -> bool {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.is_some_and(is_known) || payload.is::<Interrupted>() || payload.is::<LiveStrands>()
}

impl World {
    /// Does something at random, and catches what may come of it.
    fn act(&self, dice: &mut Dice, depth: u32) {
        let acted = catch_unwind(AssertUnwindSafe(|| self.act_plainly(dice, depth)));
        if let Err(payload) = acted
            && (payload.is::<Interrupted>() || !may_end_by(&*payload))
        {
            resume_unwind(payload);
        }
    }

    fn act_plainly(&self, dice: &mut Dice, depth: u32) {
        let below = depth < 2;
        match dice.roll(14) {
            0 => self.threadless.block_on(turns(dice.roll(5))),
            1 => self.join_a_task(dice, true),
            2 => self.join_a_task(dice, false),
            3 => self.run_strands(dice),
            4 => self.scope_in_a_root(dice),
            5 if below => self.guest(dice, depth),
            6 if below => self.job(dice, depth),
            7 => self.threadless.block_on(async {
                turns(1).await;
                panic!("{ON_PURPOSE}: a root");
            }),
            8 => self.failing_nursery(dice),
            9 => self.threadless.block_on(async { time::sleep(Duration::from_micros(300)).wait() }),
            10 => self.give_up_a_wait(),
            11 if below => self.guest_task(dice, depth),
            12 if below => self.lodger(dice, depth),
            _ => thread::yield_now(),
        }
    }

    fn task(&self, turns_before: u64) -> (TaskHandle<()>, Owed) {
        let piece = Piece::new(&self.ledger);
        let owed = Owed::of(&piece);
        let task = self.threadless.spawn(async move {
            turns(turns_before).await;
            piece.done();
        });
        (task, owed)
    }

    fn join_a_task(&self, dice: &mut Dice, nested: bool) {
        let (task, owed) = self.task(dice.roll(4));
        if dice.roll(4) == 0 {
            task.cancel();
        }
        let ended = self.threadless.block_on(async move { if nested { task.wait() } else { task.await } });
        owed.ended(ended.is_ok());
    }

    fn run_strands(&self, dice: &mut Dice) {
        let (piece, more) = (Piece::new(&self.ledger), dice.roll(3));
        let owed = Owed::of(&piece);
        let piece = &piece;
        self.threadless.run(move || {
            strand::scope(|s| {
                (0..more).for_each(|_| drop(s.spawn(strand::yield_now)));
                s.join_all();
            });
            piece.done();
        });
        owed.ended(true);
    }

    fn scope_in_a_root(&self, dice: &mut Dice) {
        let (cancels, leaves, piece) = (dice.roll(3) == 0, dice.roll(3) == 0, Piece::new(&self.ledger));
        let owed = Owed::of(&piece);
        let piece = &piece;
        self.threadless.block_on(async move {
            strand::scope(|s| {
                let child = s.spawn(move || {
                    strand::sleep(Duration::from_micros(200));
                    piece.done();
                });
                if cancels {
                    child.cancel();
                }
                if !leaves {
                    let ended = child.try_join();
                    owed.ended(ended.is_ok());
                }
            });
        });
    }

    /// A strand of another runtime, which is perhaps cancelled.
    fn guest(&self, dice: &mut Dice, depth: u32) {
        let (world, mut theirs, piece) = (self.clone(), dice.other(), Piece::new(&self.ledger));
        let owed = Owed::of(&piece);
        let guest = strand::Builder::new().pool(&self.pool).spawn(move || {
            (0..2).for_each(|_| world.act(&mut theirs, depth + 1));
            piece.done();
        });
        if dice.roll(3) == 0 {
            (0..dice.roll(50)).for_each(|_| thread::yield_now());
            guest.cancel();
        }
        let ended = guest.try_join();
        owed.ended(ended.is_ok());
    }

    fn guest_task(&self, dice: &mut Dice, depth: u32) {
        let (world, mut theirs, piece) = (self.clone(), dice.other(), Piece::new(&self.ledger));
        let owed = Owed::of(&piece);
        let task = self.outer.spawn(async move {
            world.act(&mut theirs, depth + 1);
            piece.done();
        });
        owed.ended(task.wait().is_ok());
    }

    /// A strand that is left to itself where somebody drives now and then.
    fn lodger(&self, dice: &mut Dice, depth: u32) {
        let (world, mut theirs, piece) = (self.clone(), dice.other(), Piece::new(&self.ledger));
        let owed = Owed::of(&piece);
        drop(strand::Builder::new().pool(&self.ticked).spawn(move || {
            let _owed = owed;
            (0..2).for_each(|_| world.act(&mut theirs, depth + 1));
            piece.done();
        }));
    }

    fn job(&self, dice: &mut Dice, depth: u32) {
        let (world, mut theirs, piece) = (self.clone(), dice.other(), Piece::new(&self.ledger));
        let owed = Owed::of(&piece);
        let job = self.threadless.spawn_blocking(move || {
            world.act(&mut theirs, depth + 1);
            piece.done();
        });
        owed.ended(self.threadless.block_on(job).is_ok());
    }

    fn failing_nursery(&self, dice: &mut Dice) {
        let (piece, turns_before) = (Piece::new(&self.ledger), dice.roll(3));
        let owed = Owed::of(&piece);
        let piece = &piece;
        // Inside of that one, whose policy it is for a panic that comes beside another.
        let inside = |f: &mut dyn FnMut()| self.outer.block_on(async { f() });
        let mut owed = Some(owed);
        inside(&mut || {
            strand::nursery(|n| {
                drop(strand::Builder::new().pool(&self.pool).spawn_in(n, move || {
                    (0..turns_before).for_each(|_| strand::yield_now());
                    panic!("{ON_PURPOSE}: one for all");
                }));
                self.threadless.run(move || {
                    strand::sleep(Duration::from_micros(200));
                    piece.done();
                });
                owed.take().expect("once").ended(true);
            })
        });
    }

    /// Drops what it waits for.
    fn give_up_a_wait(&self) {
        let (task, owed) = self.task(3);
        self.threadless.block_on(async move {
            let ended = select_wait! {
                ended = task => Some(ended.is_ok()),
                () = yield_now() => None,
            };
            owed.ended(ended == Some(true));
        });
    }
}

async fn turns(count: u64) {
    for _ in 0..count {
        yield_now().await;
    }
}

/// Several threads at once, and perhaps the end in the middle.
fn round(seed: u64) {
    let mut dice = Dice(seed * 2 + 1);
    (0..8).for_each(|_| _ = dice.roll(2));
    let kind = [RuntimeKind::Caller, RuntimeKind::Hosted(1), RuntimeKind::Hosted(3)][dice.roll(3) as usize];
    let (probe, ledger) = (Arc::new(()), Arc::new(Ledger::default()));
    let aside = RuntimeKind::Caller.build();
    let (hooked, budget) = (aside.handle(), AtomicI64::new(50));
    let held = probe.clone();
    let hook = move || {
        let _held = &held;
        if budget.fetch_sub(1, SeqCst) > 0 {
            drop(hooked.spawn(async {}));
        }
    };
    let runtime = kind.builder().on_thread_park(hook).build().unwrap();
    // A strand whose owner was cancelled has nobody else to take its panic.
    let outer = RuntimeKind::Threads(2).builder().unhandled_panic(UnhandledPanic::Report).build().unwrap();
    let ticked = kind.builder().unhandled_panic(UnhandledPanic::Report).build().unwrap();
    let pools = (outer.pool("main").unwrap(), ticked.pool("main").unwrap());
    let world = World {
        threadless: runtime.handle(),
        outer: outer.handle(),
        pool: pools.0,
        ticked: pools.1,
        ledger: ledger.clone(),
    };
    let (at_it, ends_early) = (AtomicI64::new(3), dice.roll(4) == 0);
    thread::scope(|scope| {
        for _ in 0..3 {
            let (world, at_it, mut dice) = (&world, &at_it, dice.other());
            scope.spawn(move || {
                (0..12).for_each(|_| world.act(&mut dice, 0));
                at_it.fetch_sub(1, SeqCst);
            });
        }
        let at_it = &at_it;
        scope.spawn(move || {
            while at_it.load(SeqCst) > 0 {
                ticked.block_on(turns(1));
                ticked.run_until_stalled().unwrap();
            }
            drop(ticked); // here, where its strands are
        });
        if ends_early {
            let (handle, wait) = (runtime.handle(), Duration::from_micros(dice.roll(3000)));
            scope.spawn(move || drop(handle.shutdown(wait)));
        }
    });
    settle(runtime, outer, aside);
    drop(world);
    // A blocking job whose owner has unwound may still be at it.
    until("nothing is left", || ledger.alive.load(SeqCst) == 0);
    let [accepted, ran, told] = [&ledger.accepted, &ledger.ran, &ledger.told].map(|count| count.load(SeqCst));
    assert_eq!(accepted, ran + told, "{ran} ran, of {told} it is known that they did not");
    until("the runtime is freed", || Arc::strong_count(&probe) == 1);
}

fn settle(runtime: Runtime, outer: Runtime, aside: Runtime) {
    outer.shutdown(Duration::from_secs(60)).unwrap();
    drop(runtime);
    aside.run_until_stalled().unwrap();
}

#[test]
fn all_drive_wait_cancel_panic_and_drop_at_once() {
    very_quiet();
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (seconds, first) = (number("ROPEWALK_SOAK_SECONDS", 3), number("ROPEWALK_SOAK_SEED", 1));
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut rounds = 0;
    while Instant::now() < end {
        let seed = first + rounds;
        guarded(format!("seed {seed}"), || round(seed));
        rounds += 1;
    }
    println!("{rounds} rounds");
}
