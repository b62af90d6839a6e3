//! Tools of the checks. `ci/mutate` and `ci/docs` call them; they run by hand just as well:
//!
//! ```text
//! cargo run -p ropewalk-ci-tools -- mutate --list
//! cargo run -p ropewalk-ci-tools -- mutate --only ring
//! cargo run -p ropewalk-ci-tools -- code-map ARCHITECTURE.md
//! ```

mod cargo;
mod code_map;
mod known;
mod mutate;
mod mutation;
mod source;
mod tree;
mod verdict;

use std::process::ExitCode;

const USAGE: &str = "\
usage: ropewalk-ci-tools mutate [--list] [--only PATTERN] [--limit SECONDS] [--preemptions N] [--jobs N]
                                [--root DIR] [--work DIR] [--known FILE [--again N | --all] [--seed TEXT]]
       ropewalk-ci-tools code-map FILE

mutate    applies each mutation listed above a model test and demands that the test then fails under loom;
          those that FILE knows to be detected with the same code and test are left out, but for N, another N per TEXT
code-map  checks that each source path in FILE's section \"Code map\" exists";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let result = match args.next().as_deref() {
        Some("mutate") => mutate::Options::parse(args).and_then(|options| mutate::run(&options)),
        Some("code-map") => code_map::run(args),
        Some("--help" | "-h") => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => Err(USAGE.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
