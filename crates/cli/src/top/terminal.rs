//! The terminal: taken over, and always given back as it was. It is a file at Ropewalk's driver like any other.

use ropewalk::driver::Interest;
use ropewalk::net::AsyncFd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr, ttyname};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::panic;
use std::sync::{Mutex, PoisonError};

/// Another screen, no cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
/// No colour, a cursor, the screen that was there before.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";
/// How long a terminal that takes nothing may keep us from ending.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// What there is to give back. Of the process, because a panic anywhere gives it back as well.
static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

struct Taken {
    file: File,
    before: Termios,
}

/// The terminal of standard output, while it is ours.
pub(super) struct Tty {
    file: AsyncFd<File>,
}

impl Tty {
    /// Takes the terminal of standard output over, until it is dropped or something panics.
    pub(super) fn take() -> io::Result<Self> {
        Self::take_over(opened()?)
    }

    fn take_over(terminal: File) -> io::Result<Self> {
        let tty = Self { file: AsyncFd::new(terminal)? };
        static HOOK: std::sync::Once = std::sync::Once::new();
        HOOK.call_once(|| {
            let hook = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                give_back(); // or nobody would see what it says
                hook(info);
            }));
        });
        tty.enter()?;
        Ok(tty)
    }

    /// From now on keys come one by one and the screen is ours; also after the process was stopped.
    pub(super) fn enter(&self) -> io::Result<()> {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.is_none() {
            *taken = Some(Taken { file: self.file()?, before: tcgetattr(&self.file)? });
        }
        let mut modes = tcgetattr(&self.file)?;
        modes.make_raw();
        tcsetattr(&self.file, OptionalActions::Now, &modes)?;
        drop(taken);
        put(self.file.get_ref(), ENTER);
        Ok(())
    }

    /// The same terminal once more.
    pub(super) fn file(&self) -> io::Result<File> {
        self.file.get_ref().try_clone()
    }

    /// What was typed; nothing: nobody can type any more. Cancel safe.
    pub(super) async fn read(&self) -> Vec<u8> {
        let mut bytes = [0; 256];
        let read = self.file.async_io(Interest::READABLE, |mut file| file.read(&mut bytes)).await;
        bytes[..read.unwrap_or(0)].to_vec()
    }

    /// Shows something. If it is dropped, it is not known how much was shown.
    pub(super) async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.file.async_io(Interest::WRITABLE, |mut file| file.write(bytes)).await?;
            bytes = &bytes[count..];
        }
        Ok(())
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        give_back();
    }
}

/// Opened anew: whether it blocks is a matter of the opened file, and the one of standard output is the shell's as well.
fn opened() -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let name = ttyname(rustix::stdio::stdout(), Vec::new());
    let named =
        name.and_then(|name| open(std::ffi::OsStr::from_bytes(name.as_bytes()), flags, Mode::empty()));
    // It may have no name here, in a container for instance.
    let opened = named.or_else(|_| open("/dev/tty", flags, Mode::empty()))?;
    Ok(File::from(opened))
}

/// Gives the terminal back, if it is taken.
pub(super) fn give_back() {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Taken { file, before }) = taken.take() {
        put(&file, LEAVE);
        let _or_it_is_gone = tcsetattr(&file, OptionalActions::Now, &before);
    }
}

/// Writes a little without Ropewalk, for at most a moment.
fn put(mut file: &File, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let ready = poll(&mut [PollFd::new(&file, PollFlags::OUT)], Some(&PATIENCE));
                if !ready.is_ok_and(|ready| ready > 0) {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::LocalModes;

    /// One after the other: there is one terminal to give back in a process.
    #[test]
    fn the_terminal_is_given_back_by_a_drop_and_by_a_panic() {
        let mut ours = File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
        grantpt(&ours).and_then(|()| unlockpt(&ours)).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK;
        let theirs = File::from(open(name.as_c_str(), flags, Mode::empty()).unwrap());
        let is_raw = |theirs: &File| !tcgetattr(theirs).unwrap().local_modes.contains(LocalModes::ICANON);
        let mut seen = || {
            let mut bytes = [0; 256];
            let count = ours.read(&mut bytes).unwrap();
            String::from_utf8(bytes[..count].to_vec()).unwrap()
        };
        let (enter, leave) = (std::str::from_utf8(ENTER).unwrap(), std::str::from_utf8(LEAVE).unwrap());

        let runtime = ropewalk::Runtime::builder().worker_threads(0).build().unwrap();
        runtime.block_on(async {
            let tty = Tty::take_over(theirs.try_clone().unwrap()).unwrap();
            assert_eq!((is_raw(&theirs), seen()), (true, enter.to_owned()));
            tty.enter().unwrap(); // once more, after it was stopped
            drop(tty);
            assert_eq!((is_raw(&theirs), seen()), (false, format!("{enter}{leave}")));

            let tty = Tty::take_over(theirs.try_clone().unwrap()).unwrap();
            panic::catch_unwind(|| panic!("to see what becomes of the terminal")).unwrap_err();
            assert_eq!((is_raw(&theirs), seen()), (false, format!("{enter}{leave}")), "before it is dropped");
            drop(tty);
        });
    }
}
