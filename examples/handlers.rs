//! The caller decides how everything inside a call waits.
//!
//! `read_log` waits, and does not say how. `with_handler` says it for a whole call, on this stack only: not for tasks or
//! strands started inside.

use ropewalk::{Blocking, Handler, OnStrand, Runtime, Wait, with_handler};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

/// Some function deep in a library.
fn read_log(runtime: &Runtime) -> usize {
    let lines = ["hoist", "heave", "belay"].map(|line| runtime.spawn(async move { line.len() }));
    lines.into_iter().map(|line| line.wait().expect("it does not panic")).sum()
}

/// Counts how often it had to wait, and waits as the place itself would.
#[derive(Default)]
struct Counting(Cell<u32>);

impl Handler for Counting {
    fn suspend(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        self.0.set(self.0.get() + 1);
        OnStrand.suspend(future);
    }
}

/// Drives the runtime from inside the wait: for programs with one thread and a loop of their own.
struct Driving<'a>(&'a Runtime);

impl Handler for Driving<'_> {
    fn suspend(&self, mut future: Pin<&mut dyn Future<Output = ()>>) {
        let mut cx = Context::from_waker(Waker::noop());
        while future.as_mut().poll(&mut cx).is_pending() {
            self.0.try_tick().expect("nobody else drives it");
        }
    }
}

fn main() {
    let runtime = Runtime::builder().worker_threads(2).build().expect("two threads can be had");
    println!("as the place does:    {}", read_log(&runtime));
    println!("by parking the thread {}", with_handler(&Blocking, || read_log(&runtime)));

    let counting = Counting::default();
    let read = with_handler(&counting, || read_log(&runtime));
    println!("by our own handler:   {read}, which was asked {} times", counting.0.get());
    assert_eq!((read, counting.0.get()), (15, 3));

    // A runtime without threads: whoever waits must let it run.
    let threadless = Runtime::builder().worker_threads(0).build().expect("nothing is needed for it");
    let read = with_handler(&Driving(&threadless), || read_log(&threadless));
    println!("by driving meanwhile: {read}");
    assert_eq!(read, 15);
}
