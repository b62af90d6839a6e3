//! What `ropewalk trace` is asked for.

use crate::command::Failure;

/// The arguments, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) file: String,
    /// How many lines the tables of the longest have.
    pub(crate) top: usize,
    pub(crate) json: bool,
}

const TOP: usize = 5;
const MOST: usize = 1000;
const ACCEPTED: &str = "--top N, --json, --help";

pub(crate) fn help() -> String {
    format!(
        "What a recording says: how busy the workers were, the longest polls, wake-ups
that took long and who woke whom, where the time went.

usage: ropewalk trace FILE [--top N] [--json]

  FILE       what `Trace::write_chrome` or `ropewalk serve --trace FILE` wrote; to
             see all of it, open it in https://ui.perfetto.dev
  --top N    how many of the longest, 1 to {MOST} ({TOP})
  --json     one JSON document instead of text
  --help     this text

Exit codes: 0 it was read; 1 it could not be, or is no recording; 2 the arguments
make no sense.
"
    )
}

impl Options {
    /// Understands the arguments, or says what is wrong with them and what is accepted.
    pub(crate) fn parse(args: &[String]) -> Result<Self, Failure> {
        let (mut file, mut top, mut json) = (None, TOP, false);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (option, value) = match arg.split_once('=') {
                Some((option, value)) if option.starts_with('-') => (option, Some(value)),
                _ => (arg.as_str(), None),
            };
            match option {
                "--top" => {
                    top = number(value.or_else(|| args.next().map(String::as_str)).unwrap_or_default())?;
                }
                "--json" if value.is_none() => json = true,
                "--json" => return Err(Failure::Usage(format!("--json takes no value; {arg:?} was given"))),
                _ if option.starts_with('-') => {
                    return Err(Failure::Usage(format!(
                        "{arg:?} is not an option of trace; options: {ACCEPTED}"
                    )));
                }
                _ if file.is_some() => {
                    return Err(Failure::Usage(format!("trace reads one file; {arg:?} is a second one")));
                }
                _ => file = Some(arg.clone()),
            }
        }
        let missing = || Failure::Usage("trace needs the file of a recording".to_owned());
        Ok(Self { file: file.ok_or_else(missing)?, top, json })
    }
}

fn number(text: &str) -> Result<usize, Failure> {
    let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
    number.ok_or_else(|| Failure::Usage(format!("--top: {text:?} is not possible; accepted: 1 to {MOST}")))
}
