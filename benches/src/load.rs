//! The load on a server: many connections on one thread, an epoll of its own, the same for every peer. Each connection
//! sends a message and waits until it has come back whole. A latency is the time from just before the message is written
//! until its last byte has been read. Answers are taken in the order in which they come (edge-triggered: what is not read
//! whole comes again with its rest), so that no latency is of the load's making.

mod paced;

use crate::latency::Latencies;
use crate::meter::Sample;
use crate::service::{Service, allow_connections};
pub use paced::Pulse;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Bytes of a message.
const MESSAGE: usize = 64;
static WORDS: [u8; MESSAGE] = *b"The quick brown fox jumps over the lazy dog; he does not mind it";

/// One connection, and how much of the answer is there.
#[derive(Debug)]
struct Link {
    stream: TcpStream,
    sent: Instant,
    /// Bytes still to come back.
    missing: usize,
}

/// All connections to a server.
pub struct Load {
    links: Vec<Link>,
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Load {
    /// Opens `count` connections. Each has had one answer when this returns, so the server has accepted it.
    pub fn connect(service: &Service, count: usize) -> Result<Self, String> {
        allow_connections(count)?;
        let failed = |error: rustix::io::Errno| format!("epoll: {error}");
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let mut links = Vec::with_capacity(count);
        for number in 0..count {
            let link = Link::open(service)
                .map_err(|error| format!("connection {number} to {}: {error}", service.address))?;
            epoll::add(
                &epoll,
                &link.stream,
                EventData::new_u64(number as u64),
                EventFlags::IN | EventFlags::ET,
            )
            .map_err(failed)?;
            links.push(link);
        }
        Ok(Self { links, epoll, events: Vec::with_capacity(256) })
    }

    /// Everybody sends as soon as the last answer is there: `warm` that does not count, then `measured`. All is answered when
    /// it returns.
    pub fn flat_out(
        &mut self,
        service: &Service,
        warm: Duration,
        measured: Duration,
    ) -> Result<Sample, String> {
        for number in 0..self.links.len() {
            self.send(number)?;
        }
        self.drive(Instant::now() + warm, |_, _| {})?;
        let mut latencies = Latencies::start(1 << 18);
        let cpu = service.cpu();
        self.drive(Instant::now() + measured, |sent, now| latencies.note(now - sent))?;
        let sample = by_rate(latencies, service.cpu() - cpu);
        self.settle()?;
        Ok(sample)
    }

    /// Waits for the answers that are still to come.
    fn settle(&mut self) -> Result<(), String> {
        while let Some(number) = self.links.iter().position(|link| link.missing > 0) {
            self.events.clear();
            let limit = Timespec { tv_sec: 10, tv_nsec: 0 };
            epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&limit))
                .map_err(|error| format!("epoll: {error}"))?;
            if self.events.is_empty() {
                return Err(format!("connection {number} was not answered within 10 s"));
            }
            for at in 0..self.events.len() {
                self.receive(self.events[at].data.u64() as usize)?;
            }
        }
        Ok(())
    }

    /// Answers each answer with the next message, until then.
    fn drive(&mut self, until: Instant, mut note: impl FnMut(Instant, Instant)) -> Result<(), String> {
        loop {
            self.events.clear();
            epoll::wait(&self.epoll, spare_capacity(&mut self.events), None)
                .map_err(|error| format!("epoll: {error}"))?;
            for at in 0..self.events.len() {
                let number = self.events[at].data.u64() as usize;
                if let Some(sent) = self.receive(number)? {
                    note(sent, self.send(number)?);
                }
            }
            if Instant::now() >= until {
                return Ok(());
            }
        }
    }

    /// Sends a message; says when.
    fn send(&mut self, number: usize) -> Result<Instant, String> {
        let link = &mut self.links[number];
        (link.sent, link.missing) = (Instant::now(), MESSAGE);
        match link.stream.write(&WORDS) {
            Ok(MESSAGE) => Ok(link.sent),
            Ok(less) => {
                Err(format!("connection {number} took {less} of {MESSAGE} bytes while nothing was under way"))
            }
            Err(error) => Err(format!("connection {number} was lost while writing: {error}")),
        }
    }

    /// Reads what is there. When the answer is whole: when its message was sent.
    fn receive(&mut self, number: usize) -> Result<Option<Instant>, String> {
        let link = &mut self.links[number];
        let mut answer = [0; 2 * MESSAGE];
        match link.stream.read(&mut answer) {
            Ok(0) => Err(format!("connection {number} was closed by the server")),
            Ok(count) if count > link.missing => {
                Err(format!("connection {number} sent {count} bytes instead of {}", link.missing))
            }
            Ok(count) => {
                link.missing -= count;
                if WORDS[MESSAGE - link.missing - count..MESSAGE - link.missing] != answer[..count] {
                    return Err(format!("connection {number} sent back something else"));
                }
                Ok((link.missing == 0).then_some(link.sent))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(format!("connection {number} was lost while reading: {error}")),
        }
    }
}

impl Link {
    fn open(service: &Service) -> std::io::Result<Self> {
        let mut stream = TcpStream::connect(service.address)?;
        stream.set_nodelay(true)?;
        // It is reset when it is closed: tens of thousands of them would leave as many ports behind, for a minute.
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
        stream.write_all(&WORDS)?;
        stream.read_exact(&mut [0; MESSAGE])?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, sent: Instant::now(), missing: 0 })
    }
}

/// A sample whose value is thousands of answers a second, with the server's CPU time for each.
pub fn by_rate(latencies: Latencies, server: Duration) -> Sample {
    let mut sample = by_latency(latencies, server);
    sample.extra.insert("p50".into(), sample.value);
    sample.value = sample.ops as f64 / sample.seconds / 1e3;
    sample.unit = "k/s".into();
    sample
}

/// A sample whose value is the median latency in microseconds, with the server's CPU time for each.
fn by_latency(latencies: Latencies, server: Duration) -> Sample {
    let mut sample = latencies.finish("us", 1e3);
    // That was the load's own.
    sample.extra.remove("voluntary_switches_per_op");
    sample.cpu_ns_per_op = Some(server.as_secs_f64() * 1e9 / sample.ops as f64);
    sample.extra.insert("cpu_us".into(), server.as_secs_f64() * 1e6 / sample.ops as f64);
    sample
}
