//! `ropewalk serve` as its users meet it: real clients, real signals.
#![cfg(all(unix, not(tsan)))] // ctrl-c: TSan holds signals back from threads that sleep on a futex

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};

fn ropewalk(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.arg("serve").args(args).env_remove("NO_COLOR").env_remove("ROPEWALK_THREADS");
    command
}

fn output(args: &[&str]) -> Output {
    ropewalk(args).output().expect("the program runs")
}

/// A server that listens on a free port.
struct Server {
    child: Child,
    said: BufReader<ChildStdout>,
    errors: BufReader<ChildStderr>,
    welcome: String,
    address: SocketAddr,
}

impl Server {
    fn start(args: &[&str]) -> Self {
        Self::start_service("echo", args)
    }

    fn start_service(service: &str, args: &[&str]) -> Self {
        let mut command = ropewalk(&[service, "--listen", "0"]);
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (said, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (mut said, errors) = (BufReader::new(said), BufReader::new(errors));
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let address = match serde_json::from_str::<Value>(&line) {
            Ok(json) => json["listening"].as_str().map(str::to_owned),
            Err(_) => line.split_once(" on ").and_then(|(_, rest)| rest.split(';').next()).map(str::to_owned),
        };
        let address = address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("{line:?}"));
        Self { child, said, errors, welcome: line, address }
    }

    /// A connection that was accepted.
    fn connect(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        echo(&mut stream, b"hello");
        stream
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Presses ctrl-c, and waits until it says that it stops.
    fn interrupt(&mut self) -> String {
        self.signal("-INT");
        let mut line = String::new();
        self.errors.read_line(&mut line).unwrap();
        assert!(line.starts_with("stopping"), "{line:?}");
        line
    }

    /// Its exit code and its last line.
    fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn echo(stream: &mut TcpStream, said: &[u8]) {
    let mut heard = vec![0; said.len()];
    stream.write_all(said).unwrap();
    stream.read_exact(&mut heard).unwrap();
    assert_eq!(heard, said);
}

/// The console shows the connections, while they are there.
#[test]
fn a_console_shows_the_connections() {
    let server = Server::start(&["--console", "0", "--json"]);
    let _open: Vec<_> = (0..3).map(|_| server.connect()).collect();
    let welcome: Value = serde_json::from_str(&server.welcome).unwrap();
    let url = welcome["console"].as_str().unwrap();
    let address = url.strip_prefix("http://").and_then(|url| url.strip_suffix('/')).unwrap();
    let mut console = TcpStream::connect(address).unwrap();
    write!(console, "GET /api/state HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    console.read_to_string(&mut answer).unwrap();
    let state: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!((&state["pools"][0]["alive"], &state["io"]["registered"]), (&3.into(), &4.into()), "{state}");
}

#[test]
fn it_echoes_and_ends_by_ctrl_c_when_nobody_is_there() {
    let mut server = Server::start(&[]);
    for _ in 0..10 {
        drop(server.connect());
    }
    server.interrupt();
    let (code, last) = server.end();
    assert_eq!(code, Some(0));
    assert_eq!(last, "10 connections, 10 answers, 50.0 B; every connection ended by itself\n");
}

/// What it did is written when it ends, and `ropewalk trace` reads it.
#[test]
fn a_recording_is_written_when_it_ends() {
    let path = std::env::temp_dir().join(format!("ropewalk-serve-{}.json", std::process::id()));
    let file = path.to_str().unwrap();
    let mut server = Server::start(&["--trace", file]);
    for _ in 0..3 {
        drop(server.connect());
    }
    server.interrupt();
    assert_eq!(server.end().0, Some(0));
    let mut trace = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    let summary = trace.args(["trace", file, "--json"]).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    let summary: Value = serde_json::from_slice(&summary.stdout).unwrap();
    let overview = &summary["tables"][0]["rows"][0];
    assert!(
        overview["io_events"].as_u64().unwrap() >= 3 && overview["polls"].as_u64().unwrap() >= 3,
        "{summary}"
    );
    let refused = output(&["echo", "--listen", "0", "--trace", "/no/such/folder/file"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.starts_with("ropewalk: cannot write /no/such/folder/file: "), "{said}");
}

/// An old recording is there until there is something to put in its place.
#[test]
fn who_cannot_listen_leaves_an_old_recording_alone() {
    let path = std::env::temp_dir().join(format!("ropewalk-serve-old-{}.json", std::process::id()));
    std::fs::write(&path, "old").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = output(&["echo", "--listen", &address, "--trace", path.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    let left = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(left, "old", "{}", String::from_utf8_lossy(&refused.stderr));
}

#[test]
fn what_is_open_goes_on_while_nobody_is_accepted_any_more() {
    let mut server = Server::start(&["--drain", "60"]);
    let mut open = server.connect();
    assert_eq!(server.interrupt(), "stopping: 1 connection may go on for 60s\n");
    TcpStream::connect(server.address).expect_err("it does not listen any more");
    echo(&mut open, b"still here");
    drop(open);
    let (code, last) = server.end();
    assert_eq!((code, last.ends_with("every connection ended by itself\n")), (Some(0), true), "{last}");
}

#[test]
fn what_does_not_end_in_time_is_cancelled_and_counted() {
    let mut server = Server::start(&["--drain=0.05"]);
    let mut open: Vec<_> = (0..3).map(|_| server.connect()).collect();
    server.interrupt();
    let (code, last) = server.end();
    assert_eq!((code, last.ends_with("3 connections were cancelled\n")), (Some(1), true), "{last}");
    assert!(open.iter_mut().all(|stream| stream.read(&mut [0]).unwrap_or(0) == 0), "all were hung up on");
}

#[test]
fn a_second_ctrl_c_does_not_wait() {
    let mut server = Server::start(&["--drain", "3600"]);
    let _open = server.connect();
    server.interrupt();
    server.signal("-INT");
    let (code, last) = server.end();
    assert_eq!((code, last.ends_with("1 connection was cancelled\n")), (Some(1), true), "{last}");
}

#[test]
fn it_ends_well_though_nobody_hears_its_errors() {
    let (_, errors) = std::io::pipe().unwrap();
    let mut command = ropewalk(&["echo", "--listen", "0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut last = String::new();
    said.read_to_string(&mut last).unwrap();
    let code = child.wait().unwrap().code();
    assert_eq!((code, last.ends_with("every connection ended by itself\n")), (Some(0), true), "{last}");
}

/// Asks, and reads one answer: its head and its body.
fn get(stream: &mut BufReader<TcpStream>, request: &str) -> (String, String) {
    let request = format!("{request} HTTP/1.1\r\nhost: here\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    read_answer(stream)
}

#[test]
fn http_is_answered_and_idle_connections_end_at_once() {
    let mut server = Server::start_service("http", &["--drain", "60"]);
    let mut stream = BufReader::new(TcpStream::connect(server.address).unwrap());
    for (request, status, text) in [
        ("GET /", "HTTP/1.1 200 OK", "hello by HTTP/1.1\n"),
        ("GET /nowhere", "HTTP/1.1 404 Not Found", "there is no /nowhere here; try /\n"),
        ("DELETE /", "HTTP/1.1 405 Method Not Allowed", "DELETE is not accepted; GET, HEAD and POST are\n"),
    ] {
        let (head, body) = get(&mut stream, request);
        assert!(head.starts_with(status), "{head}");
        assert_eq!(body, text);
    }
    // It is kept alive, but has nothing under way: ctrl-c does not wait for it.
    server.interrupt();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    let (code, last) = server.end();
    assert_eq!(code, Some(0));
    assert!(last.starts_with("1 connection, 3 answers, "), "{last}");
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Reads frames up to one of `kind`; its payload. `None`: the connection ended first.
fn frame_of(kind: u8, mut stream: &TcpStream) -> Option<Vec<u8>> {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).ok()?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        stream.read_exact(&mut payload).ok()?;
        if head[3] == kind {
            return Some(payload);
        }
    }
}

#[test]
fn http_2_is_answered_and_told_to_go_away_by_ctrl_c() {
    let (data, headers, settings, go_away) = (0, 1, 4, 7);
    let mut server = Server::start_service("http", &["--drain", "60"]);
    let stream = TcpStream::connect(server.address).unwrap();
    (&stream).write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    (&stream).write_all(&frame(settings, 0, 0, b"")).unwrap();
    for number in [1, 3] {
        // GET, http, /, and the authority by its letters; whole, and without a body.
        let request = frame(headers, 0x4 | 0x1, number, b"\x82\x86\x84\x41\x04here");
        (&stream).write_all(&request).unwrap();
        assert_eq!(frame_of(data, &stream).unwrap(), b"hello by HTTP/2.0\n");
    }
    server.interrupt();
    let last = frame_of(go_away, &stream).expect("it says goodbye");
    assert_eq!(last[4..8], [0; 4], "no error");
    drop(stream);
    let (code, last) = server.end();
    assert_eq!(code, Some(0), "{last}");
    assert!(last.starts_with("1 connection, 2 answers, "), "{last}");
}

/// One answer: its head and its body.
fn read_answer(stream: &mut BufReader<TcpStream>) -> (String, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

/// It is under way: the server has asked for the body. Ctrl-c waits until it is answered, and closes the connection then.
#[test]
fn an_http_request_under_way_is_answered_after_ctrl_c() {
    let mut server = Server::start_service("http", &["--drain", "60"]);
    let mut stream = BufReader::new(TcpStream::connect(server.address).unwrap());
    let head = "POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 10\r\nexpect: 100-continue\r\n\r\n";
    stream.get_mut().write_all(head.as_bytes()).unwrap();
    assert!(read_answer(&mut stream).0.starts_with("HTTP/1.1 100 Continue"));
    assert_eq!(server.interrupt(), "stopping: 1 connection may go on for 60s\n");
    stream.get_mut().write_all(b"still here").unwrap();
    let (head, body) = read_answer(&mut stream);
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert_eq!(body, "still here");
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "no other request is taken");
    let (code, last) = server.end();
    assert_eq!(code, Some(0), "{last}");
    assert!(last.starts_with("1 connection, 1 answer, "), "{last}");
}

#[test]
fn more_than_http_takes_is_refused() {
    let server = Server::start_service("http", &[]);
    let mut stream = BufReader::new(TcpStream::connect(server.address).unwrap());
    let posted = vec![b'x'; (1 << 20) + 1];
    let head = format!("POST / HTTP/1.1\r\nhost: here\r\ncontent-length: {}\r\n\r\n", posted.len());
    stream.get_mut().write_all(head.as_bytes()).unwrap();
    stream.get_mut().write_all(&posted).unwrap();
    let (head, body) = read_answer(&mut stream);
    assert!(head.starts_with("HTTP/1.1 413"), "{head}");
    assert_eq!(body, "more than 1048576 bytes are not taken\n");
}

#[test]
fn an_http_request_that_never_ends_is_cancelled_in_the_end() {
    let mut server = Server::start_service("http", &["--drain", "0.05"]);
    let mut stream = BufReader::new(TcpStream::connect(server.address).unwrap());
    get(&mut stream, "GET /");
    stream.get_mut().write_all(b"GET / HTTP/1.1\r\nhost: he").unwrap();
    server.interrupt();
    let (code, last) = server.end();
    // Whether the beginning of the request was seen before ctrl-c or not, it ended.
    assert!(matches!(code, Some(0 | 1)), "{last}");
    assert!(last.starts_with("1 connection, 1 answer, "), "{last}");
}

#[test]
fn sigterm_ends_it_as_well_and_json_tells_machines() {
    let server = Server::start(&["--json"]);
    drop(server.connect());
    // Whether it has seen the end of the connection by then or not: it waits for it.
    server.signal("-TERM");
    let (code, last) = server.end();
    let account: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(code, Some(0));
    assert_eq!((&account["ok"], &account["connections"]), (&Value::Bool(true), &1.into()));
    assert_eq!((&account["bytes"], &account["cancelled"]), (&5.into(), &0.into()));
}

#[test]
fn a_port_in_use_is_an_error_that_says_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = output(&["echo", "--listen", &address]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with(&format!("ropewalk: cannot listen on {address}: port ")), "{said}");
    assert!(said.contains("in use already") && said.contains("--listen"), "{said}");
    let output = self::output(&["echo", "--listen", "192.0.2.1:0"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("this machine does not have the address 192.0.2.1"), "{said}");
}

#[test]
fn bad_arguments_are_refused_with_what_is_accepted() {
    let cases: [(&[&str], &[&str]); 8] = [
        (&[], &["serve needs to know what", "echo"]),
        (&["gopher"], &["no service \"gopher\"", "echo"]),
        (&["echo", "--port", "1"], &["\"--port\"", "--listen ADDRESS", "--drain SECONDS"]),
        (&["echo", "http"], &["serve offers one service", "\"http\" is a second one"]),
        (&["echo", "--listen", "nowhere"], &["\"nowhere\" is no address", "IP:PORT", "65535"]),
        (&["echo", "--listen"], &["\"\" is no address"]),
        (&["echo", "--drain", "-1"], &["\"-1\" is not a number of seconds", "0 to 3600"]),
        (&["echo", "--json=yes"], &["--json takes no value"]),
    ];
    for (args, parts) in cases {
        let output = output(args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{args:?}: {said}");
    }
}

#[test]
fn help_says_what_there_is() {
    let output = output(&["--help"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    assert!(
        ["--listen ADDRESS", "--drain SECONDS", "echo", "Exit codes"].iter().all(|part| text.contains(part))
    );
}
