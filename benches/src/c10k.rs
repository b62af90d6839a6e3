//! `bench c10k`: ten thousand connections for a minute, as a proof: none is lost, none waits longer than it may, the server
//! stays small. The limits are fixed figures, with room for a machine that is not idle.

use crate::meter::{Sample, Speed};
use crate::peers::Peer;
use crate::problems::{Problem, io};
use crate::side::Rig;
use crate::tcp_10k::{Crowd, connections};
use std::time::Duration;

const MAX_RESIDENT_MIB: f64 = 100.0 * 1e6 / (1 << 20) as f64;
const MAX_P99_US: f64 = 1_000.0;

/// What is to be shown, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    pub peer: Peer,
    pub seconds: u64,
}

impl Proof {
    pub fn run(self) -> Result<(), String> {
        let problem = Problem::named("tcp_10k").expect("it is listed");
        if let Some(reason) = io::missing(problem, self.peer) {
            return Err(reason);
        }
        eprintln!("{} connections to {}, {} s", connections(Speed::Full), self.peer, self.seconds);
        let mut crowd = Crowd::open(problem, self.peer, Speed::Full)?;
        crowd.pulse.measured = Duration::from_secs(self.seconds);
        let sample = crowd.turn()?;
        println!("{}", serde_json::to_string(&sample).expect("a sample is plain data"));
        judge(&sample)
    }
}

/// A lost connection is an error before it comes to this.
fn judge(sample: &Sample) -> Result<(), String> {
    let [p99, resident, skipped] = ["p99", "rss_mib", "skipped"].map(|name| sample.extra[name]);
    if skipped > 0.0 {
        return Err(format!("{skipped} messages were due before the last answer had come"));
    }
    if resident > MAX_RESIDENT_MIB {
        return Err(format!("the server takes {resident:.1} MiB, more than {MAX_RESIDENT_MIB:.1}"));
    }
    if p99 > MAX_P99_US {
        return Err(format!("p99 is {p99:.0} us, more than {MAX_P99_US}"));
    }
    eprintln!(
        "{} answers, none lost: p50 {:.0} us, p99 {p99:.0} us, {resident:.1} MiB",
        sample.ops, sample.value
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn sample(p99: f64, rss_mib: f64, skipped: f64) -> Sample {
        let extra = [("p99", p99), ("rss_mib", rss_mib), ("skipped", skipped)];
        Sample {
            value: 50.0,
            unit: "us".into(),
            cpu_ns_per_op: None,
            ops: 1,
            seconds: 1.0,
            extra: BTreeMap::from(extra.map(|(name, value)| (name.to_string(), value))),
        }
    }

    #[test]
    fn each_limit_is_kept() {
        assert!(judge(&sample(900.0, 90.0, 0.0)).is_ok());
        for bad in [sample(1_001.0, 90.0, 0.0), sample(900.0, 96.0, 0.0), sample(900.0, 90.0, 1.0)] {
            assert!(judge(&bad).is_err());
        }
    }
}
