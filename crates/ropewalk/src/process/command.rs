//! What to run, and how: std's builder, with children that are waited for by `.await`.

use super::{Child, ExitStatus, Output, Stdio};
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process;

/// A process to be started. It is built as [`std::process::Command`] is.
///
/// ```
/// use ropewalk::process::Command;
///
/// # ropewalk::block_on(async {
/// let answer = Command::new("sh").args(["-c", "echo $NAME; exit 3"]).env("NAME", "hemp").output().await?;
/// assert_eq!(answer.stdout, b"hemp\n");
/// assert_eq!(answer.status.code(), Some(3));
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Command {
    std: process::Command,
    kill_on_drop: bool,
    /// Whether standard input, output and errors were said: what was not depends on how it is started.
    said: [bool; 3],
}

impl Command {
    /// A command that runs `program`, with no arguments and with the surroundings of this process.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        process::Command::new(program).into()
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.std.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args(&mut self, args: impl IntoIterator<Item: AsRef<OsStr>>) -> &mut Self {
        self.std.args(args);
        self
    }

    /// The name by which the program is told it was called, instead of its own.
    pub fn arg0(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.std.arg0(arg);
        self
    }

    /// Sets a variable of the environment.
    pub fn env(&mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.std.env(key, value);
        self
    }

    /// Sets variables of the environment.
    pub fn envs<K: AsRef<OsStr>, V: AsRef<OsStr>>(
        &mut self,
        vars: impl IntoIterator<Item = (K, V)>,
    ) -> &mut Self {
        self.std.envs(vars);
        self
    }

    /// Takes a variable out of the environment.
    pub fn env_remove(&mut self, key: impl AsRef<OsStr>) -> &mut Self {
        self.std.env_remove(key);
        self
    }

    /// Takes all variables out of the environment.
    pub fn env_clear(&mut self) -> &mut Self {
        self.std.env_clear();
        self
    }

    /// The directory it starts in.
    pub fn current_dir(&mut self, directory: impl AsRef<Path>) -> &mut Self {
        self.std.current_dir(directory);
        self
    }

    /// Where its standard input comes from: this process's, or nowhere for [`output`](Self::output), if it is not said.
    pub fn stdin(&mut self, stdin: impl Into<Stdio>) -> &mut Self {
        self.said[0] = true;
        self.std.stdin(stdin);
        self
    }

    /// Where its standard output goes: to this process's, or to who awaits [`output`](Self::output), if it is not said.
    pub fn stdout(&mut self, stdout: impl Into<Stdio>) -> &mut Self {
        self.said[1] = true;
        self.std.stdout(stdout);
        self
    }

    /// Where its errors go: as [`stdout`](Self::stdout).
    pub fn stderr(&mut self, stderr: impl Into<Stdio>) -> &mut Self {
        self.said[2] = true;
        self.std.stderr(stderr);
        self
    }

    /// Whether the process is killed when its [`Child`] is dropped before it was waited for to the end. Otherwise it goes
    /// on. Either way it is reaped.
    pub fn kill_on_drop(&mut self, kill: bool) -> &mut Self {
        self.kill_on_drop = kill;
        self
    }

    /// The user it runs as.
    pub fn uid(&mut self, id: u32) -> &mut Self {
        self.std.uid(id);
        self
    }

    /// The group it runs as.
    pub fn gid(&mut self, id: u32) -> &mut Self {
        self.std.gid(id);
        self
    }

    /// The process group it joins; 0 is a new one of its own, which ctrl-c at the terminal does not reach.
    pub fn process_group(&mut self, group: i32) -> &mut Self {
        self.std.process_group(group);
        self
    }

    /// Runs `f` in the child before the program is started there.
    ///
    /// # Safety
    /// As [`CommandExt::pre_exec`]: other threads are not there, so `f` may do little more than plain system calls.
    pub unsafe fn pre_exec(
        &mut self,
        f: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
    ) -> &mut Self {
        // SAFETY: the caller promises what std asks for.
        unsafe { self.std.pre_exec(f) };
        self
    }

    /// Std's command inside, for what it tells and for what is not offered here.
    pub fn as_std(&self) -> &process::Command {
        &self.std
    }

    /// Std's command inside. Whether standard streams are set there is not noticed here.
    pub fn as_std_mut(&mut self) -> &mut process::Command {
        &mut self.std
    }

    /// Std's command inside.
    pub fn into_std(self) -> process::Command {
        self.std
    }

    /// Starts it. The calling thread is held until the program has been started, a fraction of a millisecond.
    ///
    /// What is piped belongs to the runtime that is current here.
    ///
    /// # Errors
    /// If there is no such program, if it may not be run, or if the system has no room for it; the error names the
    /// program. If its pipes cannot be watched; the process is killed then.
    pub fn spawn(&mut self) -> io::Result<Child> {
        let child = self.std.spawn().map_err(|error| self.named(error))?;
        Child::new(child, self.kill_on_drop).map_err(|error| self.named(error))
    }

    /// Starts it and waits for its end.
    ///
    /// ```
    /// # use ropewalk::{Wait, process::Command};
    /// assert!(Command::new("true").status().wait()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// Cancel safety: the process is started by the call, not by the first poll. Dropping the future drops the [`Child`]:
    /// the process goes on, unless [`kill_on_drop`](Self::kill_on_drop) says otherwise.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn) and [`Child::wait`].
    pub fn status(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + Send + use<> {
        let child = self.spawn();
        async move {
            let mut child = child?;
            // What is piped has no reader or writer here: the child must not wait for one.
            drop((child.stdin.take(), child.stdout.take(), child.stderr.take()));
            child.wait().await
        }
    }

    /// Starts it, waits for its end and collects what it wrote to standard output and to standard error. Streams that were
    /// not set are piped; standard input is empty.
    ///
    /// Cancel safety: as [`status`](Self::status); what was collected is lost.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn) and [`Child::wait_with_output`].
    pub fn output(&mut self) -> impl Future<Output = io::Result<Output>> + Send + use<> {
        let child = self.spawn_for_output();
        async move { child?.wait_with_output().await }
    }

    /// Starts it with streams for [`output`](Self::output), and sets them back.
    fn spawn_for_output(&mut self) -> io::Result<Child> {
        let said = self.said;
        self.set_unsaid(said, [Stdio::null, Stdio::piped, Stdio::piped]);
        let child = self.spawn();
        self.set_unsaid(said, [Stdio::inherit; 3]);
        child
    }

    fn set_unsaid(&mut self, said: [bool; 3], [stdin, stdout, stderr]: [fn() -> Stdio; 3]) {
        if !said[0] {
            self.std.stdin(stdin());
        }
        if !said[1] {
            self.std.stdout(stdout());
        }
        if !said[2] {
            self.std.stderr(stderr());
        }
    }

    /// An error that says which program it is about.
    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(
            error.kind(),
            format!("{} could not be started: {error}", self.std.get_program().display()),
        )
    }
}

impl From<process::Command> for Command {
    /// Streams that were set before count as not said.
    fn from(std: process::Command) -> Self {
        Self { std, kill_on_drop: false, said: [false; 3] }
    }
}
