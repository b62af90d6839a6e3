//! A server in a process of its own, so that CPU time and memory are the server's alone. The process that was asked to
//! measure starts it (`bench serve PROBLEM PEER`, or the Go program of the folder), reads its address from the first line
//! it prints, makes the load itself, and ends it.

use crate::go;
use crate::meter::Speed;
use crate::peers::Peer;
use crate::problems::Problem;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use rustix::process::{Resource, Rlimit, getrlimit, set_parent_process_death_signal, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server that runs.
pub struct Service {
    child: Child,
    pub address: SocketAddr,
    clock: ClockId,
}

/// On which cores server and load run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cores {
    /// Both on all of them.
    Shared,
    /// The server on core 1, the load on core 0.
    Apart,
}

impl Service {
    pub fn start(problem: &'static Problem, peer: Peer, cores: Cores) -> Result<Self, String> {
        let mut command = if peer == Peer::Go {
            let mut command = Command::new(go::build(problem)?);
            command.args([problem.name, &problem.workers.to_string(), Speed::Full.pick("full", "quick")]);
            command
        } else {
            let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
            command.args(["serve", problem.name, peer.name()]);
            command
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // A child begins where its parent is.
        pin(cores, 1)?;
        let mut child = command.spawn().map_err(|error| format!("cannot start the server: {error}"))?;
        pin(cores, 0)?;
        let address = first_line(&mut child)?;
        let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(child.id() as i32))
            .map_err(|error| format!("the server's CPU time cannot be read: {error}"))?;
        Ok(Self { child, address, clock })
    }

    /// CPU time of all its threads so far.
    pub fn cpu(&self) -> Duration {
        clock_gettime(self.clock).map_or(Duration::ZERO, Duration::from)
    }

    /// Its resident bytes.
    pub fn resident(&self) -> Result<u64, String> {
        let path = format!("/proc/{}/smaps_rollup", self.child.id());
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let line = text.lines().find(|line| line.starts_with("Rss:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kib.map(|kib| kib * 1024).ok_or_else(|| format!("{path} has no line Rss"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pin(cores: Cores, core: usize) -> Result<(), String> {
    if cores == Cores::Shared {
        return Ok(());
    }
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(|error| format!("cannot run on core {core} alone: {error}"))
}

/// What the server says when it listens.
fn first_line(child: &mut Child) -> Result<SocketAddr, String> {
    let mut line = String::new();
    let stdout = child.stdout.take().expect("stdout is piped");
    BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
    line.trim().parse().map_err(|_| "the server ended before it listened".to_string())
}

/// In the server: a listener at a free port of this machine, and the line that says where.
pub fn listen() -> Result<TcpListener, String> {
    let listener = bind().map_err(|error| format!("cannot listen: {error}"))?;
    announce(listener.local_addr().map_err(|error| error.to_string())?)?;
    Ok(listener)
}

fn bind() -> std::io::Result<TcpListener> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}

/// In the server: it listens there. From now on it ends with the process that started it.
pub fn announce(address: SocketAddr) -> Result<(), String> {
    set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|error| error.to_string())?;
    println!("{address}");
    std::io::stdout().flush().map_err(|error| error.to_string())
}

/// Files that a process here needs beside its connections.
const OTHER_FILES: u64 = 64;

/// Lets this process open so many connections, or says what stands in the way.
pub fn allow_connections(count: usize) -> Result<(), String> {
    let needed = count as u64 + OTHER_FILES;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let maximum = maximum.map_or(needed, |maximum| maximum.max(needed));
    setrlimit(Resource::Nofile, Rlimit { current: Some(maximum), maximum: Some(maximum) }).map_err(|error| {
        format!(
            "{count} connections need {needed} open files, the limit is {} and cannot be raised to {maximum} ({error}): \
             raise the hard limit (`ulimit -Hn`), or run as a user who may",
            current.unwrap_or(0)
        )
    })
}
