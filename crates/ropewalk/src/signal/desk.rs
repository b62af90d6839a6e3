//! Who listens to which signal, and the thread that wakes them.
//!
//! # Invariants
//!
//! - **SD2** A handler is installed while there are listeners; the first puts it there, the last takes it away, both under
//!   the lock of the signal. One that could not be taken away (somebody put theirs over it) is not installed a second
//!   time: it would end up calling itself.
//! - **SD3** The thread reads a byte, which was written after the count was raised (SG2), and rings for each count that
//!   has changed since it rang for it last.

use super::handler::{self, Action, LIMIT};
use super::slot::Slot;
use libc::c_int;
use ropewalk_core::prim::Lock;
use std::io::{self, PipeReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::thread;

/// Wakers are called on its stack, no more.
const STACK: usize = 256 << 10;

/// The signals of this process.
pub(super) struct Desk {
    /// Both are made on the heap: the first listener may be a strand, whose stack is small.
    slots: Box<[Slot; LIMIT]>,
    states: Box<[Lock<State>; LIMIT]>,
    /// Whether the thread runs.
    is_started: Lock<bool>,
}

#[derive(Default)]
struct State {
    listeners: usize,
    /// What the signal did before ours was installed, while it is (SD2).
    before: Option<Action>,
}

fn for_each_signal<T>(make: impl FnMut() -> T) -> Box<[T; LIMIT]> {
    let all: Box<[T]> = std::iter::repeat_with(make).take(LIMIT).collect();
    all.try_into().ok().expect("one for each")
}

impl Desk {
    pub(super) fn get() -> &'static Self {
        static DESK: OnceLock<Desk> = OnceLock::new();
        DESK.get_or_init(|| Desk {
            slots: for_each_signal(Slot::new),
            states: for_each_signal(|| Lock::new(State::default())),
            is_started: Lock::new(false),
        })
    }

    pub(super) fn slot(&self, signal: c_int) -> &Slot {
        &self.slots[signal as usize]
    }

    /// One more listener; the first one installs the handler.
    pub(super) fn enter(&'static self, signal: c_int) -> io::Result<()> {
        self.start()?;
        let mut state = self.states[signal as usize].lock();
        if state.before.is_none() {
            state.before = Some(handler::install(signal)?);
        }
        state.listeners += 1;
        Ok(())
    }

    /// One listener less; the last one puts back what was there before.
    pub(super) fn leave(&self, signal: c_int) {
        let mut state = self.states[signal as usize].lock();
        state.listeners -= 1;
        let is_over =
            state.listeners == 0 && state.before.is_some_and(|before| handler::put_back(signal, &before));
        if is_over {
            state.before = None;
        }
    }

    /// Starts the thread, once. If that fails, the next listener tries again.
    fn start(&'static self) -> io::Result<()> {
        let mut is_started = self.is_started.lock();
        if !*is_started {
            let (reader, writer) = io::pipe()?;
            let thread = thread::Builder::new().name("ropewalk-signal".to_owned()).stack_size(STACK);
            thread.spawn(move || self.ring(reader))?;
            handler::report_to(&self.slots, writer)?;
            *is_started = true;
        }
        Ok(())
    }

    /// Wakes the listeners of what has come (SD3), until the other end of the pipe is gone, which is never once it is in
    /// use.
    fn ring(&self, mut pipe: PipeReader) {
        let mut rung = [0; LIMIT];
        loop {
            match pipe.read(&mut [0; 256]) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            }
            handler::let_pass();
            for (slot, rung) in self.slots.iter().zip(&mut rung) {
                if slot.advance(rung) {
                    // Somebody's waker may panic; the others have been woken then, and this thread goes on.
                    let _told = catch_unwind(AssertUnwindSafe(|| slot.ring()));
                }
            }
        }
    }
}
