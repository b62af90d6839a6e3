//! Atomic writes: whole or not at all, whoever looks, and whenever they are given up.

use super::{Place, polled};
use crate::kit::guarded;
use ropewalk::fs::{self, Permissions};
use ropewalk::{Runtime, block_on};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// A version: as long as its number says, of one byte.
fn version(number: u8) -> Vec<u8> {
    vec![number; 1000 * (1 + usize::from(number) % 50)]
}

fn assert_whole(bytes: &[u8]) -> u8 {
    let number = bytes[0];
    assert!(bytes == version(number), "torn: {} bytes, {number} first", bytes.len());
    number
}

#[test]
fn readers_never_see_a_part_of_it() {
    let (place, runtime) = (Place::new(), Runtime::builder().worker_threads(2).build().unwrap());
    guarded("atomic", || {
        let path = place.at("settings");
        runtime.block_on(fs::write_atomic(&path, version(0))).unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (path, ended) = (path.clone(), ended.clone());
                runtime.spawn(async move {
                    let mut seen = std::collections::HashSet::new();
                    while !ended.load(SeqCst) {
                        seen.insert(assert_whole(&fs::read(&path).await.unwrap()));
                    }
                    seen.len()
                })
            })
            .collect();
        runtime.block_on(async {
            for number in 1..=40 {
                fs::write_atomic(&path, version(number)).await.unwrap();
                assert_eq!(fs::read(&path).await.unwrap(), version(number));
            }
        });
        ended.store(true, SeqCst);
        let seen: usize = readers.into_iter().map(|reader| runtime.block_on(reader).unwrap()).sum();
        assert!(seen > 3, "the readers saw nothing change");
        assert_eq!(place.names(), ["settings"]);
    });
}

#[test]
fn writers_at_once_leave_one_whole_version() {
    let (place, runtime) = (Place::new(), Runtime::builder().worker_threads(2).build().unwrap());
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let path = place.at("settings");
            runtime.spawn(async move { fs::write_atomic(path, version(number)).await })
        })
        .collect();
    tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap().unwrap());
    assert_whole(&std::fs::read(place.at("settings")).unwrap());
    assert_eq!(place.names(), ["settings"]);
}

#[test]
fn given_up_at_any_time_it_is_the_old_or_the_new_and_nothing_is_left() {
    let place = Place::new();
    for polls in 0..3 {
        for number in 0..30 {
            let runtime = Runtime::builder().worker_threads(1).blocking_threads(0, 1).build().unwrap();
            std::fs::write(place.at("settings"), version(200)).unwrap();
            let done =
                runtime.block_on(polled(polls, fs::write_atomic(place.at("settings"), version(number))));
            // What had begun is over.
            crate::kit::guarded("shutdown", || runtime.shutdown(crate::kit::DEADLINE)).unwrap();
            let found = assert_whole(&std::fs::read(place.at("settings")).unwrap());
            match (polls, done) {
                (_, Some(result)) => {
                    result.unwrap();
                    assert_eq!(found, number);
                }
                (0, None) => assert_eq!(found, 200),
                (_, None) => assert!(found == number || found == 200),
            }
            assert_eq!(place.names(), ["settings"], "polls {polls}");
        }
    }
}

#[test]
fn it_keeps_permissions_and_follows_links() {
    let place = Place::new();
    block_on(async {
        fs::write(place.at("real"), "old").await.unwrap();
        fs::set_permissions(place.at("real"), Permissions::from_mode(0o604)).await.unwrap();
        fs::symlink("real", place.at("link")).await.unwrap();
        fs::write_atomic(place.at("link"), "new").await.unwrap();
        assert_eq!(fs::read_to_string(place.at("real")).await.unwrap(), "new");
        assert!(fs::symlink_metadata(place.at("link")).await.unwrap().is_symlink());
        assert_eq!(fs::metadata(place.at("real")).await.unwrap().mode() & 0o777, 0o604);
    });
}

/// Somebody looks at the temporary files as long as it takes to have seen some.
#[test]
fn while_it_is_written_nobody_may_read_it_who_may_not_read_the_old() {
    let (place, bytes) = (Place::new(), vec![7; 4_000_000]);
    let path = place.at("secret");
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let seen = AtomicUsize::new(0);
    guarded("looking", || {
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                while seen.load(SeqCst) < 20 {
                    seen.fetch_add(temporaries(&place), SeqCst);
                }
            });
            while !looking.is_finished() {
                block_on(fs::write_atomic(&path, &bytes)).unwrap();
            }
        });
    });
}

/// How many temporary files with something in them are there now; none is for everybody.
fn temporaries(place: &Place) -> usize {
    let entries = std::fs::read_dir(&place.0).unwrap().map(|entry| entry.unwrap());
    let temporary = entries.filter(|entry| entry.file_name().as_encoded_bytes().ends_with(b".tmp"));
    let written = temporary.filter_map(|entry| entry.metadata().ok()).filter(|found| found.len() > 0);
    written.inspect(|found| assert_eq!(found.mode() & 0o777, 0o600, "it is for everybody")).count()
}

#[test]
fn a_link_to_nothing_stays_and_leads_to_the_file_then() {
    let place = Place::new();
    block_on(async {
        fs::create_dir(place.at("far")).await.unwrap();
        fs::symlink("far/between", place.at("link")).await.unwrap();
        fs::symlink(place.at("real"), place.at("far/between")).await.unwrap();
        fs::write_atomic(place.at("link"), "new").await.unwrap();
        assert_eq!(fs::read_to_string(place.at("real")).await.unwrap(), "new");
        assert!(fs::symlink_metadata(place.at("link")).await.unwrap().is_symlink());
        assert!(fs::symlink_metadata(place.at("far/between")).await.unwrap().is_symlink());

        fs::symlink("round", place.at("round")).await.unwrap();
        let error = fs::write_atomic(place.at("round"), "new").await.unwrap_err();
        assert!(fs::symlink_metadata(place.at("round")).await.unwrap().is_symlink(), "{error}");
    });
    assert_eq!(place.names(), ["far", "link", "real", "round"]);
}

#[test]
fn a_name_may_be_as_long_as_the_system_allows() {
    let place = Place::new();
    for name in ["n".repeat(255), "\u{e9}".repeat(127), "\u{1f9f5}".repeat(63)] {
        block_on(fs::write_atomic(place.at(&name), "x")).unwrap();
        assert_eq!(place.names(), [name.as_str()]);
        std::fs::remove_file(place.at(&name)).unwrap();
    }
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_left() {
    let place = Place::new();
    block_on(async {
        fs::create_dir(place.at("directory")).await.unwrap();
        assert!(fs::write_atomic(place.at("directory"), "x").await.is_err());
        assert!(fs::write_atomic(place.at("missing/file"), "x").await.is_err());
        let error = fs::write_atomic("/", "x").await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains("no file name"), "{error}");
    });
    assert_eq!(place.names(), ["directory"]);
}
