//! A person at a terminal: types, and waits until the screen shows something.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OutputModes, Winsize, tcgetattr, tcsetwinsize};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longer than anything takes, even on a machine that is busy.
const DEADLINE: Duration = Duration::from_secs(60);
/// What is expected may depend on more than what is written.
const A_MOMENT: Duration = Duration::from_millis(20);

struct Seen {
    terminal: vt100::Parser,
    /// The beginning of a picture that is not whole.
    part: Vec<u8>,
    /// Everything that came.
    all: Vec<u8>,
    ended: bool,
}

/// A picture is between these; a terminal shows it when it is whole.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

impl Seen {
    fn take(&mut self, bytes: &[u8]) {
        self.all.extend_from_slice(bytes);
        self.part.extend_from_slice(bytes);
        let find = |wanted: &[u8]| self.part.windows(wanted.len()).rposition(|window| window == wanted);
        let whole = match (find(BEGIN), find(END)) {
            (Some(begin), end) if end.is_none_or(|end| end < begin) => begin,
            _ => {
                let begun = (1..BEGIN.len()).find(|length| self.part.ends_with(&BEGIN[..*length]));
                self.part.len() - begun.unwrap_or(0)
            }
        };
        self.terminal.process(&self.part[..whole]);
        self.part.drain(..whole);
    }
}

pub struct Seat {
    child: Child,
    /// Our end of the terminal; `None` after hanging up.
    ours: Option<File>,
    /// The other end, open so that its modes can be looked at when the program is gone.
    theirs: Option<File>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    /// Nobody is to read any more.
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

/// Reads until it is told to stop, or nobody has the other end any more.
fn read_until(mut ours: File, stop: &AtomicBool, mut take: impl FnMut(&[u8])) {
    let (mut part, a_moment) = ([0; 4096], Timespec { tv_sec: 0, tv_nsec: 20_000_000 });
    while !stop.load(Ordering::Relaxed) {
        if poll(&mut [PollFd::new(&ours, PollFlags::IN)], Some(&a_moment)).unwrap_or(0) == 0 {
            continue;
        }
        match ours.read(&mut part) {
            Ok(count @ 1..) => take(&part[..count]),
            _ => return,
        }
    }
}

fn some(count: u16) -> NonZero<u16> {
    NonZero::new(count).expect("a terminal has some")
}

fn winsize(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Seat {
    /// `ropewalk top` with a terminal of its own.
    pub fn start(args: &[&str], size: (u16, u16), environment: &[(&str, &str)]) -> Self {
        Self::start_in(Path::new("."), args, size, environment)
    }

    pub fn start_in(
        folder: &Path,
        args: &[&str],
        (columns, rows): (u16, u16),
        environment: &[(&str, &str)],
    ) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a pseudo-terminal");
        grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("its other end");
        tcsetwinsize(&ours, winsize(rows, columns)).unwrap();
        let name = ptsname(&ours, Vec::new()).expect("its name");
        let theirs =
            OpenOptions::new().read(true).write(true).open(OsStr::from_bytes(name.as_bytes())).unwrap();
        let end = || theirs.try_clone().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
        command
            .arg("top")
            .args(args)
            .current_dir(folder)
            .env_remove("NO_COLOR")
            .env("TERM", "xterm-256color");
        command.envs(environment.iter().copied()).stdin(end()).stdout(end()).stderr(end());
        // SAFETY: between fork and exec only two system calls are made; nothing is allocated or locked.
        unsafe {
            command.pre_exec(|| {
                setsid()?;
                ioctl_tiocsctty(rustix::stdio::stdin())?; // ctrl-c, hang-up and resizing are signals of who owns it
                Ok(())
            });
        }
        let child = command.spawn().expect("the program runs");
        drop(command);
        let terminal = vt100::Parser::new(some(rows), some(columns), 0);
        let seen = Arc::new((
            Mutex::new(Seen { terminal, part: Vec::new(), all: Vec::new(), ended: false }),
            Condvar::new(),
        ));
        let stop = Arc::new(AtomicBool::new(false));
        let reader = thread::spawn({
            let (ours, seen, stop) = (File::from(ours.try_clone().unwrap()), seen.clone(), stop.clone());
            move || {
                read_until(ours, &stop, |part| {
                    seen.0.lock().unwrap_or_else(PoisonError::into_inner).take(part);
                    seen.1.notify_all();
                });
                seen.0.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
                seen.1.notify_all();
            }
        });
        Self { child, ours: Some(File::from(ours)), theirs: Some(theirs), seen, stop, reader: Some(reader) }
    }

    /// Types.
    pub fn press(&self, keys: &str) {
        self.ours.as_ref().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Makes the window another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.seen.0.lock().unwrap().terminal.screen_mut().set_size(some(rows), some(columns));
        tcsetwinsize(self.ours.as_ref().unwrap(), winsize(rows, columns)).unwrap();
    }

    /// Waits until the screen is as expected; the text of it.
    pub fn until(&self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) -> String {
        let (lock, changed) = &*self.seen;
        let (mut seen, until) = (lock.lock().unwrap(), Instant::now() + DEADLINE);
        loop {
            let screen = seen.terminal.screen();
            if is_so(screen) {
                return screen.contents();
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.ended, "not seen: {what}; but this\n{}", screen.contents());
            seen = changed.wait_timeout(seen, left.min(A_MOMENT)).unwrap().0;
        }
    }

    /// Waits until all of these are on the screen; the text of it.
    pub fn until_shows(&self, parts: &[&str]) -> String {
        self.until(&format!("{parts:?}"), |screen| {
            let text = screen.contents();
            parts.iter().all(|part| text.contains(part))
        })
    }

    /// Waits until this is not on the screen any more.
    pub fn until_gone(&self, part: &str) -> String {
        self.until(&format!("no {part:?}"), |screen| !screen.contents().contains(part))
    }

    /// How often the screen was taken over so far.
    pub fn entered(&self) -> usize {
        let seen = self.seen.0.lock().unwrap();
        seen.all.windows(8).filter(|window| window == b"\x1b[?1049h").count()
    }

    pub fn until_entered(&self, times: usize) {
        let until = Instant::now() + DEADLINE;
        while self.entered() < times {
            assert!(Instant::now() < until, "the screen was not taken over again");
            thread::sleep(A_MOMENT);
        }
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Somebody else writes to the terminal.
    pub fn scribble(&self, text: &str) {
        self.theirs.as_ref().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Nobody looks any more: what is written stays where it is.
    pub fn stop_reading(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.reader.take().unwrap().join().unwrap();
    }

    /// Writes as somebody else until the terminal takes no more.
    pub fn fill(&self) {
        let theirs = self.theirs.as_ref().unwrap();
        let name = rustix::termios::ttyname(theirs, Vec::new()).unwrap();
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK;
        let mut more = File::from(open(OsStr::from_bytes(name.as_bytes()), flags, Mode::empty()).unwrap());
        while more.write(&[b'x'; 64]).is_ok() {}
    }

    /// The other end of the line is gone.
    pub fn hang_up(&mut self) {
        self.stop_reading();
        (self.ours, self.theirs) = (None, None);
    }

    /// Its exit status, once it has ended.
    pub fn ended(&mut self) -> ExitStatus {
        let until = Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(
                Instant::now() < until,
                "it does not end:\n{}",
                self.seen.0.lock().unwrap().terminal.screen().contents()
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the end, and checks that the terminal is as it was: its modes, its screen and its cursor.
    pub fn end_restored(mut self) -> (ExitStatus, String) {
        let status = self.ended();
        let modes = tcgetattr(self.theirs.as_ref().unwrap()).unwrap();
        let cooked = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        assert!(modes.local_modes.contains(cooked), "lines, echo and signals are back");
        assert!(modes.output_modes.contains(OutputModes::OPOST), "so is the carriage return");
        self.theirs = None; // the reader sees the end of it
        self.reader.take().unwrap().join().unwrap();
        let seen = self.seen.0.lock().unwrap();
        let screen = seen.terminal.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "the screen and the cursor are back");
        (status, screen.contents())
    }

    /// Whether keys come one by one now.
    pub fn is_raw(&self) -> bool {
        let modes = tcgetattr(self.theirs.as_ref().unwrap()).unwrap();
        !modes.local_modes.contains(LocalModes::ICANON)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
