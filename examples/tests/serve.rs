//! The examples that are servers, run as such: real clients talk to them, and ctrl-c ends them.
#![cfg(all(unix, not(tsan)))] // ctrl-c: TSan holds signals back from threads that sleep on a futex

mod server;

use server::Server;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

fn ask(stream: &TcpStream, question: &str) -> String {
    try_to_ask(stream, question).expect("it answers")
}

fn try_to_ask(mut stream: &TcpStream, question: &str) -> std::io::Result<String> {
    stream.write_all(question.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
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

/// Of tasks, and of strands.
const CHAT_SERVERS: [&str; 2] = [env!("CARGO_BIN_EXE_chat_server"), env!("CARGO_BIN_EXE_strand_chat")];

#[test]
fn the_chat_servers_pass_lines_on() {
    CHAT_SERVERS.into_iter().for_each(passes_lines_on);
}

fn passes_lines_on(program: &str) {
    let server = Server::start(program, &["127.0.0.1:0"]);
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

/// What a server says to `request`, up to its end.
fn get(server: &Server, path: &str) -> String {
    let stream = server.connect();
    // A request that is never answered would be one for ever.
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    (&stream)
        .write_all(format!("GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut answer = String::new();
    (&stream).read_to_string(&mut answer).expect("it answers");
    answer
}

/// More clients than there are descriptors; when they have left, the server is as good as before.
fn survives_a_crowd(program: &str, args: &[&str], serves: impl Fn(&Server)) {
    let mut server = Server::start_with(32, program, args);
    let crowd: Vec<_> = (0..60).map(|_| server.connect()).collect();
    let mut errors = BufReader::new(server.child.stderr.take().expect("it is piped"));
    let mut said = String::new();
    while !said.contains("os error 24") {
        said.clear();
        assert_ne!(errors.read_line(&mut said).unwrap(), 0, "{program} has ended");
    }
    drop(crowd);
    serves(&server);
    assert!(server.child.try_wait().unwrap().is_none(), "{program} has ended");
}

#[test]
fn a_crowd_that_takes_all_descriptors_ends_no_server() {
    let (here, folder) = ("127.0.0.1:0", Folder::new("crowd"));
    let echoes = |server: &Server| assert_eq!(ask(&server.connect(), "still here"), "still here");
    survives_a_crowd(env!("CARGO_BIN_EXE_echo_server"), &[here], echoes);
    for program in CHAT_SERVERS {
        survives_a_crowd(program, &[here], |server| {
            let mut line = String::new();
            BufReader::new(server.connect()).read_line(&mut line).unwrap();
            assert_eq!(line, "your name?\n");
        });
    }
    let echo = Server::start(env!("CARGO_BIN_EXE_echo_server"), &[here]);
    survives_a_crowd(env!("CARGO_BIN_EXE_tcp_proxy"), &[here, &echo.address], |proxy| {
        // It needs two descriptors for each client: who is accepted with the last one is hung up on, until the crowd is gone.
        let is_served =
            || try_to_ask(&proxy.connect(), "still here").is_ok_and(|heard| heard == "still here");
        assert!((0..10_000).any(|_| is_served()), "it serves nobody any more");
    });
    survives_a_crowd(env!("CARGO_BIN_EXE_http_hello"), &[here], |server| {
        assert!(get(server, "/").ends_with("hello by HTTP/1.1"));
    });
    std::fs::write(folder.0.join("a"), "hemp").unwrap();
    survives_a_crowd(env!("CARGO_BIN_EXE_file_server"), &[folder.0.to_str().unwrap(), here], |server| {
        assert!(get(server, "/a").ends_with("hemp"));
    });
}

/// A directory of a test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ropewalk-examples-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_file_server_gives_files_of_its_folder_and_nothing_else() {
    let outer = Folder::new("files");
    let folder = outer.0.join("inner");
    std::fs::create_dir_all(folder.join("below")).unwrap();
    std::fs::write(outer.0.join("secret"), "SECRET").unwrap();
    std::fs::write(folder.join("below/file"), "manila").unwrap();
    std::os::unix::fs::symlink("../secret", folder.join("out")).unwrap();
    std::os::unix::fs::symlink("..", folder.join("up")).unwrap();
    std::os::unix::fs::symlink("below/file", folder.join("in")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().expect("mkfifo runs").success());
    let server = Server::start(env!("CARGO_BIN_EXE_file_server"), &[folder.to_str().unwrap(), "127.0.0.1:0"]);
    for (path, status, body) in [
        ("/below/file", "200", "manila"),
        ("/in", "200", "manila"),
        ("/out", "403", ""),
        ("/up/secret", "403", ""),
        ("/pipe", "404", ""),
        ("/below", "404", ""),
        ("/missing", "404", ""),
        ("/below/file", "200", "manila"),
    ] {
        let answer = get(&server, path);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.ends_with(body),
            "{path}: {answer}"
        );
        assert!(!answer.contains("SECRET"), "{path}: {answer}");
    }
}

#[test]
fn who_leaves_the_chat_by_an_error_has_left_too() {
    CHAT_SERVERS.into_iter().for_each(says_who_has_left);
}

fn says_who_has_left(program: &str) {
    let server = Server::start(program, &["127.0.0.1:0"]);
    let mut clients: Vec<_> = (0..2).map(|_| BufReader::new(server.connect())).collect();
    let hear = |client: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        client.read_line(&mut line).unwrap();
        line
    };
    for (number, client) in clients.iter_mut().enumerate() {
        hear(client);
        client.get_mut().write_all(format!("{number}\n").as_bytes()).unwrap();
        assert_eq!(hear(client), format!("* {number} is here\n"));
    }
    // A line that is too long is an error.
    clients[1].get_mut().write_all(&[b'x'; 2000]).unwrap();
    while clients[1].read_until(b'\n', &mut Vec::new()).unwrap_or(0) > 0 {}
    clients[0].get_mut().write_all(b"alone?\n").unwrap();
    for expected in ["* 1 is here\n", "* 1 has left\n", "0: alone?\n"] {
        assert_eq!(hear(&mut clients[0]), expected);
    }
}
