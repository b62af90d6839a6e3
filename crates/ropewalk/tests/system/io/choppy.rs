//! A reader and writer that stumbles: it is pending at every other poll, and does little at a time.

use ropewalk::io::{AsyncRead, AsyncWrite};
use std::io::Result;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

pub struct Choppy {
    pub input: Vec<u8>,
    pub read: usize,
    pub output: Vec<u8>,
    pub most: usize,
    pub flushed: usize,
    pub closed: bool,
    turn: bool,
}

impl Choppy {
    pub fn new(input: &[u8], most: usize) -> Self {
        let input = input.to_vec();
        Self { input, read: 0, output: Vec::new(), most, flushed: 0, closed: false, turn: false }
    }

    fn stumbles(&mut self, cx: &mut Context<'_>) -> bool {
        self.turn = !self.turn;
        if self.turn {
            cx.waker().wake_by_ref();
        }
        self.turn
    }
}

impl AsyncRead for Choppy {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize>> {
        if self.stumbles(cx) {
            return Poll::Pending;
        }
        let count = buf.len().min(self.most).min(self.input.len() - self.read);
        buf[..count].copy_from_slice(&self.input[self.read..self.read + count]);
        self.read += count;
        Poll::Ready(Ok(count))
    }
}

impl AsyncWrite for Choppy {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        if self.stumbles(cx) {
            return Poll::Pending;
        }
        let count = buf.len().min(self.most);
        self.output.extend_from_slice(&buf[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if self.stumbles(cx) {
            return Poll::Pending;
        }
        self.flushed = self.output.len();
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if self.stumbles(cx) {
            return Poll::Pending;
        }
        self.closed = true;
        Poll::Ready(Ok(()))
    }
}

/// Polls a future at most so often; its output, if it had one by then. It is dropped.
pub fn polled<F: Future>(times: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    (0..times).find_map(|_| match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    })
}

/// Polls a future to its end.
pub fn finish<F: Future>(future: F) -> F::Output {
    polled(1_000_000, future).expect("it does not end")
}

/// Calls `round` with 0, 1, 2 ... until it says that what it dropped after so many polls was done by then.
pub fn at_every_poll(mut round: impl FnMut(usize) -> bool) {
    let last = (0..100_000).find(|&polls| round(polls)).expect("it does not end");
    assert!(last > 1, "done after {last} polls: nothing was dropped unfinished");
}

/// The numbers of a seed, the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}
