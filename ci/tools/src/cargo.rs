//! Builds a crate's unit tests under loom and runs them by name.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::verdict::Exit;

/// One copy of the workspace and where it is built.
///
/// No two copies share a target directory, and none is shared with the original: cargo names what it builds after the
/// path *within* the workspace, so it would take the mutated tests of one copy for the up-to-date ones of another.
#[derive(Clone, Debug)]
pub struct Bench {
    pub workspace: PathBuf,
    pub target: PathBuf,
    pub preemptions: u32,
}

/// The unit tests of one package.
#[derive(Debug, PartialEq, Eq)]
pub struct Built {
    pub executable: PathBuf,
    /// Cargo saw no change since it built them last.
    pub fresh: bool,
}

impl Bench {
    /// Builds the unit tests of `package`; on a compile error, gives what the compiler said.
    pub fn build(&self, package: &str) -> Result<Built, String> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["test", "--release", "--no-run", "--lib", "--message-format=json-render-diagnostics"]);
        cargo.args(["-p", package]).args(features(package));
        // Loom does the work and stays optimised; what is rebuilt for each mutation is built as quickly as possible.
        for ours in ["ropewalk-core", "ropewalk"] {
            cargo.args(["--config", &format!("profile.release.package.{ours}.opt-level=0")]);
        }
        cargo
            .current_dir(&self.workspace)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("RUSTFLAGS", "--cfg loom");
        let output = cargo.stdin(Stdio::null()).output().map_err(|e| format!("cannot run cargo: {e}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        built(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| format!("{package} has no unit tests"))
    }

    /// The full names of the tests in an executable.
    pub fn tests(&self, executable: &Path) -> Result<Vec<String>, String> {
        let output = Command::new(executable).arg("--list").output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_string).collect())
    }

    /// Runs exactly the named tests and gives how the process ended and all it printed.
    pub fn run(&self, executable: &Path, names: &[&str], limit: Duration) -> Result<(Exit, String), String> {
        // A file, not a pipe: nobody has to read while we wait, and what was printed before a kill is still there.
        let log = self.workspace.with_extension("log");
        let file = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let again = file.try_clone().map_err(|e| e.to_string())?;
        let mut command = Command::new(executable);
        command.arg("--exact").args(names).current_dir(&self.workspace);
        command.env("LOOM_MAX_PREEMPTIONS", self.preemptions.to_string());
        let exit = wait_for(command.stdin(Stdio::null()).stdout(file).stderr(again), limit)?;
        let bytes = fs::read(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        Ok((exit, String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// The features under which a crate's models are built. `ropewalk-core` has threads only with `std`.
fn features(package: &str) -> &'static [&'static str] {
    if package == "ropewalk-core" { &["--features", "std"] } else { &[] }
}

fn wait_for(command: &mut Command, limit: Duration) -> Result<Exit, String> {
    let mut child = command.spawn().map_err(|e| format!("cannot start the test: {e}"))?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(status.code().map_or_else(|| Exit::Signal(signal_of(status)), Exit::Code));
        }
        if start.elapsed() >= limit {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(Exit::TimedOut);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(unix)]
fn signal_of(status: std::process::ExitStatus) -> i32 {
    std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0)
}
#[cfg(not(unix))]
fn signal_of(_: std::process::ExitStatus) -> i32 {
    0
}

/// What the last message of cargo that names an executable says.
fn built(messages: &str) -> Option<Built> {
    const KEY: &str = "\"executable\":\"";
    let line = messages.lines().rev().find(|line| line.contains(KEY))?;
    let value = &line[line.find(KEY)? + KEY.len()..];
    let (mut path, mut chars) = (String::new(), value.chars());
    loop {
        match chars.next()? {
            '"' => {
                let fresh = !line.contains("\"fresh\":false");
                return Some(Built { executable: path.into(), fresh });
            }
            '\\' => path.push(chars.next()?),
            c => path.push(c),
        }
    }
}

/// The full name of the test function `name` that stands in `file` (relative to its package). Several modules may have
/// a test of that name: then the one whose module path is the file's is meant.
pub fn full_name(tests: &[String], file: &Path, name: &str) -> Result<String, String> {
    let named: Vec<&String> = tests.iter().filter(|t| t.rsplit("::").next() == Some(name)).collect();
    let module = module_path(file);
    match named[..] {
        [only] => Ok(only.clone()),
        [] => Err(format!("no test `{name}` is built under loom")),
        _ => {
            let here: Vec<_> = named.iter().filter(|t| t.starts_with(&module)).collect();
            match here[..] {
                [only] => Ok((*only).clone()),
                _ => Err(format!("{} tests are called `{name}`: rename all but one", named.len())),
            }
        }
    }
}

/// `src/task/state.rs` is `task::state::`.
fn module_path(file: &Path) -> String {
    let path = file.strip_prefix("src").unwrap_or(file).with_extension("");
    let parts = path.iter().map(|part| part.to_string_lossy());
    parts.filter(|part| part != "mod" && part != "lib").map(|part| format!("{part}::")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_the_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null,\"fresh\":true}\n\
            {\"reason\":\"compiler-artifact\",\"executable\":\"/a \\\"b\\\"/core-12\",\"fresh\":false}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(built(messages), Some(Built { executable: "/a \"b\"/core-12".into(), fresh: false }));
        assert_eq!(built("{\"executable\":null}\n"), None);
    }

    #[test]
    fn a_test_is_found_by_its_function_and_not_by_a_longer_name() {
        let tests = ["ring::tests::model_steal", "ring::tests::model_steal_half"].map(String::from);
        let found = full_name(&tests, Path::new("src/ring.rs"), "model_steal").unwrap();
        assert_eq!(found, "ring::tests::model_steal");
        assert!(full_name(&tests, Path::new("src/ring.rs"), "model_half").is_err());
    }

    #[test]
    fn equal_names_are_told_apart_by_their_file() {
        let tests = ["list::tests::model_x", "task::state::tests::model_x"].map(String::from);
        let found = full_name(&tests, Path::new("src/task/state.rs"), "model_x").unwrap();
        assert_eq!(found, "task::state::tests::model_x");
        assert!(full_name(&tests, Path::new("src/other.rs"), "model_x").is_err());
    }

    #[test]
    fn a_file_gives_its_module() {
        assert_eq!(module_path(Path::new("src/task/mod.rs")), "task::");
        assert_eq!(module_path(Path::new("src/ring/tests/loom.rs")), "ring::tests::loom::");
        assert_eq!(module_path(Path::new("src/lib.rs")), "");
    }

    #[cfg(unix)]
    #[test]
    fn a_process_is_ended_at_its_limit() {
        let exit = wait_for(Command::new("sleep").arg("30"), Duration::from_millis(20)).unwrap();
        assert_eq!(exit, Exit::TimedOut);
        assert_eq!(wait_for(&mut Command::new("true"), Duration::from_secs(30)).unwrap(), Exit::Code(0));
    }
}
