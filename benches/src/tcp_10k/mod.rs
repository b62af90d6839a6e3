//! tcp_10k: 10,000 connections, each of which sends 64 bytes once a second and gets them back. The value is the median
//! latency; beside it the tail, the server's CPU time per message, its resident memory, and by how much each connection
//! made it grow. Two forms: `tcp_10k` is the server of `tcp_echo`, where each connection holds a buffer of 1,024 bytes;
//! in `tcp_10k_ready` a connection waits until there is something to read and only then takes a buffer, on the stack.

mod ropewalk;
mod smol;
mod tokio;

use crate::load::{Load, Pulse};
use crate::meter::{Sample, Speed};
use crate::peers::{self, Peer};
use crate::problems::Problem;
use crate::service::{self, Cores, Service, allow_connections};
use crate::side::Rig;
use crate::tcp_echo::{self, BUFFER};
use std::io::{self, ErrorKind};
use std::time::Duration;

/// How many connections there are.
pub fn connections(speed: Speed) -> usize {
    speed.pick(10_000, 500)
}

/// Whether each connection holds its buffer all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    Held,
    OnDemand,
}

/// How often a server is loaded.
pub fn turns(speed: Speed) -> usize {
    speed.pick(4, 1)
}

/// A server that gets so many connections in each turn: a process may not have those of all servers open at once.
pub struct Crowd {
    service: Service,
    connections: usize,
    pub pulse: Pulse,
    /// Its resident bytes before there were any.
    empty: u64,
    /// The same with all of them, the first time: later ones begin while it still has some of those before.
    full: Option<u64>,
}

impl Crowd {
    pub fn open(problem: &'static Problem, peer: Peer, speed: Speed) -> Result<Self, String> {
        let service = Service::start(problem, peer, Cores::Shared)?;
        let empty = service.resident()?;
        let [warm, measured] = speed.pick([1_000, 1_500], [0, 1_000]).map(Duration::from_millis);
        let pulse = Pulse { period: Duration::from_secs(1), warm, measured };
        Ok(Self { service, connections: connections(speed), pulse, empty, full: None })
    }
}

impl Rig for Crowd {
    fn service(&self) -> &Service {
        &self.service
    }

    fn turn(&mut self) -> Result<Sample, String> {
        let mut load = Load::connect(&self.service, self.connections)?;
        let paced = load.paced(&self.service, self.pulse)?;
        let resident = match self.full {
            Some(full) => full,
            None => *self.full.insert(self.service.resident()?),
        };
        let mut sample = paced.sample;
        let grown = resident.saturating_sub(self.empty) as f64;
        sample.extra.extend([
            ("rss_mib".to_string(), resident as f64 / f64::from(1 << 20)),
            ("bytes_per_connection".to_string(), grown / self.connections as f64),
            ("skipped".to_string(), paced.skipped as f64),
        ]);
        Ok(sample)
    }
}

/// Serves until the process is ended.
pub fn serve(peer: Peer, workers: usize, buffers: Buffers) -> Result<(), String> {
    allow_connections(connections(Speed::Full))?;
    if buffers == Buffers::Held {
        return tcp_echo::serve(peer, workers);
    }
    match peer {
        Peer::Ropewalk => ropewalk::serve(&peers::ropewalk(workers), service::listen()?),
        Peer::RopewalkCt => ropewalk::serve(&peers::ropewalk(0), service::listen()?),
        Peer::RopewalkUring => {
            tcp_echo::ropewalk::serve_lent(&peers::ropewalk_uring(workers), service::listen()?)
        }
        Peer::TokioMt => tokio::serve(&peers::tokio_mt_io(workers), service::listen()?),
        Peer::TokioCt => tokio::serve(&peers::tokio_ct_io(), service::listen()?),
        Peer::Smol => smol::serve(peers::smol_io(workers), service::listen()?),
        Peer::Limit => tcp_echo::limit::serve(&service::listen()?),
        _ => return Err("no source for this peer".into()),
    }
    .map_err(|error| format!("the server ended: {error}"))
}

/// Reads what is there into a buffer on the stack and writes it back. What of it is left to be written, mostly nothing; `None`: the
/// other side has ended.
fn bounce(
    read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    write: impl FnOnce(&[u8]) -> io::Result<usize>,
) -> io::Result<Option<Box<[u8]>>> {
    let mut buffer = [0; BUFFER];
    let count = match read(&mut buffer) {
        Ok(0) => return Ok(None),
        Ok(count) => count,
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Some(Box::default())),
        Err(error) => return Err(error),
    };
    let written = match write(&buffer[..count]) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        written => written?,
    };
    Ok(Some(buffer[written..count].into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_taken_is_left() {
        let read = |into: &mut [u8]| {
            into[..5].copy_from_slice(b"hello");
            Ok(5)
        };
        let left = |write: fn(&[u8]) -> io::Result<usize>| bounce(read, write).unwrap().unwrap();
        assert_eq!(*left(|all| Ok(all.len())), *b"");
        assert_eq!(*left(|_| Ok(2)), *b"llo");
        assert_eq!(*left(|_| Err(ErrorKind::WouldBlock.into())), *b"hello");
        assert!(bounce(|_| Ok(0), |_| unreachable!()).unwrap().is_none());
    }
}
