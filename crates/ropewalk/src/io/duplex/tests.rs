//! The pipe under races: who waits is called, and nothing is lost.

use super::*;
use crate::io::{AsyncReadExt, AsyncWriteExt};
use ropewalk_core::block_on_simple;
use ropewalk_core::prim::{model, thread};

// mutation: pipe-write-calls-nobody
// - in crates/ropewalk/src/io/duplex.rs: `let to_wake = state.reader.take();`
// + `let to_wake: Option<Waker> = None;`
// mutation: pipe-read-calls-nobody
// - in crates/ropewalk/src/io/duplex.rs: `let to_wake = state.writer.take();`
// + `let to_wake: Option<Waker> = None;`
// mutation: pipe-end-calls-nobody
// - in crates/ropewalk/src/io/duplex.rs: `let to_wake = [state.reader.take(), state.writer.take()];`
// + `let to_wake: [Option<Waker>; 2] = [None, None];`
// mutation: pipe-reader-leaves-no-waker
// - in crates/ropewalk/src/io/duplex.rs: `std::mem::swap(&mut state.reader, waker);`
// + `*waker = None;`
#[test]
fn model_pipe_write_against_read() {
    model(|| {
        let (mut reader, mut writer) = pipe(1);
        let thread = thread::spawn(move || block_on_simple(writer.write_all(b"ab")).unwrap());
        let mut all = Vec::new();
        block_on_simple(reader.read_to_end(&mut all)).unwrap();
        assert_eq!(all, b"ab");
        thread.join().unwrap();
    });
}

// mutation: pipe-deserted-writer-sleeps
// - in crates/ropewalk/src/io/duplex.rs: `let (to_wake, unread) = (state.writer.take(), std::mem::take(&mut state.bytes));`
// + `let (to_wake, unread) = (None::<Waker>, std::mem::take(&mut state.bytes));`
// mutation: pipe-desertion-is-not-seen
// - in crates/ropewalk/src/io/duplex.rs: `if state.deserted || state.ended {`
// + `if state.ended {`
#[test]
fn model_pipe_desertion_against_write() {
    model(|| {
        let (reader, mut writer) = pipe(1);
        let thread = thread::spawn(move || drop(reader));
        let result = block_on_simple(writer.write_all(b"ab"));
        assert_eq!(result.unwrap_err().kind(), ErrorKind::BrokenPipe);
        thread.join().unwrap();
    });
}
