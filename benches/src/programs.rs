//! What the peers in other languages share: their programs are built into a folder beside this binary, told what to measure
//! by the same three arguments, and print the same line of JSON.

use crate::meter::{Sample, Speed};
use crate::problems::Problem;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of this name beside this binary, made if need be.
pub fn folder(name: &str) -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| format!("where is this binary? {error}"))?;
    let folder = this.parent().unwrap_or(Path::new(".")).join(name);
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    Ok(folder)
}

/// Runs `program` for `problem`.
pub fn measure(program: Command, problem: &Problem, speed: Speed) -> Result<Sample, String> {
    ask(program, &[problem.name, &problem.workers.to_string(), speed.pick("full", "quick")])
}

/// Runs `program` with these arguments and reads its line.
pub fn ask(mut program: Command, args: &[&str]) -> Result<Sample, String> {
    let output = program.args(args).stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the program printed no sample: {error}"))
}
