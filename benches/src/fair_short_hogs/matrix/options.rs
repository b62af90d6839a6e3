//! What `bench short-hogs` is asked for.

use super::super::{Due, Poll, Shape, Span, Way};
use crate::meter::Speed;
use crate::nearest;
use crate::peers::Peer;
use crate::problems::Problem;
use std::str::FromStr;
use std::time::Duration;

pub const USAGE: &str = "\
usage: bench short-hogs [--due LIST] [--polls LIST] [--ways LIST] [--workers LIST] [--tickers LIST] [--hogs LIST]
                        [--peers LIST] [--rounds N] [--millis N] [--quick]
       bench short-hogs --rows [ROW,..] [--peers LIST] [--rounds N] [--millis N] [--quick]
       bench short-hogs --one SHAPE PEER [--millis N]

measures all combinations: things that are due beside hogs that compute for a moment and give way. --due: timers, echo, inject, child,
signals, strands. --polls: milliseconds, or turn (1 us, then 1.9 ms). --ways to give way: yield, selfwake, handover, successor, budget,
strand. Lists have commas; `all` is all of them. Unless told: timers, 1 ms, yield, workers 0,1,2, 1 ticker, 2 hogs, ropewalk and tokio,
1 round. --rows takes the rows of the report instead, those whose names contain what is given. --millis is how long each is measured.
A line for each combination and peer, in milliseconds; ropewalk's says whether the bar is met. Exit code: 1 if something is missed.";

/// The arguments, understood.
#[derive(Debug)]
pub struct Matrix {
    pub what: What,
    pub peers: Vec<Peer>,
    pub rounds: usize,
    pub speed: Speed,
    pub millis: Option<u64>,
}

#[derive(Debug)]
pub enum What {
    Help,
    Shapes(Vec<Shape>),
    /// In this process: a line of JSON.
    One(Shape, Peer),
}

const ACCEPTED: [&str; 14] = [
    "--due",
    "--polls",
    "--ways",
    "--workers",
    "--tickers",
    "--hogs",
    "--peers",
    "--rounds",
    "--millis",
    "--quick",
    "--rows",
    "--one",
    "--help",
    "-h",
];

impl Matrix {
    pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut this = Self {
            what: What::Help,
            peers: vec![Peer::Ropewalk, Peer::RopewalkCt, Peer::TokioMt, Peer::TokioCt],
            rounds: 1,
            speed: Speed::Full,
            millis: None,
        };
        let (mut due, mut polls, mut ways) = (vec![Due::Timers], vec![Poll::Micros(1_000)], vec![Way::Yield]);
        let (mut workers, mut tickers, mut hogs) = (vec![0, 1, 2], vec![1], vec![2]);
        let (mut rows, mut one, mut args) = (None, None, args.by_ref().peekable());
        while let Some(arg) = args.next() {
            let (option, value) = match arg.split_once('=') {
                Some((option, value)) => (option, Some(value.to_string())),
                None => (arg.as_str(), None),
            };
            let mut value =
                || value.clone().or_else(|| args.next()).ok_or_else(|| format!("{option} needs a value"));
            match option {
                "--due" => due = list(&value()?, &Due::ALL)?,
                "--polls" => {
                    polls = list(&value()?, &[100, 500, 1_000, 1_900, 5_000, 50_000].map(Poll::Micros))?
                }
                "--ways" => ways = list(&value()?, &Way::ALL)?,
                "--workers" => workers = numbers(option, &value()?, &[0, 1, 2])?,
                "--tickers" => tickers = numbers(option, &value()?, &[1, 20])?,
                "--hogs" => hogs = numbers(option, &value()?, &[1, 2, 3])?,
                "--peers" => this.peers = peers(&value()?)?,
                "--rounds" => this.rounds = numbers(option, &value()?, &[])?[0].max(1),
                "--millis" => this.millis = Some(numbers(option, &value()?, &[])?[0].max(10) as u64),
                "--quick" => this.speed = Speed::Quick,
                "--rows" => rows = Some(args.next_if(|next| !next.starts_with('-')).unwrap_or_default()),
                "--one" => one = Some((value()?.parse()?, args.next().ok_or("a peer is needed")?.parse()?)),
                "--help" | "-h" => return Ok(this),
                _ => return Err(nearest::unknown("option", &arg, ACCEPTED)),
            }
        }
        this.what = match (one, rows) {
            (Some((shape, peer)), _) => What::One(shape, peer),
            (None, Some(rows)) => What::Shapes(shapes_of(&rows)?),
            (None, None) => {
                let mut shapes = Vec::new();
                for &due in &due {
                    for &workers in &workers {
                        for &tickers in &tickers {
                            for &way in &ways {
                                for &hogs in &hogs {
                                    let shape = |&poll| Shape { due, workers, hogs, poll, way, tickers };
                                    shapes.extend(polls.iter().map(shape));
                                }
                            }
                        }
                    }
                }
                What::Shapes(shapes)
            }
        };
        Ok(this)
    }

    /// How long a shape is measured.
    pub fn span(&self, shape: Shape) -> Span {
        let millis = self.millis.map(|millis| Span::lasting(shape, Duration::from_millis(millis)));
        millis.unwrap_or_else(|| Span::of(shape, self.speed))
    }
}

fn list<T: FromStr<Err = String> + Copy>(text: &str, all: &[T]) -> Result<Vec<T>, String> {
    if text == "all" { Ok(all.to_vec()) } else { text.split(',').map(|name| name.trim().parse()).collect() }
}

fn numbers(option: &str, text: &str, all: &[usize]) -> Result<Vec<usize>, String> {
    if text == "all" && !all.is_empty() {
        return Ok(all.to_vec());
    }
    let number = |text: &str| text.trim().parse().ok().filter(|number| *number <= 100_000);
    let numbers: Option<Vec<usize>> = text.split(',').map(number).collect();
    numbers.ok_or_else(|| format!("{option}: {text:?} is not accepted; accepted: numbers up to 100000"))
}

/// The peers of these names; `ropewalk` is both of its forms.
fn peers(text: &str) -> Result<Vec<Peer>, String> {
    if text == "all" {
        return Ok(Peer::ALL.to_vec());
    }
    let mut meant = Vec::new();
    for name in text.split(',').map(str::trim) {
        let ours = |peer: Peer| name == "ropewalk" && peer == Peer::RopewalkCt;
        let found = Peer::ALL.into_iter().filter(|&peer| peer.goes_by(name) || ours(peer));
        let before = meant.len();
        meant.extend(found);
        if meant.len() == before {
            return Err(nearest::unknown("peer", name, Peer::ALL.map(Peer::name)));
        }
    }
    Ok(meant)
}

fn shapes_of(rows: &str) -> Result<Vec<Shape>, String> {
    let named = |problem: &&Problem| rows.split(',').any(|row| problem.name.contains(row));
    let found = crate::problems::short_hogs().filter(|(problem, _)| named(problem)).map(|(_, shape)| shape);
    let shapes: Vec<Shape> = found.collect();
    if shapes.is_empty() {
        Err(format!("no row of fair_short_hogs has {rows:?} in its name"))
    } else {
        Ok(shapes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Matrix, String> {
        Matrix::parse(line.split_whitespace().map(String::from))
    }

    fn shapes(line: &str) -> Vec<Shape> {
        match parse(line).unwrap().what {
            What::Shapes(shapes) => shapes,
            what => panic!("{line}: {what:?}"),
        }
    }

    #[test]
    fn all_combinations_are_measured() {
        assert_eq!(shapes(""), [0, 1, 2].map(Shape::base));
        assert_eq!(
            shapes("--due all --polls=0.1,turn --ways yield,budget --workers 2 --tickers 1,20").len(),
            48
        );
        assert_eq!(shapes("--rows").len(), crate::problems::short_hogs().count());
        assert!(shapes("--rows _echo_,_child_ --quick").iter().all(|shape| shape.due != Due::Timers));
    }

    #[test]
    fn ropewalk_and_tokio_are_both_of_their_forms() {
        let peers = parse("--peers ropewalk,tokio,go").unwrap().peers;
        assert_eq!(peers, [Peer::Ropewalk, Peer::RopewalkCt, Peer::TokioMt, Peer::TokioCt, Peer::Go]);
    }

    #[test]
    fn mistakes_are_refused() {
        for line in [
            "--due nothing",
            "--polls 0",
            "--polls long",
            "--ways",
            "--workers two",
            "--rounds all",
            "--peers nobody",
            "--rows nothing",
            "--one timers smol",
            "--one timers/2w/2x1ms/yield/1t",
            "timers",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
