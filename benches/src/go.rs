//! The Go peer: a small program per problem folder (`<problem>/go.go`), built with the `go` on the PATH into a folder
//! beside this binary, and run as it is. It prints the same line of JSON. A goroutine is what others have as a task and what they
//! have as a strand: these rows share their programs.

use crate::meter::{Sample, Speed};
use crate::problems::Problem;
use crate::programs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What `go version` says, or why there is no Go.
pub fn version() -> Result<String, String> {
    let output = Command::new("go").arg("version").output().map_err(|_| "no `go` on the PATH".to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_whitespace().nth(2).map(String::from).ok_or_else(|| "`go version` says nothing".into())
}

/// The folder of the program of `problem`.
fn source(problem: &Problem) -> &'static str {
    match problem.dir {
        "strand_yield" => "yield_same",
        "strand_spawn_join" => "spawn_join_one",
        "mem_strand" => "mem_task",
        dir => dir,
    }
}

/// Builds the program of `problem`; Go's own cache makes this cheap when nothing changed.
pub fn build(problem: &Problem) -> Result<PathBuf, String> {
    build_in(source(problem))
}

/// Builds the program of this folder.
pub fn build_in(source: &str) -> Result<PathBuf, String> {
    version()?;
    let program = programs::folder("bench-go")?.join(source);
    let status = Command::new("go")
        .args(["build", "-buildvcs=false", "-o"])
        .arg(&program)
        .arg(format!("./src/{source}"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(program),
        _ => Err(format!("go build ./src/{source} failed")),
    }
}

/// Runs the program of `problem`.
pub fn measure(problem: &Problem, speed: Speed) -> Result<Sample, String> {
    programs::measure(Command::new(build(problem)?), problem, speed)
}
