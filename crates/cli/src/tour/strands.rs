//! Stop: a hundred thousand strands that wait at once.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::show::grouped;
use ropewalk::strand::{self, Strand};
use ropewalk::sync::Notify;
use ropewalk::{Runtime, Wait};
use ropewalk_core::prim::real::{AtomicU64, Ordering::*};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a kernel without guard regions has mappings for: each of its stacks takes two.
const WITHOUT_REGIONS: u64 = 20_000;

pub(crate) struct Strands;

impl Stop for Strands {
    fn name(&self) -> &'static str {
        "strands"
    }

    fn title(&self) -> &'static str {
        "A hundred thousand strands"
    }

    fn about(&self) -> &'static str {
        "A strand has a guarded stack of its own, and costs the pages that it touched.\n\
         So each connection may have one, and code in it simply waits."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let runtime = super::builder().build()?;
        let asked = guide.amount(100_000, 2_000);
        let splits = crowd(guide, &runtime, 100).mappings.is_some_and(|mappings| mappings >= 100);
        let count = if splits { WITHOUT_REGIONS.min(asked) } else { asked };
        let columns = [
            Column::new("stacks", "stacks"),
            Column::new("strands", "strands"),
            Column::new("started_each_ns", "started, each"),
            Column::new("mappings", "mappings"),
            Column::new("resident_each_bytes", "memory each"),
            Column::new("woken_each_ns", "woken, each"),
        ];
        let title = "Strands that wait, each on 64 KiB of stack (what the process has more then)";
        let mut table = Table::new(title, columns);
        let (mut waited, mut woken) = (true, true);
        for stacks in ["new", "used"] {
            let crowd = crowd(guide, &runtime, count);
            table.row([
                Value::text(stacks),
                Value::Count(count),
                Value::share(crowd.started, count),
                crowd.mappings.map_or(Value::Absent, Value::Count),
                crowd.resident.map_or(Value::Absent, |bytes| Value::Bytes(bytes as f64 / count as f64)),
                Value::share(crowd.woken, count),
            ]);
            waited &= crowd.waited == count;
            woken &= crowd.sum == (0..count).sum::<u64>();
        }
        let mut findings = Findings::default();
        findings.table(table);
        findings.check(waited, format!("{} strands were suspended at once", grouped(count)));
        findings.check(woken, "each of them was woken and gave its value");
        Ok(findings)
    }
}

/// What was seen of strands that waited together.
struct Crowd {
    started: Duration,
    woken: Duration,
    /// How many were there, and had not gone on, when the last had come.
    waited: u64,
    /// What they gave.
    sum: u64,
    mappings: Option<u64>,
    resident: Option<u64>,
}

fn crowd(guide: &Guide, runtime: &Runtime, count: u64) -> Crowd {
    let arrived = Arc::new(AtomicU64::new(0));
    let seen = arrived.clone();
    let label = format!("{} strands wait", grouped(count));
    guide.phase(label, move || seen.load(Relaxed) as f64 / count as f64);
    let (gate, everybody, passed) = (Notify::new(), Notify::new(), AtomicU64::new(0));
    let member = |number: u64| {
        let opened = gate.notified();
        if arrived.fetch_add(1, AcqRel) + 1 == count {
            everybody.notify_one();
        }
        opened.wait();
        passed.fetch_add(1, AcqRel);
        number
    };
    let member = &member;
    runtime.run(|| {
        let (before, from) = (Footprint::now(), Instant::now());
        strand::scope(|s| {
            let strands: Vec<_> = (0..count).map(|number| s.spawn(move || member(number))).collect();
            everybody.notified().wait();
            let (started, waited) = (from.elapsed(), s.len() as u64 - passed.load(Acquire));
            let now = Footprint::now();
            let more = |what: fn(&Footprint) -> u64| {
                Some(what(now.as_ref()?).saturating_sub(what(before.as_ref()?)))
            };
            let from = Instant::now();
            gate.notify_waiters();
            let sum = strands.into_iter().map(Strand::join).sum();
            let (mappings, resident) = (more(|now| now.mappings), more(|now| now.resident));
            Crowd { started, woken: from.elapsed(), waited, sum, mappings, resident }
        })
    })
}

/// What the kernel says that this process has.
struct Footprint {
    mappings: u64,
    /// Bytes of memory.
    resident: u64,
}

impl Footprint {
    /// `None` where there is no `/proc`.
    fn now() -> Option<Self> {
        let mappings = std::fs::read_to_string("/proc/self/maps").ok()?.lines().count() as u64;
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"))?;
        Some(Self { mappings, resident: kib.parse::<u64>().ok()? * 1024 })
    }
}
