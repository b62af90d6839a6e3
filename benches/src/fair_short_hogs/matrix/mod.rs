//! `bench short-hogs`: any part of the table, quickly, a line for each shape and peer.

mod judge;
mod options;

use super::{Shape, in_go, measure};
use crate::meter::Sample;
use crate::peers::Peer;
use crate::programs;
use crate::quiet::{Quiet, Watch};
use judge::{extra, missed, p50, p99};
use options::What;
pub use options::{Matrix, USAGE};
use std::io::Write;
use std::process::{Command, ExitCode};
use std::time::Duration;

impl Matrix {
    pub fn run(&self) -> ExitCode {
        match &self.what {
            What::Help => {
                say(USAGE);
                ExitCode::SUCCESS
            }
            What::One(shape, peer) => self.measure_here(*shape, *peer),
            What::Shapes(shapes) => self.measure_all(shapes),
        }
    }

    /// Leaves at once, as `bench one` does.
    fn measure_here(&self, shape: Shape, peer: Peer) -> ExitCode {
        crate::end_with_parent();
        let span = self.span(shape);
        let sample = match peer {
            Peer::Go if shape.peers().contains(&peer) => in_go(shape, span),
            _ => measure(peer, shape, span).ok_or_else(|| "this shape does not fit this peer".into()),
        };
        match sample {
            Ok(sample) => {
                println!("{}", serde_json::to_string(&sample).expect("a sample is plain data"));
                std::process::exit(0)
            }
            Err(reason) => {
                eprintln!("bench: {shape} on {peer}: {reason}");
                ExitCode::FAILURE
            }
        }
    }

    fn measure_all(&self, shapes: &[Shape]) -> ExitCode {
        say(&format!("{}; round by round, medians of {}, ms", judge::BAR, self.rounds));
        say(&format!(
            "{:<34} {:<12} {:>9} {:>9} {:>9} {:>9} {:>6} {:>5} {:>6}  verdict",
            "shape", "peer", "p50", "p99", "max", "first", "ops", "hogs", "others"
        ));
        let (mut all, mut good, mut quiet) = (0, 0, Quiet::default());
        for &shape in shapes {
            for (peer, sample, verdict) in self.measure_shape(shape, &mut quiet) {
                all += usize::from(!verdict.is_empty());
                good += usize::from(verdict == "ok");
                match sample {
                    Ok(sample) => say(&format!("{}  {verdict}", line(shape, peer, &sample))),
                    Err(reason) => say(&format!("{:<34} {:<12} {reason}", shape.to_string(), peer.name())),
                }
            }
        }
        let others = quiet.foreign_share() * 100.0;
        let but = if quiet.is_quiet() { "" } else { ": the tails are theirs, too" };
        say(&format!("{good} of {all} ok; others took {others:.0} % of the machine{but}"));
        if good == all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Each of its peers, and of ours what there is to say.
    fn measure_shape(&self, shape: Shape, quiet: &mut Quiet) -> Vec<(Peer, Result<Sample, String>, String)> {
        let peers: Vec<Peer> =
            shape.peers().iter().copied().filter(|peer| self.peers.contains(peer)).collect();
        let mut rounds = vec![Vec::new(); peers.len()];
        for round in 0..self.rounds {
            for at in 0..peers.len() {
                // Every second one backwards.
                let at = if round % 2 == 0 { at } else { peers.len() - 1 - at };
                rounds[at].push(self.measure_apart(shape, peers[at], quiet));
            }
        }
        let middle = |samples: Vec<Result<Sample, String>>| {
            let samples = samples.into_iter().collect::<Result<Vec<_>, _>>()?;
            Sample::median_of(&samples).ok_or_else(|| "no round".to_string())
        };
        let samples: Vec<_> = peers.iter().copied().zip(rounds.into_iter().map(middle)).collect();
        let tokio: Vec<Sample> = samples
            .iter()
            .filter(|(peer, _)| peer.is_tokio())
            .filter_map(|(_, some)| some.clone().ok())
            .collect();
        let tokio: Vec<&Sample> = tokio.iter().collect();
        let verdict = |peer: Peer, sample: &Result<Sample, String>| match sample {
            _ if !peer.is_ours() => String::new(),
            Err(_) => "failed".into(),
            Ok(sample) => match missed(shape, sample, &tokio) {
                missed if missed.is_empty() => "ok".into(),
                missed => format!("MISSED {}", missed.join("; ")),
            },
        };
        samples.into_iter().map(|(peer, sample)| (peer, sample.clone(), verdict(peer, &sample))).collect()
    }

    /// In a process of its own. What others take of the machine meanwhile is among its figures.
    fn measure_apart(&self, shape: Shape, peer: Peer, quiet: &mut Quiet) -> Result<Sample, String> {
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let millis = self.span(shape).counted.as_millis().to_string();
        let (shape, peer) = (shape.to_string(), peer.name());
        let watch = Watch::start(Duration::ZERO);
        let args = ["short-hogs", "--one", &shape, peer, "--millis", &millis];
        let mut sample = programs::ask(Command::new(this), &args)?;
        let spell = watch.end(Duration::ZERO);
        quiet.add(spell);
        sample.extra.insert("others".into(), spell.foreign);
        Ok(sample)
    }
}

/// Unlike `println!` it does not panic when the reader is gone.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn line(shape: Shape, peer: Peer, sample: &Sample) -> String {
    let ms = |micros: f64| format!("{:>9.3}", micros / 1e3);
    let [max, first] = ["max", "first"].map(|name| ms(extra(sample, name)));
    let (p50, p99) = (ms(p50(sample)), ms(p99(sample)));
    let (hogs, others) = (extra(sample, "hogs"), extra(sample, "others") * 100.0);
    format!(
        "{:<34} {:<12} {p50} {p99} {max} {first} {:>6} {hogs:>5.2} {others:>4.0} %",
        shape.to_string(),
        peer.name(),
        sample.ops
    )
}
