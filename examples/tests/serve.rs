//! The examples that are servers, run as such: real clients talk to them, and ctrl-c ends them.
#![cfg(all(unix, not(tsan)))] // ctrl-c: TSan holds signals back from threads that sleep on a futex

mod server;

use server::Server;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;

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
