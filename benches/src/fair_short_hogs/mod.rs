//! fair_short_hogs_*: something is due every millisecond, and beside it are tasks that compute for a moment and give way, again and again.
//! None of them does anything wrong; who looks at clocks, sockets and foreign wake-ups only every so many polls is late by as many of
//! theirs. One operation is one thing that was due; the figures say how late it was.
//!
//! A [`Shape`] says what is due, on how many workers, beside how many hogs, how long these compute, how they give way, and how many
//! things are due at once. The rows are some of all shapes (`table.rs`); `bench short-hogs` measures any (`matrix/`).
//!
//! A peer that lets what is due starve is rid of the hogs when the time is over, and that is how late it was.

mod due;
mod hogs;
mod host;
pub mod matrix;
mod score;
mod shape;
mod table;

use crate::meter::{Sample, Speed};
use crate::peers::{self, Peer};
use crate::{go, programs, timed};
use host::Host;
use score::FINISH;
pub use score::Span;
pub use shape::{Due, Poll, Shape, Way};
use std::process::Command;

/// The folder of the program in Go.
pub const DIR: &str = "fair_short_hogs";

pub fn run(peer: Peer, shape: Shape, speed: Speed) -> Option<Sample> {
    measure(peer, shape, Span::of(shape, speed))
}

/// The same for as long as `span` says.
pub fn measure(peer: Peer, shape: Shape, span: Span) -> Option<Sample> {
    if !shape.peers().contains(&peer) {
        return None;
    }
    let workers = shape.workers;
    Some(match peer {
        Peer::Ropewalk | Peer::RopewalkCt => on(timed::Ropewalk::new(workers), shape, span),
        Peer::TokioMt if shape.due.needs_io() => {
            on(timed::Tokio::of(peers::tokio_mt_io(workers)), shape, span)
        }
        Peer::TokioMt => on(timed::Tokio::multi_thread(workers), shape, span),
        Peer::TokioCt if shape.due.needs_io() => on(timed::Tokio::of(peers::tokio_ct_io()), shape, span),
        Peer::TokioCt => on(timed::Tokio::current_thread(), shape, span),
        Peer::Smol => on(timed::Smol::new(workers), shape, span),
        Peer::Go => return in_go(shape, span).ok(),
        _ => return None,
    })
}

fn on<H: Host>(host: H, shape: Shape, span: Span) -> Sample {
    FINISH.expect(shape.parties());
    let clock = score::start(shape, span);
    hogs::start(host, shape);
    due::start(host, shape.due, shape.tickers);
    host.drive(shape.workers, FINISH.all_done());
    clock.stop()
}

/// The program is told the shape and the times in place of a row's name.
pub fn in_go(shape: Shape, span: Span) -> Result<Sample, String> {
    let told = format!("{shape}/{}/{}", span.warm.as_millis(), span.counted.as_millis());
    programs::ask(Command::new(go::build_in(DIR)?), &[&told, &shape.workers.to_string(), "full"])
}
