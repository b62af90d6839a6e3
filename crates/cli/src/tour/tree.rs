//! Stop: a tree of tasks, cancelled at its root.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use ropewalk::{Runtime, TaskError, TaskGroup};
use ropewalk_core::prim::real::{AtomicU64, Ordering::*};
use std::error::Error;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Children of each task.
const FAN: u64 = 4;

pub(crate) struct Tree;

impl Stop for Tree {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn title(&self) -> &'static str {
        "A group cancelled at its root"
    }

    fn about(&self) -> &'static str {
        "Tasks of a group are children of the task that spawns them, and a task ends\n\
         after its children. So cancelling one and awaiting it ends all below it."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let runtime = super::builder().build()?;
        let columns = [
            Column::new("groups", "groups"),
            Column::new("tasks", "tasks"),
            Column::new("grown_each_ns", "grown, each"),
            Column::new("cancelled_each_ns", "cancelled, each"),
            Column::new("took_ns", "all in"),
            Column::new("left", "left"),
        ];
        let mut table = Table::new(
            "Trees of waiting tasks, cancelled at the root (left: when its handle was done)",
            columns,
        );
        let (depth, mut left, mut told) = (guide.amount(8, 3), 0, true);
        for keeping in [Keeping::Kept, Keeping::Forgotten] {
            let fall = fell(guide, &runtime, depth, keeping);
            table.row([
                Value::text(keeping.name()),
                Value::Count(fall.tasks),
                Value::share(fall.grown, fall.tasks),
                Value::share(fall.cancelled, fall.tasks),
                Value::time(fall.cancelled),
                Value::Count(fall.left),
            ]);
            left += fall.left;
            told &= fall.told;
        }
        let mut findings = Findings::default();
        findings.table(table);
        findings.check(left == 0, "when the root's handle was done, nothing of the tree was left");
        findings.check(told, "the root's handle said that it was cancelled");
        Ok(findings)
    }
}

/// What tasks do with their groups.
#[derive(Clone, Copy)]
enum Keeping {
    Kept,
    Forgotten,
}

impl Keeping {
    fn name(self) -> &'static str {
        match self {
            Keeping::Kept => "kept",
            Keeping::Forgotten => "forgotten",
        }
    }
}

struct Fall {
    tasks: u64,
    grown: Duration,
    cancelled: Duration,
    left: u64,
    /// The root's handle gave the right error.
    told: bool,
}

/// Grows a tree, and cancels it at its root.
fn fell(guide: &Guide, runtime: &Runtime, depth: u32, keeping: Keeping) -> Fall {
    let tasks = (FAN.pow(depth + 1) - 1) / (FAN - 1);
    let alive = Arc::new(AtomicU64::new(0));
    let seen = alive.clone();
    guide.phase(format!("a tree grows, its groups {}", keeping.name()), move || {
        seen.load(Relaxed) as f64 / tasks as f64
    });
    runtime.block_on(async {
        let from = Instant::now();
        let root = ropewalk::spawn(grow(depth, keeping, alive.clone()));
        while alive.load(Relaxed) < tasks {
            ropewalk::yield_now().await;
        }
        let grown = from.elapsed();
        let from = Instant::now();
        root.cancel();
        let end = root.await;
        let (cancelled, left) = (from.elapsed(), alive.load(Acquire));
        Fall { tasks, grown, cancelled, left, told: matches!(end, Err(TaskError::Cancelled)) }
    })
}

/// Counts a task while it lives.
struct Alive(Arc<AtomicU64>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, AcqRel);
    }
}

/// A task that has children, to that depth, and waits.
fn grow(depth: u32, keeping: Keeping, alive: Arc<AtomicU64>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        alive.fetch_add(1, AcqRel);
        let _alive = Alive(alive.clone());
        let mut group = TaskGroup::new();
        if depth > 0 {
            for _ in 0..FAN {
                group.spawn(grow(depth - 1, keeping, alive.clone()));
            }
        }
        match keeping {
            Keeping::Kept => {
                group.join_all().await;
                pending::<()>().await;
            }
            Keeping::Forgotten => {
                std::mem::forget(group);
                pending::<()>().await;
            }
        }
    })
}
