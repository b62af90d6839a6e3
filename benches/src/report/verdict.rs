//! What the figures mean for us: how far from the best peer and from tokio, whether the target's ratio is reached, and
//! whether the rule holds that no row is slower than the better of tokio and smol.

use super::figures::{Figure, Figures, Ratio};
use crate::peers::Peer;
use crate::targets::Row;
use serde::{Deserialize, Serialize};

/// Us against one other: its figure and ours divided by it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Against {
    pub peer: Peer,
    pub figure: f64,
    pub ratio: Option<Ratio>,
}

/// Whether something is as good as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    Yes,
    /// It seems not to be, but that may be chance.
    Close,
    No,
}

impl Finding {
    fn of(row: &Row, ratio: Ratio, bound: f64) -> Self {
        let reaches = |ratio| row.better.reaches(ratio, bound);
        match (reaches(ratio.median), reaches(ratio.low) || reaches(ratio.high)) {
            (true, _) => Self::Yes,
            (false, true) => Self::Close,
            (false, false) => Self::No,
        }
    }
}

/// The target as a ratio to a peer of the same run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    pub against: Option<Against>,
    /// What `ours / theirs` (or, of a row judged as it is, ours) must reach.
    pub target: f64,
    pub stretch: Option<f64>,
    pub met: Option<Finding>,
    pub stretch_met: Option<Finding>,
}

/// One row's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub ours: Option<f64>,
    pub best: Option<Against>,
    pub tokio: Option<Against>,
    pub goal: Option<Goal>,
    /// At least as good as the better of tokio and smol.
    pub floor_held: Option<Finding>,
}

pub fn judge(row: &Row, figures: &Figures) -> Verdict {
    let ours = figures.get(row.name, row.ours);
    let floor = best_of(row, ours, figures, Peer::is_floor);
    Verdict {
        ours: ours.map(|figure| figure.median),
        best: best_of(row, ours, figures, Peer::is_rival),
        tokio: best_of(row, ours, figures, Peer::is_tokio),
        goal: goal(row, ours, figures),
        floor_held: floor.and_then(|floor| Some(not_behind(row, ours?.median, floor))),
    }
}

/// Nothing is not behind nothing.
fn not_behind(row: &Row, ours: f64, floor: Against) -> Finding {
    match floor.ratio {
        Some(ratio) if ratio.median.is_finite() => Finding::of(row, ratio, 1.0),
        _ if row.better.reaches(ours, floor.figure) => Finding::Yes,
        _ => Finding::No,
    }
}

/// The best of the peers that `counts`.
fn best_of(row: &Row, ours: Option<&Figure>, figures: &Figures, counts: fn(Peer) -> bool) -> Option<Against> {
    let rivals = figures.peers(row.name).filter(|&(peer, _)| counts(peer));
    let best = rivals.reduce(|a, b| if row.better.reaches(a.1.median, b.1.median) { a } else { b });
    best.map(|(peer, figure)| Against::new(peer, figure, ours))
}

/// The target of a row: as it is, or against the best named peer that was measured.
fn goal(row: &Row, ours: Option<&Figure>, figures: &Figures) -> Option<Goal> {
    let target = row.target?;
    if row.absolute {
        let ours = ours.map(|ours| ours.over(&Figure::one_of(ours.samples.len())));
        return Some(Goal::new(row, None, ours, target, row.stretch));
    }
    let their_row = row.named_in.unwrap_or(row.name);
    let (against, set) = row.named.iter().find_map(|&(peer, set)| {
        let figure = figures.get(their_row, peer)?;
        Some((Against::new(peer, figure, ours), set))
    })?;
    Some(Goal::new(row, Some(against), against.ratio, target / set, row.stretch.map(|stretch| stretch / set)))
}

impl Against {
    fn new(peer: Peer, figure: &Figure, ours: Option<&Figure>) -> Self {
        Self { peer, figure: figure.median, ratio: ours.map(|ours| ours.over(figure)) }
    }
}

impl Goal {
    fn new(
        row: &Row,
        against: Option<Against>,
        reached: Option<Ratio>,
        target: f64,
        stretch: Option<f64>,
    ) -> Self {
        let met = |bound: f64| reached.map(|reached| Finding::of(row, reached, bound));
        Self { against, target, stretch, met: met(target), stretch_met: stretch.and_then(met) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(figures: Figures, row: &str) -> Verdict {
        judge(crate::targets::rows().find(|other| other.name == row).unwrap(), &figures)
    }

    #[test]
    fn a_target_is_a_ratio_to_the_named_peer_of_the_same_run() {
        // Set at 35 beside may's 68: on a machine half as fast, 70 beside 136 is the same.
        let figures = |ours| {
            Figures::default()
                .with("yield_same", Peer::Ropewalk, ours)
                .with("yield_same", Peer::May, 136.0)
                .with("yield_same", Peer::TokioCt, 400.0)
        };
        let verdict = of(figures(69.0), "yield_same");
        assert_eq!(verdict.goal.unwrap().met, Some(Finding::Yes));
        assert_eq!(verdict.best.unwrap().peer, Peer::May);
        assert_eq!(verdict.tokio.unwrap().ratio.unwrap().median, 69.0 / 400.0);
        assert_eq!(verdict.floor_held, Some(Finding::Yes));
        assert_eq!(of(figures(71.0), "yield_same").goal.unwrap().met, Some(Finding::No));
        assert_eq!(of(figures(401.0), "yield_same").floor_held, Some(Finding::No));
    }

    #[test]
    fn what_may_be_chance_is_close() {
        let row = crate::targets::rows().find(|row| row.name == "yield_same").unwrap();
        let finding = |median, low, high| Finding::of(row, Ratio { median, low, high }, 1.0);
        assert_eq!(finding(0.99, 0.9, 1.2), Finding::Yes);
        assert_eq!(finding(1.01, 0.99, 1.03), Finding::Close);
        assert_eq!(finding(1.03, 1.01, 1.05), Finding::No);
    }

    #[test]
    fn nothing_is_not_behind_nothing() {
        let figures =
            Figures::default().with("idle_cpu", Peer::Ropewalk, 0.0).with("idle_cpu", Peer::TokioMt, 0.0);
        assert_eq!(of(figures, "idle_cpu").floor_held, Some(Finding::Yes));
    }

    #[test]
    fn the_next_best_named_peer_counts_when_the_best_is_missing() {
        let figures = Figures::default()
            .with("chained_spawn", Peer::Ropewalk, 60.0)
            .with("chained_spawn", Peer::TokioCt, 100.0)
            .with("chained_spawn", Peer::Rayon, 207.0);
        let goal = of(figures, "chained_spawn").goal.unwrap();
        assert_eq!(goal.against.unwrap().peer, Peer::Rayon);
        assert_eq!(goal.met, Some(Finding::Yes));
    }

    #[test]
    fn more_is_better_for_rates_and_speed_up_is_judged_as_it_is() {
        let figures = Figures::default()
            .with("spawn_many_outside", Peer::Ropewalk, 4.9)
            .with("spawn_many_outside", Peer::Rayon, 1.4)
            .with("spawn_many_speed_up", Peer::Ropewalk, 1.92);
        assert_eq!(of(figures, "spawn_many_outside").goal.unwrap().met, Some(Finding::No));
        let figures = Figures::default().with("spawn_many_speed_up", Peer::Ropewalk, 1.92);
        assert_eq!(of(figures, "spawn_many_speed_up").goal.unwrap().met, Some(Finding::Yes));
    }

    #[test]
    fn strands_are_judged_by_our_own_tasks() {
        let figures = |strands| {
            Figures::default()
                .with("strand_echo", Peer::Ropewalk, 100.0)
                .with("strand_echo", Peer::RopewalkStrand, strands)
                .with("strand_echo", Peer::TokioMt, 96.0)
        };
        let verdict = of(figures(95.5), "strand_echo");
        assert_eq!(verdict.goal.unwrap().against.unwrap().peer, Peer::Ropewalk);
        assert_eq!(verdict.goal.unwrap().met, Some(Finding::Yes));
        assert_eq!((verdict.ours, verdict.floor_held), (Some(95.5), Some(Finding::No)));
        assert_eq!(of(figures(94.5), "strand_echo").goal.unwrap().met, Some(Finding::No));
    }

    #[test]
    fn without_us_nothing_is_judged() {
        let verdict = of(Figures::default().with("yield_same", Peer::May, 70.0), "yield_same");
        assert_eq!((verdict.goal.unwrap().met, verdict.floor_held), (None, None));
    }
}
