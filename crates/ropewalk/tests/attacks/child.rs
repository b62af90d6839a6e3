//! The processes that are attacked: one for each case, with a watchdog that knows what it was at.

use crate::kit::{is_child, run_as_child, stderr_of};
use ropewalk::driver::IoDriverKind;
use ropewalk::{Builder, Runtime};
use std::fmt::Display;
use std::io::Write;
use std::process::Output;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

const CASE: &str = "ROPEWALK_ATTACK_CASE";
/// In which nothing happened: a hang. Counted in looks: the time in which the whole process is stopped is not its fault.
const PATIENCE: u32 = 300;
const LOOK: Duration = Duration::from_millis(100);

/// How long each attack goes on; `None`: as short as it can be.
pub fn seconds() -> Option<Duration> {
    let seconds = std::env::var("ROPEWALK_SOAK_SECONDS").ok()?;
    Some(Duration::from_secs_f64(seconds.parse().expect("ROPEWALK_SOAK_SECONDS is a number")))
}

/// The part of that for one of so many cases.
pub fn share(of: usize, shortest: Duration) -> Duration {
    seconds().map_or(shortest, |seconds| (seconds / of as u32).max(shortest))
}

/// What the child is at: the watchdog begins anew.
static STAGE: Mutex<(String, u32)> = Mutex::new((String::new(), 0));

pub fn stage(what: impl Display) {
    *STAGE.lock().unwrap() = (what.to_string(), 0);
}

fn watch() {
    loop {
        thread::sleep(LOOK);
        let mut stage = STAGE.lock().unwrap();
        stage.1 += 1;
        if stage.1 > PATIENCE {
            // Not by a macro: the test harness would capture that.
            let _ = writeln!(std::io::stderr(), "\nwatchdog: hangs at: {}", stage.0);
            std::process::exit(101);
        }
    }
}

/// Runs `attack` on each case in a process of its own, `at_once` of them. `test`: the whole name of the test.
pub fn in_children<C: Display + Sync>(
    test: &str,
    cases: &[C],
    at_once: usize,
    attack: impl Fn(&C),
    outside: impl Fn(&C) -> Output + Sync,
) {
    if is_child() {
        let wanted = std::env::var(CASE).unwrap();
        let case = cases.iter().find(|case| case.to_string() == wanted).expect("one of the cases");
        stage("beginning");
        thread::spawn(watch);
        attack(case);
        return println!("ended well");
    }
    let (begun, left, failed) = (Instant::now(), Mutex::new(cases.iter()), Mutex::new(Vec::new()));
    let next = || left.lock().unwrap().next();
    let run = || {
        while let Some(case) = next() {
            failed.lock().unwrap().extend(complaint(case, &outside(case)));
        }
    };
    thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(run))));
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} cases failed\n{}", failed.len(), cases.len(), failed.join("\n\n"));
    println!("attack: {test}: {} cases in {:.1} s", cases.len(), begun.elapsed().as_secs_f64());
}

/// The child of a case, from its beginning to its end.
pub fn child_of(test: &str, case: impl Display) -> Output {
    run_as_child(test, |child| {
        child.env(CASE, case.to_string());
    })
}

/// The name of the case, for a child that is started in another way.
pub fn case_variable(case: impl Display) -> (&'static str, String) {
    (CASE, case.to_string())
}

/// What is wrong with the end of a child; what it did is printed otherwise.
fn complaint(case: &impl Display, output: &Output) -> Option<String> {
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !said.contains("ended well") {
        return Some(format!("== {case}: {}\n{said}\n{}", output.status, stderr_of(output)));
    }
    for (_, line) in said.lines().filter_map(|line| line.split_once("attack: ")) {
        println!("attack: {case}: {line}");
    }
    None
}

/// A kind of runtime: its driver, and how many workers it has.
#[derive(Clone, Copy, Debug)]
pub struct Kind(pub IoDriverKind, pub usize);

impl Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} with {} workers", self.0, self.1)
    }
}

impl Kind {
    pub fn builder(self) -> Builder {
        Runtime::builder().io_driver(self.0).worker_threads(self.1)
    }

    pub fn build(self) -> Runtime {
        self.builder().build().unwrap()
    }

    /// All of them; only some, if there is not much time.
    pub fn all() -> Vec<Self> {
        let [epoll, poll, uring] = [IoDriverKind::Epoll, IoDriverKind::Poll, IoDriverKind::IoUring];
        let some = vec![Self(epoll, 2), Self(uring, 0), Self(poll, 8)];
        let all = || [epoll, uring, poll].into_iter().flat_map(|driver| [0, 2, 8].map(|n| Self(driver, n)));
        if seconds().is_some() { all().collect() } else { some }
    }
}
