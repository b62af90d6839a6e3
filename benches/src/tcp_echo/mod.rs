//! tcp_echo: 64 connections send 64 bytes and wait until they have come back, as fast as they can; the server reads into a
//! buffer of 1,024 bytes and writes what it read, until the connection ends. One operation is one message, to and fro. The
//! load is a process of its own (`load.rs`) and shares both cores with the server; in `tcp_echo_1c` each has one to itself.

pub mod limit;
pub mod may;
#[cfg(feature = "monoio")]
pub mod monoio;
pub mod ropewalk;
pub mod smol;
pub mod tokio;

use crate::load::Load;
use crate::meter::{Sample, Speed};
use crate::peers::{self, Peer};
use crate::problems::Problem;
use crate::service::{self, Cores, Service};
use std::time::Duration;

/// Bytes that a server reads at once.
pub const BUFFER: usize = 1024;
const CONNECTIONS: usize = 64;

pub fn measure(problem: &'static Problem, peer: Peer, cores: Cores, speed: Speed) -> Result<Sample, String> {
    let service = Service::start(problem, peer, cores)?;
    let mut load = Load::connect(&service, CONNECTIONS)?;
    let (warm, measured) = speed.pick((500, 2_500), (50, 150));
    load.flat_out(&service, Duration::from_millis(warm), Duration::from_millis(measured))
}

/// Serves until the process is ended.
pub fn serve(peer: Peer, workers: usize) -> Result<(), String> {
    match peer {
        Peer::Ropewalk => ropewalk::serve(&peers::ropewalk(workers), service::listen()?),
        Peer::RopewalkCt => ropewalk::serve(&peers::ropewalk(0), service::listen()?),
        Peer::RopewalkUring => ropewalk::serve_lent(&peers::ropewalk_uring(workers), service::listen()?),
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
