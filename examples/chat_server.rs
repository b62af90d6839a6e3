//! A chat server: whoever says a line is heard by everybody, through one broadcast channel. A client that reads too slowly
//! is told how much it missed, and holds up nobody. With an address it serves until ctrl-c (try `nc 127.0.0.1 7878`):
//!
//!     cargo run -p ropewalk-examples --bin chat_server -- 127.0.0.1:7878

use ropewalk::channel::broadcast::{self, Receiver, RecvError, Sender};
use ropewalk::io::{BufReader, Lines, prelude::*};
use ropewalk::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::{TaskGroup, select, signal, spawn};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// How many lines a client may be behind.
const BEHIND: usize = 64;

/// What somebody said, shared by all who hear it.
type Line = Arc<str>;

#[ropewalk::main]
async fn main() -> io::Result<()> {
    let Some(address) = std::env::args().nth(1) else { return show().await };
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    select! {
        pressed = signal::ctrl_c() => pressed,
        stopped = serve(&listener) => stopped,
    }
}

async fn serve(listener: &TcpListener) -> io::Result<()> {
    let (room, _) = broadcast::channel(BEHIND);
    let mut guests = TaskGroup::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(guests.spawn(guest(stream, room.clone()))),
            Err(error) => eprintln!("nobody was accepted: {error}"), // the listener is as good as before
        }
        while guests.try_join_next().is_some() {} // those who have left
    }
}

/// A guest: the first line is the name, the others are for all.
async fn guest(stream: TcpStream, room: Sender<Line>) -> io::Result<()> {
    stream.write_all(b"your name?\n").await?;
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines().limit(1000);
    let Some(name) = lines.next_line().await? else { return Ok(()) };
    let heard = room.subscribe();
    say(&room, format!("* {name} is here"));
    let ended = talk(&name, lines, heard, &mut writer, &room).await;
    say(&room, format!("* {name} has left")); // also if it was cut off
    ended
}

/// Passes on what a guest says and hears, until it goes or cannot be reached any more.
async fn talk(
    name: &str,
    mut lines: Lines<BufReader<OwnedReadHalf>>,
    mut heard: Receiver<Line>,
    writer: &mut OwnedWriteHalf,
    room: &Sender<Line>,
) -> io::Result<()> {
    loop {
        select! {
            line = lines.next_line() => match line? {
                Some(line) => say(room, format!("{name}: {line}")),
                None => return Ok(()),
            },
            line = heard.recv() => match line {
                Ok(line) => writer.write_all(format!("{line}\n").as_bytes()).await?,
                Err(RecvError::Lagged(missed)) => {
                    writer.write_all(format!("* you missed {missed} lines\n").as_bytes()).await?;
                }
                Err(RecvError::Closed) => return Ok(()),
            },
        }
    }
}

fn say(room: &Sender<Line>, line: String) {
    let _nobody_listens = room.send(line.into());
}

/// A client for [`show`].
struct Client {
    lines: Lines<BufReader<OwnedReadHalf>>,
    writer: OwnedWriteHalf,
}

impl Client {
    async fn enter(room: SocketAddr, name: &str) -> io::Result<Self> {
        let (reader, writer) = TcpStream::connect(room).await?.into_split();
        let mut client = Self { lines: BufReader::new(reader).lines(), writer };
        client.hear("your name?").await?;
        client.say(name).await?;
        client.hear(&format!("* {name} is here")).await?;
        Ok(client)
    }

    async fn say(&mut self, line: &str) -> io::Result<()> {
        self.writer.write_all(format!("{line}\n").as_bytes()).await
    }

    async fn hear(&mut self, expected: &str) -> io::Result<()> {
        let line = self.lines.next_line().await?;
        assert_eq!(line.as_deref(), Some(expected));
        Ok(())
    }
}

async fn show() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = spawn(async move { serve(&listener).await });

    let mut ann = Client::enter(address, "ann").await?;
    let mut ben = Client::enter(address, "ben").await?;
    ann.hear("* ben is here").await?;
    ann.say("shall we lay a rope?").await?;
    for client in [&mut ann, &mut ben] {
        client.hear("ann: shall we lay a rope?").await?;
    }
    ben.say("three strands").await?;
    for client in [&mut ann, &mut ben] {
        client.hear("ben: three strands").await?;
    }
    println!("both heard both");

    drop(ben);
    ann.hear("* ben has left").await?;
    println!("and who is left hears who has left");
    server.cancel();
    assert!(server.await.is_err(), "it was cancelled, and its guests with it");
    assert_eq!(ann.lines.next_line().await?, None, "the room is closed");
    Ok(())
}
