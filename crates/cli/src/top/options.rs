//! What `ropewalk top` is asked for.

use super::address::Address;
use crate::command::Failure;
use std::time::Duration;

/// How much is shown, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// Live where standard output is a terminal, else once.
    Live,
    Once,
    Json,
}

/// The arguments, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) address: Address,
    pub(super) token: Option<String>,
    pub(super) interval: Duration,
    pub(super) show: Show,
}

const INTERVAL: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(3600);
const ACCEPTED: &str = "--interval TIME, --token TOKEN, --once, --json, --help";

pub(crate) fn help() -> String {
    "What the console of a program shows, in the terminal: its workers, how long
polls take, and its tasks with what they wait for.

usage: ropewalk top ADDRESS [--interval TIME] [--token TOKEN] [--once] [--json]

  ADDRESS           where the console is: IP:PORT, HOST:PORT, a port alone,
                    which is on 127.0.0.1, or the URL that the program says
  --interval TIME   how often to look: 100ms to 1h, such as 500ms or 2s (1s)
  --token TOKEN     what a console that others can reach asks for; a token that
                    is part of the URL is taken as well
  --once            one snapshot as plain text; also without --once if standard
                    output is no terminal
  --json            what the console says, once, as it says it
  --help            this text

Keys:
  up, down, page up, page down, home, end   move (also k, j, g, G)
  enter   details of a task, live           esc   back; ends a search
  s, S    sort by the next or last column   r     the other way round
  /       search, as you type               t     as a tree
  p       pause                             d     dump to a file
  w       all workers                       ?     help
  q       quit (also ctrl-c)

A program has a console if it says so, with the feature `console`:

  let address = \"127.0.0.1:6680\".parse()?;
  let console = Console::builder().address(address).serve(&runtime.handle())?;

To try it: `ropewalk serve http --console 6680`, then `ropewalk top 6680`.

Colours are left out with NO_COLOR=1. If the connection is lost, it says so and
keeps trying. Exit codes: 0 it was left, or has said everything; 1 there is no
console, or it does not answer as one; 2 the arguments make no sense.
"
    .to_owned()
}

impl Options {
    /// Understands the arguments, or says what is wrong with them and what is accepted.
    pub(super) fn parse(args: &[String]) -> Result<Self, Failure> {
        let (mut place, mut token, mut interval, mut show) = (None, None, INTERVAL, Show::Live);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (option, value) = match arg.split_once('=') {
                Some((option, value)) if option.starts_with('-') => (option, Some(value)),
                _ => (arg.as_str(), None),
            };
            let mut value_of = || value.or_else(|| args.next().map(String::as_str)).unwrap_or_default();
            match option {
                "--interval" => interval = time(value_of())?,
                "--token" => token = Some(checked(value_of())?),
                "--once" | "--json" if value.is_some() => {
                    return Err(Failure::Usage(format!("{option} takes no value; {arg:?} was given")));
                }
                "--once" if show == Show::Live => show = Show::Once,
                "--once" => {}
                "--json" => show = Show::Json,
                text if place.is_none() && !text.starts_with('-') => place = Some(Address::parse(text)?),
                _ => {
                    return Err(Failure::Usage(format!(
                        "{arg:?} is not an option of top; options: {ACCEPTED}"
                    )));
                }
            }
        }
        let missing = || {
            Failure::Usage(
                "top needs to know where: the address of a console, such as 127.0.0.1:6680".to_owned(),
            )
        };
        let (address, in_url) = place.ok_or_else(missing)?;
        let in_url = in_url.as_deref().map(checked).transpose()?;
        Ok(Self { address, token: token.or(in_url), interval, show })
    }
}

/// A token goes into a header.
fn checked(token: &str) -> Result<String, Failure> {
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let what = "--token: a token is made of letters, digits, '-' and '_'";
        return Err(Failure::Usage(format!("{what}; {token:?} was given")));
    }
    Ok(token.to_owned())
}

/// `500ms`, `2s`, `1.5`, `1m`.
fn time(text: &str) -> Result<Duration, Failure> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let read = units.into_iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Duration::try_from_secs_f64(number * seconds).ok()
    });
    read.filter(|time| (SHORTEST..=LONGEST).contains(time)).ok_or_else(|| {
        Failure::Usage(format!(
            "--interval: {text:?} is no such time; accepted: 100ms to 1h, such as 500ms, 2s or 1m"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_or_are_seconds() {
        let read = |text| time(text).map_err(|_| ()).map(|time| time.as_millis());
        let read = ["500ms", "2s", "1.5", "1m", "1h", "0.1s"].map(read);
        assert_eq!(read, [500, 2000, 1500, 60_000, 3_600_000, 100].map(Ok));
        for bad in ["", "s", "99ms", "61m", "-1s", "NaN", "inf", "1e400", "1 s", "1d"] {
            assert!(time(bad).is_err(), "{bad:?}");
        }
    }
}
