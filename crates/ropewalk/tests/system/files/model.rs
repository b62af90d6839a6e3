//! Random operations on a file, and the same on one of the standard library's, which neither reads ahead nor writes behind.

use super::{Place, pattern};
use ropewalk::fs::File;
use ropewalk::io::{SeekFrom, prelude::*};
use ropewalk::{Runtime, block_on};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::FileExt;

/// The numbers of a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn bytes(&mut self, limit: u64) -> Vec<u8> {
        let len = 1 + self.below(limit) as usize;
        pattern(len, self.below(256) as u8)
    }
}

/// A long way now and then, so that what is read ahead is left.
fn stretch(random: &mut Random) -> u64 {
    if random.below(3) == 0 { 40_000 } else { 300 }
}

async fn compare(seed: u64) {
    let (place, mut random) = (Place::new(), Random(seed));
    let open = |name| {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create_new(true).open(place.at(name)).unwrap()
    };
    std::fs::write(place.at("start"), pattern(50_000, 3)).unwrap();
    let (mut real, mut model) = (File::from_std(open("real")), open("model"));
    for step in 0..60 {
        let at = format!("seed {seed}, step {step}");
        let far = stretch(&mut random);
        match random.below(9) {
            0..2 => {
                let mut got = vec![0; 1 + random.below(far) as usize];
                let count = AsyncReadExt::read(&mut real, &mut got).await.unwrap();
                let mut wanted = vec![0; count];
                Read::read_exact(&mut model, &mut wanted).expect(&at);
                assert_eq!(got[..count], wanted, "{at}");
                let (end, here) = (model.metadata().unwrap().len(), model.stream_position().unwrap());
                assert!(count > 0 || here >= end, "{at}: an end at {here} of {end}");
            }
            2..4 => {
                let bytes = random.bytes(far);
                AsyncWriteExt::write_all(&mut real, &bytes).await.unwrap();
                Write::write_all(&mut model, &bytes).unwrap();
            }
            4 => {
                let to = match random.below(3) {
                    0 => SeekFrom::Start(random.below(far)),
                    1 => SeekFrom::End(random.below(far) as i64 - far as i64 / 2),
                    _ => SeekFrom::Current(random.below(far) as i64 - far as i64 / 2),
                };
                assert_eq!(real.seek(to).await.ok(), Seek::seek(&mut model, to).ok(), "{at}: {to:?}");
            }
            5 => {
                let len = random.below(far);
                real.set_len(len).await.unwrap();
                model.set_len(len).unwrap();
            }
            6 => {
                let (bytes, offset) = (random.bytes(300), random.below(far));
                assert_eq!(real.write_at(&bytes, offset).await.unwrap(), bytes.len());
                model.write_all_at(&bytes, offset).unwrap();
            }
            7 => {
                let (mut got, mut wanted, offset) = ([0; 64], [0; 64], random.below(far));
                let count = real.read_at(&mut got, offset).await.unwrap();
                assert_eq!(count, FileExt::read_at(&model, &mut wanted, offset).unwrap(), "{at}");
                assert_eq!(got, wanted, "{at}");
            }
            _ => {
                let here = AsyncSeekExt::stream_position(&mut real).await.unwrap();
                assert_eq!(here, Seek::stream_position(&mut model).unwrap(), "{at}");
                assert_eq!(real.metadata().await.unwrap().len(), model.metadata().unwrap().len(), "{at}");
            }
        }
    }
    real.sync_data().await.unwrap();
    assert!(
        std::fs::read(place.at("real")).unwrap() == std::fs::read(place.at("model")).unwrap(),
        "seed {seed}"
    );
}

#[test]
fn a_file_does_what_one_of_the_standard_library_does() {
    for seed in 0..25 {
        block_on(compare(seed));
    }
}

#[test]
fn also_where_one_thread_does_everything() {
    let runtime = Runtime::builder().worker_threads(0).blocking_threads(0, 1).build().unwrap();
    for seed in 1000..1008 {
        runtime.block_on(compare(seed));
    }
}
