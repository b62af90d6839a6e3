//! Standard input.
//!
//! A read of standard input may never return, and cannot be called back. So it is not a job of any runtime, which would wait for it
//! at its end, but done by one thread of the process, which reads when it is asked to. Invariants, under the lock:
//!
//! * **SI1** The thread reads only while `asked`; what it got (bytes, the end, an error) replaces that.
//! * **SI2** Who found nothing has asked, and left a waker, in the same critical section; the thread takes all wakers in the
//!   critical section in which it answers, and calls them after.

use super::AsyncRead;
use crate::runtime::wake_safely;
use ropewalk_core::blocked::{self, Reason};
use ropewalk_core::budget::poll_proceed;
use ropewalk_core::prim::{Condvar, Lock};
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker, ready};

/// Standard input. All handles read from the same stream: each byte goes to one of them.
///
/// ```no_run
/// use ropewalk::io::{self, BufReader, prelude::*};
/// # ropewalk::block_on(async {
/// let mut lines = BufReader::new(io::stdin()).lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("you said {line}");
/// }
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// It is read only when somebody asks, through the standard library's buffer, by a thread that belongs to no runtime: a read that
/// never ends keeps no runtime from shutting down and no process from exiting.
///
/// **Cancel safety**: if a read is dropped unfinished, what comes is kept for the next one.
pub fn stdin() -> Stdin {
    Stdin(())
}

/// See [`stdin`].
#[derive(Debug)]
pub struct Stdin(());

static DESK: LazyLock<Desk> = LazyLock::new(Desk::new);

struct Desk {
    state: Lock<State>,
    asked: Condvar,
}

#[derive(Default)]
struct State {
    answer: Answer,
    waiting: Vec<Waker>,
    has_thread: bool,
}

#[derive(Default)]
enum Answer {
    #[default]
    Nothing,
    Asked,
    /// From here on.
    Bytes(Vec<u8>, usize),
    End,
    Failed(io::Error),
}

impl Answer {
    /// What it says, as far as it fits into `buf`, and what is left of it.
    fn give(self, buf: &mut [u8]) -> (io::Result<usize>, Self) {
        match self {
            Self::Bytes(bytes, from) => {
                let count = buf.len().min(bytes.len() - from);
                buf[..count].copy_from_slice(&bytes[from..from + count]);
                let is_all = from + count == bytes.len();
                (Ok(count), if is_all { Self::Nothing } else { Self::Bytes(bytes, from + count) })
            }
            Self::Failed(error) => (Err(error), Self::Nothing),
            Self::Nothing | Self::Asked | Self::End => (Ok(0), Self::Nothing),
        }
    }
}

impl Desk {
    fn new() -> Self {
        Self { state: Lock::new(State::default()), asked: Condvar::new() }
    }

    fn poll(&self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        if let Some(result) = self.take(buf, &mut None) {
            return Poll::Ready(result);
        }
        if let Some(result) = self.take(buf, &mut Some(cx.waker().clone())) {
            return Poll::Ready(result);
        }
        blocked::note(Reason::Input, blocked::address_of(self));
        Poll::Pending
    }

    /// Takes an answer, or asks for one, and leaves the waker, if there is one. `None`: there is none yet.
    fn take(&self, buf: &mut [u8], waker: &mut Option<Waker>) -> Option<io::Result<usize>> {
        let mut state = self.state.lock();
        if !matches!(state.answer, Answer::Nothing | Answer::Asked) {
            let (result, rest) = std::mem::take(&mut state.answer).give(buf);
            state.answer = rest;
            return Some(result);
        }
        let new = waker.take()?;
        if !state.waiting.iter().any(|there| there.will_wake(&new)) {
            state.waiting.push(new);
        } else {
            *waker = Some(new); // to be dropped outside
        }
        state.answer = Answer::Asked;
        let needs_thread = !std::mem::replace(&mut state.has_thread, true);
        self.asked.notify_one();
        drop(state);
        if needs_thread && let Err(error) = start() {
            self.state.lock().has_thread = false;
            return Some(Err(error));
        }
        None
    }

    fn answer(&self, answer: Answer) {
        let mut state = self.state.lock();
        state.answer = answer;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(wake_safely);
    }

    fn wait_until_asked(&self) {
        let mut state = self.state.lock();
        while !matches!(state.answer, Answer::Asked) {
            state = self.asked.wait(state);
        }
    }
}

fn start() -> io::Result<()> {
    let serve = || {
        let mut buf = vec![0; super::BUFFER];
        loop {
            DESK.wait_until_asked();
            DESK.answer(match io::stdin().read(&mut buf) {
                Ok(0) => Answer::End,
                Ok(count) => Answer::Bytes(buf[..count].to_owned(), 0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Answer::Failed(error),
            });
        }
    };
    std::thread::Builder::new().name("ropewalk-stdin".into()).spawn(serve).map(drop)
}

impl AsyncRead for Stdin {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        ready!(poll_proceed(cx));
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        DESK.poll(cx, buf)
    }
}

#[cfg(test)]
mod tests;
