//! The problems about sockets. Their peers are servers in processes of their own: a `rig` is such a process and the load
//! that is made for it here, `serve` is what the process does.

use super::Problem;
use crate::http_hello::{self, Hello};
use crate::meter::{Meter, Sample, Speed};
use crate::peers::Peer::{
    self, Go, Limit, May, Monoio, Ropewalk, RopewalkCt, RopewalkStrand, RopewalkStrandCt, RopewalkStrandRoam,
    RopewalkUring, Smol, TokioCt, TokioMt,
};
use crate::service::Cores;
use crate::side::Rig;
use crate::tcp_10k::{self, Buffers, Crowd};
use crate::tcp_echo::{self, Echo};

const ECHO_PEERS: &[Peer] = &[
    Ropewalk,
    RopewalkCt,
    RopewalkUring,
    RopewalkStrand,
    RopewalkStrandCt,
    RopewalkStrandRoam,
    TokioMt,
    TokioCt,
    Smol,
    May,
    Monoio,
    Go,
    Limit,
];
/// may and Go cannot wait for readiness and read later, as far as their sockets show.
const READY_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, RopewalkUring, TokioMt, TokioCt, Smol, Limit];
/// Who can run hyper, and Go.
const HTTP_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, Go];

/// There is nothing to measure inside of this process: see [`rig`].
const SERVED: fn(Peer, Meter) -> Option<Sample> = |_, _| None;

pub const PROBLEMS: &[Problem] = &[
    Problem {
        name: "tcp_echo",
        dir: "tcp_echo",
        about: "64 B to and fro over 64 connections, both cores shared with the load, 2 workers",
        workers: 2,
        peers: ECHO_PEERS,
        run: SERVED,
    },
    Problem {
        name: "tcp_echo_1c",
        dir: "tcp_echo",
        about: "64 B to and fro over 64 connections, the server on one core and the load on the other, 1 worker",
        workers: 1,
        peers: ECHO_PEERS,
        run: SERVED,
    },
    Problem {
        name: "tcp_10k",
        dir: "tcp_echo",
        about: "10,000 connections that send once a second, a buffer for each, 2 workers",
        workers: 2,
        peers: ECHO_PEERS,
        run: SERVED,
    },
    Problem {
        name: "tcp_10k_ready",
        dir: "tcp_10k",
        about: "10,000 connections that send once a second, no buffer while there is nothing to read, 2 workers",
        workers: 2,
        peers: READY_PEERS,
        run: SERVED,
    },
    Problem {
        name: "http_hello",
        dir: "http_hello",
        about: "hyper under wrk, 64 connections, 2 workers",
        workers: 2,
        peers: HTTP_PEERS,
        run: SERVED,
    },
];

/// Whether this problem's peers are servers.
pub fn is_served(problem: &Problem) -> bool {
    PROBLEMS.iter().any(|served| served.name == problem.name)
}

/// Why this cannot be measured in this build or on this machine.
pub fn missing(problem: &Problem, peer: Peer) -> Option<String> {
    if peer == Monoio && cfg!(not(feature = "monoio")) {
        return Some("monoio: not in this build (`--features monoio`)".into());
    }
    if peer == RopewalkStrandRoam && cfg!(not(feature = "roaming")) {
        return Some("ropewalk-strand-roam: not in this build (`--features roaming`)".into());
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if problem.name == "tcp_echo_1c" && cores < 2 {
        return Some("tcp_echo_1c: there is one core only".into());
    }
    let wrk = (problem.name == "http_hello").then(http_hello::wrk_version);
    wrk?.err().map(|reason| format!("http_hello: {reason}"))
}

/// Starts a server, with its load.
pub fn rig(problem: &'static Problem, peer: Peer, speed: Speed) -> Result<Box<dyn Rig>, String> {
    Ok(match problem.name {
        "tcp_echo" => Box::new(Echo::open(problem, peer, Cores::Shared, speed)?),
        "tcp_echo_1c" => Box::new(Echo::open(problem, peer, Cores::Apart, speed)?),
        "http_hello" => Box::new(Hello::open(problem, peer, speed)?),
        _ => Box::new(Crowd::open(problem, peer, speed)?),
    })
}

/// How often each server is loaded.
pub fn turns(problem: &Problem, speed: Speed) -> usize {
    match problem.dir {
        _ if problem.name.starts_with("tcp_10k") => tcp_10k::turns(speed),
        "tcp_echo" => tcp_echo::turns(speed),
        _ => http_hello::turns(speed),
    }
}

/// What `bench serve` does.
pub fn serve(problem: &Problem, peer: Peer) -> Result<(), String> {
    match problem.name {
        "tcp_echo" | "tcp_echo_1c" => tcp_echo::serve(peer, problem.workers),
        "tcp_10k" => tcp_10k::serve(peer, problem.workers, Buffers::Held),
        "tcp_10k_ready" => tcp_10k::serve(peer, problem.workers, Buffers::OnDemand),
        "http_hello" => http_hello::serve(peer, problem.workers),
        other => Err(format!("{other} has no server")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_server() {
        for problem in PROBLEMS {
            // Rayon serves nothing, so this only asks whether the name is known.
            let refused = serve(problem, Peer::Rayon).unwrap_err();
            assert_eq!(refused, "no source for this peer", "{}", problem.name);
            assert!(is_served(problem));
        }
        assert!(!is_served(Problem::named("yield_same").unwrap()));
    }
}
