//! Halves under races: who finds the whole taken is called when it is back.

use super::*;
use crate::io::{AsyncReadExt, AsyncWriteExt};
use ropewalk_core::block_on_simple;
use ropewalk_core::prim::{AtomicBool, Ordering, model, thread};

/// Always ready; finds out if two poll it at once.
struct Whole(AtomicBool);

impl Whole {
    fn poll(&self) {
        assert!(!self.0.swap(true, Ordering::AcqRel), "two poll at once");
        self.0.store(false, Ordering::Release);
    }
}

impl AsyncRead for Whole {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut [u8]) -> Poll<Result<usize>> {
        Whole::poll(&self);
        Poll::Ready(Ok(1))
    }
}

impl AsyncWrite for Whole {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<Result<usize>> {
        Whole::poll(&self);
        Poll::Ready(Ok(1))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}

// mutation: split-other-half-is-not-called
// - in crates/ropewalk/src/io/split.rs: `let waiting = state.waiting.take();`
// + `let waiting = None::<Waker>;`
// mutation: split-half-leaves-no-waker
// - in crates/ropewalk/src/io/split.rs: `std::mem::swap(&mut state.waiting, waker);`
// + `*waker = None;`
#[test]
fn model_split_halves_poll_at_once() {
    model(|| {
        let (mut reader, mut writer) = split(Whole(AtomicBool::new(false)));
        let thread = thread::spawn(move || {
            block_on_simple(writer.write_all(b"x")).unwrap();
            writer
        });
        assert_eq!(block_on_simple(reader.read(&mut [0])).unwrap(), 1);
        let writer = thread.join().unwrap();
        assert!(reader.reunite(writer).is_ok());
    });
}
