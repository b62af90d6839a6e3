//! A hundred thousand strands that wait at once, each on a guarded stack of its own. A stack costs the pages that were touched;
//! the rest of it is address space. Where the kernel has guard regions (Linux 6.13), all of them lie in a handful of mappings.
//! Elsewhere each takes two, and a process has 65,530 unless `vm.max_map_count` says otherwise: then this ends with an error.

use ropewalk::sync::Notify;
use ropewalk::{Wait, strand};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Instant;

const STRANDS: usize = 100_000;

fn main() {
    ropewalk::run(|| {
        let before = Footprint::now();
        let (gate, arrived, passed) = (Notify::new(), AtomicUsize::new(0), AtomicUsize::new(0));
        let wait_at_gate = |number: usize| {
            let opened = gate.notified(); // who opens it from now on wakes us
            arrived.fetch_add(1, SeqCst);
            opened.wait();
            passed.fetch_add(1, SeqCst);
            number
        };
        let wait_at_gate = &wait_at_gate;
        strand::scope(|s| {
            let from = Instant::now();
            let strands: Vec<_> = (0..STRANDS).map(|number| s.spawn(move || wait_at_gate(number))).collect();
            while arrived.load(SeqCst) < STRANDS {
                strand::yield_now();
            }
            println!("{} strands wait, started in {:.0?}", s.len(), from.elapsed());
            assert_eq!((s.len(), passed.load(SeqCst)), (STRANDS, 0));
            report(&before);

            let from = Instant::now();
            gate.notify_waiters();
            let sum: usize = strands.into_iter().map(strand::Strand::join).sum();
            println!("all of them woken and joined in {:.0?}", from.elapsed());
            assert_eq!((sum, passed.load(SeqCst)), (STRANDS * (STRANDS - 1) / 2, STRANDS));
        });
    });
}

/// What the kernel says this process takes.
struct Footprint {
    mappings: usize,
    resident_kib: usize,
}

impl Footprint {
    /// `None` where there is no `/proc`.
    fn now() -> Option<Self> {
        let mappings = std::fs::read_to_string("/proc/self/maps").ok()?.lines().count();
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(Self { mappings, resident_kib: line.trim().trim_end_matches(" kB").parse().ok()? })
    }
}

fn report(before: &Option<Footprint>) {
    let (Some(before), Some(now)) = (before, Footprint::now()) else {
        return println!("what that takes, this system does not say");
    };
    let resident = now.resident_kib.saturating_sub(before.resident_kib);
    println!("{} more mappings", now.mappings.saturating_sub(before.mappings));
    println!("{} MiB resident, {:.1} KiB a strand", resident / 1024, resident as f64 / STRANDS as f64);
    // Of 64 KiB that each of them has.
    assert!(resident < STRANDS * 32, "most of a stack that was not touched costs nothing");
}
