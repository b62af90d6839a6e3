//! `ropewalk bench`: the measurements beside other runtimes. They are a program of their own (the package `ropewalk-benches`), since it
//! contains those runtimes; this finds it, or builds it, and becomes it.

mod options;
mod program;

use crate::command::{Failure, Verdict};
pub(crate) use options::help;
use program::Program;

/// `ropewalk bench`. Returns only if the program could not be started: from then on its exit code counts.
pub(crate) fn run(args: &[String]) -> Result<Verdict, Failure> {
    options::check(args)?;
    Err(Program::find()?.become_it(args))
}
