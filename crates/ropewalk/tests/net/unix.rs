//! Unix sockets: who is there, names, and receivers that are full.

use crate::kit::everywhere;
use crate::others::Place;
use ropewalk::net::{UnixDatagram, UnixListener, UnixStream};
use std::io;
use std::pin::pin;
use std::time::Duration;

/// A process that cannot be seen from here has no number, and that is said.
#[cfg(target_os = "linux")]
#[test]
fn a_peer_without_a_number() {
    use crate::common::{is_child, stderr_of};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    const NAME: &str = "ROPEWALK_TEST_LISTENER";
    if is_child() {
        let name = std::env::var(NAME).unwrap();
        let runtime = crate::kit::builder(0).build().unwrap();
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
        .args(["unix::a_peer_without_a_number", "--exact", "--nocapture"])
        .env("ROPEWALK_TEST_CHILD", "1")
        .env(NAME, &name)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr_of(&output));
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
