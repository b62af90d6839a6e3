//! Where strands are: each is asked, and answers by itself.
//!
//! ```text
//! who takes a dump                              the strand, at its home
//!   1. shows a sheet with the ids it wants        1. is resumed, and told that it is asked
//!   2. asks: a bit of the task's state, a wake-up 2. takes the bit back
//!   3. waits, for a while                         3. writes down what is on its stack
//!   4. takes the sheet away                       4. under the lock: on every sheet that has its id; the last one rings
//! ```
//!
//! * **DT1** If 2 of the strand comes after the asking, it sees in 4 the sheet that was shown before, and is on it. If it comes
//!   before, the bit is still there, and so is a wake-up: the strand is resumed once more.
//! * **DT2** Nobody's stack is looked at by anybody else. A strand that does not run, because its worker is busy, does not answer.
//! * **DT3** What is not asked costs nothing: the bit is beside CANCELLED in the task's state, and comes to the strand in the byte that
//!   says whether it was cancelled, at which it looks anyway (`Orders`).
//!
//! Names are found later, by a thread of its own: that takes time and a deep stack, and the first time the program's file is read.

use super::Backtrace;
use super::collect::Listed;
use super::frames::{self, Frame};
use crate::context;
use crate::runtime::Shared;
use crate::sched::fibre::Stack;
use crate::sched::host;
use crate::sched::pool::Pool;
use crate::sched::station::Station;
use crate::sched::watchdog::trace;
use crate::sched::worker::Worker;
use crate::task::{self, TaskId};
use ropewalk_core::prim::Lock;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing is missing for that reason.
pub(super) const OFF: &str = "";
const BUSY: &str = "its worker did not get to it in time";
const ENDED: &str = "it has ended meanwhile";
const UNDRIVEN: &str = "no other thread drives its runtime just now";
const HERE: &str = "its worker takes this dump: do that in spawn_blocking, or on a thread";
const MOVED_ON: &str = "it had moved on when its thread answered";
const BLOCKED: &str = "its thread does not compute, or did not answer in time";
const ENOUGH: &str = "enough others were asked (DumpOptions::backtraces)";
const ONLY_OURS: &str = "nothing but the runtime is on its stack";

/// So many functions are written down, those of the runtime included.
const FRAMES: usize = 128;
/// So many bytes of stack it takes to look back along another one, and more than that.
const ROOM: usize = 128 << 10;
/// After so long who waits looks whether those that it waits for have ended; then after twice that, and so on.
const LOOK: Duration = Duration::from_millis(5);

type Addresses = Vec<usize>;

/// The sheets of a runtime on which strands write where they are.
#[derive(Debug)]
pub(crate) struct Traces(Lock<Vec<Arc<Sheet>>>);

/// Who waits sleeps at the bell.
#[derive(Debug, Default)]
struct Sheet {
    written: Mutex<Written>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct Written {
    wanted: HashSet<TaskId>,
    answers: HashMap<TaskId, Addresses>,
}

impl Traces {
    pub(crate) fn new() -> Self {
        Self(Lock::new(Vec::new()))
    }

    /// The strand with this id, which runs here, says where it is (3 and 4): on another stack, for it may have little room on its own.
    /// (Nor on that of who resumed it, which may be another strand.) Where there is no memory for one, it does not say.
    pub(crate) fn answer(&self, strand: TaskId) {
        let answer = || {
            let (addresses, sheets) = (here(), self.0.lock().clone());
            sheets.iter().for_each(|sheet| sheet.write(strand, &addresses));
        };
        if let Ok(stack) = Stack::new(ROOM) {
            corosensei::on_stack(stack, answer);
        }
    }
}

impl Sheet {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, strand: TaskId, addresses: &Addresses) {
        let mut written = self.written();
        if written.wanted.remove(&strand) {
            written.answers.insert(strand, addresses.clone());
            if written.wanted.is_empty() {
                self.bell.notify_one();
            }
        }
    }

    /// Waits until all of these have answered or ended, at most until then.
    fn wait(&self, strands: &[&Listed], until: Option<Instant>) {
        let (mut look, mut written) = (LOOK, self.written());
        while !written.wanted.is_empty() {
            let left = until.map_or(look, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            let waited = self.bell.wait_timeout(written, look.min(left));
            written = waited.unwrap_or_else(PoisonError::into_inner).0;
            for ended in strands.iter().filter(|strand| strand.task.is_finished()) {
                written.wanted.remove(&ended.info.id);
            }
            look *= 2;
        }
    }
}

/// What is on this stack, the innermost first.
fn here() -> Addresses {
    let mut addresses = Vec::with_capacity(FRAMES);
    // SAFETY: on Linux any number of threads may walk their stacks at once; only names need a lock, and none is looked up.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            addresses.push(frame.ip().addr());
            addresses.len() < FRAMES
        });
    }
    addresses
}

/// What was found out of one.
enum Raw {
    Nothing(Backtrace),
    Strand(Addresses),
    /// It takes this dump.
    Own(Addresses),
    /// Its thread was interrupted.
    Thread(Addresses),
}

/// Where each of these is; strands get until the first of these moments to answer, names are looked up until the second.
pub(super) fn of(
    shared: &Shared,
    listed: &[Listed],
    most: usize,
    (answers, until): (Option<Instant>, Option<Instant>),
) -> Vec<Backtrace> {
    if most == 0 {
        return listed.iter().map(|_| Backtrace::None).collect();
    }
    let (pools, own) = (shared.pools(), task::id());
    let pool_of = |listed: &Listed| pools.iter().find(|pool| pool.name == listed.info.pool);
    let is_still =
        |listed: &Listed| pool_of(listed).is_some_and(|pool| pool.hosted && !shared.is_driven_elsewhere());
    let is_at_home_here = |listed: &Listed| {
        context::with_worker(|worker| {
            let worker = worker.filter(|worker| worker.pool.name == listed.info.pool)?;
            let is_ours = std::ptr::eq(Arc::as_ptr(&worker.pool.runtime), shared);
            Some(is_ours && host::home(&listed.task).map(usize::from) == Some(worker.index()))
        })
        .unwrap_or(false)
    };
    let mut asked = Vec::new();
    let mut raw: Vec<_> = (listed.iter())
        .map(|listed| match listed.info.state {
            _ if own == Some(listed.info.id) => {
                let stack = Stack::new(ROOM).ok();
                Raw::Own(stack.map_or_else(Vec::new, |stack| corosensei::on_stack(stack, here)))
            }
            "running" => of_thread(&pools, listed, answers),
            _ => Raw::Nothing(Backtrace::Missing(BUSY)),
        })
        .collect();
    for (at, listed) in listed.iter().enumerate() {
        // Who had moved on may wait by now, as a strand does that has just answered somebody else.
        let Raw::Nothing(Backtrace::Missing(why @ (BUSY | MOVED_ON))) = raw[at] else { continue };
        let refused = if !host::has_stack(&listed.task) || listed.info.state == "ending" {
            if why == BUSY { Backtrace::None } else { Backtrace::Missing(why) }
        } else if is_still(listed) {
            Backtrace::Missing(UNDRIVEN)
        } else if is_at_home_here(listed) {
            Backtrace::Missing(HERE)
        } else if asked.len() == most {
            Backtrace::Missing(ENOUGH)
        } else {
            asked.push(at);
            continue;
        };
        raw[at] = Raw::Nothing(refused);
    }
    let strands: Vec<_> = asked.iter().map(|at| &listed[*at]).collect();
    let mut told = ask(shared, &strands, answers);
    for at in asked {
        let Listed { task, info, .. } = &listed[at];
        match told.remove(&info.id) {
            Some(addresses) => raw[at] = Raw::Strand(addresses),
            None if task.is_finished() => raw[at] = Raw::Nothing(Backtrace::Missing(ENDED)),
            None => {}
        }
    }
    named(raw, until)
}

/// Where the thread is on which it runs.
fn of_thread(pools: &[Arc<Pool>], listed: &Listed, until: Option<Instant>) -> Raw {
    let in_pool = pools.iter().filter(|pool| pool.name == listed.info.pool);
    let mut stations = in_pool.flat_map(|pool| pool.stations());
    let is_over = until.is_some_and(|until| Instant::now() >= until);
    let station = stations.find(|station| listed.task.is_at(station.hold.current()));
    // Which poll it is in: by the time its thread answers, it may be in another one.
    let poll = |station: &Station| {
        let polls = station.counters.polls.get();
        listed.task.is_at(station.hold.current()).then_some(polls)
    };
    let found = station.filter(|_| !is_over).map(|station| {
        let before = poll(station);
        let addresses = trace::of(station);
        if before.is_some() && before == poll(station) { Ok(addresses) } else { Err(()) }
    });
    match found {
        _ if listed.info.kind == "job" => Raw::Nothing(Backtrace::None), // no worker runs those
        Some(Err(())) => Raw::Nothing(Backtrace::Missing(MOVED_ON)),
        Some(Ok(addresses)) if !addresses.is_empty() => Raw::Thread(addresses),
        _ => Raw::Nothing(Backtrace::Missing(BLOCKED)),
    }
}

/// What these strands say, as far as they do in time.
fn ask(shared: &Shared, strands: &[&Listed], until: Option<Instant>) -> HashMap<TaskId, Addresses> {
    if strands.is_empty() {
        return HashMap::new();
    }
    let sheet = Arc::new(Sheet::default());
    sheet.written().wanted = strands.iter().map(|strand| strand.info.id).collect();
    shared.traces.0.lock().push(sheet.clone()); // 1
    strands.iter().for_each(|strand| strand.task.ask()); // 2
    context::with_worker(|worker| worker.into_iter().for_each(Worker::hold)); // others take what is queued here
    sheet.wait(strands, until); // 3
    shared.traces.0.lock().retain(|other| !Arc::ptr_eq(other, &sheet)); // 4
    std::mem::take(&mut sheet.written().answers)
}

/// The names of the functions at these addresses, as far as they are found in time.
fn look_up(addresses: HashSet<usize>, until: Option<Instant>) -> HashMap<usize, Vec<Frame>> {
    let (find, found) = mpsc::channel();
    let names = move || {
        let found = addresses.into_iter().map(|address| (address, frames::at(address)));
        let _nobody_waits = found.map(|name| find.send(name)).find(Result::is_err);
    };
    if thread::Builder::new().name("ropewalk-names".to_owned()).spawn(names).is_err() {
        return HashMap::new();
    }
    let next = || match until {
        Some(until) => found.recv_timeout(until.saturating_duration_since(Instant::now())).ok(),
        None => found.recv().ok(),
    };
    std::iter::from_fn(next).collect()
}

fn named(raw: Vec<Raw>, until: Option<Instant>) -> Vec<Backtrace> {
    let mut addresses = HashSet::new();
    for raw in &raw {
        if let Raw::Strand(these) | Raw::Own(these) | Raw::Thread(these) = raw {
            addresses.extend(these.iter().copied());
        }
    }
    let names = if addresses.is_empty() { HashMap::new() } else { look_up(addresses, until) };
    let all = |addresses: Addresses| -> Vec<Frame> {
        let at = |address| names.get(&address).cloned().unwrap_or_else(|| vec![frames::unknown(address)]);
        addresses.into_iter().flat_map(at).collect()
    };
    let named = |raw| {
        let frames = match raw {
            Raw::Nothing(backtrace) => return backtrace,
            Raw::Strand(addresses) => frames::of_strand(all(addresses)),
            Raw::Own(addresses) => frames::of_caller(all(addresses)),
            Raw::Thread(addresses) => frames::of_task(all(addresses)),
        };
        if frames.is_empty() { Backtrace::Missing(ONLY_OURS) } else { Backtrace::Frames(frames) }
    };
    raw.into_iter().map(named).collect()
}
