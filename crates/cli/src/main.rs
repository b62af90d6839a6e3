//! The `ropewalk` command. Without an argument it is the guided tour.
//!
//! Exit codes: 0, everything that was checked held; 1, something did not, or the output could not be written; 2, the
//! arguments make no sense.

mod bench;
mod command;
mod figure;
mod heap;
mod serve;
mod show;
mod top;
mod tour;
mod trace;

use command::{Failure, Verdict};
use ropewalk::__json as json;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    match command::run(&args) {
        Ok(Verdict::Held) => ExitCode::SUCCESS,
        Ok(Verdict::Failed) => ExitCode::from(1),
        Err(Failure::Usage(what)) => {
            complain(&format!("{what}\nTry `{}`.", command::help_of(&args)));
            ExitCode::from(2)
        }
        Err(Failure::Trouble(what)) => {
            complain(&what);
            ExitCode::from(1)
        }
        // Who closed the pipe does not want to hear more.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::from(1),
        Err(Failure::Output(error)) => {
            complain(&format!("the output could not be written: {error}"));
            ExitCode::from(1)
        }
    }
}

/// Says what is wrong, if anybody hears it.
fn complain(what: &str) {
    let _nobody_looks = writeln!(std::io::stderr(), "ropewalk: {what}");
}
