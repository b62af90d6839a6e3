//! Measuring clients of others against the HTTP example: every request is answered, and ctrl-c lets the rest come to an end.
#![cfg(all(unix, not(tsan)))] // ctrl-c: TSan holds signals back from threads that sleep on a futex

mod server;

use server::Server;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Command;

/// What the tool says about the example, or `None` with a printed reason.
fn measure(server: &Server, tool: &str, arguments: &[&str]) -> Option<String> {
    let site = format!("http://{}/", server.address);
    let output = match Command::new(tool).args(arguments).arg(site).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: there is no `{tool}` on the PATH");
            return None;
        }
        Err(error) => panic!("{tool} does not run: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {said}{}", output.status, String::from_utf8_lossy(&output.stderr));
    Some(said)
}

/// A client that has asked once, was answered, and stays.
fn stays(server: &Server) -> TcpStream {
    let mut stream = server.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: example\r\n\r\n").unwrap();
    let (mut answer, mut piece) = (Vec::new(), [0; 256]);
    while !answer.ends_with(b"hello by HTTP/1.1") {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..count]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", String::from_utf8_lossy(&answer));
    stream
}

fn start() -> Server {
    Server::start(env!("CARGO_BIN_EXE_http_hello"), &["127.0.0.1:0"])
}

/// Ctrl-c while a client is there that could ask again. There were at least so many others.
fn stop(server: Server, others: usize) {
    let mut stream = stays(&server);
    let said = server.stop();
    let count: Option<usize> = said.strip_suffix(" connections\n").and_then(|count| count.parse().ok());
    assert!(count.is_some_and(|count| count > others), "{said}");
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0, "it was let go in peace");
}

#[test]
fn ctrl_c_lets_connections_end() {
    let server = start();
    let others: Vec<_> = (0..20).map(|_| stays(&server)).collect();
    let silent = server.connect();
    stop(server, others.len() + 1);
    drop(silent);
}

#[test]
fn wrk_is_answered_by_http1() {
    let server = start();
    // A machine that was stopped for a while is not slow.
    if let Some(said) = measure(&server, "wrk", &["-t1", "-c16", "-d2s", "--timeout", "60s"]) {
        assert!(!said.contains("Socket errors") && !said.contains("Non-2xx"), "{said}");
        let line = said.lines().find(|line| line.contains(" requests in ")).expect(&said);
        let count: u64 = line.split_whitespace().next().and_then(|count| count.parse().ok()).expect(&said);
        assert!(count > 16, "{said}");
        stop(server, 16);
    }
}

#[test]
fn h2load_is_answered_by_http2() {
    let server = start();
    if let Some(said) = measure(&server, "h2load", &["-n", "2000", "-c", "8", "-m", "10"]) {
        let all =
            "requests: 2000 total, 2000 started, 2000 done, 2000 succeeded, 0 failed, 0 errored, 0 timeout";
        assert!(said.contains(all) && said.contains("status codes: 2000 2xx"), "{said}");
        assert!(said.contains("Application protocol: h2c"), "{said}");
        stop(server, 8);
    }
}

#[test]
fn h2load_is_answered_by_http1() {
    let server = start();
    if let Some(said) = measure(&server, "h2load", &["--h1", "-n", "2000", "-c", "8"]) {
        assert!(said.contains("2000 done, 2000 succeeded, 0 failed, 0 errored, 0 timeout"), "{said}");
        assert!(said.contains("status codes: 2000 2xx"), "{said}");
        stop(server, 8);
    }
}
