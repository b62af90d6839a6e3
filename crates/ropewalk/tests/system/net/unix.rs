//! Unix sockets: names, who is there, and receivers that are full; and files of one's own.

use super::kit::everywhere;
use ropewalk::driver::Interest;
use ropewalk::net::{AsyncFd, UnixDatagram, UnixListener, UnixStream};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A path that nobody else uses, removed in the end.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("ropewalk-{}-{number}", std::process::id())))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
    }
}

#[test]
fn unix_streams_by_path() {
    everywhere(|| async {
        let place = Place::new();
        let error = UnixStream::connect(&place.0).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains(place.0.to_str().unwrap()), "{error}");
        let listener = UnixListener::bind(&place.0)?;
        let client = UnixStream::connect(&place.0).await?;
        let (server, _) = listener.accept().await?;
        server.write_all(b"hello").await?;
        assert_eq!(client.read(&mut [0; 8]).await?, 5);
        let other = client.peer_addr()?;
        assert_eq!(other.as_pathname(), Some(&*place.0));
        assert_eq!(UnixListener::bind(&place.0).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let (read, write) = client.into_split();
        drop(write);
        assert_eq!(server.read(&mut [0; 8]).await?, 0);
        drop(read);
        Ok(())
    });
}

#[cfg(target_os = "linux")]
#[test]
fn unix_streams_by_abstract_name_and_who_is_there() {
    use std::os::linux::net::SocketAddrExt;
    everywhere(|| async {
        let name = format!("ropewalk {}", Place::new().0.display());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name)?;
        let listener = UnixListener::bind_addr(&address)?;
        assert_eq!(listener.local_addr()?.as_abstract_name(), Some(name.as_bytes()));
        let client = UnixStream::connect_addr(&address).await?;
        let (server, _) = listener.accept().await?;
        let who = server.peer_cred()?;
        assert_eq!(who.pid, Some(std::process::id() as i32));
        assert_eq!(who.uid, rustix::process::getuid().as_raw());
        let by_path = UnixStream::connect(format!("\0{name}")).await?;
        drop((by_path, client));
        Ok(())
    });
}

#[test]
fn unix_datagrams_wait_for_room() {
    everywhere(|| async {
        let (place, back) = (Place::new(), Place::new());
        let receiver = UnixDatagram::bind(&place.0)?;
        let sender = UnixDatagram::bind(&back.0)?;
        sender.send_to(b"by path", &place.0).await?;
        let mut buffer = [0; 64];
        let (count, from) = receiver.recv_from(&mut buffer).await?;
        assert_eq!((count, from.as_pathname()), (7, Some(&*back.0)));
        sender.connect(&place.0)?;
        let sending = ropewalk::spawn(async move {
            for number in 0..1000u32 {
                sender.send(&number.to_ne_bytes()).await?;
            }
            Ok::<_, io::Error>(())
        });
        for number in 0..1000u32 {
            assert_eq!(receiver.recv(&mut buffer).await?, 4);
            assert_eq!(buffer[..4], number.to_ne_bytes());
        }
        sending.await.unwrap()
    });
}

/// Another has filled the receiver's queue: nobody tells the sender, who has no message there, that there is room again. It
/// looks for itself, but not all the time: each attempt that fails is an event.
#[test]
fn a_unix_datagram_gets_past_the_messages_of_others() {
    everywhere(|| async {
        let place = Place::new();
        let receiver = UnixDatagram::bind(&place.0)?;
        let other = std::os::unix::net::UnixDatagram::unbound()?;
        other.set_nonblocking(true)?;
        let mut queued = 0;
        while other.send_to(b"first", &place.0).is_ok() {
            queued += 1;
        }
        let sender = UnixDatagram::unbound()?;
        let mut sending = pin!(sender.send_to(b"last", &place.0));
        let events = || ropewalk::Handle::current().metrics().io.events;
        let before = events();
        let soon = ropewalk::time::timeout(Duration::from_millis(20), sending.as_mut());
        assert!(soon.await.is_err(), "it is full, and stays so");
        assert!(events() - before < 100, "it tried {} times", events() - before);
        let mut buffer = [0; 8];
        for _ in 0..queued {
            assert_eq!(receiver.recv(&mut buffer).await?, 5);
        }
        let sent = ropewalk::time::timeout(Duration::from_secs(10), sending).await;
        assert_eq!(sent.expect("there is room")?, 4);
        assert_eq!(receiver.recv(&mut buffer).await?, 4);
        Ok(())
    });
}

/// A process that cannot be seen from here has no number, and that is said.
#[cfg(target_os = "linux")]
#[test]
fn a_peer_without_a_number() {
    use super::common::{is_child, stderr_of};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    const NAME: &str = "ROPEWALK_TEST_LISTENER";
    if is_child() {
        let name = std::env::var(NAME).unwrap();
        let runtime = super::kit::builder(0).build().unwrap();
        let who = runtime.block_on(async {
            let address = SocketAddr::from_abstract_name(name)?;
            UnixStream::connect_addr(&address).await?.peer_cred()
        });
        assert_eq!(who.unwrap().pid, None);
        return;
    }
    let name = format!("ropewalk {} without a number", std::process::id());
    let _listener =
        std::os::unix::net::UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    // Processes there have numbers of their own, and see no others.
    let elsewhere = || {
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "--pid", "--fork"]);
        command
    };
    if !elsewhere().arg("true").status().is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no process can be started that does not see this one");
    }
    let output = elsewhere()
        .arg(std::env::current_exe().unwrap())
        .args(["net::unix::a_peer_without_a_number", "--exact", "--nocapture"])
        .env("ROPEWALK_TEST_CHILD", "1")
        .env(NAME, &name)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr_of(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "it ran there");
}

/// The system would cut it off there, and bind to another path.
#[test]
fn a_path_with_a_nul_inside_is_refused() {
    everywhere(|| async {
        let path = "/tmp/ropewalk\0cut";
        for refused in [
            UnixListener::bind(path).map(drop),
            UnixStream::connect(path).await.map(drop),
            UnixDatagram::bind(path).map(drop),
            UnixDatagram::unbound()?.connect(path),
            UnixDatagram::unbound()?.send_to(b"x", path).await.map(drop),
        ] {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        }
        Ok(())
    });
}

/// An abstract name may have any bytes.
#[cfg(target_os = "linux")]
#[test]
fn an_abstract_name_with_a_nul_inside() {
    use std::os::linux::net::SocketAddrExt;
    everywhere(|| async {
        let name = format!("ropewalk\0{}", std::process::id());
        let listener = UnixListener::bind(format!("\0{name}"))?;
        assert_eq!(listener.local_addr()?.as_abstract_name(), Some(name.as_bytes()));
        UnixStream::connect(format!("\0{name}")).await?;
        Ok(())
    });
}

/// The receiver is full. A sender that is connected to it waits, and does not try all the time: each attempt may be an event.
#[test]
fn a_connected_datagram_socket_waits_for_room_in_peace() {
    everywhere(|| async {
        let place = Place::new();
        let (sender, receiver) = (UnixDatagram::unbound()?, UnixDatagram::bind(&place.0)?);
        sender.connect(&place.0)?;
        let mut queued = 0;
        while sender.try_send(b"first").is_ok() {
            queued += 1;
        }
        let mut sending = pin!(sender.send(b"last"));
        let events = || ropewalk::Handle::current().metrics().io.events;
        let before = events();
        let soon = ropewalk::time::timeout(Duration::from_millis(20), sending.as_mut());
        assert!(soon.await.is_err(), "it is full, and stays so");
        assert!(events() - before < 200, "there were {} events", events() - before);
        let mut buffer = [0; 8];
        for _ in 0..queued {
            assert_eq!(receiver.recv(&mut buffer).await?, 5);
        }
        assert_eq!(sending.await?, 4);
        assert_eq!(receiver.recv(&mut buffer).await?, 4);
        Ok(())
    });
}

#[test]
fn a_pipe_of_one_s_own() {
    everywhere(|| async {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        rustix::io::ioctl_fionbio(&writer, true)?;
        let reader = AsyncFd::with_interest(reader, Interest::READABLE)?;
        let writer = AsyncFd::with_interest(writer, Interest::WRITABLE)?;
        let reading = ropewalk::spawn(async move {
            let (mut got, mut buffer) = (0, vec![0; 4096]);
            loop {
                match reader.async_io(Interest::READABLE, |mut pipe| pipe.read(&mut buffer)).await? {
                    0 => return Ok::<_, io::Error>(got),
                    count => got += count,
                }
            }
        });
        let mut sent = 0;
        while sent < 1 << 20 {
            sent += writer.async_io(Interest::WRITABLE, |mut pipe| pipe.write(&[1; 10_000])).await?;
        }
        drop(writer.into_inner());
        assert_eq!(reading.await.unwrap()?, sent);
        Ok(())
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_on_disk_is_refused_by_epoll() {
    let runtime = super::kit::builder(0).build().unwrap();
    let refused = runtime.block_on(async { AsyncFd::new(std::fs::File::open("/proc/self/exe")?) });
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
}
