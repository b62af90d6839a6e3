//! tcp_echo: 64 connections send 64 bytes and wait until they have come back, as fast as they can; the server reads into a
//! buffer of 1,024 bytes and writes what it read, until the connection ends. One operation is one message, to and fro. The
//! load is a process of its own (`load.rs`) and shares both cores with the server; in `tcp_echo_1c` each has one to itself.

pub mod limit;
pub mod may;
#[cfg(feature = "monoio")]
pub mod monoio;
pub mod ropewalk;
mod ropewalk_strand;
pub mod smol;
pub mod tokio;

use crate::load::Load;
use crate::meter::{Sample, Speed};
use crate::peers::{self, Peer};
use crate::problems::Problem;
use crate::service::{self, Cores, Service};
use crate::side::Rig;
use std::time::Duration;

/// Bytes that a server reads at once.
pub const BUFFER: usize = 1024;
const CONNECTIONS: usize = 64;

/// How often a server is loaded.
pub fn turns(speed: Speed) -> usize {
    speed.pick(20, 1)
}

/// A server. Its connections are new in each turn: where in memory the system puts them makes a difference of some per cent.
pub struct Echo {
    service: Service,
    speed: Speed,
}

impl Echo {
    pub fn open(problem: &'static Problem, peer: Peer, cores: Cores, speed: Speed) -> Result<Self, String> {
        Ok(Self { service: Service::start(problem, peer, cores)?, speed })
    }
}

impl Rig for Echo {
    fn service(&self) -> &Service {
        &self.service
    }

    fn turn(&mut self) -> Result<Sample, String> {
        let [warm, measured] = self.speed.pick([120, 130], [50, 150]).map(Duration::from_millis);
        Load::connect(&self.service, CONNECTIONS)?.flat_out(&self.service, warm, measured)
    }
}

/// Serves until the process is ended.
pub fn serve(peer: Peer, workers: usize) -> Result<(), String> {
    match peer {
        Peer::Ropewalk => ropewalk::serve(&peers::ropewalk(workers), service::listen()?),
        Peer::RopewalkCt => ropewalk::serve(&peers::ropewalk(0), service::listen()?),
        Peer::RopewalkUring => ropewalk::serve_lent(&peers::ropewalk_uring(workers), service::listen()?),
        Peer::RopewalkStrand => ropewalk_strand::serve(&peers::ropewalk(workers), service::listen()?),
        Peer::RopewalkStrandCt => ropewalk_strand::serve(&peers::ropewalk(0), service::listen()?),
        #[cfg(feature = "roaming")]
        Peer::RopewalkStrandRoam => {
            ropewalk_strand::serve(&peers::ropewalk_roaming(workers), service::listen()?)
        }
        Peer::TokioMt => tokio::serve(&peers::tokio_mt_io(workers), service::listen()?),
        Peer::TokioCt => tokio::serve(&peers::tokio_ct_io(), service::listen()?),
        Peer::Smol => smol::serve(peers::smol_io(workers), service::listen()?),
        Peer::May => may::serve(workers),
        #[cfg(feature = "monoio")]
        Peer::Monoio => monoio::serve(service::listen()?),
        Peer::Limit => limit::serve(&service::listen()?),
        _ => return Err("no source for this peer".into()),
    }
    .map_err(|error| format!("the server ended: {error}"))
}
