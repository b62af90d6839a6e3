//! What is measured at once.

use crate::meter::Speed;
use crate::peers::Peer;
use crate::problems::Problem;

pub enum Unit {
    /// A peer in a process of its own.
    Alone(&'static Problem, Peer),
    /// Servers, side by side.
    Side(&'static Problem, Vec<Peer>),
}

impl Unit {
    pub fn label(&self) -> String {
        match self {
            Self::Alone(problem, peer) => format!("{} {peer}", problem.name),
            Self::Side(problem, peers) => format!("{} {} servers in turns", problem.name, peers.len()),
        }
    }

    /// How long it takes compared with the most, of two thirds (quick: a tenth) of a second: as seen, for the time that is left in a
    /// first round.
    pub fn weight(&self, speed: Speed) -> f64 {
        match self {
            Self::Side(problem, peers) if problem.name.starts_with("tcp_10k") => {
                speed.pick(37.0, 10.0) * peers.len() as f64
            }
            Self::Side(_, peers) => speed.pick(15.0, 2.0) * peers.len() as f64,
            Self::Alone(problem, _) => match problem.dir {
                "idle_cpu" => 20.0,
                "timer_lateness" | "hogs" | "fair_burner" | "fair_recv_loop" => 6.0,
                "fair_short_hogs" => 2.0,
                _ => 1.0,
            },
        }
    }
}
