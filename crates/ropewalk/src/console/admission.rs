//! Who may ask.
//!
//! A page of another site can make a browser ask here, and by a name that it lets point here ("DNS rebinding") even read the answer. So a request
//! must come by an address, or as `localhost`; not from another site's page, as browsers say themselves; and with the token, if there is one.

use hyper::header::{AUTHORIZATION, HOST};
use hyper::{Request, StatusCode};
use std::net::{IpAddr, SocketAddr};

/// Long enough, and without anything that would have to be escaped.
pub(super) fn is_good_token(token: &str, shortest: usize) -> bool {
    token.len() >= shortest && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Whether to answer; otherwise why not.
pub(super) fn admit<B>(request: &Request<B>, token: Option<&str>) -> Result<(), (StatusCode, &'static str)> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(is_plain) {
        return Err((StatusCode::FORBIDDEN, "the host must be an IP address or localhost"));
    }
    let site = request.headers().get("sec-fetch-site").and_then(|site| site.to_str().ok());
    if matches!(site, Some("cross-site" | "same-site")) {
        return Err((StatusCode::FORBIDDEN, "a page of another site asks: open this address itself"));
    }
    let Some(token) = token else { return Ok(()) };
    let bearer =
        request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let given = bearer.or_else(|| query(request, "token"));
    match given.is_some_and(|given| same(given.as_bytes(), token.as_bytes())) {
        true => Ok(()),
        false => {
            Err((StatusCode::UNAUTHORIZED, "a token is needed: ?token=... or Authorization: Bearer ..."))
        }
    }
}

/// An address, or `localhost`; with a port or without.
fn is_plain(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    let inner = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    host.parse::<SocketAddr>().is_ok()
        || inner.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
}

/// In a time that does not tell how much of it is right.
fn same(given: &[u8], wanted: &[u8]) -> bool {
    let differences = given.iter().zip(wanted).fold(0, |found, (one, other)| found | (one ^ other));
    given.len() == wanted.len() && std::hint::black_box(differences) == 0
}

/// The value of a parameter, as it was written.
pub(super) fn query<'a, B>(request: &'a Request<B>, name: &str) -> Option<&'a str> {
    let mut pairs = request.uri().query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// `%41` and `+` as what they stand for; what is no text is replaced.
pub(super) fn decoded(value: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(value.len()), value.as_bytes());
    while let [first, more @ ..] = rest {
        let hex = || u8::from_str_radix(std::str::from_utf8(more.get(..2)?).ok()?, 16).ok();
        let (byte, used) = match first {
            b'+' => (b' ', 0),
            b'%' => hex().map_or((b'%', 0), |byte| (byte, 2)),
            other => (*other, 0),
        };
        bytes.push(byte);
        rest = &more[used..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn asked(uri: &str, host: &str, token: Option<&str>, bearer: Option<&str>) -> Result<(), u16> {
        let mut request = Request::get(uri).header(HOST, host);
        if let Some(bearer) = bearer {
            request = request.header(AUTHORIZATION, format!("Bearer {bearer}"));
        }
        admit(&request.body(()).unwrap(), token).map_err(|(status, _)| status.as_u16())
    }

    #[test]
    fn only_by_address_or_as_localhost() {
        for host in
            ["127.0.0.1", "127.0.0.1:80", "[::1]:80", "[::1]", "localhost", "LocalHost:6680", "10.0.0.1:1"]
        {
            assert_eq!(asked("/", host, None, None), Ok(()), "{host}");
        }
        for host in
            ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example:80", ""]
        {
            assert_eq!(asked("/", host, None, None), Err(403), "{host}");
        }
    }

    #[test]
    fn with_the_token_only() {
        let token = Some("0123456789abcdef");
        assert_eq!(asked("/?token=0123456789abcdef", "localhost", token, None), Ok(()));
        assert_eq!(asked("/?a=b&token=0123456789abcdef&c", "localhost", token, None), Ok(()));
        assert_eq!(asked("/", "localhost", token, token), Ok(()));
        for wrong in ["0123456789abcdeF", "0123456789abcde", "0123456789abcdef0", ""] {
            assert_eq!(asked(&format!("/?token={wrong}"), "localhost", token, None), Err(401), "{wrong}");
            assert_eq!(asked("/", "localhost", token, Some(wrong)), Err(401), "{wrong}");
        }
        assert_eq!(asked("/", "localhost", token, None), Err(401));
    }

    #[test]
    fn not_from_the_page_of_another_site() {
        for (site, admitted) in
            [("same-origin", true), ("none", true), ("cross-site", false), ("same-site", false)]
        {
            let request =
                Request::get("/").header(HOST, "localhost").header("sec-fetch-site", site).body(()).unwrap();
            assert_eq!(admit(&request, None).is_ok(), admitted, "{site}");
        }
    }

    #[test]
    fn good_tokens() {
        assert!(is_good_token("0123456789-_abCD", 16));
        assert!(!is_good_token("0123456789abcde", 16) && !is_good_token("0123456789abcde&", 16));
    }

    #[test]
    fn what_is_escaped_is_read() {
        let read = ["a+b", "a%20b", "%C3%A9", "100%", "%zz", "%f"].map(decoded);
        assert_eq!(read, ["a b", "a b", "é", "100%", "%zz", "%f"]);
    }
}
