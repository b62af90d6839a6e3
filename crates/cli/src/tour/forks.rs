//! Stop: a computation that forks, on all workers.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use ropewalk::{join, par_map_reduce};
use std::error::Error;
use std::time::{Duration, Instant};

pub(crate) struct Forks;

impl Stop for Forks {
    fn name(&self) -> &'static str {
        "forks"
    }

    fn title(&self) -> &'static str {
        "A computation that forks"
    }

    fn about(&self) -> &'static str {
        "`join` runs two halves, at once if a worker is free; if none is, that costs\n\
         some nanoseconds. So recursions may fork at every step, and loops divide."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let runtime = super::builder().build()?;
        let (depth, queens, numbers) = guide.amount((22, 12, 20_000_000_u64), (18, 8, 200_000));
        let columns = [
            Column::new("what", "what"),
            Column::new("alone_ns", "one thread"),
            Column::new("forks_ns", "with forks"),
            Column::new("speed_up", "speed-up"),
            Column::new("same", "same result"),
        ];
        let mut table = Table::new("On all workers of the default runtime", columns);
        let mut all_same = true;
        let mut compare = |what: String, alone: &dyn Fn() -> u64, forks: &(dyn Fn() -> u64 + Sync)| {
            guide.phase(what.clone(), || 0.5);
            let ((expected, one), (found, all)) = (timed(alone), timed(|| runtime.run(forks)));
            all_same &= expected == found;
            table.row([
                Value::text(what),
                Value::time(one),
                Value::time(all),
                Value::Ratio(one.as_secs_f64() / all.as_secs_f64().max(1e-9)),
                Value::text(if expected == found { "yes" } else { "no" }),
            ]);
        };
        compare(format!("{queens} queens"), &|| place(queens, 0, 0, 0, 0, false), &|| {
            place(queens, 0, 0, 0, 0, true)
        });
        compare(
            format!("sum of {} M roots", numbers as f64 / 1e6),
            &|| (0..numbers).map(root).sum(),
            &|| par_map_reduce(0..numbers, || 0, root, |a, b| a + b),
        );
        let (leaves, forks) = (1_u64 << depth, timed(|| runtime.run(|| leaves(depth))));
        guide.pause();
        let mut cost = Table::new(
            "A tree of forks, down to leaves that do nothing",
            [Column::new("forks", "forks"), Column::new("fork_ns", "each")],
        );
        cost.row([Value::Count(leaves - 1), Value::share(forks.1, leaves - 1)]);
        let mut findings = Findings::default();
        findings.table(table);
        findings.table(cost);
        findings.check(all_same, "with forks the results are the same");
        findings.check(forks.0 == leaves, "every leaf of the tree was reached");
        Ok(findings)
    }
}

fn timed<R>(f: impl FnOnce() -> R) -> (R, Duration) {
    let from = Instant::now();
    let result = f();
    (result, from.elapsed())
}

fn root(number: u64) -> u64 {
    (number as f64).sqrt() as u64
}

/// The leaves below.
fn leaves(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let (left, right) = join(|| leaves(depth - 1), || leaves(depth - 1));
    left + right
}

/// How many ways there are to place queens in the rows that are left. Columns and diagonals that are taken are bits.
fn place(size: u32, row: u32, columns: u32, left: u32, right: u32, forks: bool) -> u64 {
    if row == size {
        return 1;
    }
    let free = !(columns | left | right) & ((1 << size) - 1);
    let below = |column: u32| {
        let queen = 1 << column;
        if free & queen == 0 {
            return 0;
        }
        let forks = forks && row < 3;
        place(size, row + 1, columns | queen, (left | queen) << 1, (right | queen) >> 1, forks)
    };
    if forks { par_map_reduce(0..size, || 0, below, |a, b| a + b) } else { (0..size).map(below).sum() }
}
