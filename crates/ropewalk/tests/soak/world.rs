//! Tasks of all kinds that do all kinds of things, and parents that do all kinds of things to them. A seed says which.

use super::ledger::{Ledger, Life, Output, Payload};
use ropewalk::{Handle, TaskError, TaskHandle, Wait, spawn, spawn_local, strand, task, yield_now};
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// A seeded generator; children get generators of their own.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) % limit
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn child(&mut self) -> Self {
        Self(self.below(u64::MAX))
    }
}

/// How a task is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Free,
    Big,
    Named,
    Local,
    Strand,
}

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    End,
    Yield,
    /// Waits until a foreign thread wakes it.
    AwaitBell,
    /// Has children.
    Family,
    Panic,
    /// Waits for the end of the world.
    Endless,
}

/// What its parent does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Join,
    /// Joined by a wait inside the parent's poll.
    JoinByWait,
    Detach,
    Cancel,
    CancelDetached,
}

/// A promise that a foreign thread keeps.
#[derive(Default)]
pub struct Bell {
    rung: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Bell {
    pub fn ring(&self) {
        self.rung.store(true, SeqCst);
        if let Some(waker) = self.waker.lock().unwrap().take() {
            let clone = waker.clone();
            waker.wake();
            clone.wake_by_ref(); // once too often
        }
    }

    async fn heard(&self) {
        poll_fn(|cx| {
            *self.waker.lock().unwrap() = Some(cx.waker().clone());
            if self.rung.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

pub struct World {
    pub ledger: Arc<Ledger>,
    pub runtime: Handle,
    pub bells: Mutex<Sender<Arc<Bell>>>,
    /// Those that wait for the end, and whether it has come.
    pub endless: Mutex<(bool, Vec<Waker>)>,
    /// The runtime is going down: anything may end with `Shutdown`.
    pub closing: AtomicBool,
    /// Panics of tasks whose handle was dropped while they ran: at least so many are reported.
    pub joined_panics: AtomicUsize,
}

impl World {
    /// The end has come, for all who wait for it.
    pub fn end(&self) {
        let waiting = {
            let mut endless = self.endless.lock().unwrap();
            endless.0 = true;
            std::mem::take(&mut endless.1)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    async fn ended(&self) {
        poll_fn(|cx| {
            let mut endless = self.endless.lock().unwrap();
            if endless.0 {
                return Poll::Ready(());
            }
            if !endless.1.iter().rev().take(10).any(|known| known.will_wake(cx.waker())) {
                endless.1.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

/// A child, and what is to be done to it.
struct Child {
    id: usize,
    plan: Plan,
    fate: Fate,
    handle: TaskHandle<Output>,
}

/// The life of a task, down to its great-grandchildren.
fn live(
    world: Arc<World>,
    life: Life,
    plan: Plan,
    mut random: Random,
    depth: u32,
) -> Pin<Box<dyn Future<Output = Output> + Send>> {
    Box::pin(async move {
        match plan {
            Plan::End => {}
            Plan::Yield => {
                for _ in 0..random.below(5) {
                    yield_now().await;
                }
            }
            Plan::AwaitBell => {
                let bell = Arc::new(Bell::default());
                // After the end of the world nobody rings any more.
                if world.bells.lock().unwrap().send(bell.clone()).is_ok() {
                    bell.heard().await;
                }
            }
            Plan::Family => family(&world, &mut random, depth).await,
            Plan::Panic => {
                yield_now().await;
                resume_unwind(Box::new(life.payload()));
            }
            Plan::Endless => world.ended().await,
        }
        life.output()
    })
}

async fn family(world: &Arc<World>, random: &mut Random, depth: u32) {
    let mut children = Vec::new();
    for _ in 0..1 + random.below(4) {
        children.extend(start(world, random, depth + 1, false));
    }
    if random.below(2) == 0 {
        yield_now().await;
    }
    for child in children {
        treat(world, child, random).await;
    }
}

/// Starts a task; `outside`: this thread is no worker. `None`: there were enough.
fn start(world: &Arc<World>, random: &mut Random, depth: u32, outside: bool) -> Option<Child> {
    use Kind::*;
    let kinds =
        if outside { &[Free, Free, Big, Named][..] } else { &[Free, Free, Free, Big, Named, Local, Strand] };
    let plans = [
        Plan::End,
        Plan::Yield,
        Plan::Yield,
        Plan::AwaitBell,
        Plan::Family,
        Plan::Family,
        Plan::Panic,
        Plan::Endless,
    ];
    let kind = random.one_of(kinds);
    let mut plan = random.one_of(&plans);
    if depth > 3 && plan == Plan::Family {
        plan = Plan::End;
    }
    let mut fate =
        random.one_of(&[Fate::Join, Fate::JoinByWait, Fate::Detach, Fate::Cancel, Fate::CancelDetached]);
    if plan == Plan::Endless && matches!(fate, Fate::Join | Fate::JoinByWait) {
        fate = Fate::Cancel;
    }
    if plan == Plan::Panic && fate == Fate::Detach && random.below(20) > 0 {
        fate = Fate::Join; // what nobody takes is printed: not too many of them
    }
    let life = world.ledger.open()?;
    let id = life.id();
    let body = live(world.clone(), life, plan, random.child(), depth);
    let handle = match kind {
        Free if outside => world.runtime.spawn(body),
        Free => spawn(body),
        Big => {
            let luggage = [1_u8; 1_000];
            let body = async move {
                let output = body.await;
                assert!(luggage.iter().all(|byte| *byte == 1));
                output
            };
            if outside { world.runtime.spawn(body) } else { spawn(body) }
        }
        Named => task::Builder::new().name("named").spawn_on(&world.runtime, body),
        Local => {
            let here = Rc::new(id);
            spawn_local(async move {
                let output = body.await;
                assert_eq!(*here, output.id());
                output
            })
            .expect("on a worker")
        }
        Strand => strand::spawn_local(move || body.wait()).expect("on a worker"),
    };
    Some(Child { id, plan, fate, handle })
}

async fn treat(world: &Arc<World>, child: Child, random: &mut Random) {
    let Child { id, plan, fate, handle } = child;
    let result = match fate {
        Fate::Join => handle.await,
        Fate::JoinByWait => handle.wait(),
        Fate::Detach => return drop(handle),
        Fate::Cancel => {
            if random.below(2) == 0 {
                yield_now().await;
            }
            handle.cancel();
            handle.await
        }
        Fate::CancelDetached => {
            let abort = handle.abort_handle();
            drop(handle);
            if random.below(2) == 0 {
                yield_now().await;
            }
            abort.cancel();
            return;
        }
    };
    check(world, id, plan, fate, result);
}

fn check(world: &World, id: usize, plan: Plan, fate: Fate, result: Result<Output, TaskError>) {
    match result {
        Ok(output) => {
            assert_eq!(output.id(), id, "the output of another");
            assert_ne!(plan, Plan::Panic);
        }
        Err(TaskError::Cancelled) => {
            assert!(fate == Fate::Cancel, "task {id}, {plan:?}, was cancelled by nobody");
            assert!(!world.ledger.has_output(id), "the output of task {id} was lost");
        }
        Err(TaskError::Panicked(panic)) => {
            assert_eq!(plan, Plan::Panic, "{panic}");
            let payload = panic.into_payload().downcast::<Payload>().expect("ours");
            assert_eq!(payload.id(), id, "the panic of another");
            world.joined_panics.fetch_add(1, Relaxed);
        }
        Err(TaskError::Shutdown) => assert!(world.closing.load(SeqCst), "task {id}: nobody shut down"),
        Err(other) => panic!("{other}"),
    }
}

/// A task that starts families until the ledger is full.
pub async fn direct(world: Arc<World>, mut random: Random) {
    while let Some(child) = start(&world, &mut random, 0, false) {
        treat(&world, child, &mut random).await;
    }
}

/// The same from a thread that is no worker.
pub fn direct_from_outside(world: &Arc<World>, mut random: Random) {
    while let Some(child) = start(world, &mut random, 0, true) {
        treat(world, child, &mut random).wait();
    }
}
