//! What each function does when nothing is wrong.

use super::{Place, pattern};
use crate::kit::{guarded, on_every_kind, strand_in};
use ropewalk::fs::{self, File, OpenOptions, PathError};
use ropewalk::io::{ErrorKind, SeekFrom, prelude::*};
use ropewalk::{Runtime, Wait, block_on};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[test]
fn whole_files_on_every_kind_of_runtime() {
    on_every_kind(|kind| {
        let (runtime, place) = (kind.build(), Place::new());
        let bytes = pattern(300_000, 1);
        runtime.block_on(async {
            fs::write(place.at("a"), &bytes).await.unwrap();
            assert_eq!(fs::read(place.at("a")).await.unwrap(), bytes);
            assert_eq!(fs::copy(place.at("a"), place.at("b")).await.unwrap(), 300_000);
            fs::rename(place.at("b"), place.at("c")).await.unwrap();
            assert_eq!(fs::metadata(place.at("c")).await.unwrap().len(), 300_000);
            assert!(!fs::try_exists(place.at("b")).await.unwrap());
            fs::remove_file(place.at("c")).await.unwrap();
            fs::write(place.at("text"), "für sich").await.unwrap();
            assert_eq!(fs::read_to_string(place.at("text")).await.unwrap(), "für sich");
        });
        assert_eq!(place.names(), ["a", "text"]);
    });
}

#[test]
fn links_permissions_and_names() {
    let place = Place::new();
    block_on(async {
        fs::write(place.at("a"), "x").await.unwrap();
        fs::hard_link(place.at("a"), place.at("hard")).await.unwrap();
        assert_eq!(fs::metadata(place.at("a")).await.unwrap().nlink(), 2);
        fs::symlink("a", place.at("soft")).await.unwrap();
        assert_eq!(fs::read_link(place.at("soft")).await.unwrap().to_str(), Some("a"));
        assert!(fs::symlink_metadata(place.at("soft")).await.unwrap().is_symlink());
        let real = fs::canonicalize(place.at("a")).await.unwrap();
        assert_eq!(fs::canonicalize(place.at("soft")).await.unwrap(), real);
        fs::set_permissions(place.at("a"), fs::Permissions::from_mode(0o640)).await.unwrap();
        assert_eq!(fs::metadata(place.at("a")).await.unwrap().mode() & 0o777, 0o640);
    });
}

#[test]
fn directories_are_made_read_and_removed() {
    let place = Place::new();
    block_on(async {
        fs::create_dir_all(place.at("a/b/c")).await.unwrap();
        fs::create_dir_all(place.at("a/b/c")).await.unwrap();
        fs::create_dir(place.at("a/d")).await.unwrap();
        fs::write(place.at("a/file"), "").await.unwrap();
        let (mut entries, mut found) = (fs::read_dir(place.at("a")).await.unwrap(), Vec::new());
        while let Some(entry) = entries.next_entry().await.unwrap() {
            let (kind, metadata) = (entry.file_type().await.unwrap(), entry.metadata().await.unwrap());
            assert_eq!(kind, metadata.file_type());
            assert_eq!(entry.path(), place.at("a").join(entry.file_name()));
            found.push((entry.file_name().into_string().unwrap(), kind.is_dir()));
        }
        found.sort();
        assert_eq!(found, [("b".into(), true), ("d".into(), true), ("file".into(), false)]);
        assert!(entries.next_entry().await.unwrap().is_none(), "the end stays the end");
        let error = fs::remove_dir(place.at("a")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DirectoryNotEmpty);
        fs::remove_dir(place.at("a/d")).await.unwrap();
        fs::remove_dir_all(place.at("a")).await.unwrap();
    });
    assert!(place.names().is_empty());
}

/// As many as take several lots, by many tasks.
#[test]
fn thousands_of_files() {
    const COUNT: usize = 3000;
    let (place, runtime) = (Place::new(), Runtime::builder().worker_threads(2).build().unwrap());
    guarded("thousands", || {
        runtime.block_on(async {
            let makers: Vec<_> = (0..20)
                .map(|lot| {
                    let path = place.0.clone();
                    ropewalk::spawn(async move {
                        for number in (lot..COUNT).step_by(20) {
                            fs::write(path.join(number.to_string()), number.to_le_bytes()).await.unwrap();
                        }
                    })
                })
                .collect();
            for maker in makers {
                maker.await.unwrap();
            }
            let (mut entries, mut sum) = (fs::read_dir(&place.0).await.unwrap(), 0);
            let mut count = 0;
            while let Some(entry) = entries.next_entry().await.unwrap() {
                let bytes = fs::read(entry.path()).await.unwrap();
                sum += usize::from_le_bytes(bytes.try_into().unwrap());
                count += 1;
            }
            assert_eq!((count, sum), (COUNT, COUNT * (COUNT - 1) / 2));
            fs::remove_dir_all(&place.0).await.unwrap();
        });
    });
}

#[test]
fn a_file_larger_than_four_gigabytes_with_holes() {
    const FAR: u64 = 5 << 30;
    let place = Place::new();
    block_on(async {
        let mut file = File::create_new(place.at("sparse")).await.unwrap();
        assert_eq!(file.seek(SeekFrom::Start(FAR)).await.unwrap(), FAR);
        file.write_all(b"far out").await.unwrap();
        assert_eq!(file.stream_position().await.unwrap(), FAR + 7);
        let metadata = file.metadata().await.unwrap();
        assert_eq!(metadata.len(), FAR + 7);
        assert!(metadata.blocks() * 512 < 1 << 20, "it has no holes: {} blocks", metadata.blocks());

        let mut buf = [1; 10];
        assert_eq!(file.read_at(&mut buf, FAR - 3).await.unwrap(), 10);
        assert_eq!(&buf, b"\0\0\0far out");
        assert_eq!(file.write_at(b"FAR", FAR).await.unwrap(), 3);
        file.seek(SeekFrom::End(-7)).await.unwrap();
        let mut rest = String::new();
        file.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "FAR out");
        file.set_len(FAR + (1 << 30)).await.unwrap();
        assert_eq!(file.seek(SeekFrom::End(0)).await.unwrap(), FAR + (1 << 30));
        file.set_len(3).await.unwrap();
        file.sync_all().await.unwrap();
        assert_eq!(fs::read(place.at("sparse")).await.unwrap(), [0; 3]);
    });
}

#[test]
fn many_small_writes_and_one_large_one_arrive_in_order() {
    let place = Place::new();
    let large = pattern(3_000_000, 5);
    block_on(async {
        let mut file = File::create(place.at("a")).await.unwrap();
        let mut wanted = Vec::new();
        for number in 0..5000u32 {
            file.write_all(&number.to_le_bytes()).await.unwrap();
            wanted.extend_from_slice(&number.to_le_bytes());
        }
        file.write_all(&large).await.unwrap();
        wanted.extend_from_slice(&large);
        file.flush().await.unwrap();
        assert_eq!(std::fs::read(place.at("a")).unwrap(), wanted);
        let mut file = File::open(place.at("a")).await.unwrap();
        let mut all = Vec::new();
        file.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, wanted);
    });
}

/// Each trip to the blocking pool is two wake-ups of threads: they are counted here.
#[test]
fn trips_to_the_blocking_pool_are_few() {
    let place = Place::new();
    let runtime = Runtime::builder().worker_threads(1).blocking_threads(1, 1).build().unwrap();
    let trips = |future: std::pin::Pin<Box<dyn Future<Output = ()> + '_>>| {
        let before = runtime.metrics().blocking.finished;
        runtime.block_on(future);
        runtime.metrics().blocking.finished - before
    };
    std::fs::write(place.at("a"), pattern(1 << 20, 0)).unwrap();
    (0..300).for_each(|number| std::fs::write(place.at(&number.to_string()), "").unwrap());

    let whole = trips(Box::pin(async { drop(fs::read(place.at("a")).await.unwrap()) }));
    assert_eq!(whole, 1);
    let in_pieces = trips(Box::pin(async {
        let (mut file, mut buf) = (File::open(place.at("a")).await.unwrap(), [0; 4096]);
        while file.read(&mut buf).await.unwrap() > 0 {}
    }));
    // Open; 8, 16, 32, 64 and then 128 KiB each; the end.
    assert!(in_pieces <= 14, "256 reads of 4 KiB: {in_pieces} trips");
    let entries = trips(Box::pin(async {
        let mut entries = fs::read_dir(&place.0).await.unwrap();
        while entries.next_entry().await.unwrap().is_some() {}
    }));
    assert_eq!(entries, 3, "301 entries");

    // Nobody writes before the thread is free: all of it is one trip.
    let gate = crate::kit::Gate::new();
    let passed = gate.passed();
    let mut file = File::from_std(std::fs::File::create(place.at("b")).unwrap());
    drop(runtime.spawn_blocking(move || passed.wait()));
    let small = trips(Box::pin(async {
        for _ in 0..1000 {
            file.write_all(b"some bytes").await.unwrap();
        }
        gate.open();
        file.flush().await.unwrap();
    }));
    assert!(small <= 2, "the plug and one: {small}");
}

#[test]
fn what_was_accepted_is_written_though_the_file_is_dropped() {
    let place = Place::new();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let mut file = File::create(place.at("a")).await.unwrap();
        file.write_all(b"nobody comes back for this").await.unwrap();
    });
    crate::kit::guarded("shutdown", || runtime.shutdown(crate::kit::DEADLINE)).unwrap();
    assert_eq!(std::fs::read(place.at("a")).unwrap(), b"nobody comes back for this");
}

#[test]
fn appending_goes_to_the_end_whoever_else_writes() {
    let place = Place::new();
    block_on(async {
        let mut log =
            OpenOptions::new().append(true).create(true).mode(0o600).open(place.at("log")).await.unwrap();
        log.write_all(b"one ").await.unwrap();
        log.flush().await.unwrap();
        let mut other = std::fs::OpenOptions::new().append(true).open(place.at("log")).unwrap();
        other.write_all(b"two ").unwrap();
        log.write_all(b"three").await.unwrap();
        log.close().await.unwrap();
        assert_eq!(fs::read_to_string(place.at("log")).await.unwrap(), "one two three");
        assert_eq!(fs::metadata(place.at("log")).await.unwrap().mode() & 0o777, 0o600);
    });
}

#[test]
fn handles_of_one_file_share_its_position() {
    let place = Place::new();
    block_on(async {
        fs::write(place.at("a"), pattern(100_000, 0)).await.unwrap();
        let mut file = File::open(place.at("a")).await.unwrap();
        let mut buf = [0; 10];
        file.read_exact(&mut buf).await.unwrap(); // and reads ahead
        let mut other = file.try_clone().await.unwrap();
        assert_eq!(other.stream_position().await.unwrap(), 10);
        other.read_exact(&mut buf).await.unwrap();
        assert_eq!(buf, pattern(100_000, 0)[10..20]);
        let std = other.into_std().await.unwrap();
        assert_eq!(std::io::Seek::stream_position(&mut &std).unwrap(), 20);
        let mut again = File::from_std(std);
        again.read_exact(&mut buf).await.unwrap();
        assert_eq!(buf, pattern(100_000, 0)[20..30]);
    });
}

/// A pipe is not read ahead: what is there is given, and the rest of it is not waited for.
#[test]
fn a_pipe_opened_as_a_file_gives_what_is_there() {
    guarded("pipe", || {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut file = File::from_std(std::fs::File::from(std::os::fd::OwnedFd::from(reader)));
        let mut buf = [0; 100];
        writer.write_all(b"abc").unwrap();
        assert_eq!(block_on(file.read(&mut buf[..2])).unwrap(), 2);
        assert_eq!(block_on(file.read(&mut buf[2..])).unwrap(), 1);
        let error = block_on(file.seek(SeekFrom::Start(0))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSeekable);
        drop(writer);
        assert_eq!(block_on(file.read(&mut buf)).unwrap(), 0);
        assert_eq!(&buf[..3], b"abc");
    });
}

#[test]
fn special_files_are_read() {
    block_on(async {
        // The system says that it is empty, and it is not.
        let status = fs::read_to_string("/proc/self/status").await.unwrap();
        assert!(status.contains("VmPeak"));
        let mut status = String::new();
        File::open("/proc/self/status").await.unwrap().read_to_string(&mut status).await.unwrap();
        assert!(status.contains("VmPeak"));
        let mut zeros = [1; 100_000];
        File::open("/dev/zero").await.unwrap().read_exact(&mut zeros).await.unwrap();
        assert_eq!(zeros, [0; 100_000]);
    });
}

#[test]
fn positions_are_read_and_written_by_many_tasks_at_once() {
    let (place, runtime) = (Place::new(), Runtime::builder().worker_threads(2).build().unwrap());
    let file = std::sync::Arc::new(runtime.block_on(File::create_new(place.at("a"))).unwrap());
    let tasks: Vec<_> = (0..50u64)
        .map(|number| {
            let file = file.clone();
            runtime.spawn(async move {
                file.write_at(&number.to_le_bytes(), number * 8).await.unwrap();
                let mut back = [0; 8];
                assert_eq!(file.read_at(&mut back, number * 8).await.unwrap(), 8);
                assert_eq!(u64::from_le_bytes(back), number);
            })
        })
        .collect();
    tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
    let wanted: Vec<u8> = (0..50u64).flat_map(u64::to_le_bytes).collect();
    assert_eq!(std::fs::read(place.at("a")).unwrap(), wanted);
}

#[test]
fn threads_and_strands_wait() {
    let place = Place::new();
    fs::write(place.at("a"), "by a thread").wait().unwrap();
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let path = place.at("a");
    let strand = strand_in(&runtime, move || {
        let mut text = String::new();
        File::open(&path).wait().unwrap().read_to_string(&mut text).wait().unwrap();
        text
    });
    assert_eq!(runtime.block_on(strand).unwrap(), "by a thread");
}

#[test]
fn errors_name_the_path_and_what_was_done() {
    let place = Place::new();
    let (missing, other) = (place.at("missing"), place.at("other"));
    block_on(async {
        let said = |error: std::io::Error| (error.kind(), error.to_string(), PathError::of(&error).is_some());
        let error = File::open(&missing).await.unwrap_err();
        assert_eq!(PathError::of(&error).unwrap().path(), Some(missing.as_path()));
        let (kind, text, _) = said(error);
        assert_eq!(kind, ErrorKind::NotFound);
        assert!(text.starts_with(&format!("cannot open {}: ", missing.display())), "{text}");
        let (_, text, is_ours) = said(fs::rename(&missing, &other).await.unwrap_err());
        assert!(text.contains(&format!("{} to {}", missing.display(), other.display())) && is_ours, "{text}");
        let (kind, text, _) = said(fs::read_dir(&missing).await.unwrap_err());
        assert_eq!(kind, ErrorKind::NotFound);
        assert!(text.starts_with("cannot read the directory"), "{text}");
        fs::write(&other, b"\xff\xfe").await.unwrap();
        assert_eq!(said(fs::read_to_string(&other).await.unwrap_err()).0, ErrorKind::InvalidData);
        let mut file = File::open(&other).await.unwrap();
        let (kind, text, _) = said(file.seek(SeekFrom::Current(-1)).await.unwrap_err());
        assert_eq!(kind, ErrorKind::InvalidInput);
        assert!(text.starts_with("cannot seek in "), "{text}");
    });
}
