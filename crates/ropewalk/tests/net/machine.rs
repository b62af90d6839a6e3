//! What a machine has: names, and descriptors until there are none left.

use crate::kit::everywhere;
use ropewalk::driver::IoDriverKind;
use ropewalk::net::{TcpListener, TcpStream, lookup_host};
use ropewalk::time::timeout;
use std::io;
use std::time::Duration;

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

/// In a child process, because descriptors are the whole process's.
#[test]
fn without_descriptors_accepting_is_an_error_and_not_a_busy_loop_and_the_listener_lives() {
    const CHILD: &str = "ROPEWALK_TEST_EMFILE";
    if let Ok(kind) = std::env::var(CHILD) {
        let kind = if kind == "Poll" { IoDriverKind::Poll } else { IoDriverKind::Auto };
        return run_out_of_descriptors(kind).unwrap();
    }
    for kind in ["Auto", "Poll"] {
        let me = std::env::current_exe().unwrap();
        let name =
            "machine::without_descriptors_accepting_is_an_error_and_not_a_busy_loop_and_the_listener_lives";
        let child =
            std::process::Command::new(me).args(["--exact", name, "--nocapture"]).env(CHILD, kind).output();
        let child = child.unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success(), "with {kind}: {said}");
    }
}

fn run_out_of_descriptors(kind: IoDriverKind) -> io::Result<()> {
    let runtime = ropewalk::Runtime::builder().worker_threads(1).io_driver(kind).build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let client = TcpStream::connect(listener.local_addr()?).await?;
        client.write_all(b"x").await?;
        rustix::process::setrlimit(
            rustix::process::Resource::Nofile,
            rustix::process::Rlimit { current: Some(64), maximum: Some(64) },
        )?;
        let hoard: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect();
        let mut refused = 0;
        let polls = || runtime.metrics().total(|worker| worker.polls);
        let before = polls();
        let limit = timeout(Duration::from_millis(300), async {
            loop {
                match listener.accept().await {
                    Ok(_) => panic!("there is no descriptor for it"),
                    Err(error) => assert_eq!(error.raw_os_error(), Some(24), "{error}"),
                }
                refused += 1;
            }
        });
        assert!(limit.await.is_err());
        assert!((1..100).contains(&refused), "{refused} refusals in 300 ms");
        assert!(polls() - before < 1000, "a busy loop: {} polls", polls() - before);
        drop(hoard);
        let (server, _) = listener.accept().await?;
        assert_eq!(server.read(&mut [0; 8]).await?, 1);
        Ok(())
    })
}
