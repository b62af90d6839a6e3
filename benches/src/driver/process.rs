//! One measurement in its own process, with a limit on how long it may take.

use super::progress::Progress;
use super::stop::Stop;
use crate::meter::{Sample, Speed, Usage};
use crate::peers::Peer;
use crate::problems::Problem;
use crate::side::Outcome;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Far more than any measurement needs: whoever takes longer hangs.
fn limit(speed: Speed) -> Duration {
    Duration::from_secs(speed.pick(90, 20))
}

/// Who waits for a measurement: it can be stopped, and shows how far it is.
pub struct Waiter<'a> {
    pub stop: &'a Stop,
    pub progress: &'a mut Progress,
}

/// How a wait ended.
enum End {
    Answer(String),
    Late,
    Stopped,
    Unreadable(String),
}

/// Kills it and what it has started: who hangs would take the cores of those who come after.
fn kill_all(child: &mut Child) {
    let group = Pid::from_raw(child.id() as i32).map(|group| kill_process_group(group, Signal::KILL));
    if !matches!(group, Some(Ok(()))) {
        let _ = child.kill();
    }
}

impl Waiter<'_> {
    /// Runs `bench one`.
    pub fn measure(&mut self, problem: &Problem, peer: Peer, speed: Speed) -> Result<Sample, String> {
        self.ask(&["one", problem.name, peer.name()], speed, limit(speed))
    }

    /// Runs `bench side`.
    pub fn measure_side(
        &mut self,
        problem: &Problem,
        peers: &[Peer],
        speed: Speed,
    ) -> Result<Outcome, String> {
        let names: Vec<&str> = peers.iter().map(|peer| peer.name()).collect();
        self.ask(&["side", problem.name, &names.join(",")], speed, limit(speed) * peers.len() as u32)
    }

    /// Runs this program and reads its line.
    fn ask<T: DeserializeOwned>(
        &mut self,
        args: &[&str],
        speed: Speed,
        limit: Duration,
    ) -> Result<T, String> {
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(this);
        // In a group of its own, with whatever it starts: the programs of other languages.
        command.args(args).process_group(0);
        if speed == Speed::Quick {
            command.arg("--quick");
        }
        let mut complaints = self.complaints().map_err(|error| error.to_string())?;
        if let Some(complaints) = &complaints {
            command.stderr(complaints.try_clone().map_err(|error| error.to_string())?);
        }
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let before = Usage::of_children();
        let end = self.wait(stdout, limit);
        if !matches!(end, End::Answer(_)) {
            kill_all(&mut child);
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        complaints.iter_mut().for_each(|complaints| self.pass_on(complaints));
        let cpu = Usage::of_children().since(before).cpu.as_secs_f64();
        match end {
            End::Stopped => Err("it was stopped".into()),
            // Little CPU time: it slept for ever, or others kept the cores. Much: it spins.
            End::Late => Err(format!("no answer within {} s, of which it ran {cpu:.1} s", limit.as_secs())),
            End::Unreadable(error) => Err(error),
            End::Answer(_) if !status.success() => Err(format!("it ended with {status}")),
            End::Answer(line) => {
                serde_json::from_str(&line).map_err(|error| format!("not a sample: {error}"))
            }
        }
    }

    /// Where there is a bar, what a measurement complains about is kept until it has ended, so as not to run into the bar.
    fn complaints(&self) -> io::Result<Option<File>> {
        let file = || memfd_create("complaints", MemfdFlags::CLOEXEC);
        self.progress.redraws_after().map(|_| Ok(File::from(file()?))).transpose()
    }

    fn pass_on(&mut self, complaints: &mut File) {
        let mut text = Vec::new();
        // What cannot be read is no reason to stop.
        let _ = complaints.rewind().and_then(|()| complaints.read_to_end(&mut text));
        String::from_utf8_lossy(&text).lines().for_each(|line| self.progress.say(line));
    }

    /// Sleeps until all was said, so that measuring disturbs nobody; only a bar on a terminal is drawn anew once a second.
    fn wait(&mut self, mut stdout: ChildStdout, limit: Duration) -> End {
        let (from, mut text, mut part) = (Instant::now(), Vec::new(), [0; 4096]);
        loop {
            let Some(left) = limit.checked_sub(from.elapsed()) else { return End::Late };
            let timeout = self.progress.redraws_after().map_or(left, |pause| pause.min(left));
            let mut files = [PollFd::new(&stdout, PollFlags::IN), PollFd::new(self.stop, PollFlags::IN)];
            let timeout =
                Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
            match poll(&mut files, Some(&timeout)) {
                Ok(0) => self.progress.draw(),
                Ok(_) if !files[1].revents().is_empty() => return End::Stopped,
                Ok(_) => match stdout.read(&mut part) {
                    Ok(0) => return End::Answer(String::from_utf8_lossy(&text).into_owned()),
                    Ok(count) => text.extend_from_slice(&part[..count]),
                    Err(error) => return End::Unreadable(error.to_string()),
                },
                Err(Errno::INTR) => {}
                Err(error) => return End::Unreadable(error.to_string()),
            }
        }
    }
}
