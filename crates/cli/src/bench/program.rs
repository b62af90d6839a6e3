//! Where the program that measures is.

use crate::command::Failure;
use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names the program.
pub(crate) const VARIABLE: &str = "ROPEWALK_BENCH";

const PACKAGE: &str = "ropewalk-benches";

/// The program that measures.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Program {
    File(PathBuf),
    /// To be built by cargo in the checkout with this manifest.
    Checkout(PathBuf),
}

impl Program {
    /// In a checkout it is built, even if one is there: who changed something wants to measure that.
    pub(crate) fn find() -> Result<Self, Failure> {
        if let Some(named) = env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
            let path = PathBuf::from(named);
            return is_bench(&path).map(|()| Self::File(path.clone())).map_err(|what| {
                Failure::Trouble(format!(
                    "{VARIABLE} names {path:?}, but {what}; accepted: the program `bench` of the package {PACKAGE}"
                ))
            });
        }
        let exe = env::current_exe().ok();
        let here = env::current_dir().ok();
        let checkout = [here.as_deref(), exe.as_deref()].into_iter().flatten().find_map(checkout);
        let beside = || exe.as_deref()?.parent().map(|folder| folder.join("bench"));
        let file = || beside().filter(|path| is_bench(path).is_ok());
        checkout.map(Self::Checkout).or_else(|| file().map(Self::File)).ok_or_else(nowhere)
    }

    /// Starts it in place of this one; comes back if that is not possible.
    pub(crate) fn become_it(&self, args: &[String]) -> Failure {
        let mut command = match self {
            Self::File(path) => Command::new(path),
            Self::Checkout(manifest) => {
                if let Err(failure) = build(manifest) {
                    return failure;
                }
                let mut command = cargo("run", manifest);
                command.args(["--quiet", "--"]);
                command
            }
        };
        let error = command.arg("run").args(args).exec();
        Failure::Trouble(format!("{} cannot be started: {error}", command.get_program().display()))
    }
}

fn nowhere() -> Failure {
    Failure::Trouble(format!(
        "the program that measures is not here; run this in a checkout of Ropewalk, where cargo builds it, or put `bench` of the \
         package {PACKAGE} beside this program, or name it in {VARIABLE}"
    ))
}

/// The manifest of the checkout that `path` is in.
fn checkout(path: &Path) -> Option<PathBuf> {
    let is_ours = |folder: &&Path| {
        let manifest = std::fs::read_to_string(folder.join("benches/Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line.trim() == format!("name = \"{PACKAGE}\""))
    };
    path.ancestors().find(is_ours).map(|folder| folder.join("Cargo.toml"))
}

/// Asks the program who it is: many are called `bench`.
fn is_bench(path: &Path) -> Result<(), String> {
    let asked = Command::new(path).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    match asked {
        Ok(output) if output.stdout.starts_with(format!("{PACKAGE} ").as_bytes()) => Ok(()),
        Ok(_) => Err("that is another program".to_owned()),
        Err(error) => Err(format!("it cannot be started: {error}")),
    }
}

fn cargo(command: &str, manifest: &Path) -> Command {
    // Cargo tells the programs that it runs where it is.
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    cargo.args([command, "--release", "--package", PACKAGE, "--manifest-path"]).arg(manifest);
    cargo
}

fn build(manifest: &Path) -> Result<(), Failure> {
    let _nobody_looks =
        writeln!(io::stderr(), "ropewalk: building what measures (the first time this takes some minutes)");
    match cargo("build", manifest).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(Failure::Trouble(format!("what measures could not be built: cargo ended with {status}")))
        }
        Err(error) => Err(Failure::Trouble(format!(
            "what measures could not be built: cargo cannot be started ({error}); install Rust, or name a built one in {VARIABLE}"
        ))),
    }
}
