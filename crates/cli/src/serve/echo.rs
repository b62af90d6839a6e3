//! The echo service.

use super::account::Account;
use ropewalk::io::AsyncWriteExt;
use ropewalk::net::TcpStream;
use std::io;

const BUFFER: usize = 4096;

/// Sends back what comes until the client writes no more.
pub(super) async fn serve(mut stream: TcpStream, account: &Account) -> io::Result<()> {
    let mut buffer = [0; BUFFER];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return stream.close().await;
        }
        stream.write_all(&buffer[..count]).await?;
        account.answered(count);
    }
}
