//! What the tour is asked for.

use super::{STOPS, Stop};
use crate::command::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Tour,
    List,
}

/// The tour's arguments, understood.
pub(crate) struct Options {
    pub(crate) ask: Ask,
    pub(crate) stops: Vec<&'static dyn Stop>,
    pub(crate) quick: bool,
    pub(crate) json: bool,
}

const ACCEPTED: &str = "--quick, --only NAME,.., --list, --json, --help";

pub(crate) fn help() -> String {
    let mut text = String::from(
        "The tour: each stop says what it shows, does real work, and ends in figures.

usage: ropewalk [tour] [--quick] [--only NAME,..] [--list] [--json]

  --quick         a little of everything, in seconds; figures are only a hint
  --only NAME,..  these stops alone, in this order
  --list          the names of the stops
  --json          one JSON document on standard output instead of text
  --help          this text

Stops:
",
    );
    for stop in STOPS {
        text += &format!("  {:<13} {}\n", stop.name(), stop.title());
    }
    text += "\nProgress goes to standard error. A pipe or a file gets plain text; so does a\nterminal with NO_COLOR=1.\n";
    text
}

impl Options {
    /// Understands the arguments, or says what is wrong with them and what is accepted.
    pub(crate) fn parse(args: &[String]) -> Result<Self, Failure> {
        let mut options = Self { ask: Ask::Tour, stops: Vec::new(), quick: false, json: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (option, value) = match arg.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (arg.as_str(), None),
            };
            match (option, value) {
                ("--quick", None) => options.quick = true,
                ("--json", None) => options.json = true,
                ("--list", None) => options.ask = Ask::List,
                ("--only", value) => {
                    let names = value.or_else(|| args.next().map(String::as_str)).unwrap_or_default();
                    for name in names.split(',') {
                        options.stops.push(find(name.trim())?);
                    }
                }
                ("--quick" | "--json" | "--list", Some(value)) => {
                    return Err(Failure::Usage(format!("{option} takes no value, {value:?} was given")));
                }
                _ => {
                    return Err(Failure::Usage(format!(
                        "{arg:?} is not an option of the tour; options: {ACCEPTED}"
                    )));
                }
            }
        }
        if options.stops.is_empty() {
            options.stops = STOPS.to_vec();
        }
        Ok(options)
    }
}

fn find(name: &str) -> Result<&'static dyn Stop, Failure> {
    let known = || STOPS.map(|stop| stop.name()).join(", ");
    if name.is_empty() {
        return Err(Failure::Usage(format!("--only needs the name of a stop: {}", known())));
    }
    let found = STOPS.into_iter().find(|stop| stop.name() == name);
    found.ok_or_else(|| Failure::Usage(format!("there is no stop {name:?}; stops: {}", known())))
}
