//! What the integration tests share: the kinds of runtimes, a gate, a leak probe, waiting with a deadline, a watchdog and
//! child processes.

#![allow(dead_code)] // each program uses its part

#[cfg(unix)]
use ropewalk::driver::IoDriverKind;
use ropewalk::{Builder, Clock, Runtime, SystemClock, TaskHandle, strand};
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::process::{Command, Output};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, Once};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// For what has to end by itself: the watchdog is there first.
pub const DEADLINE: Duration = Duration::from_secs(3600);

/// Much longer than anything here takes, also on a busy machine: past it a test has hung.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often whoever is patient looks, at least.
const LOOK: Duration = Duration::from_millis(100);

/// Runs out after a while in which this process could run. If it was stopped, or its machine was, the next look comes late,
/// and counts no more than the others: the clock alone would call everything a hang then.
struct Patience {
    left: Duration,
    looked: Instant,
    looks: u32,
}

impl Patience {
    fn new() -> Self {
        Self { left: PATIENCE, looked: Instant::now(), looks: 0 }
    }

    fn is_over(&mut self) -> bool {
        let now = Instant::now();
        self.left = self.left.saturating_sub((now - self.looked).min(LOOK));
        self.looked = now;
        self.left.is_zero()
    }

    /// Gives the processor away between two looks at a condition. On a busy machine who yields comes last, behind the slices of
    /// all others; who sleeps comes soon.
    fn rest(&mut self, what: &str) {
        let before = self.looked;
        assert!(!self.is_over(), "waited too long until {what}");
        self.looks += 1;
        if self.looks > 100 || self.looked - before > Duration::from_millis(1) {
            std::thread::sleep(Duration::from_micros(50));
        } else {
            std::thread::yield_now();
        }
    }
}

/// How a runtime runs its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeKind {
    /// With this many threads of its own.
    Threads(usize),
    /// On the caller's thread, by `worker_threads(0)`.
    Caller,
    /// On the caller's thread, as this many logical workers.
    Hosted(usize),
}

pub const KINDS: [RuntimeKind; 6] = [
    RuntimeKind::Threads(1),
    RuntimeKind::Threads(2),
    RuntimeKind::Threads(16),
    RuntimeKind::Caller,
    RuntimeKind::Hosted(1),
    RuntimeKind::Hosted(4),
];

impl RuntimeKind {
    pub fn builder(self) -> Builder {
        match self {
            // Nobody stands in: tests hold workers to keep others from running there.
            RuntimeKind::Threads(count) => {
                Runtime::builder().worker_threads(count).rescue_threshold(Duration::ZERO)
            }
            RuntimeKind::Caller => Runtime::builder().worker_threads(0),
            RuntimeKind::Hosted(count) => Runtime::builder().hosted_workers(count),
        }
    }

    pub fn build(self) -> Runtime {
        self.builder().build().unwrap()
    }

    /// How many threads of its own it has.
    pub fn threads(self) -> usize {
        if let RuntimeKind::Threads(count) = self { count } else { 0 }
    }

    pub fn is_hosted(self) -> bool {
        self.threads() == 0
    }
}

/// The I/O drivers that a runtime gets which asks for them. Of the others it is said why not.
#[cfg(unix)]
pub fn drivers() -> Vec<IoDriverKind> {
    let mut kinds =
        vec![IoDriverKind::Epoll, IoDriverKind::Kqueue, IoDriverKind::Poll, IoDriverKind::IoUring];
    kinds.retain(|kind| is_to_be_had(*kind));
    assert!(!kinds.is_empty(), "there is at least one driver here");
    kinds
}

#[cfg(unix)]
fn is_to_be_had(kind: IoDriverKind) -> bool {
    let Ok(runtime) = Runtime::builder().worker_threads(0).io_driver(kind).build() else { return false };
    runtime.block_on(async { drop(ropewalk::net::UnixStream::pair().unwrap()) });
    let io = runtime.metrics().io;
    if io.driver != Some(kind) {
        eprintln!("skipped: {}", io.why);
    }
    io.driver == Some(kind)
}

/// The kinds of runtimes that differ for sockets, and every driver.
#[cfg(unix)]
pub fn for_sockets() -> Vec<(String, Builder)> {
    let kinds = [RuntimeKind::Threads(1), RuntimeKind::Threads(2), RuntimeKind::Caller];
    let by_kind = kinds.into_iter().map(|kind| (format!("{kind:?}"), kind.builder()));
    let by_driver = drivers()
        .into_iter()
        .map(|driver| (driver.to_string(), Runtime::builder().worker_threads(2).io_driver(driver)));
    by_kind.chain(by_driver).collect()
}

/// Runs `test` on every kind of runtime, under the watchdog.
pub fn on_every_kind(test: impl Fn(RuntimeKind)) {
    for kind in KINDS {
        guarded(format!("{kind:?}"), || test(kind));
    }
}

/// Starts a strand on a worker of `runtime`.
pub fn strand_in<T: Send + 'static>(
    runtime: &Runtime,
    body: impl FnOnce() -> T + Send + 'static,
) -> TaskHandle<T> {
    let (give, take) = channel();
    let task = runtime.spawn(async move { give.send(strand::spawn_local(body).unwrap()).unwrap() });
    runtime.block_on(task).unwrap();
    take.recv().unwrap()
}

/// Finds out whether everything of a runtime was freed: it is part of the runtime's configuration.
#[derive(Debug)]
pub struct Probe(Arc<SystemClock>);

#[derive(Debug)]
struct ProbeClock(Arc<SystemClock>);

impl Clock for ProbeClock {
    fn now(&self) -> Duration {
        self.0.now()
    }
}

impl Probe {
    pub fn new() -> Self {
        Self(Arc::new(SystemClock::default()))
    }

    pub fn clock(&self) -> impl Clock {
        ProbeClock(self.0.clone())
    }

    /// Threads may be on their way out, so it may take a moment.
    pub fn assert_freed(&self) {
        until("the runtime is freed", || Arc::strong_count(&self.0) == 1);
    }

    pub fn is_freed(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

/// Something to wait for that the test decides about.
#[derive(Clone, Default)]
pub struct Gate(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Gate {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn open(&self) {
        let waiting = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    pub fn is_open(&self) -> bool {
        self.0.lock().unwrap().0
    }

    pub fn passed(&self) -> impl Future<Output = ()> + Send + use<> {
        Passing(self.clone())
    }

    /// How many wakers were left here.
    pub fn waiting(&self) -> usize {
        self.0.lock().unwrap().1.len()
    }

    /// Opens the gate when it is dropped.
    pub fn open_on_drop(&self) -> OpenOnDrop {
        OpenOnDrop(self.clone())
    }
}

struct Passing(Gate);

impl Future for Passing {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.0.lock().unwrap();
        if state.0 {
            return Poll::Ready(());
        }
        if !state.1.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.1.push(cx.waker().clone());
        }
        Poll::Pending
    }
}

pub struct OpenOnDrop(Gate);

impl Drop for OpenOnDrop {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// Gives the processor away until `condition` holds.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let mut patience = Patience::new();
    while !condition() {
        patience.rest(what);
    }
}

/// The same from inside a task or `block_on`: the runtime goes on meanwhile.
pub async fn until_async(what: &str, mut condition: impl FnMut() -> bool) {
    let mut patience = Patience::new();
    while !condition() {
        ropewalk::yield_now().await;
        patience.rest(what);
    }
}

/// Runs `f`; if it does not end, says so and ends the process: a hung test must have a name.
pub fn guarded<R>(name: impl Into<String>, f: impl FnOnce() -> R) -> R {
    let _watchdog = Watchdog::new(name.into());
    f()
}

pub struct Watchdog(Option<Sender<()>>);

impl Watchdog {
    pub fn new(name: String) -> Self {
        let (alive, ended) = channel::<()>();
        std::thread::spawn(move || {
            let mut patience = Patience::new();
            while ended.recv_timeout(LOOK) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                if patience.is_over() {
                    // Not by a macro: the test harness would capture that.
                    let _ = writeln!(std::io::stderr(), "\nwatchdog: {name}: hangs");
                    std::process::exit(101);
                }
            }
        });
        Self(Some(alive))
    }
}

/// Panics whose message starts with this are part of a test and not shown.
pub const ON_PURPOSE: &str = "on purpose";

/// Keeps the panics that belong to a test out of its output.
pub fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload_as_str().is_some_and(|text| text.starts_with(ON_PURPOSE)) {
                usual(info);
            }
        }));
    });
}

/// What `f` panics with, as text.
pub fn panic_of<R>(f: impl FnOnce() -> R) -> Option<String> {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).err()?;
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    Some(text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "not text".to_owned()))
}

const CHILD: &str = "ROPEWALK_TEST_CHILD";

/// Whether this process was started by [`run_as_child`].
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs one test of this program, by its whole name, in a process of its own, with everything it prints.
pub fn run_as_child(test: &str, prepare: impl FnOnce(&mut Command)) -> Output {
    run(Command::new(std::env::current_exe().unwrap()), test, prepare)
}

/// The same with no more address space than that.
pub fn run_as_small_child(test: &str, kilobytes: usize) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -v {kilobytes} && exec \"$@\""), "sh"]);
    shell.arg(std::env::current_exe().unwrap());
    run(shell, test, |_| {})
}

/// The arguments and the environment of such a child.
pub fn make_child(command: &mut Command, test: &str) {
    command.args([test, "--exact", "--nocapture", "--include-ignored", "--test-threads=1"]).env(CHILD, "1");
    // What a child leaves behind on purpose is no leak.
    let options = std::env::var("ASAN_OPTIONS").unwrap_or_default();
    command.env("ASAN_OPTIONS", format!("{options}:detect_leaks=0"));
}

fn run(mut command: Command, test: &str, prepare: impl FnOnce(&mut Command)) -> Output {
    make_child(&mut command, test);
    prepare(&mut command);
    let output = command.output().unwrap();
    // One that is not there succeeds.
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!said.contains("running 0 tests"), "there is no test {test}");
    output
}

/// What a child wrote to standard error.
pub fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
