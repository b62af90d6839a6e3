//! One seed, one interleaving: four logical workers, driven by one thread with a seeded order and a fake clock, give the
//! same trace twice; another seed gives another one; the program's result is the same under every seed.

use ropewalk::{Clock, Runtime, TaskError, TaskHandle, Wait, spawn, spawn_local, strand, task, yield_now};
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const WORKERS: usize = 4;

/// Time that passes only when the runtime or the program does something.
#[derive(Clone, Debug, Default)]
struct FakeClock(Arc<AtomicU64>);

impl FakeClock {
    fn pass(&self, nanos: u64) {
        self.0.fetch_add(nanos, Relaxed);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.fetch_add(1, Relaxed)) // so that a read more or less shows
    }
}

/// What happened, in which order and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Spawned(u64),
    Polling(u64),
    Polled(u64),
    Ended(u64),
    /// A tick of this worker is over.
    Worker(usize),
    Said(&'static str, u64),
}

#[derive(PartialEq, Eq)]
struct Trace(Vec<(Duration, Event)>);

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a trace of {} events", self.0.len())
    }
}

impl Trace {
    /// Where two traces part.
    fn parts_from(&self, other: &Trace) -> Option<usize> {
        let same = self.0.iter().zip(&other.0).take_while(|(ours, theirs)| ours == theirs).count();
        (self != other).then_some(same)
    }

    /// In which order the workers came.
    fn workers(&self) -> Vec<usize> {
        let worker = |(_, event): &(Duration, Event)| match event {
            Event::Worker(worker) => Some(*worker),
            _ => None,
        };
        self.0.iter().filter_map(worker).collect()
    }
}

/// The events with their times, and the first id of each task.
type Recorded = (Vec<(Duration, Event)>, HashMap<u64, u64>);

/// Writes the trace. Ids are numbered as they come: the runtime takes them from a counter of the whole process.
#[derive(Clone, Default)]
struct Recorder {
    clock: FakeClock,
    state: Arc<Mutex<Recorded>>,
}

impl Recorder {
    fn note(&self, event: Event) {
        self.state.lock().unwrap().0.push((self.clock.now(), event));
    }

    fn hook(&self, event: fn(u64) -> Event) -> impl Fn(task::TaskId) + Send + Sync + 'static {
        let recorder = self.clone();
        move |id| {
            let number = {
                let names = &mut recorder.state.lock().unwrap().1;
                let next = names.len() as u64;
                *names.entry(id.get()).or_insert(next)
            };
            recorder.clock.pass(10 * number);
            recorder.note(event(number));
        }
    }

    fn say(&self, what: &'static str, number: u64) {
        self.note(Event::Said(what, number));
    }
}

/// Spawns, yields, cancels, joins, local tasks, a strand and waits inside polls; what it returns depends on no order.
async fn program(recorder: Recorder) -> u64 {
    let parts: Vec<_> = (0..12).map(|number| spawn(part(recorder.clone(), number))).collect();
    let endless: Vec<TaskHandle<()>> = (0..6).map(|_| spawn(std::future::pending())).collect();
    let late: Vec<TaskHandle<()>> = (0..6).map(|_| spawn(spinning())).collect();
    yield_now().await;
    let mut total = 0;
    for (number, part) in (0..).zip(parts) {
        total += part.await.unwrap();
        recorder.say("joined", number);
        if let (Some(one), Some(other)) = (endless.get(number as usize), late.get(number as usize)) {
            one.cancel();
            other.cancel();
        }
    }
    for task in endless.into_iter().chain(late) {
        total += match task.await {
            Err(TaskError::Cancelled) => 1_000_000,
            other => panic!("cancelled tasks end as cancelled, not {other:?}"),
        };
    }
    total
}

async fn spinning() {
    loop {
        yield_now().await;
    }
}

async fn part(recorder: Recorder, number: u64) -> u64 {
    for _ in 0..number % 5 {
        yield_now().await;
        recorder.clock.pass(1_000 + number);
    }
    match number % 4 {
        0 => spawn(leaf(number)).await.unwrap() + spawn(leaf(number + 100)).await.unwrap(),
        1 => {
            let local = spawn_local(async move {
                let here = Rc::new(number);
                yield_now().await;
                *here * 3
            });
            let local = local.unwrap();
            local.await.unwrap()
        }
        2 => {
            recorder.say("waits", number);
            spawn(leaf(number)).wait().unwrap() // the stack is parked in the middle of this poll
        }
        _ => {
            let strand = strand::spawn_local(move || {
                yield_now().wait();
                spawn(leaf(number)).wait().unwrap() + 7
            });
            let strand = strand.unwrap();
            strand.await.unwrap()
        }
    }
}

async fn leaf(number: u64) -> u64 {
    for _ in 0..number % 3 {
        yield_now().await;
    }
    number * number
}

/// Runs the program under a seed, one tick after the other.
fn run(seed: u64) -> (u64, Trace) {
    let recorder = Recorder::default();
    let runtime = Runtime::builder()
        .hosted_workers(WORKERS)
        .seed(seed)
        .clock(recorder.clock.clone())
        .observe(true)
        .on_task_spawn(recorder.hook(Event::Spawned))
        .before_poll(recorder.hook(Event::Polling))
        .after_poll(recorder.hook(Event::Polled))
        .on_task_end(recorder.hook(Event::Ended))
        .build()
        .unwrap();
    let polls = || runtime.metrics().pools[0].workers.iter().map(|worker| worker.polls).collect::<Vec<_>>();
    let root = runtime.spawn(program(recorder.clone()));
    let mut before = polls();
    while runtime.try_tick().unwrap() {
        let now = polls();
        let worker = (0..WORKERS).find(|worker| now[*worker] != before[*worker]).expect("somebody polled");
        recorder.note(Event::Worker(worker));
        before = now;
    }
    let result = root.wait().unwrap();
    drop(runtime);
    let trace = std::mem::take(&mut recorder.state.lock().unwrap().0);
    (result, Trace(trace))
}

#[test]
fn a_seed_determines_the_whole_interleaving() {
    let mut traces: Vec<Trace> = Vec::new();
    for seed in 0..20 {
        let (result, trace) = run(seed);
        let (again, same) = run(seed);
        assert_eq!(trace.parts_from(&same), None, "seed {seed}: two runs part at this event");
        assert_eq!(result, again);
        assert_eq!(result, run(0).0, "the result depends on no order");
        let order = trace.workers();
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), WORKERS, "everybody works");
        for other in &traces {
            assert!(trace.parts_from(other).is_some(), "seed {seed} gives the trace of another");
            assert_ne!(order, other.workers(), "seed {seed} gives the order of another");
        }
        traces.push(trace);
    }
}

/// `block_on` drives the same workers in the same way.
#[test]
fn block_on_is_as_deterministic_as_ticks_are() {
    let run = |seed| {
        let recorder = Recorder::default();
        let polling = recorder.hook(Event::Polling);
        let builder = Runtime::builder().hosted_workers(WORKERS).seed(seed).before_poll(polling);
        let result = builder.build().unwrap().block_on(program(recorder.clone()));
        let trace = Trace(std::mem::take(&mut recorder.state.lock().unwrap().0));
        (result, trace)
    };
    let ((result, trace), (again, same), (other_result, other)) = (run(7), run(7), run(8));
    assert_eq!((result, trace.parts_from(&same)), (again, None));
    assert_eq!(result, other_result);
    assert!(trace.parts_from(&other).is_some());
}
