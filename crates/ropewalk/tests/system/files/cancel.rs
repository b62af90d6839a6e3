//! Operations on files, dropped after every number of polls.

use super::{Place, pattern, polled};
use crate::kit::{Gate, guarded};
use ropewalk::fs::{self, File};
use ropewalk::io::{BufReader, SeekFrom, prelude::*};
use ropewalk::{Runtime, Wait, block_on};

/// A runtime whose blocking pool has one thread, and that one busy until the gate is opened.
fn held_up(gate: &Gate) -> Runtime {
    let runtime = Runtime::builder().worker_threads(1).blocking_threads(0, 1).build().unwrap();
    hold_up(&runtime, gate);
    runtime
}

fn hold_up(runtime: &Runtime, gate: &Gate) {
    let passed = gate.passed();
    drop(runtime.spawn_blocking(move || passed.wait()));
}

#[test]
fn a_read_that_is_dropped_is_taken_up_by_the_next() {
    let (place, bytes) = (Place::new(), pattern(400_000, 9));
    std::fs::write(place.at("a"), &bytes).unwrap();
    for polls in 1..3 {
        let gate = Gate::new();
        let runtime = held_up(&gate);
        let mut file = File::from_std(std::fs::File::open(place.at("a")).unwrap());
        runtime.block_on(async {
            let (mut all, mut buf) = (Vec::new(), [0; 3000]);
            assert!(polled(1, file.read(&mut buf)).await.is_none(), "it has not begun");
            gate.open();
            loop {
                match polled(polls, file.read(&mut buf)).await {
                    Some(Ok(0)) => break,
                    Some(count) => all.extend_from_slice(&buf[..count.unwrap()]),
                    None => ropewalk::yield_now().await,
                }
            }
            assert!(all == bytes, "polls {polls}: {} bytes", all.len());
        });
    }
}

#[test]
fn a_write_that_is_dropped_has_accepted_nothing() {
    let (place, bytes) = (Place::new(), pattern(3_000_000, 4));
    guarded("writes", || {
        block_on(async {
            let mut file = File::create(place.at("a")).await.unwrap();
            let mut sent = 0;
            while sent < bytes.len() {
                match polled(1, file.write(&bytes[sent..])).await {
                    Some(count) => sent += count.unwrap(),
                    None => ropewalk::yield_now().await,
                }
            }
            while polled(1, file.flush()).await.is_none() {
                ropewalk::yield_now().await;
            }
        });
        assert!(std::fs::read(place.at("a")).unwrap() == bytes);
    });
}

/// A relative seek, dropped, then a position: it has happened or not, and reading and writing agree with it.
#[test]
fn a_seek_that_is_dropped_has_happened_or_not() {
    let (place, bytes) = (Place::new(), pattern(100_000, 2));
    std::fs::write(place.at("a"), &bytes).unwrap();
    for polls in 0..4 {
        for _ in 0..20 {
            block_on(async {
                let mut file = File::open(place.at("a")).await.unwrap();
                let mut buf = [0; 100];
                file.read_exact(&mut buf).await.unwrap();
                let sought = polled(polls, file.seek(SeekFrom::Current(1000))).await;
                // Asked for again it is another one.
                let twice = file.seek(SeekFrom::Current(1000)).await.unwrap();
                assert!(twice == 2100 || (twice == 1100 && sought.is_none()), "{twice}");
                file.read_exact(&mut buf).await.unwrap();
                assert_eq!(buf, bytes[twice as usize..][..100]);
                assert_eq!(file.stream_position().await.unwrap(), twice + 100);
            });
        }
    }
}

/// The same, but the next operation is a read, and what was read ahead is still there.
#[test]
fn a_read_after_a_seek_that_is_dropped_is_at_one_place_or_the_other() {
    let (place, bytes) = (Place::new(), pattern(100_000, 5));
    std::fs::write(place.at("a"), &bytes).unwrap();
    for polls in 0..4 {
        for to in [SeekFrom::Start(50_000), SeekFrom::Current(49_900), SeekFrom::End(-50_000)] {
            block_on(async {
                let mut file = File::open(place.at("a")).await.unwrap();
                let mut buf = [0; 100];
                file.read_exact(&mut buf).await.unwrap();
                drop(polled(polls, file.seek(to)).await);
                let mut rest = Vec::new();
                file.read_exact(&mut buf).await.unwrap();
                let at = file.stream_position().await.unwrap() as usize;
                assert!(at == 200 || at == 50_100, "{to:?}, polls {polls}: at {at}");
                assert!(buf == bytes[at - 100..at], "{to:?}, polls {polls}: not from there");
                file.read_to_end(&mut rest).await.unwrap();
                assert!(rest == bytes[at..], "{to:?}, polls {polls}: {} bytes more", rest.len());
            });
        }
    }
}

/// The same through a buffer, which has to know of it.
#[test]
fn a_read_after_a_seek_of_a_buffer_that_is_dropped_is_at_one_place_or_the_other() {
    let (place, bytes) = (Place::new(), pattern(100_000, 6));
    std::fs::write(place.at("a"), &bytes).unwrap();
    for polls in 0..4 {
        for to in [SeekFrom::Start(50_000), SeekFrom::Current(49_900), SeekFrom::End(-50_000)] {
            block_on(async {
                let mut file = BufReader::new(File::open(place.at("a")).await.unwrap());
                let mut buf = [0; 100];
                file.read_exact(&mut buf).await.unwrap();
                drop(polled(polls, file.seek(to)).await);
                file.read_exact(&mut buf).await.unwrap();
                let at = file.stream_position().await.unwrap() as usize;
                assert!(at == 200 || at == 50_100, "{to:?}, polls {polls}: at {at}");
                assert!(buf == bytes[at - 100..at], "{to:?}, polls {polls}: not from there");
                // Another seek follows one that is dropped.
                drop(polled(polls, file.seek(to)).await);
                assert_eq!(file.seek(SeekFrom::Start(7)).await.unwrap(), 7);
                file.read_exact(&mut buf).await.unwrap();
                assert!(buf == bytes[7..107], "{to:?}, polls {polls}: not from there");
            });
        }
    }
}

/// The same, but the next operation is a write.
#[test]
fn a_write_after_a_seek_that_is_dropped_is_at_one_place_or_the_other() {
    let place = Place::new();
    for polls in 0..4 {
        std::fs::write(place.at("a"), "0123456789").unwrap();
        block_on(async {
            let mut file = File::options().read(true).write(true).open(place.at("a")).await.unwrap();
            file.read_exact(&mut [0; 2]).await.unwrap();
            drop(polled(polls, file.seek(SeekFrom::Start(6))).await);
            file.write_all(b"ab").await.unwrap();
            let at = file.stream_position().await.unwrap();
            let expected = if at == 4 { "01ab456789" } else { "012345ab89" };
            assert_eq!(std::fs::read_to_string(place.at("a")).unwrap(), expected, "polls {polls}, at {at}");
        });
    }
}

/// What a read found that nobody waited for is not the end any more, if this file was written since.
#[test]
fn an_end_that_a_dropped_read_found_hides_nothing_that_is_written_later() {
    let place = Place::new();
    for longer in [false, true] {
        std::fs::write(place.at("a"), "ab").unwrap();
        let std = std::fs::OpenOptions::new().read(true).write(true).open(place.at("a")).unwrap();
        let mut file = File::from_std(std);
        let gate = Gate::new();
        let runtime = Runtime::builder().worker_threads(1).blocking_threads(0, 1).build().unwrap();
        runtime.block_on(async {
            let mut buf = [0; 2];
            file.read_exact(&mut buf).await.unwrap();
            hold_up(&runtime, &gate);
            let found = polled(1, file.read(&mut buf)).await;
            assert!(
                matches!(found, None | Some(Ok(0))),
                "a ring is not held up, and may answer at once: {found:?}"
            );
            gate.open();
            if longer {
                file.set_len(4).await.unwrap();
            } else {
                assert_eq!(file.write_at(b"cd", 2).await.unwrap(), 2);
            }
            file.read_exact(&mut buf).await.unwrap();
            assert_eq!(&buf, if longer { b"\0\0" } else { b"cd" });
            assert_eq!(file.read(&mut buf).await.unwrap(), 0);
        });
    }
}

#[test]
fn every_kind_of_operation_may_be_dropped_and_the_file_goes_on() {
    let place = Place::new();
    let runtime = Runtime::builder().worker_threads(1).blocking_threads(0, 2).build().unwrap();
    for polls in 0..4 {
        for kind in 0..9 {
            let path = place.at("a");
            std::fs::write(&path, "0123456789").unwrap();
            runtime.block_on(async {
                let mut file = File::options().read(true).write(true).open(&path).await.unwrap();
                let mut buf = [0; 4];
                file.read_exact(&mut buf).await.unwrap();
                match kind {
                    0 => drop(polled(polls, file.metadata()).await),
                    1 => drop(polled(polls, file.sync_all()).await),
                    2 => drop(polled(polls, file.sync_data()).await),
                    3 => drop(polled(polls, file.set_len(10)).await),
                    4 => drop(polled(polls, file.read_at(&mut [0; 3], 1)).await),
                    5 => drop(polled(polls, file.write_at(b"01", 0)).await),
                    6 => drop(polled(polls, file.try_clone()).await),
                    7 => drop(polled(polls, file.stream_position()).await),
                    _ => drop(polled(polls, File::open(&path)).await),
                }
                file.write_all(b"abc").await.unwrap();
                file.read_exact(&mut buf[..3]).await.unwrap();
                assert_eq!(&buf[..3], b"789", "kind {kind}, polls {polls}");
                file.flush().await.unwrap();
            });
            assert_eq!(std::fs::read(&path).unwrap(), b"0123abc789", "kind {kind}, polls {polls}");
        }
    }
}

#[test]
fn entries_are_not_lost_by_giving_up() {
    let place = Place::new();
    (0..500).for_each(|number| std::fs::write(place.at(&number.to_string()), "").unwrap());
    guarded("entries", || {
        let gate = Gate::new();
        let runtime = Runtime::builder().worker_threads(1).blocking_threads(0, 1).build().unwrap();
        let mut entries = runtime.block_on(fs::read_dir(&place.0)).unwrap();
        hold_up(&runtime, &gate);
        runtime.block_on(async {
            let mut count = 0;
            loop {
                match polled(1, entries.next_entry()).await {
                    Some(entry) => match entry.unwrap() {
                        Some(_) => count += 1,
                        None => break,
                    },
                    None => {
                        gate.open(); // only the first lot could be there
                        ropewalk::yield_now().await;
                    }
                }
            }
            assert!(gate.is_open(), "all of it came at once");
            assert_eq!(count, 500);
        });
    });
}
