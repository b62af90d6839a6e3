//! The examples that are servers, run as such: real clients talk to them, and ctrl-c ends them.
#![cfg(all(unix, not(tsan)))] // ctrl-c: TSan holds signals back from threads that sleep on a futex

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};

struct Server {
    child: Child,
    said: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    fn start(program: &str, args: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(args)
            .env_remove("ROPEWALK_THREADS")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example runs");
        let mut said = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it says where it listens");
        let address =
            line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { child, said, address }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).expect("it listens")
    }

    /// Presses ctrl-c; what it said since it listened.
    fn stop(mut self) -> String {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).expect("it says UTF-8");
        let status = self.child.wait().expect("it is our child");
        assert!(status.success(), "{status}: {rest}");
        rest
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn ask(mut stream: &TcpStream, question: &str) -> String {
    stream.write_all(question.as_bytes()).expect("it reads");
    stream.shutdown(Shutdown::Write).expect("it is open");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn the_echo_server_answers_and_ends_by_ctrl_c() {
    let server = Server::start(env!("CARGO_BIN_EXE_echo_server"), &["127.0.0.1:0"]);
    for number in 0..20 {
        let question = format!("strand {number}").repeat(1000);
        assert_eq!(ask(&server.connect(), &question), question);
    }
    let mut open = server.connect();
    open.write_all(b"?").unwrap();
    open.read_exact(&mut [0]).unwrap(); // it was accepted
    let said = server.stop();
    assert!(said.starts_with("21 connections, ") && said.ends_with(" of them still open\n"), "{said}");
    assert_eq!(open.read(&mut [0]).unwrap_or(0), 0, "it was hung up on");
}

#[test]
fn the_chat_server_passes_lines_on() {
    let server = Server::start(env!("CARGO_BIN_EXE_chat_server"), &["127.0.0.1:0"]);
    let mut clients: Vec<_> = (0..10).map(|_| BufReader::new(server.connect())).collect();
    let hear = |client: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        client.read_line(&mut line).unwrap();
        line
    };
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(hear(client), "your name?\n");
        client.get_mut().write_all(format!("{number}\n").as_bytes()).unwrap();
        assert_eq!(hear(client), format!("* {number} is here\n"));
    }
    clients[3].get_mut().write_all(b"heave\n").unwrap();
    for client in &mut clients {
        let mut line = hear(client);
        while line.ends_with("is here\n") {
            line = hear(client);
        }
        assert_eq!(line, "3: heave\n");
    }
    server.stop();
}

#[test]
fn the_proxy_stands_between_a_client_and_the_echo_server() {
    let echo = Server::start(env!("CARGO_BIN_EXE_echo_server"), &["127.0.0.1:0"]);
    let mut proxy = Server::start(env!("CARGO_BIN_EXE_tcp_proxy"), &["127.0.0.1:0", &echo.address]);
    let question = "sisal ".repeat(10_000);
    let clients: Vec<_> = (0..5).map(|_| proxy.connect()).collect();
    std::thread::scope(|scope| {
        for client in &clients {
            scope.spawn(|| assert!(ask(client, &question) == question));
        }
    });
    for _ in &clients {
        let mut line = String::new();
        proxy.said.read_line(&mut line).expect("it says UTF-8");
        assert_eq!(line, "60000 bytes up, 60000 bytes down\n");
    }
    assert_eq!(proxy.stop(), "");
}

#[test]
fn the_scanner_finds_a_port_and_nothing_beyond_this_machine() {
    let scanner = || Command::new(env!("CARGO_BIN_EXE_port_scanner"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let output = scanner().args(["127.0.0.1", &port, &port]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{port} is open\n"));
    let output = scanner().args(["198.51.100.7", "1", "10"]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("accepted: 127.0.0.0/8 and ::1"));
}
