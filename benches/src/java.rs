//! The Java peer: a small program on virtual threads per problem folder (`<problem>/java.java`), compiled into a folder beside
//! this binary. `java` and `javac` are those of `JAVA_HOME`, or else of the PATH. They may be of different versions: only
//! `java` has to know virtual threads.

use crate::meter::{Sample, Speed};
use crate::problems::Problem;
use crate::programs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The first version in which virtual threads are final.
const OLDEST: u32 = 21;

/// The collectors take about the same time here; with this one, resident memory is nearest to what lives.
const COLLECTOR: &str = "-XX:+UseSerialGC";

/// What `java --version` says, or why there is no Java.
pub fn version() -> Result<String, String> {
    let output = Command::new(tool("java")).arg("--version").output();
    let output = output.map_err(|_| "no `java` in JAVA_HOME or on the PATH".to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().nth(1).ok_or("`java --version` says nothing")?;
    if major(version).is_none_or(|major| major < OLDEST) {
        return Err(format!("`java` is {version}, virtual threads need {OLDEST}"));
    }
    Ok(format!("java {version}"))
}

/// 25 of `25.0.2` and of `25-ea`.
fn major(version: &str) -> Option<u32> {
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn tool(name: &str) -> PathBuf {
    let home = std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin").join(name));
    home.filter(|path| path.is_file()).unwrap_or_else(|| name.into())
}

/// Compiles the program of `problem`, unless that was done since it changed, and gives the folder of its classes.
pub fn build(problem: &Problem) -> Result<PathBuf, String> {
    version()?;
    let classes = programs::folder("bench-java")?.join(problem.dir);
    let sources = [Path::new("measure/measure.java"), &Path::new(problem.dir).join("java.java")]
        .map(|source| Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(source));
    if sources.iter().all(|source| is_newer(&classes.join("Main.class"), source)) {
        return Ok(classes);
    }
    let status = Command::new(tool("javac"))
        .args(["--release", "17", "-d"])
        .arg(&classes)
        .args(&sources)
        .stdout(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(classes),
        Ok(_) => Err(format!("javac src/{}/java.java failed", problem.dir)),
        Err(_) => Err("no `javac` in JAVA_HOME or on the PATH".into()),
    }
}

/// Whether both are there, and `made` was written after `source`.
fn is_newer(made: &Path, source: &Path) -> bool {
    let written = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    written(made).is_some_and(|made| written(source).is_some_and(|source| made > source))
}

/// Runs the program of `problem`, with as many carriers as the others have workers.
pub fn measure(problem: &Problem, speed: Speed) -> Result<Sample, String> {
    let mut program = Command::new(tool("java"));
    for bound in ["parallelism", "maxPoolSize"] {
        program.arg(format!("-Djdk.virtualThreadScheduler.{bound}={}", problem.workers));
    }
    program.args([COLLECTOR, "-cp"]).arg(build(problem)?).arg("Main");
    programs::measure(program, problem, speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_apart() {
        assert_eq!(["25.0.2", "25-ea", "17", "unknown"].map(major), [Some(25), Some(25), Some(17), None]);
    }
}
