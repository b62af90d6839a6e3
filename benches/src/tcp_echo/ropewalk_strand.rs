//! Written as one would with threads: a strand for each connection, and everything waits where it stands.

use super::BUFFER;
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::strand;
use ropewalk::{Runtime, Wait};
use std::io;

pub fn serve(runtime: &Runtime, listener: std::net::TcpListener) -> io::Result<()> {
    runtime.run(|| accept(listener))
}

fn accept(listener: std::net::TcpListener) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    strand::scope(|s| {
        loop {
            let (stream, _) = listener.accept().wait()?;
            stream.set_nodelay(true)?;
            drop(s.spawn(move || echo(&stream)));
        }
    })
}

fn echo(stream: &TcpStream) -> io::Result<()> {
    let mut buffer = [0; BUFFER];
    loop {
        match stream.read(&mut buffer).wait()? {
            0 => return Ok(()),
            count => stream.write_all(&buffer[..count]).wait()?,
        }
    }
}
