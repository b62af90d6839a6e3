use super::BUFFER;
use crate::{peers, service};
use may::go;
use may::net::{TcpListener, TcpStream};
use std::io::{self, Read, Write};

pub fn serve(workers: usize) -> io::Result<()> {
    peers::may(workers);
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    service::announce(listener.local_addr()?).map_err(io::Error::other)?;
    go!(move || -> io::Result<()> {
        loop {
            let (stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            go!(move || echo(stream));
        }
    })
    .join()
    .expect("accepting does not panic")
}

fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; BUFFER];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => stream.write_all(&buffer[..count])?,
        }
    }
}
