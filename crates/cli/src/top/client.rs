//! Asking a console, over HTTP/1.1: a connection for each question. Whatever is wrong is said in a line, with what could be done about it.

use super::address::Address;
use super::options::Options;
use super::state::{State, Unread, VERSION};
use crate::show;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONNECTION, HOST};
use hyper::{Request, StatusCode};
use ropewalk::net::{TcpStream, lookup_host};
use ropewalk::time::timeout;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// So long for an answer; walking a million tasks takes a console a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(5);
/// A dump looks at every stack.
const DUMP_PATIENCE: Duration = Duration::from_secs(60);
/// Longer answers are not a console's.
const LONGEST: usize = 256 << 20;
/// So many tasks are asked for.
const TASKS: usize = 1000;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    /// What is wrong.
    pub(super) what: String,
    /// What could be done.
    advice: String,
}

impl Trouble {
    fn new(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.into(), advice: advice.into() }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.advice)
    }
}

/// Who asks, and whom.
#[derive(Clone, Debug)]
pub(super) struct Client {
    address: Address,
    token: Option<String>,
}

impl Client {
    pub(super) fn new(options: &Options) -> Self {
        Self { address: options.address.clone(), token: options.token.clone() }
    }

    /// What it says of itself, of tasks in which `search` is found; and the text of it.
    pub(super) async fn state(&self, search: &str) -> Result<(State, Bytes), Trouble> {
        let path = format!("/api/state?tasks={TASKS}&q={}", escaped(search));
        let text = self.get(&path, PATIENCE).await?;
        let mut state = State::read(&text).map_err(|why| self.unread(why))?;
        state.search = search.to_owned();
        Ok((state, text))
    }

    /// The text of a dump.
    pub(super) async fn dump(&self) -> Result<Bytes, Trouble> {
        self.get("/api/dump.txt", DUMP_PATIENCE).await
    }

    async fn get(&self, path: &str, patience: Duration) -> Result<Bytes, Trouble> {
        let answer = timeout(patience, async {
            let (stream, at) = self.connect().await?;
            let (status, body) =
                self.ask(stream, at, path).await.map_err(|error| self.no_console(&chain(&*error)))?;
            if status == StatusCode::OK { Ok(body) } else { Err(self.refused(status, &body)) }
        });
        let late = format!("{} does not answer within {patience:?}", self.address);
        answer.await.unwrap_or_else(|_| Err(Trouble::new(late, "is it the address of a console?")))
    }

    async fn connect(&self) -> Result<(TcpStream, SocketAddr), Trouble> {
        let host = (self.address.host.as_str(), self.address.port);
        let found = lookup_host(host).await.map_err(|error| {
            let what = format!("there is no host {:?} ({})", self.address.host, plain(&error));
            Trouble::new(what, "accepted: an address such as 127.0.0.1:6680, or a name that can be looked up")
        })?;
        let mut last = io::Error::other("it has no address");
        for at in found {
            match TcpStream::connect(at).await {
                Ok(stream) => return Ok((stream, at)),
                Err(error) => last = error,
            }
        }
        Err(self.unreachable(&last))
    }

    fn unreachable(&self, error: &io::Error) -> Trouble {
        let address = &self.address;
        if error.kind() != io::ErrorKind::ConnectionRefused {
            let advice = "is it the address of a console, and can it be reached from here?";
            return Trouble::new(format!("{address} cannot be reached: {}", plain(error)), advice);
        }
        Trouble::new(
            format!("nobody listens at {address}"),
            format!(
                "start a console there, in a program by\n  \
                 Console::builder().address(\"{address}\".parse()?).serve(&runtime.handle())?\n\
                 or, to try it, by\n  ropewalk serve http --console {address}"
            ),
        )
    }

    async fn ask(
        &self,
        stream: TcpStream,
        at: SocketAddr,
        path: &str,
    ) -> Result<(StatusCode, Bytes), Box<Error>> {
        let (mut sender, connection) = http1::handshake(stream).await?;
        let _it_ends_with_the_answer = ropewalk::spawn(connection);
        // By address: a console does not answer to names.
        let mut request = Request::get(path).header(HOST, at.to_string()).header(CONNECTION, "close");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let response = sender.send_request(request.body(Empty::<Bytes>::new())?).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LONGEST).collect().await?;
        Ok((status, body.to_bytes()))
    }

    /// What a status other than 200 means.
    fn refused(&self, status: StatusCode, body: &[u8]) -> Trouble {
        let error = serde_json::from_slice::<serde_json::Value>(body).ok();
        let Some(said) = error.as_ref().and_then(|error| error["error"].as_str()).map(show::plain) else {
            return self.no_console(&format!("its answer is {status}"));
        };
        let address = &self.address;
        match (status, &self.token) {
            (StatusCode::UNAUTHORIZED, None) => Trouble::new(
                format!("the console at {address} wants a token"),
                "give it with --token, or as part of the URL that the program says",
            ),
            (StatusCode::UNAUTHORIZED, Some(_)) => Trouble::new(
                format!("the console at {address} does not accept this token"),
                "accepted: the one that the program was started with; it is part of the URL that it says",
            ),
            _ => Trouble::new(
                format!("the console at {address} refuses ({status})"),
                format!("it says: {said}"),
            ),
        }
    }

    fn unread(&self, why: Unread) -> Trouble {
        match why {
            Unread::NoAnswer(why) => self.no_console(why),
            Unread::Version(version) => Trouble::new(
                format!("{} answers by version {version}, not {VERSION}", self.address),
                "accepted: the console of a program with the Ropewalk that this one is of",
            ),
        }
    }

    fn no_console(&self, why: &str) -> Trouble {
        let what = format!("{} is not a Ropewalk console ({})", self.address, show::plain(why));
        Trouble::new(what, "a program says where its console is by Console::url")
    }
}

type Error = dyn std::error::Error + Send + Sync;

/// An error with its causes.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// What the system says, without what we were doing.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(": ").map_or(text.as_str(), |(_, last)| last).to_owned()
}

/// As it goes into a query.
fn escaped(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_is_searched_for_may_be_anything() {
        assert_eq!(escaped("main.rs:10 a&b=é"), "main.rs%3A10%20a%26b%3D%C3%A9");
    }
}
