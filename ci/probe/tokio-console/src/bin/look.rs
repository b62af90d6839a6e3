//! Starts `shown`, and the real console in a terminal of its own, and looks at what that shows. Prints a line for each thing that
//! was seen, and leaves pictures of the screen.

use rustix::process::{ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes, even on a machine that is busy.
const DEADLINE: Duration = Duration::from_secs(60);
const A_MOMENT: Duration = Duration::from_millis(20);
/// When nothing was written for so long, a picture is whole.
const QUIET: Duration = Duration::from_millis(50);
const ROWS: u16 = 40;
const COLUMNS: u16 = 160;

/// Where each task is spawned, so that nobody has to write it down.
const SOURCE: &str = include_str!("shown.rs");
/// Those that live as long as the program, and what they are.
const TASKS: [(&str, &str); 9] = [
    ("parent", "task"),
    ("restless", "task"),
    ("sleeper", "task"),
    ("middle", "task"),
    ("yielding", "task"),
    ("hog", "task"),
    ("forgotten", "task"),
    ("fid", "strand"),
    ("spawner", "task"),
];
const GO_ON: [&str; 6] = ["restless", "sleeper", "middle", "yielding", "hog", "fid"];

/// All that there is to warn of.
const WARNINGS: [&str; 2] =
    ["1 tasks have woken themselves over 50% of the time", "1 tasks have lost their wakers"];

/// A program that does not outlive us.
struct Program(Child);

impl Program {
    fn ended(&mut self) -> ExitStatus {
        let until = Instant::now() + DEADLINE;
        loop {
            match self.0.try_wait().unwrap() {
                Some(status) => return status,
                None => assert!(Instant::now() < until, "it does not end"),
            }
            thread::sleep(A_MOMENT);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

struct Seat {
    console: Program,
    ours: File,
    /// The screen, and when something was last written to it.
    seen: Arc<Mutex<(vt100::Parser, Instant)>>,
}

impl Seat {
    /// The command, with a terminal of its own.
    fn start(mut command: Command) -> Self {
        let ours =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("its other end");
        tcsetwinsize(&ours, Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs =
            OpenOptions::new().read(true).write(true).open(OsStr::from_bytes(name.as_bytes())).unwrap();
        let end = || theirs.try_clone().unwrap();
        command.env("TERM", "xterm-256color").stdin(end()).stdout(end()).stderr(end());
        // SAFETY: between fork and exec only two system calls are made; nothing is allocated or locked.
        unsafe {
            command.pre_exec(|| {
                setsid()?;
                Ok(ioctl_tiocsctty(rustix::stdio::stdin())?)
            });
        }
        let console = Program(command.spawn().expect("the console runs"));
        let size = |count| NonZero::new(count).expect("a terminal has some");
        let seen = Arc::new(Mutex::new((vt100::Parser::new(size(ROWS), size(COLUMNS), 0), Instant::now())));
        let (mut output, shared) = (File::from(ours.try_clone().unwrap()), seen.clone());
        thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut part) {
                let mut seen = shared.lock().unwrap();
                seen.0.process(&part[..count]);
                seen.1 = Instant::now();
            }
        });
        Self { console, ours: File::from(ours), seen }
    }

    fn press(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    /// The next picture that is whole.
    fn text(&self) -> String {
        loop {
            let seen = self.seen.lock().unwrap();
            if seen.1.elapsed() > QUIET {
                return seen.0.screen().contents();
            }
            drop(seen);
            thread::sleep(A_MOMENT);
        }
    }

    /// What `look` finds on the screen, as soon as it finds something.
    fn until<T>(&mut self, what: &str, look: impl Fn(&str) -> Option<T>) -> T {
        let until = Instant::now() + DEADLINE;
        loop {
            let text = self.text();
            if let Some(found) = look(&text) {
                return found;
            }
            let ended = self.console.0.try_wait().unwrap();
            assert!(
                ended.is_none() && Instant::now() < until,
                "not seen: {what}; {ended:?}, but this\n{text}"
            );
            thread::sleep(A_MOMENT);
        }
    }
}

/// A line of the table of tasks.
#[derive(Clone, Debug)]
struct Row {
    warned: bool,
    state: char,
    busy: Duration,
    idle: Duration,
    polls: u64,
    kind: String,
    place: String,
}

/// `7s`, `1m20s`, `79ms`, `9µs`, `0ns`: whole numbers, each with its unit.
fn duration(text: &str) -> Option<Duration> {
    let (mut sum, mut rest) = (Duration::ZERO, text);
    while !rest.is_empty() {
        let unit = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at(unit);
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let number = number.parse::<u64>().ok()?;
        sum += match &after[..end] {
            "ns" => Duration::from_nanos(number),
            "µs" => Duration::from_micros(number),
            "ms" => Duration::from_millis(number),
            "s" => Duration::from_secs(number),
            "m" => Duration::from_secs(60 * number),
            _ => return None,
        };
        rest = &after[end..];
    }
    Some(sum)
}

/// Warn, id, state, name, total, busy, scheduled, idle, polls, kind, place, fields; the first may be empty.
fn row(line: &str) -> Option<(String, Row)> {
    let line = line.strip_prefix('│')?;
    let line = line.strip_prefix(">> ").unwrap_or(line).trim_start(); // the one that is chosen
    let warned = line.starts_with('⚠');
    let mut words = line.split_whitespace().skip(if warned { 2 } else { 0 });
    words.next()?.parse::<u64>().ok()?;
    let state = words.next()?.chars().next()?;
    let name = words.next()?.to_owned();
    let [_total, busy, _scheduled, idle] =
        [words.next()?, words.next()?, words.next()?, words.next()?].map(duration);
    let polls = words.next()?.parse().ok()?;
    let (kind, place) = (words.next()?.to_owned(), words.next()?.to_owned());
    Some((name, Row { warned, state, busy: busy?, idle: idle?, polls, kind, place }))
}

/// The table, if it is there and whole.
fn table(text: &str) -> Option<BTreeMap<String, Row>> {
    let rows: BTreeMap<_, _> = text.lines().filter_map(row).collect();
    let is_whole = text.contains("╭Tasks") && TASKS.iter().all(|(name, _)| rows.contains_key(*name));
    is_whole.then_some(rows)
}

/// What is said above the table, in order.
fn warnings(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("│⚠ "));
    lines.map(|line| line.trim_end_matches(['│', ' '])).filter(|line| line.contains(" tasks ")).collect()
}

fn ok(what: &str) {
    println!("ok: {what}");
}

fn main() {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let mut next = || arguments.next().expect("usage: look CONSOLE SHOWN FOLDER");
    let (console, shown, folder) = (next(), next(), next());
    look(&console, &shown, &folder);
}

fn look(console: &Path, shown: &Path, folder: &Path) {
    // Not in the folder: the path of a socket must be short.
    let socket = std::env::temp_dir().join(format!("ropewalk-{}.socket", std::process::id()));
    let mut program = Command::new(shown);
    program.arg(&socket).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut program = Program(program.spawn().expect("the program runs"));
    let mut command = Command::new(console);
    command
        .args(["--lang", "en_US.UTF-8", "--no-colors", "--retain-for", "3s", "--log-dir"])
        .arg(folder.join("logs"));
    command.arg(format!("file://localhost{}", socket.to_str().expect("a path that can be an address")));
    let mut seat = Seat::start(command);

    seat.until("a connection", |text| text.contains("(CONNECTED)").then_some(()));
    ok("the console is connected");
    let before = seat.until("all tasks", table);
    for (name, kind) in TASKS {
        let named =
            SOURCE.lines().position(|line| line.contains(&format!("(\"{name}\")"))).expect("it is there");
        let (row, place) = (&before[name], format!("shown.rs:{}:", named + 1));
        assert!(row.kind == kind && row.place.contains(&place), "{name}: {row:?}");
        ok(&format!("{name} is a {kind}, spawned at {place}"));
    }

    // Each picture on the way is looked at: a warning that is false must not come and go.
    let mut states = BTreeMap::<String, String>::new();
    let until = Instant::now() + DEADLINE;
    let (after, text) = loop {
        let text = seat.text();
        assert!(Instant::now() < until, "not seen: tasks that go on; but {states:?} and this\n{text}");
        thread::sleep(A_MOMENT);
        let Some(rows) = table(&text) else { continue };
        assert!(warnings(&text).iter().all(|said| WARNINGS.contains(said)), "a false warning:\n{text}");
        for (name, row) in &rows {
            assert!(!row.warned || ["restless", "forgotten"].contains(&&**name), "a false warning:\n{text}");
            let known = states.entry(name.clone()).or_default();
            if !known.contains(row.state) {
                known.push(row.state);
            }
        }
        let go_on = GO_ON.iter().all(|name| rows[*name].polls > before[*name].polls + 5);
        let warned = ["restless", "forgotten"].iter().all(|name| rows[*name].warned);
        if go_on
            && warned
            && states["hog"].contains('▶')
            && states.get("brief").is_some_and(|s| s.contains('⏹'))
        {
            break (rows, text);
        }
    };
    fs::write(folder.join("tasks.txt"), &text).unwrap();
    for name in GO_ON {
        ok(&format!("{name} was polled {} times, then {}", before[name].polls, after[name].polls));
    }
    for name in ["sleeper", "middle", "fid"] {
        let row = &after[name];
        assert!(
            row.busy > Duration::ZERO && row.idle > row.busy && states[name].contains('⏸'),
            "{name}: {row:?}\n{text}"
        );
        ok(&format!("{name} is idle: {:?}, and busy {:?}", row.idle, row.busy));
    }
    let row = &after["hog"];
    assert!(row.busy > row.idle, "{row:?}\n{text}");
    ok(&format!("hog is busy: {:?}, and idle {:?}", row.busy, row.idle));
    for name in ["forgotten", "parent"] {
        let row = &after[name];
        assert!(row.polls <= 2 && row.state == '⏸', "{name}: {row:?}\n{text}");
    }
    ok("forgotten and parent wait; brief was seen to be over");
    assert_eq!(warnings(&text), WARNINGS, "{text}");
    ok("restless wakes itself, forgotten has lost its waker, and nobody else is warned of");

    let text = details(&mut seat, "restless");
    fs::write(folder.join("task.txt"), &text).unwrap();
    assert!(text.contains("This task has woken itself for more than 50% of its total wakeups"), "{text}");
    let (wakers, own) = (number(&text, "Current wakers: "), number(&text, "Self Wakes: "));
    let share = number(&text, &format!("Self Wakes: {own} times ("));
    assert!(wakers <= 1 && own > 0 && (85..=95).contains(&share), "{text}");
    ok(&format!("restless has {wakers} waker, and woke itself {own} times: {share} %"));

    seat.press("q");
    assert!(seat.console.ended().success());
    seat.text();
    assert!(!seat.seen.lock().unwrap().0.screen().alternate_screen(), "the terminal is as it was");
    ok("the console ends, and the terminal is as it was");
    drop(program.0.stdin.take());
    let mut said = String::new();
    program.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(program.ended().success() && said == "ended\n", "{said}");
    let _gone = fs::remove_file(&socket);
    ok("the program ends");
}

/// The one that follows `what`.
fn number(text: &str, what: &str) -> u64 {
    let found = text.split_once(what).map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
    found.flatten().and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("no {what:?}:\n{text}"))
}

/// Goes from task to task until it is this one.
fn details(seat: &mut Seat, name: &str) -> String {
    for _ in 0..3 * TASKS.len() {
        seat.press("\x1b[B");
        seat.press("\r");
        // Not every task has a name: the group's has none.
        let text = seat.until("a task", |text| text.contains("│ID: ").then(|| text.to_owned()));
        if text.contains(&format!("│Name: {name} ")) {
            // What is on it comes with the next answer.
            return seat.until("its wake-ups", |text| text.contains("Self Wakes: ").then(|| text.to_owned()));
        }
        seat.press("\x1b");
        seat.until("the tasks", table);
    }
    panic!("no task is called {name}:\n{}", seat.text());
}
