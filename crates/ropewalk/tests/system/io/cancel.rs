//! Every operation dropped after every number of polls: what the documentation says is lost, is, and nothing else.

use super::choppy::{Choppy, at_every_poll, finish, polled};
use ropewalk::io::{self, BufReader, BufWriter, IoSlice, IoSliceMut, prelude::*};

const TEXT: &[u8] = b"the first line\nthe second\n\nand a last one without an end";

/// Everything that is left in a reader.
fn rest(mut reader: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut all = Vec::new();
    finish(reader.read_to_end(&mut all)).unwrap();
    all
}

#[test]
fn a_read_that_is_dropped_has_read_nothing() {
    at_every_poll(|polls| {
        let (mut reader, mut buf) = (Choppy::new(TEXT, 7), [0; 16]);
        let done = polled(polls, reader.read(&mut buf));
        let count = done.as_ref().map_or(0, |done| *done.as_ref().unwrap());
        assert_eq!([&buf[..count], &rest(reader)].concat(), TEXT);
        done.is_some()
    });
    at_every_poll(|polls| {
        let (mut reader, mut one, mut two) = (Choppy::new(TEXT, 7), [0; 3], [0; 9]);
        let mut bufs = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        let done = polled(polls, reader.read_vectored(&mut bufs));
        let count = done.as_ref().map_or(0, |done| *done.as_ref().unwrap());
        assert_eq!([&[one.as_slice(), &two].concat()[..count], &rest(reader)].concat(), TEXT);
        done.is_some()
    });
}

#[test]
fn a_look_into_the_buffer_that_is_dropped_takes_nothing() {
    at_every_poll(|polls| {
        let mut reader = BufReader::with_capacity(5, Choppy::new(TEXT, 7));
        let done = polled(polls, reader.fill_buf()).is_some();
        assert_eq!(rest(reader), TEXT);
        done
    });
}

#[test]
fn reading_to_the_end_goes_on_in_the_same_buffer() {
    at_every_poll(|polls| {
        let (mut reader, mut all) = (Choppy::new(TEXT, 7), b"before".to_vec());
        let done = polled(polls, reader.read_to_end(&mut all)).is_some();
        assert_eq!(all, [b"before", &TEXT[..reader.read]].concat());
        finish(reader.read_to_end(&mut all)).unwrap();
        assert_eq!(all, [b"before", TEXT].concat());
        done
    });
}

#[test]
fn reading_up_to_a_byte_goes_on_in_the_same_buffer() {
    at_every_poll(|polls| {
        let mut reader = BufReader::with_capacity(4, Choppy::new(TEXT, 7));
        let mut line = Vec::new();
        let done = polled(polls, reader.read_until(b'\n', &mut line)).is_some();
        if !done {
            finish(reader.read_until(b'\n', &mut line)).unwrap();
        }
        assert_eq!(line, b"the first line\n");
        assert_eq!(rest(reader), &TEXT[line.len()..]);
        done
    });
}

#[test]
fn lines_and_pieces_that_had_begun_are_kept() {
    at_every_poll(|polls| {
        let mut lines = BufReader::with_capacity(4, Choppy::new(TEXT, 7)).lines();
        let (mut got, mut dropped) = (Vec::new(), false);
        loop {
            match polled(polls, lines.next_line()) {
                Some(line) => match line.unwrap() {
                    Some(line) => got.push(line),
                    None => break,
                },
                // With no poll at all there is no progress.
                None if polls == 0 => return false,
                None => dropped = true,
            }
        }
        assert_eq!(got, ["the first line", "the second", "", "and a last one without an end"]);
        !dropped
    });
    at_every_poll(|polls| {
        let mut pieces = BufReader::with_capacity(3, Choppy::new(b"a,bcd,,e,", 2)).split(b',');
        let first = polled(polls, pieces.next_segment());
        let done = first.is_some();
        let mut got: Vec<_> = first.map(|first| first.unwrap().unwrap()).into_iter().collect();
        while let Some(piece) = finish(pieces.next_segment()).unwrap() {
            got.push(piece);
        }
        assert_eq!(got, [&b"a"[..], b"bcd", b"", b"e"]);
        done
    });
}

#[test]
fn what_an_unfinished_read_exact_took_is_lost_as_it_says() {
    let mut lost = 0;
    at_every_poll(|polls| {
        let (mut reader, mut buf) = (Choppy::new(TEXT, 3), [0; 20]);
        let done = polled(polls, reader.read_exact(&mut buf)).is_some();
        let taken = reader.read;
        assert_eq!(rest(reader), &TEXT[taken..]);
        lost += if done { 0 } else { taken };
        done
    });
    assert!(lost > 0);
}

#[test]
fn text_is_appended_whole_or_not_at_all() {
    at_every_poll(|polls| {
        let (mut reader, mut text) = (Choppy::new("wär's doch".as_bytes(), 2), String::from("oh "));
        let done = polled(polls, reader.read_to_string(&mut text)).is_some();
        assert_eq!(text, if done { "oh wär's doch" } else { "oh " });
        done
    });
    at_every_poll(|polls| {
        let mut reader = BufReader::new(Choppy::new("für\nsich".as_bytes(), 2));
        let mut line = String::from("> ");
        let done = polled(polls, reader.read_line(&mut line)).is_some();
        assert_eq!(line, if done { "> für\n" } else { "> " });
        done
    });
}

#[test]
fn a_write_that_is_dropped_has_written_nothing() {
    at_every_poll(|polls| {
        let mut writer = Choppy::new(b"", 7);
        let done = polled(polls, writer.write(TEXT));
        let count = done.as_ref().map_or(0, |done| *done.as_ref().unwrap());
        assert_eq!(writer.output, &TEXT[..count]);
        done.is_some()
    });
    at_every_poll(|polls| {
        let mut writer = Choppy::new(b"", 7);
        let bufs = [IoSlice::new(&TEXT[..3]), IoSlice::new(&TEXT[3..])];
        let done = polled(polls, writer.write_vectored(&bufs));
        let count = done.as_ref().map_or(0, |done| *done.as_ref().unwrap());
        assert_eq!(writer.output, &TEXT[..count]);
        done.is_some()
    });
    at_every_poll(|polls| {
        let mut writer = Choppy::new(b"", 7);
        let done = polled(polls, writer.write_all(TEXT)).is_some();
        assert!(TEXT.starts_with(&writer.output), "a beginning, of unknown length");
        done
    });
}

#[test]
fn a_flush_and_a_close_that_are_dropped_lose_nothing() {
    for closes in [false, true] {
        at_every_poll(|polls| {
            let mut writer = BufWriter::with_capacity(100, Choppy::new(b"", 7));
            finish(writer.write_all(TEXT)).unwrap();
            let done = match closes {
                false => polled(polls, writer.flush()).is_some(),
                true => polled(polls, writer.close()).is_some(),
            };
            assert_eq!([&writer.get_ref().output, writer.buffer()].concat(), TEXT);
            finish(writer.close()).unwrap();
            assert_eq!(writer.get_ref().output, TEXT);
            assert!(writer.get_ref().closed);
            done
        });
    }
}

#[test]
fn copying_out_of_the_readers_buffer_loses_nothing() {
    at_every_poll(|polls| {
        let mut reader = BufReader::with_capacity(11, Choppy::new(TEXT, 7));
        let mut writer = Choppy::new(b"", 4);
        let done = polled(polls, io::copy_buf(&mut reader, &mut writer)).is_some();
        finish(io::copy_buf(&mut reader, &mut writer)).unwrap();
        assert_eq!(writer.output, TEXT);
        assert_eq!(writer.flushed, TEXT.len());
        done
    });
}

#[test]
fn copying_loses_what_is_on_its_way_and_no_more() {
    let mut lost = 0;
    at_every_poll(|polls| {
        let (mut reader, mut writer) = (Choppy::new(TEXT, 7), Choppy::new(b"", 4));
        let done = polled(polls, io::copy(&mut reader, &mut writer)).is_some();
        assert!(TEXT.starts_with(&writer.output));
        assert!(reader.read - writer.output.len() <= 7, "one piece of the reader at most");
        lost += reader.read - writer.output.len();
        done
    });
    assert!(lost > 0);
}

#[test]
fn a_pipe_loses_nothing_either_way() {
    at_every_poll(|polls| {
        let (mut reader, mut writer) = io::pipe(8);
        let (mut buf, mut got, mut sent) = ([0; 5], Vec::new(), 0);
        let mut unfinished = 0;
        while got.len() < TEXT.len() {
            for _ in 0..2 {
                match polled(polls, writer.write(&TEXT[sent..])) {
                    Some(count) => sent += count.unwrap(),
                    None => unfinished += 1,
                }
            }
            match polled(polls, reader.read(&mut buf)) {
                Some(count) => got.extend_from_slice(&buf[..count.unwrap()]),
                None => unfinished += 1,
            }
            if polls == 0 {
                return false;
            }
        }
        assert_eq!(got, TEXT);
        assert!(unfinished > 0, "the writer was never stopped");
        polls == 2
    });
}
