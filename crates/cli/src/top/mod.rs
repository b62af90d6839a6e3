//! `ropewalk top`: what the console of a program shows, in the terminal.
//!
//! It runs on Ropewalk itself: the console is asked over its sockets, and keys, signals, the clock and the answers are branches of one
//! `select!`.

mod address;
mod change;
mod client;
mod draw;
mod dump;
mod figures;
mod keys;
mod live;
mod options;
mod plain;
mod rows;
mod screen;
mod state;
mod terminal;
mod view;

use crate::command::{Failure, Verdict, print};
use crate::show::Style;
use client::{Client, Trouble};
pub(crate) use options::help;
use options::{Options, Show};
use ropewalk::Runtime;
use std::io::{self, IsTerminal};

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble.to_string())
    }
}

/// `ropewalk top`.
pub(crate) fn run(args: &[String]) -> Result<Verdict, Failure> {
    let options = Options::parse(args)?;
    // A terminal is not much work: the thread that waits does it.
    let runtime = Runtime::builder().worker_threads(0).build();
    let runtime = runtime.map_err(|error| Failure::Trouble(error.to_string()))?;
    runtime.block_on(top(&options))
}

async fn top(options: &Options) -> Result<Verdict, Failure> {
    let client = Client::new(options);
    // Before the terminal is taken over: what is wrong now is said where it stays.
    let (first, text) = client.state("").await?;
    match options.show {
        Show::Json => print(&format!("{}\n", String::from_utf8_lossy(&text).trim_end())),
        Show::Live if is_screen() => live::run(options, client, first).await,
        Show::Live | Show::Once => print(&plain::text(&first, &options.address.to_string())),
    }
}

/// Whether standard output can be drawn on.
fn is_screen() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdout().is_terminal() && !is_dumb
}

/// Colours are wanted.
fn is_coloured() -> bool {
    Style::of(&io::stdout()).drawn
}
