//! The command line.

use crate::c10k::Proof;
use crate::meter::Speed;
use crate::peers::Peer;
use crate::problems::{self, Problem, io};
use std::path::PathBuf;

pub const USAGE: &str = "\
usage: bench run [--rounds N] [--quick] [--only PROBLEM,..] [--peers PEER,..] [--json FILE] [--md FILE]
       bench one PROBLEM PEER [--quick]
       bench side PROBLEM PEER,.. [--quick]
       bench c10k [PEER] [--seconds N]
       bench list

run measures every problem on every peer, each in a process of its own, in interleaved rounds (5 unless told), and
prints medians, ratios and verdicts as Markdown; --json and --md write them to files too. --only takes problems or
their folders. --quick is one short round, to see that everything runs; its figures judge nothing.
one measures one pair in this process and prints one line of JSON. side does so for several peers of a row about sockets, whose
servers are loaded in turns. list names problems and peers.
c10k holds 10,000 connections that send once a second, for 60 seconds unless told, to the server of PEER (ropewalk unless
told), and fails if one is lost, if the server grows beyond 100 MB, or if the p99 of the latency is above 1 ms.
serve PROBLEM PEER is the server that one, run and c10k start for themselves in the rows about sockets.";

/// What was asked for.
#[derive(Debug)]
pub enum Command {
    Run(Run),
    One(One),
    Side(Side),
    Serve(&'static Problem, Peer),
    C10k(Proof),
    List,
    Help,
}

/// `bench run`.
#[derive(Debug)]
pub struct Run {
    pub rounds: usize,
    pub speed: Speed,
    pub problems: Vec<&'static Problem>,
    pub peers: Vec<Peer>,
    pub json: Option<PathBuf>,
    pub markdown: Option<PathBuf>,
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

impl Command {
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = args.peekable();
        match args.next().as_deref() {
            Some("run") => parse_run(args).map(Self::Run),
            Some("one") => parse_one(args).map(Self::One),
            Some("side") => parse_side(args).map(Self::Side),
            Some("serve") => parse_one(args).map(|One { problem, peer, .. }| Self::Serve(problem, peer)),
            Some("c10k") => parse_c10k(args).map(Self::C10k),
            Some("list") => Ok(Self::List),
            None | Some("help" | "--help" | "-h") => Ok(Self::Help),
            Some(other) => Err(format!("unknown command {other}")),
        }
    }
}

fn parse_run(mut args: impl Iterator<Item = String>) -> Result<Run, String> {
    let (mut rounds, mut speed, mut json, mut markdown) = (None, Speed::Full, None, None);
    let mut problems: Vec<_> = problems::all().collect();
    let mut peers = Peer::ALL.to_vec();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--quick" => speed = Speed::Quick,
            "--rounds" => rounds = Some(parse_rounds(&value()?)?),
            "--only" => problems = parse_only(&value()?)?,
            "--peers" => peers = parse_peers(&value()?)?,
            "--json" => json = Some(value()?.into()),
            "--md" => markdown = Some(value()?.into()),
            other => return Err(format!("unknown option {other}")),
        }
    }
    let rounds = rounds.unwrap_or_else(|| speed.pick(5, 1));
    Ok(Run { rounds, speed, problems, peers, json, markdown })
}

fn parse_rounds(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|&n| n > 0)
        .ok_or_else(|| format!("--rounds takes a number from 1 up, not {text}"))
}

/// Problems, or folders: a folder stands for all of its problems.
fn parse_only(list: &str) -> Result<Vec<&'static Problem>, String> {
    let names: Vec<&str> = list.split(',').collect();
    if let Some(name) = names.iter().find(|name| !problems::all().any(|problem| goes_by(problem, name))) {
        return Err(format!("unknown problem {name}; `bench list` names them"));
    }
    let wanted = |problem: &&Problem| names.iter().any(|name| goes_by(problem, name));
    Ok(problems::all().filter(wanted).collect())
}

fn goes_by(problem: &Problem, name: &str) -> bool {
    problem.name == name || problem.dir == name
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
    Problem::named(&name).ok_or_else(|| format!("unknown problem {name}; `bench list` names them"))
}

fn parse_peers(list: &str) -> Result<Vec<Peer>, String> {
    list.split(',').map(str::parse).collect()
}

fn parse_speed(arg: Option<String>) -> Result<Speed, String> {
    match arg.as_deref() {
        None => Ok(Speed::Full),
        Some("--quick") => Ok(Speed::Quick),
        Some(other) => Err(format!("unknown option {other}")),
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
    fn a_folder_stands_for_its_problems() {
        let Ok(Command::Run(run)) = parse("run --only spawn_join_one,mem_task --peers smol,go") else {
            panic!()
        };
        let names: Vec<_> = run.problems.iter().map(|problem| problem.name).collect();
        assert_eq!(names, ["spawn_join_one", "spawn_join_one_2w", "spawn_poll_one", "mem_task"]);
        assert_eq!(run.peers, [Peer::Smol, Peer::Go]);
        assert_eq!((run.rounds, run.speed), (5, Speed::Full));
    }

    #[test]
    fn quick_is_one_round_unless_told() {
        let Ok(Command::Run(run)) = parse("run --quick") else { panic!() };
        assert_eq!((run.rounds, run.speed), (1, Speed::Quick));
        let Ok(Command::Run(run)) = parse("run --rounds 3 --quick") else { panic!() };
        assert_eq!(run.rounds, 3);
    }

    #[test]
    fn mistakes_are_named() {
        for line in [
            "walk",
            "run --rounds 0",
            "run --only nothing",
            "run --peers erlang",
            "run --json",
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
