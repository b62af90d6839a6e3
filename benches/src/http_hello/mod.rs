//! http_hello: a server that answers every request with a few words, under `wrk` with 64 connections and one thread, which
//! shares both cores with it. One operation is one request. All peers but Go serve by hyper; Go by its own library.

mod ropewalk;
mod smol;
mod tokio;
mod wrk;

use crate::meter::{Sample, Speed};
use crate::peers::{self, Peer};
use crate::problems::Problem;
use crate::service::{self, Cores, Service};
use crate::side::Rig;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use std::convert::Infallible;

pub use wrk::version as wrk_version;

const CONNECTIONS: usize = 64;

/// How often a server is loaded.
pub fn turns(speed: Speed) -> usize {
    speed.pick(8, 1)
}

/// A server. `wrk` makes connections of its own in each turn.
pub struct Hello(Service);

impl Hello {
    pub fn open(problem: &'static Problem, peer: Peer, speed: Speed) -> Result<Self, String> {
        let service = Service::start(problem, peer, Cores::Shared)?;
        if speed == Speed::Full {
            wrk::run(&service, CONNECTIONS, 1)?; // warm
        }
        Ok(Self(service))
    }
}

impl Rig for Hello {
    fn service(&self) -> &Service {
        &self.0
    }

    fn turn(&mut self) -> Result<Sample, String> {
        wrk::run(&self.0, CONNECTIONS, 1)
    }
}

/// Serves until the process is ended.
pub fn serve(peer: Peer, workers: usize) -> Result<(), String> {
    match peer {
        Peer::Ropewalk => ropewalk::serve(&peers::ropewalk(workers), service::listen()?),
        Peer::RopewalkCt => ropewalk::serve(&peers::ropewalk(0), service::listen()?),
        Peer::TokioMt => tokio::serve(&peers::tokio_mt_io(workers), service::listen()?),
        Peer::TokioCt => tokio::serve(&peers::tokio_ct_io(), service::listen()?),
        Peer::Smol => smol::serve(peers::smol_io(workers), service::listen()?),
        _ => return Err("no source for this peer".into()),
    }
    .map_err(|error| format!("the server ended: {error}"))
}

/// The answer.
async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(b"Hello from the other side\n"))))
}
