//! Random operations on buffers, pipes and copies, and on a model that has no buffer. The seed is in the message.

use super::choppy::{Choppy, Random, finish, polled};
use ropewalk::io::{self, BufReader, BufStream, BufWriter, Cursor, SeekFrom, prelude::*};
use std::collections::VecDeque;

const SEEDS: u64 = 300;

fn position(random: &mut Random, len: usize) -> SeekFrom {
    let offset = random.below(2 * len + 2) as i64 - len as i64;
    match random.below(3) {
        0 => SeekFrom::Start(random.below(len + 9) as u64),
        1 => SeekFrom::End(offset),
        _ => SeekFrom::Current(offset),
    }
}

#[test]
fn a_buffered_reader_reads_as_one_without_a_buffer() {
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let len = random.below(300);
        let bytes = random.bytes(len);
        let mut real = BufReader::with_capacity(1 + random.below(40), Cursor::new(bytes.clone()));
        let mut model = std::io::Cursor::new(bytes);
        for step in 0..40 {
            let at = format!("seed {seed}, step {step}");
            match random.below(5) {
                0 | 1 => {
                    // A single read may be short, so the same number is read from the model.
                    let mut buf = vec![0; random.below(60)];
                    let count = finish(real.read(&mut buf)).unwrap();
                    let mut wanted = vec![0; count];
                    std::io::Read::read_exact(&mut model, &mut wanted).expect(&at);
                    assert_eq!(buf[..count], wanted, "{at}");
                    assert!(count > 0 || buf.is_empty() || model.position() >= len as u64, "{at}");
                }
                2 => {
                    let (mut got, mut wanted) = (Vec::new(), Vec::new());
                    let byte = random.next() as u8;
                    finish(real.read_until(byte, &mut got)).unwrap();
                    std::io::BufRead::read_until(&mut model, byte, &mut wanted).unwrap();
                    assert_eq!(got, wanted, "{at}");
                }
                3 => {
                    let to = position(&mut random, len);
                    let (got, wanted) = (finish(real.seek(to)), std::io::Seek::seek(&mut model, to));
                    assert_eq!(got.ok(), wanted.ok(), "{at}: {to:?}");
                }
                _ => assert_eq!(finish(real.stream_position()).unwrap(), model.position(), "{at}"),
            }
        }
    }
}

#[test]
fn a_buffered_writer_writes_as_one_without_a_buffer() {
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let mut real = BufWriter::with_capacity(random.below(40), Cursor::new(Vec::new()));
        let mut model = std::io::Cursor::new(Vec::new());
        for step in 0..40 {
            // The model would fill up to its position for the sake of no byte at all.
            let len = 1 + random.below(60);
            match random.below(5) {
                0..3 => {
                    let bytes = random.bytes(len);
                    finish(real.write_all(&bytes)).unwrap();
                    std::io::Write::write_all(&mut model, &bytes).unwrap();
                }
                3 => {
                    finish(real.flush()).unwrap();
                    assert_eq!(real.get_ref().get_ref(), model.get_ref(), "seed {seed}, step {step}");
                }
                _ => {
                    let to = position(&mut random, 100);
                    assert_eq!(
                        finish(real.seek(to)).ok(),
                        std::io::Seek::seek(&mut model, to).ok(),
                        "seed {seed}, step {step}"
                    );
                }
            }
        }
        finish(real.close()).unwrap();
        assert_eq!(real.into_inner().into_inner(), model.into_inner(), "seed {seed}");
    }
}

#[test]
fn a_buffered_stream_moves_everything_both_ways() {
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let (len, most) = (random.below(500), 1 + random.below(20));
        let input = random.bytes(len);
        let choppy = Choppy::new(&input, most);
        let mut real = BufStream::with_capacity(random.below(30), random.below(30), choppy);
        let (mut got, mut sent) = (Vec::new(), Vec::new());
        for _ in 0..30 {
            let bytes = random.bytes(most);
            finish(real.write_all(&bytes)).unwrap();
            sent.extend_from_slice(&bytes);
            let mut buf = [0; 16];
            let count = finish(real.read(&mut buf)).unwrap();
            got.extend_from_slice(&buf[..count]);
        }
        finish(real.flush()).unwrap();
        finish(real.read_to_end(&mut got)).unwrap();
        assert_eq!(got, input, "seed {seed}");
        assert_eq!(real.get_ref().output, sent, "seed {seed}");
    }
}

#[test]
fn a_pipe_is_a_queue_of_bytes_that_holds_so_many() {
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let capacity = 1 + random.below(40);
        let (mut reader, mut writer) = io::pipe(capacity);
        let mut model: VecDeque<u8> = VecDeque::new();
        for step in 0..100 {
            let len = 1 + random.below(30);
            if random.below(2) == 0 {
                let bytes = random.bytes(len);
                let fits = len.min(capacity - model.len());
                let count = polled(1, writer.write(&bytes)).map(|count| count.unwrap());
                assert_eq!(count, (fits > 0).then_some(fits), "seed {seed}, step {step}");
                model.extend(&bytes[..fits]);
            } else {
                let mut buf = vec![0; len];
                let there = len.min(model.len());
                let count = polled(1, reader.read(&mut buf)).map(|count| count.unwrap());
                assert_eq!(count, (there > 0).then_some(there), "seed {seed}, step {step}");
                assert!(model.drain(..there).eq(buf[..there].iter().copied()), "seed {seed}, step {step}");
            }
        }
        drop(writer);
        let mut rest = Vec::new();
        finish(reader.read_to_end(&mut rest)).unwrap();
        assert!(model.into_iter().eq(rest), "seed {seed}");
    }
}

#[test]
fn a_copy_is_the_same_and_flushed() {
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let len = random.below(40_000);
        let input = random.bytes(len);
        let mut reader = Choppy::new(&input, 1 + random.below(20_000));
        let mut writer = Choppy::new(b"", 1 + random.below(20_000));
        let count = match seed % 2 {
            0 => finish(io::copy(&mut reader, &mut writer)),
            _ => {
                let mut buffered = BufReader::with_capacity(1 + random.below(9000), reader);
                finish(io::copy_buf(&mut buffered, &mut writer))
            }
        };
        assert_eq!(count.unwrap(), len as u64, "seed {seed}");
        assert_eq!(writer.output, input, "seed {seed}");
        assert_eq!(writer.flushed, len, "seed {seed}");
    }
}

#[test]
fn a_chain_and_a_beginning_are_what_they_say() {
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let (one, two, limit) = (random.below(50), random.below(50), random.below(120));
        let (one, two) = (random.bytes(one), random.bytes(two));
        let all = [one.as_slice(), &two].concat();
        let wanted = &all[..limit.min(all.len())];

        let (mut got, mut parts) = (Vec::new(), one.as_slice().chain(&two[..]).take(limit as u64));
        finish(parts.read_to_end(&mut got)).unwrap();
        assert_eq!(got, wanted, "seed {seed}");

        let (first, second) = (BufReader::with_capacity(7, &one[..]), BufReader::with_capacity(3, &two[..]));
        let (mut got, mut parts) = (Vec::new(), first.chain(second).take(limit as u64));
        while finish(parts.read_until(0, &mut got)).unwrap() > 0 {}
        assert_eq!(got, wanted, "seed {seed}");
    }
}

#[test]
fn limits_are_exact() {
    let text = b"12345\n7890";
    for limit in 0..20 {
        let (mut all, mut reader) = (Vec::new(), Choppy::new(text, 3));
        let result = finish(reader.read_to_end(&mut all).limit(limit));
        assert_eq!(result.is_ok(), limit >= text.len(), "{limit}");
        assert_eq!(all, &text[..limit.min(text.len())], "{limit}");
        assert!(reader.read <= limit + 1, "{limit}: more than one byte beyond it was taken");
        if let Err(error) = result {
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
            let inner = error.get_ref().unwrap().downcast_ref::<io::LimitExceeded>().unwrap();
            assert_eq!(inner.limit, limit);
        }

        let mut whole = String::new();
        let result = finish(Choppy::new(text, 3).read_to_string(&mut whole).limit(limit));
        assert_eq!(result.is_ok(), limit >= text.len(), "{limit}");

        let (mut line, mut reader) = (String::new(), BufReader::new(Choppy::new(text, 3)));
        assert_eq!(finish(reader.read_line(&mut line).limit(limit)).is_ok(), limit >= 6, "{limit}");
        let (mut line, mut reader) = (Vec::new(), BufReader::new(Choppy::new(text, 3)));
        let result = finish(reader.read_until(b'\n', &mut line).limit(limit));
        assert_eq!((result.is_ok(), line.len()), (limit >= 6, limit.min(6)), "{limit}");

        let mut lines = BufReader::new(Choppy::new(text, 3)).lines().limit(limit);
        assert_eq!(finish(lines.next_line()).is_ok(), limit >= 6, "{limit}");
        if limit < 6 {
            assert!(finish(lines.next_line()).is_err(), "{limit}: nothing is skipped");
        }
    }
}

#[test]
fn errors_say_how_far_it_got() {
    let mut buf = [0; 8];
    let error = finish((&b"123"[..]).read_exact(&mut buf)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(error.to_string(), "the end came after 3 of 8 bytes");
    let error = finish(Cursor::new(&mut buf[..4]).write_all(b"12345")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    assert_eq!(error.to_string(), "the writer took 4 of 5 bytes and takes no more");
    let mut text = String::new();
    let error = finish((&b"\xff"[..]).read_to_string(&mut text)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}
