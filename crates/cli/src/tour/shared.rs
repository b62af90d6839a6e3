//! Stop: one channel and one mutex, used by tasks and by threads at the same time.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::show::counted;
use ropewalk::channel::{Receiver, Sender, bounded};
use ropewalk::sync::Mutex;
use ropewalk::{Runtime, TaskError, TaskHandle, Wait};
use ropewalk_core::prim::real::{AtomicBool, AtomicU64, Ordering::*};
use std::error::Error;
use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

type Trouble = Box<dyn Error + Send + Sync>;

const CAPACITY: usize = 128;

pub(crate) struct Shared;

impl Stop for Shared {
    fn name(&self) -> &'static str {
        "shared"
    }

    fn title(&self) -> &'static str {
        "A channel and a lock for everybody"
    }

    fn about(&self) -> &'static str {
        "Tasks await and threads wait on the same channel, and on the same mutex, at\n\
         once. There is one implementation; whoever waits is only a waker to it."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Trouble> {
        let runtime = super::builder().worker_threads(2).build()?;
        let mut findings = Findings::default();
        channel(guide, &runtime, &mut findings)?;
        mutex(guide, &runtime, &mut findings)?;
        Ok(findings)
    }
}

/// Who takes part.
#[derive(Clone, Copy)]
struct Crew {
    tasks: u64,
    threads: u64,
}

const TASKS: Crew = Crew { tasks: 4, threads: 0 };
const THREADS: Crew = Crew { tasks: 0, threads: 4 };
const MIXED: Crew = Crew { tasks: 2, threads: 2 };

impl Crew {
    fn size(self) -> u64 {
        self.tasks + self.threads
    }

    fn text(self) -> String {
        let parts = [(self.tasks, "task"), (self.threads, "thread")];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        parts.map(|(count, what)| counted(count, what)).collect::<Vec<_>>().join(", ")
    }

    /// Starts everybody: the same future, awaited by a task or waited for by a thread.
    fn start<T, F>(self, runtime: &Runtime, job: impl Fn(u64) -> F) -> Vec<Member<T>>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let start = |number: u64| {
            let job = job(number);
            if number < self.tasks {
                Member::Task(runtime.spawn(job))
            } else {
                Member::Thread(thread::spawn(move || job.wait()))
            }
        };
        (0..self.size()).map(start).collect()
    }
}

enum Member<T> {
    Task(TaskHandle<T>),
    Thread(thread::JoinHandle<T>),
}

impl<T: Send + 'static> Member<T> {
    fn join(self) -> Result<T, TaskError> {
        match self {
            Self::Task(task) => task.wait(),
            Self::Thread(thread) => Ok(thread.join().expect("it does not panic")),
        }
    }
}

fn channel(guide: &Guide, runtime: &Runtime, findings: &mut Findings) -> Result<(), Trouble> {
    let columns = [
        Column::new("senders", "4 senders"),
        Column::new("receivers", "4 receivers"),
        Column::new("messages", "messages"),
        Column::new("each_ns", "each"),
        Column::new("messages_per_s", "rate"),
    ];
    let mut table = Table::new("One channel with room for 128 messages", columns);
    let (mut complete, mut ordered) = (true, true);
    for (senders, receivers) in [(TASKS, TASKS), (THREADS, TASKS), (TASKS, THREADS), (MIXED, MIXED)] {
        let messages = guide.amount(2_000_000, 20_000);
        let flow = flow(guide, runtime, [senders, receivers], messages)?;
        table.row([
            Value::text(senders.text()),
            Value::text(receivers.text()),
            Value::Count(messages),
            Value::share(flow.took, messages),
            Value::rate(messages, flow.took),
        ]);
        complete &= flow.received == messages && flow.sum == messages * (messages - 1) / 2;
        ordered &= flow.ordered;
    }
    findings.table(table);
    findings.check(complete, "every message arrived, and none of them twice");
    findings.check(ordered, "each receiver got each sender's messages in the order of sending");
    Ok(())
}

struct Flow {
    took: Duration,
    received: u64,
    sum: u64,
    ordered: bool,
}

/// Sends the numbers below `messages`, every sender its share.
fn flow(
    guide: &Guide,
    runtime: &Runtime,
    [senders, receivers]: [Crew; 2],
    messages: u64,
) -> Result<Flow, Trouble> {
    let arrived = Arc::new(AtomicU64::new(0));
    let seen = arrived.clone();
    guide.phase(format!("{} to {}", senders.text(), receivers.text()), move || {
        seen.load(Relaxed) as f64 / messages as f64
    });
    let (sender, receiver) = bounded(CAPACITY);
    let (count, from) = (senders.size(), Instant::now());
    let receiving = receivers.start(runtime, |_| receive(receiver.clone(), count, arrived.clone()));
    let sending = senders.start(runtime, |number| send(sender.clone(), number, count, messages));
    drop((sender, receiver)); // the channel ends when the last sender does
    for member in sending {
        member.join()?;
    }
    let mut flow = Flow { took: Duration::ZERO, received: 0, sum: 0, ordered: true };
    for member in receiving {
        let (received, sum, ordered) = member.join()?;
        flow.received += received;
        flow.sum += sum;
        flow.ordered &= ordered;
    }
    flow.took = from.elapsed();
    Ok(flow)
}

async fn send(channel: Sender<u64>, first: u64, step: u64, messages: u64) {
    for message in (first..messages).step_by(step as usize) {
        channel.send(message).await.expect("the receivers stay to the end");
    }
}

/// Receives until the channel ends: how many, their sum, and whether each sender's came in order.
async fn receive(channel: Receiver<u64>, senders: u64, arrived: Arc<AtomicU64>) -> (u64, u64, bool) {
    let (mut received, mut sum, mut ordered) = (0, 0, true);
    let mut next = vec![0; senders as usize];
    while let Ok(message) = channel.recv().await {
        let next = &mut next[(message % senders) as usize];
        ordered &= message >= *next;
        *next = message + 1;
        sum += message;
        received += 1;
        if received % 1024 == 0 {
            arrived.fetch_add(1024, Relaxed);
        }
    }
    (received, sum, ordered)
}

fn mutex(guide: &Guide, runtime: &Runtime, findings: &mut Findings) -> Result<(), Trouble> {
    let span = guide.amount(Duration::from_millis(500), Duration::from_millis(20));
    let columns = [
        Column::new("who", "who locks it"),
        Column::new("times", "times"),
        Column::new("each_ns", "each"),
        Column::new("least_times", "least served"),
        Column::new("most_times", "most served"),
    ];
    let mut table = Table::new("One mutex around a number that everybody adds to", columns);
    let mut exact = true;
    for crew in [TASKS, THREADS, MIXED] {
        guide.phase_of(format!("{} at the mutex", crew.text()), span);
        let (counter, over) = (Arc::new(Mutex::new(0)), Arc::new(AtomicBool::new(false)));
        let from = Instant::now();
        let members = crew.start(runtime, |_| add(counter.clone(), over.clone()));
        thread::sleep(span);
        over.store(true, Relaxed);
        let shares = members.into_iter().map(Member::join).collect::<Result<Vec<u64>, _>>()?;
        let (took, times) = (from.elapsed(), shares.iter().sum());
        exact &= *counter.lock().wait() == times;
        table.row([
            Value::text(crew.text()),
            Value::Count(times),
            Value::share(took, times),
            Value::Count(shares.iter().copied().min().unwrap_or(0)),
            Value::Count(shares.iter().copied().max().unwrap_or(0)),
        ]);
    }
    findings.table(table);
    findings.check(exact, "the number is exact: no two held the mutex at once");
    Ok(())
}

/// Adds one to the number, again and again; how often.
async fn add(counter: Arc<Mutex<u64>>, over: Arc<AtomicBool>) -> u64 {
    let mut times = 0;
    while !over.load(Relaxed) {
        *counter.lock().await += 1;
        times += 1;
    }
    times
}
