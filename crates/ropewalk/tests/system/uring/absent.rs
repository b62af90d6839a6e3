//! A kernel that has no io_uring for us, and the suite of files on one that has.

use super::{builder, ring};
use crate::answers::forbid;
use crate::kit::{is_child, run_as_child, stderr_of};
use ropewalk::Runtime;
use ropewalk::driver::IoDriverKind;
use ropewalk::fs::File;
use ropewalk::io::prelude::*;
use ropewalk::net::{TcpListener, TcpStream, UnixStream};

fn works_with_epoll(reason: &str) {
    let runtime = builder(1).build().unwrap();
    let path = std::env::temp_dir().join(format!("ropewalk-absent-{}", std::process::id()));
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        client.write_all(b"hello").await.unwrap();
        let mut got = [0; 5];
        server.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"hello");
        let file = File::create(&path).await.unwrap();
        assert_eq!(file.write_at(b"x", 0).await.unwrap(), 1);
        file.sync_all().await.unwrap();
    });
    std::fs::remove_file(path).unwrap();
    let io = runtime.metrics().io;
    assert_eq!((io.asked_for, io.driver), (IoDriverKind::IoUring, Some(IoDriverKind::Epoll)));
    assert!(io.why.contains("IoUring was asked for") && io.why.contains(reason), "{}", io.why);
    assert_eq!(io.operations, 0);
    println!("checked");
}

fn in_a_child(test: &str) {
    let output = run_as_child(test, |_| {});
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("checked"), "{said}{}", stderr_of(&output));
}

#[test]
fn forbidden() {
    if is_child() {
        forbid(libc::SYS_io_uring_setup, libc::EPERM);
        return works_with_epoll("io_uring_setup: Operation not permitted");
    }
    in_a_child("uring::absent::forbidden");
}

#[test]
fn unknown_to_the_kernel() {
    if is_child() {
        forbid(libc::SYS_io_uring_setup, libc::ENOSYS);
        return works_with_epoll("io_uring_setup: Function not implemented");
    }
    in_a_child("uring::absent::unknown_to_the_kernel");
}

/// The ring is made, but its operations cannot be asked for.
#[test]
fn half_of_it_is_there() {
    if is_child() {
        forbid(libc::SYS_io_uring_register, libc::EACCES);
        let runtime = builder(0).build().unwrap();
        runtime.block_on(async { drop(ropewalk::net::UnixStream::pair().unwrap()) });
        if runtime.metrics().io.why.contains("io_uring_setup") {
            return println!("checked: {}", runtime.metrics().io.why); // it is not there at all
        }
        return works_with_epoll("io_uring's probe: Permission denied");
    }
    in_a_child("uring::absent::half_of_it_is_there");
}

/// A ring that can be made and never entered.
#[test]
fn it_cannot_be_entered() {
    if is_child() {
        forbid(libc::SYS_io_uring_enter, libc::EPERM);
        let runtime = builder(0).build().unwrap();
        runtime.block_on(async { drop(ropewalk::net::UnixStream::pair().unwrap()) });
        if runtime.metrics().io.why.contains("io_uring_setup") {
            return println!("checked: {}", runtime.metrics().io.why);
        }
        return works_with_epoll("a poll: Operation not permitted");
    }
    in_a_child("uring::absent::it_cannot_be_entered");
}

/// A ring without buffers of its own, as before Linux 5.19: who wants to be lent one gets one of the runtime's.
#[test]
fn it_has_no_buffers_to_fill() {
    if is_child() {
        let Some(runtime) = ring(1) else { return println!("checked: it is not there at all") };
        forbid(libc::SYS_io_uring_register, libc::EINVAL);
        runtime.block_on(async {
            let (left, right) = UnixStream::pair().unwrap();
            let mut chunks = right.into_chunks();
            for _ in 0..100 {
                left.write_all(b"piece").await.unwrap();
                assert_eq!(&*chunks.next().await.unwrap().unwrap(), b"piece");
            }
            drop(left);
            assert!(chunks.next().await.unwrap().is_none());
        });
        let io = runtime.metrics().io;
        assert_eq!((io.driver, io.arrivals), (Some(IoDriverKind::IoUring), 0));
        return println!("checked");
    }
    in_a_child("uring::absent::it_has_no_buffers_to_fill");
}

#[test]
fn the_environment_says_which() {
    if is_child() {
        let build = || Runtime::builder().worker_threads(0).build();
        let named = std::env::var("ROPEWALK_IO_DRIVER").unwrap();
        match build() {
            Ok(runtime) => println!("checked {:?}", runtime.metrics().io.asked_for),
            Err(error) => println!("checked {named}: {error}"),
        }
        return;
    }
    let child = |value: &str| {
        let output = run_as_child("uring::absent::the_environment_says_which", |child| {
            child.env("ROPEWALK_IO_DRIVER", value);
        });
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(child("iouring").contains("checked IoUring"));
    assert!(child("Poll").contains("checked Poll"));
    let refused = child("kettle");
    assert!(
        refused.contains("ROPEWALK_IO_DRIVER: \"kettle\" is not possible; accepted: Auto, Epoll"),
        "{refused}"
    );
}
