//! Full disks, missing rights, vanishing directories, runtimes that shut down.

use super::{Place, names_in, pattern};
use crate::kit::{Gate, guarded, is_child, run_as_child, stderr_of, until};
use ropewalk::fs::{self, File, PathError};
use ropewalk::io::{ErrorKind, prelude::*};
use ropewalk::{Runtime, Wait, block_on};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

#[test]
fn an_error_of_a_write_is_told_once_by_the_next_operation() {
    block_on(async {
        let mut file = File::options().write(true).open("/dev/full").await.unwrap();
        file.write_all(b"seven b").await.unwrap(); // accepted
        let error = file.flush().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        let ours = PathError::of(&error).unwrap();
        assert_eq!((ours.lost(), ours.path().unwrap().to_str()), (7, Some("/dev/full")));
        assert!(
            error.to_string().ends_with("; 7 bytes that were accepted before are not written"),
            "{error}"
        );
        file.flush().await.unwrap(); // it was told

        // Whatever comes next tells it.
        file.write_all(b"x").await.unwrap();
        assert_eq!(file.metadata().await.unwrap_err().kind(), ErrorKind::StorageFull);
        file.write_all(b"x").await.unwrap();
        assert_eq!(file.sync_all().await.unwrap_err().kind(), ErrorKind::StorageFull);
        file.write_all(b"x").await.unwrap();
        assert_eq!(file.seek(std::io::SeekFrom::Start(0)).await.unwrap_err().kind(), ErrorKind::StorageFull);
        let large = pattern(1_000_000, 0);
        assert_eq!(file.write_all(&large).await.unwrap_err().kind(), ErrorKind::StorageFull);
    });
}

#[test]
fn an_error_that_nobody_asks_for_goes_to_standard_error() {
    if is_child() {
        let runtime = Runtime::new().unwrap();
        runtime.block_on(async {
            let mut file = File::options().write(true).open("/dev/full").await.unwrap();
            file.write_all(b"lost").await.unwrap();
        });
        crate::kit::guarded("shutdown", || runtime.shutdown(crate::kit::DEADLINE)).unwrap();
        return;
    }
    let output = run_as_child("files::trouble::an_error_that_nobody_asks_for_goes_to_standard_error", |_| {});
    let said = stderr_of(&output);
    assert!(said.contains("cannot write /dev/full: ") && said.contains("4 bytes"), "{said}");
}

#[test]
fn a_file_that_is_not_open_for_it_refuses() {
    let place = Place::new();
    block_on(async {
        fs::write(place.at("a"), "x").await.unwrap();
        let mut reading = File::open(place.at("a")).await.unwrap();
        reading.write_all(b"no").await.unwrap();
        assert!(reading.flush().await.is_err());
        let mut writing = File::create(place.at("a")).await.unwrap();
        assert!(writing.read(&mut [0; 4]).await.is_err());
        assert!(writing.read(&mut [0; 4]).await.is_err(), "each time");
        assert_eq!(fs::read(&place.0).await.unwrap_err().kind(), ErrorKind::IsADirectory);
    });
}

/// In a child with a file system of its own, of one megabyte.
#[test]
fn a_full_disk() {
    let place = Place::new();
    if is_child() {
        let Some(disk) = small_disk(&place) else { return };
        block_on(async {
            fs::write_atomic(disk.join("kept"), "old").await.unwrap();
            let error = fs::write_atomic(disk.join("kept"), pattern(2_000_000, 0)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StorageFull);
            assert_eq!(fs::read_to_string(disk.join("kept")).await.unwrap(), "old");
            assert_eq!(names_in(&disk), ["kept"]);

            let mut file = File::create(disk.join("a")).await.unwrap();
            let (bytes, mut sent) = (pattern(4_000_000, 1), 0);
            let error = loop {
                match file.write(&bytes[sent..]).await {
                    Ok(0) => panic!("everything fits"),
                    Ok(count) => sent += count,
                    Err(error) => break error,
                }
            };
            assert_eq!(error.kind(), ErrorKind::StorageFull);
            let lost = PathError::of(&error).unwrap().lost();
            let written = fs::read(disk.join("a")).await.unwrap();
            assert!(written == bytes[..sent - lost], "{} of {sent}, {lost} lost", written.len());
            // With room again it goes on.
            file.set_len(0).await.unwrap();
            file.seek(std::io::SeekFrom::Start(0)).await.unwrap();
            file.write_all(b"fits").await.unwrap();
            file.close().await.unwrap();
            assert_eq!(fs::read(disk.join("a")).await.unwrap(), b"fits");
            assert_eq!(fs::write(disk.join("b"), &bytes).await.unwrap_err().kind(), ErrorKind::StorageFull);
        });
        println!("checked");
        return;
    }
    // What it cannot remove, because something is mounted there for it, is removed with this one's.
    checked_by_a_child("files::trouble::a_full_disk", &place);
}

/// Runs a test in a process of its own, which works in `place` and says whether it could check anything.
fn checked_by_a_child(test: &str, place: &Place) {
    let output = run_as_child(test, |command| {
        command.env("TMPDIR", &place.0);
    });
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", stderr_of(&output));
    assert!(said.contains("checked") || said.contains("skipped"), "{said}");
    if let Some(reason) = said.lines().find(|line| line.contains("skipped")) {
        eprintln!("{reason}");
    }
}

/// A file system of one megabyte that only this process sees. For processes of one test.
fn small_disk(place: &Place) -> Option<std::path::PathBuf> {
    let disk = place.at("disk");
    std::fs::create_dir(&disk).unwrap();
    let target = std::ffi::CString::new(disk.to_str().unwrap()).unwrap();
    // SAFETY: the strings end in a zero and outlive the calls. Threads that start later see what this one sees.
    let failed = unsafe {
        libc::unshare(libc::CLONE_NEWNS) != 0
            || libc::mount(
                c"none".as_ptr(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                std::ptr::null(),
            ) != 0
            || libc::mount(
                c"none".as_ptr(),
                target.as_ptr(),
                c"tmpfs".as_ptr(),
                0,
                c"size=1m".as_ptr().cast(),
            ) != 0
    };
    if failed {
        println!("skipped: no file system of its own: {}", std::io::Error::last_os_error());
        return None;
    }
    Some(disk)
}

/// In a child that is nobody, since the super-user may do everything.
#[test]
fn what_is_forbidden() {
    let place = Place::new();
    if is_child() {
        let private = place.at("private");
        std::fs::create_dir(&private).unwrap();
        std::fs::write(private.join("a"), "secret").unwrap();
        std::fs::write(place.at("b"), "secret").unwrap();
        for path in [&private, &place.at("b")] {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        }
        // SAFETY: it takes and gives a number; the C library changes every thread.
        if unsafe { libc::geteuid() == 0 && libc::setuid(65534) != 0 } {
            println!("skipped: cannot become nobody: {}", std::io::Error::last_os_error());
            return;
        }
        block_on(async {
            let denied = |error: std::io::Error| {
                assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
                assert_eq!(PathError::of(&error).unwrap().raw_os_error(), Some(13));
            };
            denied(fs::read(place.at("b")).await.unwrap_err());
            denied(File::open(place.at("b")).await.unwrap_err());
            denied(File::options().write(true).open(place.at("b")).await.unwrap_err());
            denied(fs::read(private.join("a")).await.unwrap_err());
            denied(fs::read_dir(&private).await.unwrap_err());
            denied(fs::metadata(private.join("a")).await.unwrap_err());
            denied(fs::try_exists(private.join("a")).await.unwrap_err());
            denied(fs::write_atomic(private.join("a"), "x").await.unwrap_err());
        });
        println!("checked");
        // So that it can be removed: by who made it, which is not this process any more if it was the super-user.
        std::mem::forget(place);
        return;
    }
    checked_by_a_child("files::trouble::what_is_forbidden", &place);
    // As an ordinary user it may be made readable again, as the super-user it is removed anyhow.
    let _not_needed = std::process::Command::new("chmod").args(["-R", "u+rwx"]).arg(&place.0).status();
}

#[test]
fn a_directory_that_vanishes_while_it_is_read_ends() {
    guarded("vanishing", || {
        for taken in [0, 1, 200] {
            let place = Place::new();
            (0..300).for_each(|number| std::fs::write(place.at(&number.to_string()), "").unwrap());
            block_on(async {
                let (mut entries, mut count) = (fs::read_dir(&place.0).await.unwrap(), 0);
                for _ in 0..taken {
                    entries.next_entry().await.unwrap().unwrap();
                }
                fs::remove_dir_all(&place.0).await.unwrap();
                // What was read before is given; what is behind it may be an end or an error.
                while let Ok(Some(entry)) = entries.next_entry().await {
                    if count % 50 == 0 {
                        assert_eq!(entry.metadata().await.unwrap_err().kind(), ErrorKind::NotFound);
                    }
                    count += 1;
                }
                assert!(taken + count <= 300);
            });
        }
    });
}

#[test]
fn a_file_that_is_removed_goes_on_for_who_has_it() {
    let place = Place::new();
    block_on(async {
        let mut file = File::create_new(place.at("a")).await.unwrap();
        fs::remove_file(place.at("a")).await.unwrap();
        file.write_all(b"still there").await.unwrap();
        file.seek(std::io::SeekFrom::Start(0)).await.unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "still there");
    });
}

/// The only thread of the blocking pool is busy, so nothing has begun when the runtime shuts down.
#[test]
fn a_runtime_that_shuts_down_writes_what_was_accepted_and_refuses_the_rest() {
    let place = Place::new();
    let runtime = Runtime::builder().worker_threads(1).blocking_threads(0, 1).build().unwrap();
    let mut file = runtime.block_on(File::create(place.at("a"))).unwrap();
    let (gate, started) = (Gate::new(), Arc::new(AtomicBool::new(false)));
    let (passed, here) = (gate.passed(), started.clone());
    let plug = runtime.spawn_blocking(move || {
        here.store(true, SeqCst);
        passed.wait()
    });
    until("the plug runs", || started.load(SeqCst));
    runtime.block_on(file.write_all(b"accepted before the end")).unwrap();
    let reading = runtime.spawn(fs::read(place.at("a")));
    until("the read is queued", || runtime.metrics().blocking.queued == 2);
    let closer = std::thread::spawn(move || runtime.shutdown_now());
    until("it is written", || std::fs::read(place.at("a")).unwrap() == b"accepted before the end");
    gate.open();
    closer.join().unwrap();
    plug.wait().unwrap();
    assert!(reading.wait().map_or(true, |read| read.is_err()));
    block_on(file.flush()).unwrap();
}
