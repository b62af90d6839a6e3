//! Servers side by side. All of them run, each with its connections, and the load goes from one to the next in short turns: those
//! who wait take nothing of the machine, and a slow second of it falls on all alike. That makes ratios of what cannot be told
//! apart by one long measurement after the other, on a machine whose cores are shared with others.
//!
//! A pass in which others took the cores is made again; if that does not help, the quietest ones count.

use crate::meter::{Sample, Speed};
use crate::peers::Peer;
use crate::problems::{Problem, io};
use crate::quiet::{Quiet, Spell, Watch};
use crate::service::Service;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A server and what loads it.
pub trait Rig {
    fn service(&self) -> &Service;

    /// Loads it for a moment. Nothing is under way when it returns.
    fn turn(&mut self) -> Result<Sample, String>;
}

/// What came of it, as printed by `bench side`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub peers: Vec<Measured>,
    pub quiet: Quiet,
}

/// One of the peers: a sample for each pass, or why there is none.
#[derive(Debug, Serialize, Deserialize)]
pub struct Measured {
    pub peer: String,
    pub result: Result<Vec<Sample>, String>,
}

/// A server that takes part, or why it does not.
struct Place {
    peer: Peer,
    rig: Result<Box<dyn Rig>, String>,
}

/// How many passes are made for each one that is wanted, at most.
const TRIES: usize = 2;

/// The figures of one peer alone.
pub fn measure_one(problem: &'static Problem, peer: Peer, speed: Speed) -> Result<Sample, String> {
    let turns = measure(problem, &[peer], speed).peers.remove(0).result?;
    Sample::median_of(&turns).ok_or_else(|| "it had no turn".into())
}

/// The figures of all of them.
pub fn measure(problem: &'static Problem, peers: &[Peer], speed: Speed) -> Outcome {
    // Before the first one is opened: that may keep this process to one core.
    let refused: Vec<Option<String>> = peers.iter().map(|&peer| refusal(problem, peer)).collect();
    let open = |(&peer, refused): (&Peer, Option<String>)| Place {
        peer,
        rig: refused.map_or_else(|| io::rig(problem, peer, speed), Err),
    };
    let mut places: Vec<Place> = peers.iter().zip(refused).map(open).collect();
    let wanted = io::turns(problem, speed);
    let mut passes = Vec::new();
    let most = wanted * speed.pick(TRIES, 1);
    let (mut order, mut random) = ((0..places.len()).collect::<Vec<_>>(), 1);
    while passes.len() < most && passes.iter().filter(|pass: &&Pass| pass.spell.is_quiet()).count() < wanted {
        shuffle(&mut order, &mut random);
        passes.push(pass(&mut places, &order));
    }
    let mut quiet = Quiet::default();
    quiet.repeated = passes.len().saturating_sub(wanted);
    passes.sort_by(|a, b| a.spell.foreign.total_cmp(&b.spell.foreign));
    passes.truncate(wanted);
    passes.iter().for_each(|pass| quiet.add(pass.spell));
    let result = |(at, place): (usize, Place)| {
        let turns = passes.iter().filter_map(|pass| pass.turns[at].clone()).collect();
        Measured { peer: place.peer.name().into(), result: place.rig.map(|_| turns) }
    };
    Outcome { peers: places.into_iter().enumerate().map(result).collect(), quiet }
}

/// Why this peer cannot be measured.
fn refusal(problem: &Problem, peer: Peer) -> Option<String> {
    let fits = problem.peers.contains(&peer);
    if fits { io::missing(problem, peer) } else { Some("this problem does not fit this peer".into()) }
}

/// One turn of each.
struct Pass {
    /// In the order of the peers.
    turns: Vec<Option<Sample>>,
    spell: Spell,
}

/// Who fails takes no part any more.
fn pass(places: &mut [Place], order: &[usize]) -> Pass {
    let watch = Watch::start(cpu(places));
    let mut turns = vec![None; places.len()];
    for &at in order {
        let Ok(rig) = &mut places[at].rig else { continue };
        match rig.turn() {
            Ok(sample) => turns[at] = Some(sample),
            Err(reason) => places[at].rig = Err(reason),
        }
    }
    Pass { turns, spell: watch.end(cpu(places)) }
}

/// Another order, so that nobody always follows the same other, and nobody himself.
fn shuffle(order: &mut [usize], random: &mut u64) {
    let last = order.last().copied();
    for end in (1..order.len()).rev() {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        order.swap(end, (*random % (end as u64 + 1)) as usize);
    }
    if order.len() > 1 && order.first().copied() == last {
        order.rotate_left(1);
    }
}

/// CPU time of the servers.
fn cpu(places: &[Place]) -> Duration {
    places.iter().flat_map(|place| &place.rig).map(|rig| rig.service().cpu()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_all_and_begins_with_another_than_the_last_ended_with() {
        let (mut order, mut random) = ((0..5).collect::<Vec<usize>>(), 1);
        let mut firsts = Vec::new();
        for _ in 0..200 {
            let last = order[4];
            shuffle(&mut order, &mut random);
            assert_ne!(order[0], last);
            firsts.push(order[0]);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        assert!((0..5).all(|peer| firsts.contains(&peer)));
        shuffle(&mut [0], &mut random);
        shuffle(&mut [], &mut random);
    }
}
