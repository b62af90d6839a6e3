//! What streams seldom carry: more buffers than the system takes at once, urgent bytes, descriptors; and the end, for
//! those who look for something else.

use super::common::{guarded, until_async};
use super::kit::{everywhere, pair};
use ropewalk::driver::Interest;
use ropewalk::net::{AsyncFd, TcpStream, UnixStream};
use rustix::net::{SendFlags, send};
use std::io::{self, IoSlice, IoSliceMut};
use std::time::Duration;

/// More than one call takes: what it leaves is no sign that there is no room, or nothing more to read.
#[test]
fn more_buffers_than_the_system_takes_at_once() {
    guarded("many buffers", || {
        everywhere(|| async {
            let (left, right) = pair().await?;
            let bytes = [7; 1];
            let buffers = vec![IoSlice::new(&bytes); 2000];
            let mut sent = 0;
            while sent < 4000 {
                sent += left.write_vectored(&buffers).await?;
            }
            right.readable().await?;
            let mut got = 0;
            let mut space = vec![[0; 1]; 2000];
            while got < sent {
                let mut buffers: Vec<_> = space.iter_mut().map(|byte| IoSliceMut::new(byte)).collect();
                got += right.read_vectored(&mut buffers).await?;
            }
            assert_eq!(got, sent);
            Ok(())
        });
    });
}

/// The other side has closed, which is nothing urgent: who looks for that waits, and lets others run.
#[test]
fn the_end_is_nothing_urgent() {
    guarded("waiting for something urgent after the end", || {
        everywhere(|| async {
            let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
            ours.set_nonblocking(true)?;
            let ours = AsyncFd::with_interest(ours, Interest::READABLE | Interest::PRIORITY)?;
            let none = |_: &_| Err::<(), _>(io::Error::from(io::ErrorKind::WouldBlock));
            assert!(ours.try_io(Interest::READABLE, none).is_err());
            drop(theirs);
            assert!(ours.ready(Interest::READABLE).await?.is_read_closed());
            let urgent = ours.async_io(Interest::PRIORITY, none);
            assert!(ropewalk::time::timeout(Duration::from_millis(5), urgent).await.is_err());
            assert!(ours.ready(Interest::READABLE).await?.is_read_closed(), "that stays");
            Ok(())
        });
    });
}

/// Sends `one`, an urgent byte and `two`; all of it has arrived.
async fn with_something_urgent(left: &TcpStream, right: &TcpStream) -> io::Result<()> {
    left.set_nodelay(true)?;
    assert_eq!(right.try_read(&mut [0; 1]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    send(left, b"one", SendFlags::empty())?;
    send(left, b"!", SendFlags::OOB)?;
    send(left, b"two", SendFlags::empty())?;
    // What was acknowledged is there. (How much there is to read nobody says: the count ends at the urgent byte.)
    until_async("it has arrived", || rustix::io::ioctl_fionread(right).is_ok_and(|count| count >= 3)).await;
    until_async("all of it has", || unsent(left) == 0).await;
    right.readable().await
}

/// How many bytes the other side has not acknowledged.
fn unsent(stream: &TcpStream) -> i32 {
    use std::os::fd::AsRawFd;
    let mut count = -1;
    // SAFETY: it asks for a number, for which there is room.
    assert_eq!(unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &mut count) }, 0);
    count
}

/// A read stops before an urgent byte, whatever comes after it: it has not emptied the stream.
#[test]
fn a_read_stops_at_an_urgent_byte() {
    guarded("reading past an urgent byte", || {
        everywhere(|| async {
            let (left, right) = pair().await?;
            with_something_urgent(&left, &right).await?;
            let mut buffer = [0; 64];
            assert_eq!(right.read(&mut buffer).await?, 3);
            assert_eq!(right.read(&mut buffer).await?, 3);
            assert_eq!(&buffer[..3], b"two");
            // And then it is a stream as any other.
            left.write_all(b"three").await?;
            assert_eq!(right.read(&mut buffer).await?, 5);
            drop(left);
            assert_eq!(right.read(&mut buffer).await?, 0);
            Ok(())
        });
    });
}

/// The same for the traits, which wait elsewhere.
#[test]
fn the_traits_read_past_an_urgent_byte() {
    use futures_io::AsyncRead;
    guarded("the traits read past an urgent byte", || {
        everywhere(|| async {
            let (left, mut right) = pair().await?;
            with_something_urgent(&left, &right).await?;
            let mut buffer = [0; 64];
            for _ in 0..2 {
                let read = |cx: &mut std::task::Context<'_>| {
                    std::pin::Pin::new(&mut right).poll_read(cx, &mut buffer)
                };
                assert_eq!(std::future::poll_fn(read).await?, 3);
            }
            Ok(())
        });
    });
}

/// An urgent byte can be waited for, and taken out of its turn.
#[test]
fn an_urgent_byte_is_taken_out_of_its_turn() {
    use rustix::net::{RecvFlags, recv};
    guarded("waiting for an urgent byte", || {
        everywhere(|| async {
            let (left, right) = pair().await?;
            let right = AsyncFd::with_interest(right.into_std(), Interest::PRIORITY)?;
            // There is nothing urgent yet; the system calls that an error, whoever asks.
            let none = |_: &_| Err::<(), _>(io::Error::from(io::ErrorKind::WouldBlock));
            let _none_yet = right.try_io(Interest::PRIORITY, none);
            let receiving = ropewalk::spawn(async move {
                let mut byte = [0; 1];
                let count = right.async_io(Interest::PRIORITY, |stream| {
                    match recv(stream, &mut byte[..], RecvFlags::OOB) {
                        Err(rustix::io::Errno::INVAL) => Err(io::ErrorKind::WouldBlock.into()),
                        other => Ok(other?.0),
                    }
                });
                Ok::<_, io::Error>((count.await?, byte))
            });
            left.write_all(b"usual").await?;
            ropewalk::yield_now().await;
            send(&left, b"!", SendFlags::OOB)?;
            assert_eq!(receiving.await.unwrap()?, (1, *b"!"));
            Ok(())
        });
    });
}

/// A read ends with the bytes that a descriptor came with: it has not emptied the stream.
#[cfg(target_os = "linux")]
#[test]
fn a_read_stops_at_a_descriptor() {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, sendmsg};
    use std::os::fd::AsFd;
    guarded("reading past a descriptor", || {
        everywhere(|| async {
            let (left, right) = UnixStream::pair()?;
            assert_eq!(right.try_read(&mut [0; 1]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut beside = SendAncillaryBuffer::new(&mut space);
            let files = [left.as_fd()];
            assert!(beside.push(SendAncillaryMessage::ScmRights(&files)));
            sendmsg(&left, &[IoSlice::new(b"one")], &mut beside, SendFlags::empty())?;
            send(&left, b"two", SendFlags::empty())?;
            right.readable().await?;
            let mut buffer = [0; 64];
            assert_eq!(right.read(&mut buffer).await?, 3);
            assert_eq!(right.read(&mut buffer).await?, 3);
            assert_eq!(&buffer[..3], b"two");
            Ok(())
        });
    });
}
