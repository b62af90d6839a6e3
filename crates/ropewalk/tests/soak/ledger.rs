//! The accounts: what became of every task, and of every byte.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicU8, AtomicUsize, Ordering::*};

/// Counts what is allocated and not freed, in the whole process.
pub struct Counting;

static LIVE_BYTES: AtomicIsize = AtomicIsize::new(0);
static LIVE_BLOCKS: AtomicIsize = AtomicIsize::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(layout.size() as isize, Relaxed);
        LIVE_BLOCKS.fetch_add(1, Relaxed);
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size() as isize, Relaxed);
        LIVE_BLOCKS.fetch_sub(1, Relaxed);
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Bytes and blocks that are alive now.
pub fn live() -> (isize, isize) {
    (LIVE_BYTES.load(SeqCst), LIVE_BLOCKS.load(SeqCst))
}

/// What can happen to a task, each thing once.
const FUTURE_DROPPED: u8 = 1;
const OUTPUT_MADE: u8 = 2;
const OUTPUT_DROPPED: u8 = 4;
const PANICKED: u8 = 8;
const PAYLOAD_DROPPED: u8 = 16;

/// The account of each task of a round.
pub struct Ledger {
    lines: Vec<AtomicU8>,
    opened: AtomicUsize,
}

/// What became of the tasks of a round.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Balance {
    pub tasks: usize,
    pub outputs: usize,
    pub panics: usize,
    pub cancelled: usize,
}

impl Ledger {
    pub fn new(tasks: usize) -> Arc<Self> {
        let lines = (0..tasks).map(|_| AtomicU8::new(0)).collect();
        Arc::new(Self { lines, opened: AtomicUsize::new(0) })
    }

    /// Opens the account of a task that is about to be spawned. `None`: the round is over.
    pub fn open(self: &Arc<Self>) -> Option<Life> {
        let id = self.opened.fetch_add(1, Relaxed);
        (id < self.lines.len()).then(|| Life(Entry { ledger: self.clone(), id }))
    }

    fn note(&self, id: usize, what: u8) {
        let before = self.lines[id].fetch_or(what, SeqCst);
        assert_eq!(before & what, 0, "task {id}: {what} happened twice");
    }

    pub fn has_output(&self, id: usize) -> bool {
        self.lines[id].load(SeqCst) & OUTPUT_MADE != 0
    }

    /// Every future was dropped once, and so was every output and every panic's payload.
    pub fn balance(&self) -> Balance {
        let mut sum = Balance::default();
        let opened = self.opened.load(SeqCst).min(self.lines.len());
        for (id, line) in self.lines[..opened].iter().enumerate() {
            let line = line.load(SeqCst);
            let has = |what: u8| line & what != 0;
            assert!(has(FUTURE_DROPPED), "the future of task {id} was lost: {line:05b}");
            assert_eq!(has(OUTPUT_MADE), has(OUTPUT_DROPPED), "the output of task {id}: {line:05b}");
            assert_eq!(has(PANICKED), has(PAYLOAD_DROPPED), "the panic of task {id}: {line:05b}");
            assert!(!(has(OUTPUT_MADE) && has(PANICKED)), "task {id} ended twice: {line:05b}");
            sum.tasks += 1;
            sum.outputs += usize::from(has(OUTPUT_MADE));
            sum.panics += usize::from(has(PANICKED));
        }
        sum.cancelled = sum.tasks - sum.outputs - sum.panics;
        sum
    }
}

struct Entry {
    ledger: Arc<Ledger>,
    id: usize,
}

/// Lives in the future of a task.
pub struct Life(Entry);

/// What the task gives.
pub struct Output(Entry);

/// What it panics with.
pub struct Payload(Entry);

impl Life {
    pub fn id(&self) -> usize {
        self.0.id
    }

    pub fn output(&self) -> Output {
        self.0.ledger.note(self.0.id, OUTPUT_MADE);
        Output(Entry { ledger: self.0.ledger.clone(), id: self.0.id })
    }

    pub fn payload(&self) -> Payload {
        self.0.ledger.note(self.0.id, PANICKED);
        Payload(Entry { ledger: self.0.ledger.clone(), id: self.0.id })
    }
}

impl Output {
    pub fn id(&self) -> usize {
        self.0.id
    }
}

impl Payload {
    pub fn id(&self) -> usize {
        self.0.id
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.0.ledger.note(self.0.id, FUTURE_DROPPED);
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.0.ledger.note(self.0.id, OUTPUT_DROPPED);
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.0.ledger.note(self.0.id, PAYLOAD_DROPPED);
    }
}
