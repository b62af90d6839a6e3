//! What `ropewalk serve` is asked for.

use crate::command::Failure;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// What is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Echo,
    Http,
}

impl Service {
    const ALL: [Self; 2] = [Self::Echo, Self::Http];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Http => "http",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Echo => "sends back whatever comes (TCP)",
            Self::Http => "says hello at / (HTTP/1.1 and HTTP/2 without TLS, by hyper)",
        }
    }
}

/// The arguments, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) service: Service,
    pub(crate) listen: SocketAddr,
    /// How long open connections may go on after ctrl-c.
    pub(crate) drain: Duration,
    /// Where to show what goes on inside.
    pub(crate) console: Option<SocketAddr>,
    pub(crate) json: bool,
    /// Where a recording of what it did goes.
    pub(crate) trace: Option<String>,
}

const PORT: u16 = 7878;
const DRAIN: u64 = 5;
/// The longest drain: an hour.
const LONGEST: f64 = 3600.0;
const ACCEPTED: &str = "--listen ADDRESS, --drain SECONDS, --console ADDRESS, --trace FILE, --json, --help";

pub(crate) fn help() -> String {
    let mut text = format!(
        "A server to play with. Ctrl-c (or SIGTERM) ends it in good order: it accepts
nobody any more, lets open connections go on for a while, cancels what is left
and says how many that were. A second ctrl-c cancels at once.

usage: ropewalk serve SERVICE [--listen ADDRESS] [--drain SECONDS]
                              [--console ADDRESS] [--trace FILE] [--json]

  --listen ADDRESS  where to listen: IP:PORT, or a port alone, which is on
                    127.0.0.1; port 0 takes a free one (127.0.0.1:{PORT})
  --drain SECONDS   how long open connections may go on ({DRAIN})
  --console ADDRESS a page that shows what goes on inside, on loopback only:
                    for a browser, or `ropewalk top`; port 0 takes a free one
  --trace FILE      records what the workers do, and writes the last of it there
                    when it ends, for `ropewalk trace` and Perfetto
  --json            a line of JSON when it listens, and one when it has ended
  --help            this text

Services:
"
    );
    for service in Service::ALL {
        text += &format!("  {:<17} {}\n", service.name(), service.about());
    }
    text += "\nExit codes: 0 every connection ended by itself; 1 some were cancelled, or it\ncould not listen; 2 the arguments make no sense.\n";
    text
}

impl Options {
    /// Understands the arguments, or says what is wrong with them and what is accepted.
    pub(crate) fn parse(args: &[String]) -> Result<Self, Failure> {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        let mut options = Self {
            service: Service::Echo,
            listen,
            drain: Duration::from_secs(DRAIN),
            console: None,
            json: false,
            trace: None,
        };
        let (mut service, mut args) = (None, args.iter());
        while let Some(arg) = args.next() {
            let (option, value) = match arg.split_once('=') {
                Some((option, value)) if option.starts_with('-') => (option, Some(value)),
                _ => (arg.as_str(), None),
            };
            let mut value_of = || value.or_else(|| args.next().map(String::as_str)).unwrap_or_default();
            match option {
                "--listen" => options.listen = address(option, value_of())?,
                "--console" => options.console = Some(address(option, value_of())?),
                "--drain" => options.drain = seconds(value_of())?,
                "--trace" => options.trace = Some(file(value_of())?),
                "--json" if value.is_none() => options.json = true,
                "--json" => return Err(Failure::Usage(format!("--json takes no value; {arg:?} was given"))),
                name if name.starts_with('-') => {
                    return Err(Failure::Usage(format!(
                        "{arg:?} is not an option of serve; options: {ACCEPTED}"
                    )));
                }
                name if service.is_none() => service = Some(find(name)?),
                _ => {
                    return Err(Failure::Usage(format!(
                        "serve offers one service; {arg:?} is a second one; options: {ACCEPTED}"
                    )));
                }
            }
        }
        let missing = || Failure::Usage(format!("serve needs to know what: {}", known()));
        options.service = service.ok_or_else(missing)?;
        Ok(options)
    }
}

fn known() -> String {
    Service::ALL.map(Service::name).join(", ")
}

fn find(name: &str) -> Result<Service, Failure> {
    let found = Service::ALL.into_iter().find(|service| service.name() == name);
    found.ok_or_else(|| Failure::Usage(format!("there is no service {name:?}; services: {}", known())))
}

fn address(option: &str, text: &str) -> Result<SocketAddr, Failure> {
    let port = text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).ok();
    port.or_else(|| text.parse().ok()).ok_or_else(|| {
        Failure::Usage(format!(
            "{option}: {text:?} is no address; accepted: IP:PORT such as 127.0.0.1:{PORT} or [::1]:{PORT}, or a port \
             from 0 to 65535"
        ))
    })
}

fn file(text: &str) -> Result<String, Failure> {
    let missing = || Failure::Usage("--trace needs the name of a file".to_owned());
    Some(text.to_owned()).filter(|text| !text.is_empty()).ok_or_else(missing)
}

fn seconds(text: &str) -> Result<Duration, Failure> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=LONGEST).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| {
        Failure::Usage(format!("--drain: {text:?} is not a number of seconds; accepted: 0 to {LONGEST}"))
    })
}
