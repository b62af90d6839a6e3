//! What `ropewalk bench` accepts. Rows and peers are checked by the program that knows them; options are checked here, before
//! it is built.

use super::program::VARIABLE;
use crate::command::Failure;

/// Options, and whether they take a value.
const OPTIONS: [(&str, Option<&str>); 9] = [
    ("--quick", None),
    ("--only", Some("ROW,..")),
    ("--against", Some("PEER,..")),
    ("--rounds", Some("N")),
    ("--json", Some("FILE")),
    ("--md", Some("FILE")),
    ("--html", Some("FILE")),
    ("--from", Some("FILE")),
    ("--list", None),
];

/// As the program has it, too: who mistypes a number should not wait for it to be built.
const MOST_ROUNDS: u32 = 1000;

pub(crate) fn help() -> String {
    format!(
        "Measures Ropewalk beside tokio, smol, may, rayon, Go and others on this
machine: every row in interleaved rounds, each measurement in a process of its
own. Markdown goes to standard output, progress to standard error.

usage: ropewalk bench [--quick] [--only ROW,..] [--against PEER,..]
                      [--rounds N] [--json FILE] [--md FILE] [--html FILE]
       ropewalk bench --from FILE [--json FILE] [--md FILE] [--html FILE]
       ropewalk bench --list

  --quick             three short rounds of something of everything, in about
                      two minutes; its figures are a hint and judge nothing
  --only ROW,..       these rows, problems or folders of problems alone; `all`
                      with --quick: a little of everything there is
  --against PEER,..   beside these peers or families (tokio, smol, threads) only
  --rounds N          how many rounds, 1 to {MOST_ROUNDS} (5, with --quick 3)
  --json FILE         all values, medians, spreads and verdicts, for programs
  --md FILE           what is printed
  --html FILE         one page with a plot for each row; it needs nothing else
  --from FILE         no measurement: the report of what --json wrote before
  --list              the rows, what they are, and who takes part in each
  --help              this text

Ctrl-c ends it; what was measured by then is still reported. Files are written
after each round.

The measurements are a program of their own. It is the one that the environment
variable {VARIABLE} names; or, in a checkout, what cargo builds of it, the
first time in some minutes; or `bench` beside this program.

Exit codes: 0 everything that was planned was measured; 1 something failed or
was stopped; 2 the arguments make no sense.
"
    )
}

/// Whether these are options, and those that need a value have one.
pub(crate) fn check(args: &[String]) -> Result<(), Failure> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (arg.as_str(), None),
        };
        let found = OPTIONS.iter().find(|(option, _)| *option == name);
        match (found, value) {
            (Some((_, None)), None) => {}
            (Some((_, None)), Some(value)) => {
                return Err(Failure::Usage(format!("{name} takes no value, {value:?} was given")));
            }
            (Some((_, Some(wanted))), value) => {
                let value = value.or_else(|| args.next().map(String::as_str)).unwrap_or_default();
                if value.is_empty() {
                    return Err(Failure::Usage(format!("{name} needs a value: {name} {wanted}")));
                }
                if name == "--rounds"
                    && !value.parse().is_ok_and(|rounds| (1..=MOST_ROUNDS).contains(&rounds))
                {
                    return Err(Failure::Usage(format!(
                        "--rounds: {value:?} is not accepted; accepted: 1 to {MOST_ROUNDS}"
                    )));
                }
            }
            (None, _) => {
                return Err(Failure::Usage(format!(
                    "{arg:?} is not an option of bench; options: {}",
                    known()
                )));
            }
        }
    }
    Ok(())
}

fn known() -> String {
    let option = |(name, value): (&str, Option<&str>)| match value {
        Some(value) => format!("{name} {value}"),
        None => name.to_owned(),
    };
    OPTIONS.into_iter().map(option).chain(["--help".to_owned()]).collect::<Vec<_>>().join(", ")
}
