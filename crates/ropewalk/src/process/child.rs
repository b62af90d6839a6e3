//! A process that was started.

use super::exit::Notice;
use super::orphans::adopt;
use super::pipes::{ChildStderr, ChildStdin, ChildStdout};
use super::{ExitStatus, Output};
use crate::io::{AsyncRead, AsyncReadExt};
use crate::signal::unix::SignalKind;
use std::io;
use std::process;

/// A process that was started by [`Command::spawn`](super::Command::spawn).
///
/// Dropping it leaves the process alone, or kills it if [`kill_on_drop`](super::Command::kill_on_drop) was set; either way
/// it is reaped when it ends, without anybody waiting for it: no zombie is left.
///
/// ```
/// use ropewalk::process::{Command, Stdio};
/// use ropewalk::io::{AsyncReadExt, AsyncWriteExt};
///
/// # ropewalk::block_on(async {
/// let mut child = Command::new("tr").args(["a-z", "A-Z"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
/// let mut stdin = child.stdin.take().unwrap();
/// stdin.write_all(b"hemp and sisal").await?;
/// drop(stdin); // the end of its input
/// let mut answer = String::new();
/// child.stdout.take().unwrap().read_to_string(&mut answer).await?;
/// assert_eq!(answer, "HEMP AND SISAL");
/// assert!(child.wait().await?.success());
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Child {
    // Dropped before the process: then no driver watches it any more when it is handed on.
    notice: Notice,
    process: Process,
    /// Its standard input, if that is piped. Dropping it is the end of the input.
    pub stdin: Option<ChildStdin>,
    /// Its standard output, if that is piped.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, if that is piped.
    pub stderr: Option<ChildStderr>,
}

impl Child {
    pub(super) fn new(mut child: process::Child, kill_on_drop: bool) -> io::Result<Self> {
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // From here on it is killed if something fails: nobody would know of it.
        let mut process = Process { child: Some(child), has_ended: false, kill_on_drop: true };
        let stdin = pipes.0.map(ChildStdin::new).transpose()?;
        let stdout = pipes.1.map(ChildStdout::new).transpose()?;
        let stderr = pipes.2.map(ChildStderr::new).transpose()?;
        process.kill_on_drop = kill_on_drop;
        Ok(Self { notice: Notice::default(), process, stdin, stdout, stderr })
    }

    /// Its number; `None` if it was waited for to the end: the number may be another's by then.
    pub fn id(&self) -> Option<u32> {
        (!self.process.has_ended).then(|| self.process.std().id())
    }

    /// Waits for its end. Standard input is closed first, or a process that reads all of it would wait for us; take it out
    /// before to keep it open.
    ///
    /// Its status is kept: after the end it may be asked for again and again.
    ///
    /// Cancel safety: nothing is lost; call it again.
    ///
    /// # Errors
    /// If somebody else has reaped it: another part of the program that waits for all children, or the system itself if the
    /// program ignores SIGCHLD.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        if let Some(status) = self.try_wait()? {
            return Ok(status);
        }
        let status = self.notice.of(self.process.std_mut()).await?;
        self.has_ended();
        Ok(status)
    }

    /// Its status if it has ended, without waiting. Standard input stays open.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.process.std_mut().try_wait()?;
        if status.is_some() {
            self.has_ended();
        }
        Ok(status)
    }

    /// Kills it (SIGKILL) and waits for its end. If it has ended already, that is fine, and its status stays what it was.
    ///
    /// Cancel safety: it is killed by the first poll.
    ///
    /// # Errors
    /// As [`start_kill`](Self::start_kill) and [`wait`](Self::wait).
    pub async fn kill(&mut self) -> io::Result<ExitStatus> {
        self.start_kill()?;
        self.wait().await
    }

    /// Kills it (SIGKILL) without waiting for its end.
    ///
    /// # Errors
    /// If it may not be killed: it runs as another user now.
    pub fn start_kill(&mut self) -> io::Result<()> {
        self.process.std_mut().kill()
    }

    /// Sends it a signal: SIGTERM asks it to end.
    ///
    /// ```
    /// # use ropewalk::{Wait, process::Command, signal::unix::SignalKind};
    /// use std::os::unix::process::ExitStatusExt;
    /// let mut child = Command::new("sleep").arg("1000").spawn()?;
    /// child.signal(SignalKind::terminate())?;
    /// assert_eq!(child.wait().wait()?.signal(), Some(SignalKind::terminate().as_raw()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it was waited for to the end, if there is no such signal, or if it may not be sent.
    pub fn signal(&mut self, kind: SignalKind) -> io::Result<()> {
        let Some(id) = self.id() else {
            let text = format!("{kind} cannot be sent: the process has ended and was waited for");
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        };
        // SAFETY: a plain system call. Nobody has reaped the process, so the number is its own.
        match unsafe { libc::kill(id as libc::pid_t, kind.as_raw()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits for its end and collects all that it wrote, as far as that is piped and was not taken out before. Standard
    /// input is closed first.
    ///
    /// Both streams are read at once, so it does not matter which one the process fills first.
    ///
    /// Cancel safety: what was collected is lost, and the child is dropped.
    ///
    /// # Errors
    /// As [`wait`](Self::wait), and if a stream cannot be read.
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        let (mut stdout, mut stderr) = (self.stdout.take(), self.stderr.take());
        let (status, stdout, stderr) =
            crate::try_join!(self.wait(), all_of(&mut stdout), all_of(&mut stderr))?;
        Ok(Output { status, stdout, stderr })
    }

    fn has_ended(&mut self) {
        self.process.has_ended = true;
        self.notice = Notice::default();
    }
}

/// All that is to be read there.
async fn all_of(stream: &mut Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    if let Some(stream) = stream {
        stream.read_to_end(&mut all).await?;
    }
    Ok(all)
}

/// The process itself: reaped in any case.
#[derive(Debug)]
struct Process {
    /// There until it is dropped.
    child: Option<process::Child>,
    /// Whether it was reaped.
    has_ended: bool,
    kill_on_drop: bool,
}

impl Process {
    fn std(&self) -> &process::Child {
        self.child.as_ref().expect("it is there until it is dropped")
    }

    fn std_mut(&mut self) -> &mut process::Child {
        self.child.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take().filter(|_| !self.has_ended) else { return };
        if self.kill_on_drop {
            // If that is not allowed it goes on, and is reaped when it ends.
            let _refused = child.kill();
        }
        adopt(child);
    }
}
