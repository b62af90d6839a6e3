//! Side-by-side measurements of runtimes: `bench one PROBLEM PEER` measures one pair in this process and prints one JSON
//! line; `bench side` measures the servers of several peers in turns; `bench run` starts such processes, round by round, and
//! reports medians, ratios and verdicts.

mod alloc;
mod c10k;
mod channels;
mod cli;
mod count;
mod driver;
mod fork_fib;
mod forks;
mod go;
mod java;
mod late;
mod latency;
mod load;
mod meter;
mod nearest;
mod peers;
mod problems;
mod programs;
mod quiet;
mod report;
mod service;
mod side;
mod stalls;
mod targets;
mod tasks;
mod timed;
mod units;

mod blocking_10k;
mod blocking_round_trip;
mod chained_spawn;
mod channel;
mod event_hop;
mod fair_burner;
mod fair_recv_loop;
mod fair_short_hogs;
mod hogs;
mod http_hello;
mod idle_cpu;
mod matmul;
mod mem_base;
mod mem_strand;
mod mem_task;
mod mutex;
mod oneshot;
mod pingpong;
mod semaphore;
mod spawn_join_one;
mod spawn_many_inside;
mod spawn_many_outside;
mod steal;
mod stm;
mod strand_spawn_join;
mod strand_yield;
mod tcp_10k;
mod tcp_echo;
mod timer_churn;
mod timer_lateness;
mod wake_latency;
mod yield_many;
mod yield_same;

use cli::Command;
use rustix::process::{Signal, set_parent_process_death_signal};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Command::parse(arguments()) {
        Ok(Command::One(one)) => measure_one(&one),
        Ok(Command::Run(run)) => driver::run(&run),
        Ok(Command::Side(all)) => measure_side(&all),
        Ok(Command::Serve(problem, peer)) => ended(problems::io::serve(problem, peer)),
        Ok(Command::C10k(proof)) => ended(proof.run()),
        Ok(Command::ShortHogs(matrix)) => matrix.run(),
        Ok(Command::List) => list(),
        Ok(Command::Version) => say(concat!("ropewalk-benches ", env!("CARGO_PKG_VERSION"))),
        Ok(Command::Help) => say(cli::USAGE),
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::from(2)
        }
    }
}

/// What is not UTF-8 is no name that anybody knows; it is refused like other such names.
fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned())
}

/// Measures, prints, and leaves at once: tearing a runtime down is not part of any row.
fn measure_one(one: &cli::One) -> ExitCode {
    end_with_parent();
    match one.problem.measure(one.peer, one.speed) {
        Ok(sample) => {
            println!("{}", serde_json::to_string(&sample).expect("a sample is plain data"));
            std::process::exit(0)
        }
        Err(reason) => {
            eprintln!("bench: {} on {}: {reason}", one.problem.name, one.peer);
            ExitCode::FAILURE
        }
    }
}

/// The same for several peers at once.
fn measure_side(all: &cli::Side) -> ExitCode {
    end_with_parent();
    let outcome = side::measure(all.problem, &all.peers, all.speed);
    println!("{}", serde_json::to_string(&outcome).expect("it is plain data"));
    std::process::exit(0)
}

/// When the one who asked is gone, nobody wants the answer. (Ctrl-c does not come here: it goes to that one, who ends this.)
fn end_with_parent() {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

fn ended(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// By chapter: what it is, who is measured, and whether a quick run has it.
fn list() -> ExitCode {
    let mut text = String::new();
    for group in problems::group::GROUPS {
        text += &format!("{}\n", group.name);
        for problem in problems::all().filter(|problem| problem.group() == group) {
            let quick = if problem.is_quick() { " (quick)" } else { "" };
            let peers: Vec<&str> = problem.peers.iter().map(|peer| peer.name()).collect();
            text += &format!("  {:<23} {}{quick}\n", problem.name, problem.about);
            text += &format!("  {:<23} peers: {}\n", "", peers.join(", "));
        }
    }
    say(text.trim_end())
}

/// Unlike `println!` it does not panic when the reader is gone.
fn say(text: &str) -> ExitCode {
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
