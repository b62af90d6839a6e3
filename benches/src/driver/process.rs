//! One measurement in its own process, with a limit on how long it may take.

use crate::meter::{Sample, Speed, Usage};
use crate::peers::Peer;
use crate::problems::Problem;
use crate::side::Outcome;
use serde::de::DeserializeOwned;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Far more than any measurement needs: whoever takes longer hangs.
fn limit(speed: Speed) -> Duration {
    Duration::from_secs(speed.pick(90, 20))
}

/// Runs `bench one`.
pub fn measure(problem: &Problem, peer: Peer, speed: Speed) -> Result<Sample, String> {
    ask(&["one", problem.name, peer.name()], speed, limit(speed))
}

/// Runs `bench side`.
pub fn measure_side(problem: &Problem, peers: &[Peer], speed: Speed) -> Result<Outcome, String> {
    let names: Vec<&str> = peers.iter().map(|peer| peer.name()).collect();
    ask(&["side", problem.name, &names.join(",")], speed, limit(speed) * peers.len() as u32)
}

/// Runs this program and reads its line. The reader sleeps meanwhile, so that measuring disturbs nobody.
fn ask<T: DeserializeOwned>(args: &[&str], speed: Speed, limit: Duration) -> Result<T, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(this);
    command.args(args);
    if speed == Speed::Quick {
        command.arg("--quick");
    }
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
    let mut stdout = child.stdout.take().expect("stdout is piped");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = sender.send(stdout.read_to_string(&mut text).map(|_| text));
    });
    let before = Usage::of_children();
    let answer = receiver.recv_timeout(limit);
    if answer.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let cpu = Usage::of_children().since(before).cpu.as_secs_f64();
    match answer {
        // Little CPU time: it slept for ever, or others kept the cores. Much: it spins.
        Err(_) => Err(format!("no answer within {} s, of which it ran {cpu:.1} s", limit.as_secs())),
        Ok(_) if !status.success() => Err(format!("it ended with {status}")),
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok(line)) => serde_json::from_str(&line).map_err(|error| format!("not a sample: {error}")),
    }
}
