//! The chat server of `chat_server.rs` without a line of `async`: a strand accepts, each guest has a strand that reads and one
//! that writes, and all of them simply wait. Who is cancelled takes its children along, so ending the server is one call. With
//! an address it serves until ctrl-c (try `nc 127.0.0.1 7878`):
//!
//!     cargo run -p ropewalk-examples --bin strand_chat -- 127.0.0.1:7878

use ropewalk::channel::broadcast::{self, Receiver, RecvError, Sender};
use ropewalk::io::{BufReader, Lines, prelude::*};
use ropewalk::net::tcp::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::strand::{self, Strand, StrandError};
use ropewalk::sync::Barrier;
use ropewalk::{Wait, signal};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// How many lines a guest may be behind.
const BEHIND: usize = 64;

/// What somebody said, shared by all who hear it.
type Line = Arc<str>;

fn main() -> io::Result<()> {
    ropewalk::run(|| match std::env::args().nth(1) {
        None => while_serving("127.0.0.1:0", show),
        Some(address) => while_serving(&address, |address| {
            let pressed = signal::ctrl_c(); // before a crowd can take all descriptors
            println!("listening on {address}");
            pressed.wait()
        }),
    })
}

/// Serves at `address` as long as `f` takes.
fn while_serving(address: &str, f: impl FnOnce(SocketAddr) -> io::Result<()>) -> io::Result<()> {
    let listener = TcpListener::bind(address).wait()?;
    strand::scope(|s| {
        let server = s.spawn(|| serve(&listener));
        let result = f(listener.local_addr()?);
        server.cancel();
        assert!(matches!(server.try_join(), Err(StrandError::Cancelled)), "it and its guests have ended");
        result
    })
}

/// Until it is cancelled.
fn serve(listener: &TcpListener) {
    let (room, _) = broadcast::channel(BEHIND);
    strand::scope(|guests| {
        loop {
            match listener.accept().wait() {
                Ok((stream, _)) => drop(guests.spawn(|| guest(stream, &room))),
                Err(error) => eprintln!("nobody was accepted: {error}"), // the listener is as good as before
            }
        }
    })
}

/// A guest: the first line is the name, the others are for all.
fn guest(mut stream: TcpStream, room: &Sender<Line>) -> io::Result<()> {
    stream.write_all(b"your name?\n").wait()?;
    let (reader, writer) = stream.split();
    let mut lines = BufReader::new(reader).lines().limit(1000);
    let Some(name) = lines.next_line().wait()? else { return Ok(()) };
    let heard = room.subscribe();
    say(room, format!("* {name} is here"));
    let ended = strand::scope(|s| {
        let writer = s.spawn(|| tell(writer, heard));
        let ended = listen(&name, lines, room);
        writer.cancel(); // it waits for the next line, or for a guest who does not read
        let _interrupted = writer.try_join();
        ended
    });
    say(room, format!("* {name} has left")); // also if it was cut off
    ended
}

/// Passes on what a guest says, until it goes or cannot be reached any more.
fn listen(name: &str, mut lines: Lines<BufReader<ReadHalf<'_>>>, room: &Sender<Line>) -> io::Result<()> {
    while let Some(line) = lines.next_line().wait()? {
        say(room, format!("{name}: {line}"));
    }
    Ok(())
}

/// Passes on what a guest hears. If it cannot be reached, its reader will know.
fn tell(mut writer: WriteHalf<'_>, mut heard: Receiver<Line>) -> io::Result<()> {
    loop {
        let line = match heard.recv().wait() {
            Ok(line) => format!("{line}\n"),
            Err(RecvError::Lagged(missed)) => format!("* you missed {missed} lines\n"),
            Err(RecvError::Closed) => return Ok(()),
        };
        writer.write_all(line.as_bytes()).wait()?;
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
    fn enter(room: SocketAddr, name: &str) -> io::Result<Self> {
        let (reader, writer) = TcpStream::connect(room).wait()?.into_split();
        let mut client = Self { lines: BufReader::new(reader).lines(), writer };
        client.hear("your name?")?;
        client.say(name)?;
        let here = format!("* {name} is here");
        while client.next()? != here {} // others may come in just before
        Ok(client)
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        self.writer.write_all(format!("{line}\n").as_bytes()).wait()
    }

    fn next(&mut self) -> io::Result<String> {
        self.lines.next_line().wait()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn hear(&mut self, expected: &str) -> io::Result<()> {
        assert_eq!(self.next()?, expected);
        Ok(())
    }
}

/// Guests of our own: two who talk, then a crowd of whom everybody says something and hears all.
fn show(room: SocketAddr) -> io::Result<()> {
    const CROWD: usize = 20;
    let mut ann = Client::enter(room, "ann")?;
    let mut ben = Client::enter(room, "ben")?;
    ann.hear("* ben is here")?;
    ann.say("no colours here")?;
    for client in [&mut ann, &mut ben] {
        client.hear("ann: no colours here")?;
    }
    println!("both heard it");
    drop(ben);
    ann.hear("* ben has left")?;
    println!("and who is left hears who has left");

    let everybody_is_there = Barrier::new(CROWD);
    // If one of them panicked, the others would wait for it: a nursery ends them then.
    let heard: usize = strand::nursery(|n| {
        let guest = |number| {
            let there = &everybody_is_there;
            n.spawn(move || -> io::Result<usize> {
                let mut client = Client::enter(room, &format!("guest {number}"))?;
                there.wait().wait();
                client.say("heave")?;
                let mut heard = 0;
                while heard < CROWD {
                    heard += usize::from(client.next()?.ends_with(": heave"));
                }
                there.wait().wait(); // nobody leaves before all have heard all
                Ok(heard)
            })
        };
        let crowd: Vec<_> = (0..CROWD).map(guest).collect();
        crowd.into_iter().map(Strand::join).sum::<io::Result<usize>>()
    })?;
    println!("{CROWD} at once heard {heard} lines");
    assert_eq!(heard, CROWD * CROWD);
    Ok(())
}
