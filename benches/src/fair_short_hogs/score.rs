//! How late things were, when it counts, and when it is over. A process measures one shape, so all of this is its own.

use super::shape::{Poll, Shape};
use crate::latency::Latencies;
use crate::meter::{Sample, Speed};
use ropewalk_core::prim::real::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Poll as Polled, Waker};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Of this, the latest is kept apart: threads start, a runtime learns.
    pub warm: Duration,
    pub counted: Duration,
}

/// What has counted so far; nothing: it does not count yet.
static LATE: Mutex<Option<Latencies>> = Mutex::new(None);
static COUNTS: AtomicBool = AtomicBool::new(false);
static OVER: AtomicBool = AtomicBool::new(false);
/// The latest of before, in nanoseconds.
static FIRST: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds that hogs have computed while it counted.
static COMPUTED: AtomicU64 = AtomicU64::new(0);

pub static FINISH: Finish = Finish { left: AtomicUsize::new(0), waiter: Mutex::new(None) };

/// All who are to end, and who waits for it.
pub struct Finish {
    left: AtomicUsize,
    waiter: Mutex<Option<Waker>>,
}

impl Span {
    /// Long enough for some hundred ticks on one worker, where polls are short.
    pub fn of(shape: Shape, speed: Speed) -> Self {
        let (full, quick) = match shape.poll {
            Poll::Turn => (1_000, 250),
            Poll::Micros(20_000..) => (4_000, 800),
            Poll::Micros(3_000..) => (1_500, 300),
            Poll::Micros(_) => (1_000, 200),
        };
        Self::lasting(shape, Duration::from_millis(speed.pick(full, quick)))
    }

    /// So much of it counts.
    pub fn lasting(shape: Shape, counted: Duration) -> Self {
        let warm = if shape.poll == Poll::Turn { counted } else { counted.min(Duration::from_millis(100)) };
        Self { warm, counted }
    }
}

impl Finish {
    pub fn expect(&self, parties: usize) {
        self.left.store(parties, Relaxed);
    }

    pub fn one_done(&self) {
        if self.left.fetch_sub(1, AcqRel) == 1 {
            let waiter = self.waiter.lock().expect("nobody panics").take();
            waiter.into_iter().for_each(Waker::wake);
        }
    }

    pub fn all_done(&'static self) -> impl Future<Output = ()> + Send {
        poll_fn(|cx| {
            *self.waiter.lock().expect("nobody panics") = Some(cx.waker().clone());
            if self.left.load(Acquire) == 0 { Polled::Ready(()) } else { Polled::Pending }
        })
    }
}

/// What was due at `due` happens now.
pub fn happened(due: Instant) {
    took(due.elapsed());
}

/// The same of something that took so long.
pub fn took(late: Duration) {
    match &mut *LATE.lock().expect("nobody panics") {
        Some(latencies) => latencies.note(late),
        None => drop(FIRST.fetch_max(late.as_nanos() as u64, Relaxed)),
    }
}

/// Whether hogs and all others are to end.
pub fn is_over() -> bool {
    OVER.load(Relaxed)
}

/// Computes for so long.
pub fn compute(length: Duration) {
    let from = Instant::now();
    while from.elapsed() < length {
        std::hint::spin_loop();
    }
    if COUNTS.load(Relaxed) && !is_over() {
        COMPUTED.fetch_add(length.as_nanos() as u64, Relaxed);
    }
}

/// How long a hog is to compute now.
pub fn length(poll: Poll) -> Duration {
    match poll {
        Poll::Turn if !COUNTS.load(Relaxed) => Duration::from_micros(1),
        poll => Duration::from_micros(poll.micros().into()),
    }
}

/// Who says when.
pub struct Clock {
    shape: Shape,
    span: Span,
    thread: JoinHandle<()>,
}

pub fn start(shape: Shape, span: Span) -> Clock {
    let thread = thread::spawn(move || {
        thread::sleep(span.warm);
        *LATE.lock().expect("nobody panics") = Some(Latencies::start(1 << 16));
        COUNTS.store(true, Relaxed);
        thread::sleep(span.counted);
        OVER.store(true, Relaxed);
    });
    Clock { shape, span, thread }
}

impl Clock {
    /// When all are done: the median in microseconds, the tail beside it, the latest of before it counted (where hogs turn, the latest of
    /// all is that of both), and how many cores the hogs had.
    pub fn stop(self) -> Sample {
        self.thread.join().expect("it ends");
        let mut latencies = LATE.lock().expect("nobody panics").take().expect("it counted");
        if latencies.is_empty() {
            latencies.note(self.span.warm + self.span.counted); // nothing came in all this time
        }
        let mut sample = latencies.finish("us", 1e3);
        let first = FIRST.load(Relaxed) as f64 / 1e3;
        sample.cpu_ns_per_op = None; // the hogs'
        sample.extra.remove("voluntary_switches_per_op");
        sample.extra.insert("first".into(), first);
        let computed = COMPUTED.load(Relaxed) as f64 / self.span.counted.as_nanos() as f64;
        sample.extra.insert("hogs".into(), computed);
        if self.shape.poll == Poll::Turn {
            sample.extra.entry("max".into()).and_modify(|max| *max = max.max(first));
        }
        sample
    }
}
