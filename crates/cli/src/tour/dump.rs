//! Stop: what everybody waits for, and a crowd among which they are found.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::show::grouped;
use ropewalk::dump::{Dump, DumpedTask};
use ropewalk::net::TcpListener;
use ropewalk::strand::Strand;
use ropewalk::sync::{Mutex, Notify};
use ropewalk::{DumpOptions, Pool, Reason, Runtime, TaskGroup, TaskHandle, Wait, channel, strand, task};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// How long somebody keeps what others want: until the stop is over.
const LONG: Duration = Duration::from_secs(3600);
/// They want it.
const CLERKS: u64 = 3;
/// The keeper, the office and its clerks, the reader, the porter.
const NAMED: u64 = 4 + CLERKS;

pub(crate) struct Dumped;

impl Stop for Dumped {
    fn name(&self) -> &'static str {
        "dump"
    }

    fn title(&self) -> &'static str {
        "Who waits for what"
    }

    fn about(&self) -> &'static str {
        "A running program is asked what everybody in it is doing: names, reasons and\n\
         ages as a tree, for people and as JSON. Nothing stops for it."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let crowd = guide.amount(100_000, 2_000);
        let runtime = super::builder().worker_threads(2).observe(true).build()?;
        let all = NAMED + crowd;
        let handle = runtime.handle();
        guide.phase("everybody comes to wait", move || handle.metrics().pools[0].alive as f64 / all as f64);
        let go = Arc::new(Notify::new());
        let crowd: Vec<_> = (0..crowd).map(|_| runtime.spawn(waits(go.clone()))).collect();
        let scene = Scene::set(&runtime)?;
        let dump = loop {
            let dump = runtime.dump_with(&DumpOptions::new().max_tasks(100));
            if dump.pools[0].waiting == all && dump.pools[0].unobserved() == 0 {
                break dump;
            }
        };
        guide.pause();
        let mut findings = Findings::default();
        findings.table(named(&dump));
        findings.table(counted(&dump));
        check(&dump, all, &mut findings);
        drop(scene);
        drop(crowd);
        Ok(findings)
    }
}

async fn waits(go: Arc<Notify>) {
    go.notified().await;
}

/// Some who wait for each other, and for what does not come; they end with it.
struct Scene {
    _tasks: [TaskHandle<()>; 3],
    _reader: Strand<'static, ()>,
    _sender: channel::Sender<String>,
}

impl Scene {
    fn set(runtime: &Runtime) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let ledger = Arc::new(Mutex::new(0));
        let named = |name: &str| task::Builder::new().name(name);
        let held = ledger.clone().lock_owned().wait();
        let keeper = named("keeper").spawn_on(&runtime.handle(), async move {
            ropewalk::time::sleep(LONG).await;
            drop(held);
        });
        let office = named("office").spawn_on(&runtime.handle(), async move {
            let mut clerks = TaskGroup::new();
            for _ in 0..CLERKS {
                let ledger = ledger.clone();
                clerks.spawn(async move { *ledger.lock().await += 1 });
            }
            clerks.join_all().await;
        });
        let door = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let porter = named("porter").spawn_on(&runtime.handle(), async move {
            let _nobody_comes = door.accept().await;
        });
        let pool: Pool = runtime.pool("main").ok_or("every runtime has a main pool")?;
        let (sender, mail) = channel::bounded(1);
        let reads = move || drop::<Result<String, _>>(mail.recv().wait());
        let reader = strand::Builder::new().name("reader").pool(&pool).spawn(reads);
        Ok(Self { _tasks: [keeper, office, porter], _reader: reader, _sender: sender })
    }
}

/// Those with a name, and those who stem from them.
fn is_shown(task: &DumpedTask) -> bool {
    task.info.name.is_some() || task.info.parent.is_some()
}

fn named(dump: &Dump) -> Table {
    let columns = [
        Column::new("who", "who"),
        Column::new("kind", ""),
        Column::new("state", "state"),
        Column::new("waits_for", "for"),
        Column::new("since_ns", "since"),
        Column::new("polls", "polls"),
    ];
    let mut table = Table::new("What the dump tells of those with a name, and of their children", columns);
    for task in dump.tasks.iter().filter(|task| is_shown(task)) {
        let info = &task.info;
        let name = info.name.clone().unwrap_or_else(|| "(no name)".to_owned());
        let seen = info.observed.as_ref();
        let blocked = seen.and_then(|seen| seen.blocked);
        table.row([
            Value::Text(format!("{}{name}", "  ".repeat(task.depth))),
            Value::text(info.kind),
            Value::text(info.state),
            blocked.map_or(Value::Absent, |blocked| Value::Text(blocked.reason.to_string())),
            blocked.map_or(Value::Absent, |blocked| Value::time(blocked.since)),
            seen.map_or(Value::Absent, |seen| Value::Count(seen.polls)),
        ]);
    }
    table
}

fn counted(dump: &Dump) -> Table {
    let columns = [
        Column::new("counted", "counted"),
        Column::new("listed", "listed"),
        Column::new("took_ns", "took"),
        Column::new("json_bytes", "as JSON"),
    ];
    let mut table = Table::new("Of those that are alike some are listed, all are counted", columns);
    table.row([
        Value::Count(dump.pools[0].tasks()),
        Value::Count(dump.tasks.len() as u64),
        Value::time(dump.took),
        Value::Bytes(dump.to_json().len() as f64),
    ]);
    table
}

fn check(dump: &Dump, all: u64, findings: &mut Findings) {
    let pool = &dump.pools[0];
    findings.check(
        pool.tasks() == all && pool.unobserved() == 0 && !dump.cut_short,
        format!("all {} were found, and of each it is known what it waits for", grouped(all)),
    );
    let reason = |name: &str| {
        let task = dump.tasks.iter().find(|task| task.info.name.as_deref() == Some(name));
        task.and_then(|task| Some(task.info.observed.as_ref()?.blocked?.reason))
    };
    let reasons = ["keeper", "office", "porter", "reader"].map(reason);
    let right = [Reason::Sleep, Reason::Group, Reason::Input, Reason::Recv].map(Some);
    findings.check(reasons == right, "each of those with a name waits for what it asked for");
    let office = dump.tasks.iter().find(|task| task.info.name.as_deref() == Some("office"));
    let is_clerk = |task: &&DumpedTask| {
        task.info.parent.is_some() && task.info.parent == office.map(|task| task.info.id)
    };
    let clerks = dump.tasks.iter().filter(is_clerk).count() as u64;
    findings.check(clerks == CLERKS, "the clerks are below their office");
    let reads = serde_json::from_str::<serde_json::Value>(&dump.to_json());
    let listed = reads.ok().and_then(|json| Some(json["tasks"].as_array()?.len()));
    findings.check(listed == Some(dump.tasks.len()), "its JSON reads back");
}
