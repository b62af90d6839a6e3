//! `ropewalk bench` finds the program that measures, or builds it, and becomes it. Here that program is a script that says how it
//! was called; the real one is run by `ci/bench-smoke`.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Says who it is when asked, and otherwise what it was told; ends with a code of its own.
const BENCH: &str = "#!/bin/sh
[ \"$1\" = --version ] && { echo 'ropewalk-benches 0.1.0'; exit; }
printf '<%s>' bench \"$@\"
exit 7
";

/// Says what it was told; `run` is the program.
const CARGO: &str = "#!/bin/sh
echo \"cargo $1\" >&2
[ \"$1\" = run ] || exit ${BUILD:-0}
printf '<%s>' \"$@\"
exit 7
";

/// A folder that is gone after the test, with a copy of `ropewalk` in it: whatever is around the real one is not around this one.
/// There is one at a time: a child that another test starts holds, for a moment, whatever is being written, and what is being
/// written cannot be started.
struct Place(PathBuf, #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

static TURN: Mutex<()> = Mutex::new(());

impl Place {
    fn new(name: &str) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = std::env::temp_dir().join(format!("ropewalk-bench-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("away")).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_ropewalk"), folder.join("ropewalk")).unwrap();
        Self(folder, turn)
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn ropewalk(&self, args: &[&str], folder: &str, environment: &[(&str, &Path)]) -> Output {
        let mut command = Command::new(self.0.join("ropewalk"));
        command.arg("bench").args(args).current_dir(self.0.join(folder));
        command.env_remove("ROPEWALK_BENCH").env_remove("CARGO").env("PATH", "/usr/bin:/bin");
        command.envs(environment.iter().copied()).output().expect("the program runs")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is UTF-8")
}

#[test]
fn it_becomes_the_program_that_the_variable_names() {
    let place = Place::new("variable");
    let bench = place.script("my bench", BENCH);
    let args = ["--quick", "--only", "yield_same,oneshot", "--against=tokio", "--html", "a b.html"];
    let output = place.ropewalk(&args, "away", &[("ROPEWALK_BENCH", &bench)]);
    assert_eq!(
        said(&output.stdout),
        "<bench><run><--quick><--only><yield_same,oneshot><--against=tokio><--html><a b.html>"
    );
    assert_eq!(output.status.code(), Some(7), "its exit code counts");
}

#[test]
fn what_the_variable_names_must_be_that_program() {
    let place = Place::new("wrong");
    let other = place.script("other", "#!/bin/sh\necho 'benchmark 9'\n");
    let (folder, missing) = (place.0.join("away"), place.0.join("nothing"));
    for (path, what) in
        [(&other, "another program"), (&missing, "No such file"), (&folder, "cannot be started")]
    {
        let output = place.ropewalk(&[], "away", &[("ROPEWALK_BENCH", path)]);
        let error = said(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(what) && error.contains("accepted: the program `bench`"), "{error}");
    }
}

#[test]
fn it_is_taken_from_beside_unless_that_is_another_program() {
    let place = Place::new("beside");
    let output = place.ropewalk(&["--list"], "away", &[]);
    let error = said(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        ["not here", "checkout", "beside", "ROPEWALK_BENCH"].iter().all(|part| error.contains(part)),
        "{error}"
    );
    place.script("bench", "#!/bin/sh\necho 'benchmark 9'\n");
    assert_eq!(place.ropewalk(&["--list"], "away", &[]).status.code(), Some(1));
    place.script("bench", BENCH);
    assert_eq!(said(&place.ropewalk(&["--list"], "away", &[]).stdout), "<bench><run><--list>");
}

#[test]
fn in_a_checkout_cargo_builds_it_whatever_is_beside() {
    let place = Place::new("checkout");
    place.script("bench", BENCH);
    let cargo = place.script("cargo", CARGO);
    fs::create_dir_all(place.0.join("sources/benches/src")).unwrap();
    fs::write(place.0.join("sources/benches/Cargo.toml"), "[package]\nname = \"ropewalk-benches\"\n")
        .unwrap();
    let output = place.ropewalk(&["--rounds", "2"], "sources/benches/src", &[("CARGO", &cargo)]);
    let (out, error) = (said(&output.stdout), said(&output.stderr));
    let manifest = fs::canonicalize(&place.0).unwrap().join("sources/Cargo.toml");
    let expected = format!(
        "<run><--release><--package><ropewalk-benches><--manifest-path><{}><--quiet><--><run><--rounds><2>",
        manifest.display()
    );
    assert_eq!(out, expected, "{error}");
    assert!(error.contains("building") && error.ends_with("cargo build\ncargo run\n"), "{error}");
    assert_eq!(output.status.code(), Some(7));

    let broken = [("CARGO", cargo.as_path()), ("BUILD", Path::new("101"))];
    let output = place.ropewalk(&[], "sources", &broken);
    let error = said(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("could not be built: cargo ended with exit status: 101"), "{error}");

    let output = place.ropewalk(&[], "sources", &[("CARGO", &place.0.join("nothing"))]);
    let error = said(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("cargo cannot be started") && error.contains("ROPEWALK_BENCH"), "{error}");
}

#[test]
fn options_are_checked_before_anything_is_built() {
    let place = Place::new("options");
    let bench = place.script("bench", BENCH);
    for (args, parts) in [
        (
            &["--fast"][..],
            &["\"--fast\" is not an option of bench", "--quick, --only ROW,.., --against PEER,.."][..],
        ),
        (&["yield_same"], &["\"yield_same\"", "--only ROW"]),
        (&["--peers", "go"], &["\"--peers\"", "--against"]),
        (&["--quick=2"], &["--quick takes no value", "\"2\""]),
        (&["--json"], &["--json needs a value: --json FILE"]),
        (&["--rounds", "many"], &["--rounds: \"many\" is not accepted; accepted: 1 to 1000"]),
        (&["--rounds=0"], &["--rounds: \"0\""]),
        (&["--html="], &["--html needs a value: --html FILE"]),
    ] {
        let output = place.ropewalk(args, "away", &[("ROPEWALK_BENCH", &bench)]);
        let error = said(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(
            output.stdout.is_empty() && parts.iter().all(|part| error.contains(part)),
            "{args:?}: {error}"
        );
    }
}

#[test]
fn the_help_fits_a_terminal() {
    let place = Place::new("help");
    let output = place.ropewalk(&["--help"], "away", &[]);
    let text = said(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let parts =
        ["--quick", "--only ROW,..", "--against PEER,..", "--html FILE", "ROPEWALK_BENCH", "Exit codes"];
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
}
