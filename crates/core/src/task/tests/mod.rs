//! What proves the task cell.
//!
//! * `wake`, `ask`, `cancel`, `join`, `end` and `family`: races, two or three threads at a time, under loom, shuttle and as plain threads.
//!   Above each stand the changes of the code that it must notice (`ci/mutate` tries them).
//! * `lifecycle`: every order of the things that can happen to a task, on one thread, beside the model in `reference`.
//! * `owed`: wakers that are counted when the poll that cloned them ends.
//! * `unit`: sizes, texts, and what a single call promises.
//! * `lab`: the host in which the tasks under test live; `watch`: what watches them there.

mod ask;
mod cancel;
mod end;
mod family;
mod join;
mod lab;
// On one thread: TSan would take minutes to see nothing.
#[cfg(all(feature = "std", not(any(loom, shuttle, tsan))))]
mod lifecycle;
mod owed;
#[cfg(all(feature = "std", not(any(loom, shuttle, tsan))))]
mod reference;
#[cfg(not(any(loom, shuttle)))]
mod unit;
mod wake;
mod watch;
