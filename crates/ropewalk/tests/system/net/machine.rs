//! Names that this machine knows.

use super::kit::everywhere;
use ropewalk::net::{TcpListener, TcpStream, lookup_host};

#[test]
fn names_are_looked_up() {
    everywhere(|| async {
        let found = lookup_host(("localhost", 9)).await?;
        assert!(!found.is_empty() && found.iter().all(|address| address.port() == 9));
        assert_eq!(lookup_host("127.0.0.1:7").await?, ["127.0.0.1:7".parse().unwrap()]);
        let error = lookup_host("no port").await.unwrap_err();
        assert!(error.to_string().contains("\"no port\""), "{error}");
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let stream = TcpStream::connect(("localhost", listener.local_addr()?.port())).await?;
        assert_eq!(stream.peer_addr()?, listener.local_addr()?);
        Ok(())
    });
}
