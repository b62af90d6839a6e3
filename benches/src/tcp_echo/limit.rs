//! What a server can do without a runtime: one thread, one epoll, a read and a write per message.

use super::BUFFER;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

const LISTENER: u64 = u64::MAX;

pub fn serve(listener: &TcpListener) -> io::Result<()> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut streams = Vec::new();
    let mut events = Vec::with_capacity(256);
    loop {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), None)?;
        for event in &events {
            match event.data.u64() {
                LISTENER => accept(listener, &epoll, &mut streams)?,
                number => bounce(&mut streams[number as usize]),
            }
        }
    }
}

type Streams = Vec<Option<TcpStream>>;

/// Streams are found by their descriptor, so the table grows with those that are open.
fn accept(listener: &TcpListener, epoll: &OwnedFd, streams: &mut Streams) -> io::Result<()> {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let number = stream.as_raw_fd() as usize;
        epoll::add(epoll, &stream, EventData::new_u64(number as u64), EventFlags::IN)?;
        if streams.len() <= number {
            streams.resize_with(number + 1, || None);
        }
        streams[number] = Some(stream);
    }
}

/// Sends back what has come. A client here always takes its answers: what it does not take ends it.
fn bounce(place: &mut Option<TcpStream>) {
    let Some(stream) = place else { return };
    let mut buffer = [0; BUFFER];
    let done = match stream.read(&mut buffer) {
        Ok(0) => true,
        Ok(count) => stream.write_all(&buffer[..count]).is_err(),
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    };
    if done {
        *place = None;
    }
}
