//! tokio's traits over our streams, and ours over tokio's, without a runtime of tokio.

use crate::kit::{for_sockets, guarded};
use ropewalk::compat::tokio::Compat;
use ropewalk::net::{TcpListener, TcpStream, UnixStream};
use ropewalk_compat_tests::pattern;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

fn everywhere(test: impl AsyncFn()) {
    for (name, builder) in for_sockets() {
        guarded(name, || builder.build().unwrap().block_on(test()));
    }
}

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (near, listener.accept().await.unwrap().0)
}

/// Sends a megabyte to `far`, which sends it back, by tokio's ways only.
async fn to_and_fro<S>(mut near: S, far: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let echoing = ropewalk::spawn(async move {
        let (mut read, mut write) = tokio::io::split(far);
        tokio::io::copy(&mut read, &mut write).await.unwrap();
        write.shutdown().await.unwrap();
    });
    let sent = pattern(1 << 20);
    let expected = sent.clone();
    let (mut read, mut write) = tokio::io::split(&mut near);
    let sending = async {
        write.write_all(&sent).await.unwrap();
        write.shutdown().await.unwrap();
    };
    let receiving = async {
        // Memory that holds nothing yet, as `read_buf` lends it.
        let mut back = Vec::with_capacity(1 << 16);
        while read.read_buf(&mut back).await.unwrap() > 0 {}
        back
    };
    let ((), back) = ropewalk::join!(sending, receiving);
    assert!(back == expected, "{} of {} bytes came back", back.len(), expected.len());
    echoing.await.unwrap();
}

#[test]
fn sockets_have_tokios_traits() {
    everywhere(async || {
        let (near, far) = pair().await;
        to_and_fro(near, far).await;
        let (near, far) = UnixStream::pair().unwrap();
        to_and_fro(near, far).await;
    });
}

#[test]
fn streams_of_futures_io_get_tokios_traits() {
    everywhere(async || {
        let (near, far) = ropewalk::io::duplex(1000);
        to_and_fro(Compat::new(near), Compat::new(far)).await;
        let (near, far) = pair().await;
        to_and_fro(Compat::new(near), Compat::new(far)).await;
    });
}

#[test]
fn streams_of_tokio_get_ours() {
    use ropewalk::io::{AsyncReadExt, AsyncWriteExt};
    everywhere(async || {
        let (near, far) = tokio::io::duplex(1000);
        let sent = pattern(1 << 18);
        let expected = sent.clone();
        let sending = ropewalk::spawn(async move {
            let mut near = Compat::new(near);
            near.write_all(&sent).await.unwrap();
            near.close().await.unwrap();
            near
        });
        let mut back = Vec::new();
        Compat::new(far).read_to_end(&mut back).await.unwrap();
        assert!(back == expected, "{} of {} bytes came", back.len(), expected.len());
        sending.await.unwrap();
    });
}

#[test]
fn there_and_back_is_as_before() {
    everywhere(async || {
        let (near, far) = ropewalk::io::duplex(100);
        // Ours, as tokio's, as ours, as tokio's.
        let wrap = |stream| Compat::new(Compat::new(Compat::new(stream)));
        to_and_fro(wrap(near), wrap(far)).await;
    });
}

#[test]
fn lines_are_read_from_what_is_buffered() {
    everywhere(async || {
        let (near, far) = pair().await;
        near.write_all(b"one\ntwo\nthree").await.unwrap();
        drop(near);
        let mut lines = Compat::new(ropewalk::io::BufReader::new(far)).lines();
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            all.push(line);
        }
        assert_eq!(all, ["one", "two", "three"]);
    });
}

#[test]
fn several_buffers_go_out_in_one_call() {
    everywhere(async || {
        let (mut near, mut far) = pair().await;
        assert!(near.is_write_vectored());
        let parts = [b"one ".as_slice(), b"two ", b"three"].map(std::io::IoSlice::new);
        assert_eq!(AsyncWriteExt::write_vectored(&mut near, &parts).await.unwrap(), 13);
        AsyncWriteExt::shutdown(&mut near).await.unwrap();
        let mut all = String::new();
        AsyncReadExt::read_to_string(&mut far, &mut all).await.unwrap();
        assert_eq!(all, "one two three");
    });
}
