//! Stop: a chat server on strands, and a crowd that talks, over real sockets.

use super::attendance::Attendance;
use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::show::grouped;
use ropewalk::Wait;
use ropewalk::channel::broadcast::{self, Receiver, Sender};
use ropewalk::io::{BufReader, Lines, prelude::*};
use ropewalk::net::tcp::{ReadHalf, WriteHalf};
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::strand::{self, Strand, StrandError};
use ropewalk::sync::Barrier;
use ropewalk_core::prim::real::{AtomicU64, Ordering::*};
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a guest hears before everything else.
const WELCOME: &str = "welcome";

/// What somebody said, as it goes to all.
type Line = Arc<str>;

pub(crate) struct Chat;

impl Stop for Chat {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn title(&self) -> &'static str {
        "A chat without async"
    }

    fn about(&self) -> &'static str {
        "A strand accepts; for each guest one reads and one writes, and they simply\n\
         wait. Everybody hears everybody, and one call ends the server with all in it."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let (guests, lines) = (guide.amount(100, 10), guide.amount(20, 5));
        let runtime = super::builder().build()?;
        let found = runtime.run(|| visit(guide, guests, lines))?;

        let (said, strands) = (guests * lines, 1 + 2 * guests);
        let columns = [
            Column::noted("guests", "guests", "each a strand with a connection"),
            Column::noted("said", "lines said", "by all of them"),
            Column::noted("heard", "lines heard", "each line by each guest"),
            Column::noted("took_ns", "took", "from the first to the last"),
            Column::noted("heard_per_s", "rate", "of lines heard; all share the cores"),
            Column::noted("strands", "strands", "of the server, at most"),
            Column::noted("cancelled_ns", "cancelled in", "until all of these had ended"),
        ];
        let mut table = Table::new("Everybody talks to everybody", columns).turned();
        table.row([
            Value::Count(guests),
            Value::Count(said),
            Value::Count(found.heard),
            Value::time(found.took),
            Value::rate(found.heard, found.took),
            Value::Count(found.strands),
            Value::time(found.cancelled),
        ]);
        let mut findings = Findings::default();
        findings.table(table);
        let everything = found.heard == said * guests;
        findings.check(everything, "everybody heard every line, those of each speaker in order");
        let gone = found.strands == strands && found.left == 0;
        let what =
            format!("when the root was joined, none of the server's {} strands was left", grouped(strands));
        findings.check(gone, what);
        findings.check(found.told, "its root's handle said that it was cancelled");
        Ok(findings)
    }
}

/// What was found.
struct Found {
    /// Lines that came to a guest when it was their turn.
    heard: u64,
    took: Duration,
    /// Of the server, at most.
    strands: u64,
    cancelled: Duration,
    /// Strands of the server when its root had been joined.
    left: u64,
    /// The root's handle gave the right error.
    told: bool,
}

/// All are in nurseries: who fails panics, and that ends the others, who would wait for ever.
fn visit(guide: &Guide, guests: u64, lines: u64) -> io::Result<Found> {
    let listener = TcpListener::bind("127.0.0.1:0").wait()?;
    let all = guests * guests * lines;
    let heard = guide.phase_counting(format!("{} lines are heard", grouped(all)), all);
    let ready = Barrier::new(guests as usize + 1);
    let party = Party { server: listener.local_addr()?, guests, lines, ready, heard };
    let strands = Attendance::default();
    Ok(strand::nursery(|n| {
        // Nobody can miss a line: there is room for all.
        let server = n.spawn(|| serve(&listener, (guests * lines) as usize, &strands));
        let member = |number| {
            let party = &party;
            n.spawn(move || party.member(number).unwrap_or_else(|error| panic!("guest {number}: {error}")))
        };
        let members: Vec<_> = (0..guests).map(member).collect();
        party.ready.wait().wait();
        let from = Instant::now();
        party.ready.wait().wait();
        let ends: Vec<_> = members.into_iter().map(Strand::join).collect();
        let took = from.elapsed();
        let from = Instant::now();
        server.cancel();
        let (end, cancelled) = (server.try_join(), from.elapsed());
        Found {
            heard: ends.iter().map(|(heard, _still_connected)| heard).sum(),
            took,
            strands: strands.most(),
            cancelled,
            left: strands.now(),
            told: matches!(end, Err(StrandError::Cancelled)),
        }
    }))
}

/// Accepts until it is cancelled.
fn serve(listener: &TcpListener, room: usize, strands: &Attendance) {
    let _present = strands.enter();
    let (room, _) = broadcast::channel(room);
    let room = &room;
    strand::nursery(|guests| {
        loop {
            let accepted = listener.accept().wait();
            let (stream, _) = accepted.unwrap_or_else(|error| panic!("nobody can be accepted: {error}"));
            drop(guests.spawn(move || guest(stream, room, strands)));
        }
    })
}

/// A guest who says its name first. An error is the guest's: it has left.
fn guest(mut stream: TcpStream, room: &Sender<Line>, strands: &Attendance) -> io::Result<()> {
    let _present = strands.enter();
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.split();
    let mut lines = BufReader::new(reader).lines();
    let Some(name) = lines.next_line().wait()? else { return Ok(()) };
    let heard = room.subscribe();
    strand::nursery(|n| {
        drop(n.spawn(|| tell(writer, heard, strands)));
        let ended = listen(&name, lines, room);
        n.cancel_all(); // it waits for what will be said, or for a guest who does not read
        n.join_all();
        ended
    })
}

/// Passes on what a guest says, until it goes.
fn listen(name: &str, mut lines: Lines<BufReader<ReadHalf<'_>>>, room: &Sender<Line>) -> io::Result<()> {
    while let Some(line) = lines.next_line().wait()? {
        let _all_have_left = room.send(format!("{name}: {line}\n").into());
    }
    Ok(())
}

/// Passes on what a guest is to hear, as long as it can be reached.
fn tell(mut writer: WriteHalf<'_>, mut heard: Receiver<Line>, strands: &Attendance) -> io::Result<()> {
    let _present = strands.enter();
    writer.write_all(format!("{WELCOME}\n").as_bytes()).wait()?;
    loop {
        let line = heard.recv().wait().expect("there is room for all lines, as long as anybody is here");
        writer.write_all(line.as_bytes()).wait()?;
    }
}

/// Those who talk.
struct Party {
    server: SocketAddr,
    guests: u64,
    /// That each of them says.
    lines: u64,
    /// All have come; all begin.
    ready: Barrier,
    heard: Arc<AtomicU64>,
}

impl Party {
    /// Says a line and hears as many as there are guests, again and again: how many were the next of who said them. The
    /// connection is still there.
    fn member(&self, number: u64) -> io::Result<(u64, TcpStream)> {
        let mut stream = TcpStream::connect(self.server).wait()?;
        stream.set_nodelay(true)?;
        let (reader, mut writer) = stream.split();
        let mut lines = BufReader::new(reader).lines();
        writer.write_all(format!("{number}\n").as_bytes()).wait()?;
        if next(&mut lines)? != WELCOME {
            return Err(io::Error::other("it is not welcome"));
        }
        self.ready.wait().wait();
        self.ready.wait().wait();
        let (mut right, mut turns) = (0, vec![0; self.guests as usize]);
        for turn in 0..self.lines {
            writer.write_all(format!("{turn}\n").as_bytes()).wait()?;
            for _ in 0..self.guests {
                right += u64::from(take_turn(&mut turns, &next(&mut lines)?).is_some());
            }
            self.heard.fetch_add(self.guests, Relaxed);
        }
        drop((lines, writer));
        Ok((right, stream))
    }
}

fn next(lines: &mut Lines<BufReader<ReadHalf<'_>>>) -> io::Result<String> {
    lines.next_line().wait()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// `None`: it was not this line's turn among those of its speaker.
fn take_turn(turns: &mut [u64], line: &str) -> Option<()> {
    let (speaker, turn) = line.split_once(": ")?;
    let next = turns.get_mut(speaker.parse::<usize>().ok()?)?;
    let its_turn = turn.parse() == Ok(*next);
    *next += u64::from(its_turn);
    its_turn.then_some(())
}
