//! Operations that come to their end.

use super::{once, pipe, ring};
use crate::kit::guarded;
use ropewalk::fs::{File, OpenOptions, PathError};
use ropewalk::io::{ErrorKind, SeekFrom, prelude::*};
use std::future::poll_fn;
use std::io::Write;
use std::path::PathBuf;
use std::task::Poll;

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ropewalk-uring-{}-{name}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_go_through_the_ring() {
    for workers in [0, 1, 2] {
        let Some(runtime) = ring(workers) else { return };
        let place = Place::new(&format!("files{workers}"));
        let before = runtime.metrics().io.operations;
        runtime.block_on(async {
            let path = place.0.join("a");
            let mut file = File::create_new(&path).await.unwrap();
            assert_eq!(file.write_at(b"ropewalk", 100).await.unwrap(), 8);
            file.sync_all().await.unwrap();
            file.sync_data().await.unwrap();
            let mut word = [0; 4];
            assert_eq!(file.read_at(&mut word, 104).await.unwrap(), 4);
            assert_eq!(&word, b"walk");
            assert_eq!(file.read_at(&mut word, 108).await.unwrap(), 0, "the end");
            file.write_all(&[b'.'; 100]).await.unwrap();
            file.seek(SeekFrom::Start(0)).await.unwrap();
            let mut all = Vec::new();
            file.read_to_end(&mut all).await.unwrap();
            assert_eq!(&all[100..], b"ropewalk");
            assert_eq!(all.len(), 108);
        });
        let operations = runtime.metrics().io.operations - before;
        assert!(operations >= 6, "{operations} of them went through the ring");
    }
}

#[test]
fn errors_are_the_system_s_and_name_the_path() {
    let Some(runtime) = ring(1) else { return };
    let place = Place::new("errors");
    runtime.block_on(async {
        let error = File::open(place.0.join("none")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(PathError::of(&error).is_some() && error.to_string().contains("none"), "{error}");
        let file = File::create(place.0.join("a")).await.unwrap();
        assert_eq!(file.read_at(&mut [0; 1], 0).await.unwrap_err().raw_os_error(), None, "wrapped");
        assert!(file.read_at(&mut [0; 1], 0).await.unwrap_err().to_string().contains("read"));
        let error = File::create_new(place.0.join("a")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        let error = OpenOptions::new().create(true).open(place.0.join("b")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "options that make no sense");
        let error = OpenOptions::new().read(true).truncate(true).open(place.0.join("a")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let appended = OpenOptions::new().append(true).open(place.0.join("a")).await.unwrap();
        appended.write_at(b"one", 50).await.unwrap();
        assert_eq!(appended.metadata().await.unwrap().len(), 3, "appended");
    });
}

/// More operations at once than the ring has room for completions, while nobody takes any out.
#[test]
fn more_completions_than_there_is_room_for() {
    const COUNT: usize = 10_000;
    for workers in [0, 2] {
        let Some(runtime) = ring(workers) else { return };
        let place = Place::new(&format!("many{workers}"));
        std::fs::write(place.0.join("a"), (0..=255).collect::<Vec<u8>>()).unwrap();
        guarded("overflow", || {
            runtime.block_on(async {
                let file = &File::open(place.0.join("a")).await.unwrap();
                let mut reads: Vec<_> = (0..COUNT)
                    .map(|number| {
                        Box::pin(async move {
                            let mut byte = [0];
                            assert_eq!(file.read_at(&mut byte, number as u64 % 256).await.unwrap(), 1);
                            assert_eq!(usize::from(byte[0]), number % 256);
                        })
                    })
                    .collect();
                // All are begun in one poll.
                let mut left = COUNT;
                poll_fn(|cx| {
                    reads.retain_mut(|read| read.as_mut().poll(cx).is_pending());
                    left = reads.len();
                    if left == 0 { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
            });
        });
        assert!(runtime.metrics().io.operations >= COUNT as u64);
    }
}

/// A submission is taken by the kernel at once, also if every worker is busy and nobody polls.
#[test]
fn nobody_has_to_poll_for_an_operation_to_happen() {
    let Some(runtime) = ring(1) else { return };
    let place = Place::new("busy");
    let path = place.0.join("a");
    guarded("busy", || {
        runtime
            .block_on(runtime.spawn(async move {
                let file = File::create(&path).await.unwrap();
                let mut write = Box::pin(file.write_at(b"here", 0));
                assert!(once(&mut write).await.is_none_or(|written| written.is_ok()));
                // The one worker stays here.
                while std::fs::read(&path).unwrap() != b"here" {
                    std::thread::yield_now();
                }
                assert_eq!(write.await.unwrap(), 4);
            }))
            .unwrap();
    });
}

#[test]
fn a_read_that_waits_is_woken() {
    for workers in [0, 1, 2] {
        let Some(runtime) = ring(workers) else { return };
        guarded("pipe", || {
            runtime.block_on(async {
                let (mut file, mut write) = pipe().await;
                let writer = std::thread::spawn(move || {
                    for number in 0..200u8 {
                        write.write_all(&[number]).unwrap();
                    }
                });
                let mut all = Vec::new();
                file.read_to_end(&mut all).await.unwrap();
                writer.join().unwrap();
                assert_eq!(all, (0..200).collect::<Vec<u8>>());
            });
        });
    }
}
