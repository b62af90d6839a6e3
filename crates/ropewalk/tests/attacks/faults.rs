//! Faults of a cable between two network namespaces, under load: it is pulled and put back, too narrow, cut; nobody listens at
//! the other end, or no way leads there. Whoever waits is told, or goes on when the cable is back; nothing is left.
//! It needs the right to make namespaces (root), `ip` and `tc`; else it says what is missing and is skipped.

#[path = "faults/cable.rs"]
mod cable;
#[path = "faults/ends.rs"]
mod ends;
#[path = "faults/errors.rs"]
mod errors;

use crate::child::{Kind, child_of, in_children, seconds, share, stage};
use crate::leaks::{Possessions, wait_for_the_harness};
use crate::load::Random;
use cable::{Cable, End};
use ends::Ends;
use std::thread;
use std::time::{Duration, Instant};

/// Both ends and what is between them; in a child of its own, `rounds` times from beginning to end, and nothing is left each
/// time. The first ones are to find out what a process keeps once it has been used.
fn apart(test: &str, kinds: &[Kind], attack: impl Fn(&Ends, Duration) -> String + Sync) {
    let span = share(kinds.len() * 3, Duration::from_millis(50));
    let all = |kind: &Kind| {
        wait_for_the_harness();
        drop(Kind(kind.0, 64).build()); // a little is kept for each worker that there ever was at the same time
        let mut before = None;
        for round in 0..3 {
            stage("a cable");
            let cable = match Cable::new() {
                Ok(cable) => cable,
                Err(reason) => return println!("attack: skipped: {reason}"),
            };
            let said =
                thread::scope(|scope| scope.spawn(|| once(&cable, *kind, span, &attack)).join()).unwrap();
            println!("attack: {said}");
            drop((said, cable));
            match before {
                _ if round == 0 => {}
                None => before = Some(Possessions::now()),
                Some(before) => Possessions::assert_nothing_more(before, "after the last round"),
            }
        }
    };
    in_children(test, kinds, 1, all, |kind| child_of(test, kind));
}

/// On a thread that stays near, with what it starts.
fn once(cable: &Cable, kind: Kind, span: Duration, attack: impl Fn(&Ends, Duration) -> String) -> String {
    let ends = Ends::new(cable, kind);
    let said = attack(&ends, span);
    stage("the end of both");
    drop(ends);
    said
}

/// All kinds of runtimes if there is time, else one.
fn kinds() -> Vec<Kind> {
    let mut kinds = Kind::all();
    kinds.truncate(if seconds().is_some() { kinds.len() } else { 1 });
    kinds
}

/// Does things to a cable for a while; each time it is whole again afterwards.
fn torture(cable: &Cable, span: Duration) -> String {
    let (from, mut faults, mut random) = (Instant::now(), 0, Random(span.as_nanos() as u64));
    while faults == 0 || from.elapsed() < span {
        let pause = Duration::from_millis(5 + random.below(80));
        match random.below(3) {
            0 => spoil(cable, pause, |cable| cable.pull(End::Near), |cable| cable.put_back(End::Near)),
            1 => spoil(cable, pause, |cable| cable.pull(End::Far), |cable| cable.put_back(End::Far)),
            _ => spoil(cable, 3 * pause, Cable::narrow, Cable::widen),
        }
        thread::sleep(Duration::from_millis(random.below(300)));
        faults += 1;
        stage(format_args!("a cable that fails, after {faults} faults"));
    }
    format!("{faults} faults in {:.1} s", from.elapsed().as_secs_f64())
}

fn spoil(cable: &Cable, pause: Duration, begin: impl Fn(&Cable), end: impl Fn(&Cable)) {
    begin(cable);
    thread::sleep(pause);
    end(cable);
}

#[test]
fn a_cable_that_is_pulled_and_put_back() {
    apart("faults::a_cable_that_is_pulled_and_put_back", &kinds(), |ends, span| {
        let talk = ends.talk();
        let faults = torture(ends.cable, span);
        stage("what was said comes to its end");
        format!("{faults}, {}", talk.end())
    });
}

#[test]
fn whoever_waits_for_a_peer_that_vanished_is_told() {
    // Until the system believes it: longer than an ordinary run of the tests may take.
    if seconds().is_none() && !crate::kit::is_child() {
        return;
    }
    apart("faults::whoever_waits_for_a_peer_that_vanished_is_told", &kinds(), |ends, _| {
        let waiting = ends.wait();
        stage("the peer vanishes");
        if Random(ends.number as u64).below(2) == 0 {
            ends.cable.pull(End::Far)
        } else {
            ends.cable.cut()
        }
        waiting.are_told(ends)
    });
}

#[test]
fn nobody_listens_and_no_way_leads_there() {
    apart("faults::nobody_listens_and_no_way_leads_there", &kinds(), |ends, span| {
        let until = Instant::now() + span / 4;
        let mut times = 0;
        while times == 0 || Instant::now() < until {
            ends.here.block_on(errors::refused());
            errors::no_way(ends);
            times += 1;
            stage(format_args!("errors, after {times} times"));
        }
        format!("{times} times")
    });
}
