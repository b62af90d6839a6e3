//! Where a console is, as people write it.

use crate::command::Failure;
use std::fmt;
use std::net::IpAddr;

/// A host, by address or by name, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Address {
    /// Understands `IP:PORT`, `HOST:PORT`, a port, or a URL, which may have a token.
    pub(super) fn parse(text: &str) -> Result<(Self, Option<String>), Failure> {
        let refuse = |why: &str| {
            Failure::Usage(format!(
                "{text:?} is no address of a console: {why}; accepted: IP:PORT such as 127.0.0.1:6680 or [::1]:6680, \
                 HOST:PORT, a port from 1 to 65535, or http://IP:PORT/"
            ))
        };
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        if !scheme.eq_ignore_ascii_case("http") {
            return Err(refuse("a console speaks http"));
        }
        let (place, query) = rest.split_once(['/', '?']).unwrap_or((rest, ""));
        let query = query.trim_start_matches('?');
        let token = query.split('&').find_map(|pair| pair.strip_prefix("token=")).map(str::to_owned);

        let port_of = |text: &str| text.parse().ok().filter(|port| *port != 0);
        if let Some(port) = port_of(place) {
            return Ok((Self { host: "127.0.0.1".to_owned(), port }, token));
        }
        let (host, port) = place.rsplit_once(':').ok_or_else(|| refuse("it has no port"))?;
        let port = port_of(port).ok_or_else(|| refuse(&format!("{port:?} is no port")))?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = match bare {
            Some(inner) => inner.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6()),
            None => {
                !host.is_empty()
                    && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
            }
        };
        if !is_host {
            return Err(refuse(&format!("{host:?} is no host")));
        }
        Ok((Self { host: bare.unwrap_or(host).to_owned(), port }, token))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_understood_as_they_are_written() {
        let read = |text: &str| {
            let (address, token) = Address::parse(text).unwrap_or_else(|why| panic!("{text}: {why:?}"));
            (address.to_string(), token.unwrap_or_default())
        };
        let expected = [
            ("6680", "127.0.0.1:6680", ""),
            ("10.0.0.1:80", "10.0.0.1:80", ""),
            ("[::1]:6680", "[::1]:6680", ""),
            ("localhost:6680", "localhost:6680", ""),
            ("http://127.0.0.1:6680/", "127.0.0.1:6680", ""),
            ("HTTP://127.0.0.1:6680", "127.0.0.1:6680", ""),
            ("http://[::1]:6680/?token=0123456789abcdef", "[::1]:6680", "0123456789abcdef"),
            ("http://h:1?a=b&token=x", "h:1", "x"),
        ];
        for (text, address, token) in expected {
            assert_eq!(read(text), (address.to_owned(), token.to_owned()));
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for bad in [
            "",
            ":",
            "nowhere",
            "127.0.0.1",
            "h:0",
            "h:65536",
            "h:",
            ":80",
            "::1:80",
            "https://h:1",
            "a b:1",
            "[h]:1",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad:?}");
        }
    }
}
