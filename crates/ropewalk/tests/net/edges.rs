//! What streams seldom carry: more buffers than the system takes at once, urgent bytes, descriptors; and the end, for
//! those who look for something else.

use crate::kit::{everywhere, guarded, pair};
use ropewalk::driver::Interest;
use ropewalk::net::AsyncFd;
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
            drop(theirs);
            let none = |_: &_| Err::<(), _>(io::Error::from(io::ErrorKind::WouldBlock));
            assert!(ours.try_io(Interest::READABLE, none).is_err());
            assert!(ours.ready(Interest::READABLE).await?.is_read_closed());
            let urgent = ours.async_io(Interest::PRIORITY, none);
            assert!(ropewalk::time::timeout(Duration::from_millis(5), urgent).await.is_err());
            assert!(ours.ready(Interest::READABLE).await?.is_read_closed(), "that stays");
            Ok(())
        });
    });
}
