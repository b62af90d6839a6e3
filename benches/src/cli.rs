//! The command line.

mod options;

use crate::c10k::Proof;
use crate::fair_short_hogs::matrix::Matrix;
use crate::meter::Speed;
use crate::nearest;
use crate::peers::Peer;
use crate::problems::{Problem, io};
pub use options::Run;
use options::{parse_peers, unknown_row};

pub const USAGE: &str = "\
usage: bench run [--quick] [--only ROW,..] [--against PEER,..] [--rounds N] [--json FILE] [--md FILE] [--html FILE]
       bench run --from FILE [--json FILE] [--md FILE] [--html FILE]
       bench one PROBLEM PEER [--quick]
       bench side PROBLEM PEER,.. [--quick]
       bench c10k [PEER] [--seconds N]
       bench short-hogs [--help] [...]
       bench list

run measures every problem on every peer, each in a process of its own, in interleaved rounds (5 unless told), and
prints medians, ratios and verdicts as Markdown; --md writes that to a file too, --json all values, --html one page with a plot
for each row. --only takes rows of the report, problems, their folders, or `all`. --against takes peers or families of them (tokio,
smol, threads) that are measured beside Ropewalk; --peers takes exactly who is measured. --quick is three short rounds of some
problems of each kind, to see what there is; its figures judge nothing. Ctrl-c ends a run; what was measured is still reported.
--from measures nothing: it makes the report of what --json wrote before.
one measures one pair in this process and prints one line of JSON. side does so for several peers of a row about sockets, whose
servers are loaded in turns. list (or run --list) names problems and peers.
c10k holds 10,000 connections that send once a second, for 60 seconds unless told, to the server of PEER (ropewalk unless
told), and fails if one is lost, if the server grows beyond 100 MB, or if the p99 of the latency is above 1 ms.
short-hogs measures any part of the table of which the rows fair_short_hogs_* are some, a line for each combination and peer.
serve PROBLEM PEER is the server that one, run and c10k start for themselves in the rows about sockets.

Exit codes: 0 everything that was planned was measured; 1 something failed or was stopped; 2 the arguments make no sense.";

/// What was asked for.
#[derive(Debug)]
pub enum Command {
    Run(Run),
    One(One),
    Side(Side),
    Serve(&'static Problem, Peer),
    C10k(Proof),
    ShortHogs(Matrix),
    List,
    Version,
    Help,
}

/// `bench one`.
#[derive(Debug)]
pub struct One {
    pub problem: &'static Problem,
    pub peer: Peer,
    pub speed: Speed,
}

/// `bench side`.
#[derive(Debug)]
pub struct Side {
    pub problem: &'static Problem,
    pub peers: Vec<Peer>,
    pub speed: Speed,
}

const COMMANDS: [&str; 8] = ["run", "one", "side", "serve", "c10k", "short-hogs", "list", "help"];

impl Command {
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = args.peekable();
        match args.next().as_deref() {
            Some("run") => Ok(Run::parse(args)?.map_or(Self::List, Self::Run)),
            Some("one") => parse_one(args).map(Self::One),
            Some("side") => parse_side(args).map(Self::Side),
            Some("serve") => parse_one(args).map(|One { problem, peer, .. }| Self::Serve(problem, peer)),
            Some("c10k") => parse_c10k(args).map(Self::C10k),
            Some("short-hogs") => Matrix::parse(args).map(Self::ShortHogs),
            Some("list") => Ok(Self::List),
            Some("--version" | "-V") => Ok(Self::Version),
            None | Some("help" | "--help" | "-h") => Ok(Self::Help),
            Some(other) => Err(nearest::unknown("command", other, COMMANDS)),
        }
    }
}

fn parse_one(mut args: impl Iterator<Item = String>) -> Result<One, String> {
    let problem = parse_problem(args.next())?;
    let peer = args.next().ok_or("a peer is needed after the problem")?.parse()?;
    Ok(One { problem, peer, speed: parse_speed(args.next())? })
}

fn parse_side(mut args: impl Iterator<Item = String>) -> Result<Side, String> {
    let problem = parse_problem(args.next())?;
    if !io::is_served(problem) {
        return Err(format!("{} is not about servers: measure it with `bench one`", problem.name));
    }
    let peers = parse_peers(&args.next().ok_or("peers are needed after the problem")?)?;
    Ok(Side { problem, peers, speed: parse_speed(args.next())? })
}

fn parse_problem(name: Option<String>) -> Result<&'static Problem, String> {
    let name = name.ok_or("a problem is needed")?;
    Problem::named(&name).ok_or_else(|| unknown_row(&name))
}

fn parse_speed(arg: Option<String>) -> Result<Speed, String> {
    match arg.as_deref() {
        None => Ok(Speed::Full),
        Some("--quick") => Ok(Speed::Quick),
        Some(other) => Err(format!("{other:?} is not accepted here; accepted: --quick")),
    }
}

fn parse_c10k(mut args: impl Iterator<Item = String>) -> Result<Proof, String> {
    let mut proof = Proof { peer: Peer::Ropewalk, seconds: 60 };
    while let Some(arg) = args.next() {
        if arg == "--seconds" {
            let text = args.next().ok_or("--seconds needs a value")?;
            let seconds = text.parse().ok().filter(|&n| n > 0);
            proof.seconds =
                seconds.ok_or_else(|| format!("--seconds takes a number from 1 up, not {text}"))?;
        } else {
            proof.peer = arg.parse()?;
        }
    }
    Ok(proof)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        Command::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn mistakes_are_named() {
        for line in [
            "walk",
            "one yield_same",
            "serve tcp_echo",
            "side yield_same smol",
            "side tcp_echo erlang",
            "c10k --seconds 0",
            "c10k nobody",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
