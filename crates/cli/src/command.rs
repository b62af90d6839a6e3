//! Which command the arguments mean: each is an entry in [`COMMANDS`] and a module.

use crate::{bench, serve, top, tour, trace};
use std::io::{self, Write};

/// How a command went that could be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Everything that was checked held.
    Held,
    /// Something did not; the command has said what.
    Failed,
}

/// Why a command could not be carried out.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments make no sense: what is wrong, and what is accepted.
    Usage(String),
    /// Something that was asked for cannot be had: what, and what could be done about it.
    Trouble(String),
    /// Nobody takes the output.
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

pub(crate) struct Command {
    pub(crate) name: &'static str,
    summary: &'static str,
    help: fn() -> String,
    run: fn(&[String]) -> Result<Verdict, Failure>,
}

/// The first one is meant when no command is named.
const COMMANDS: &[Command] = &[
    Command {
        name: "tour",
        summary: "runs everything once and shows figures (the default)",
        help: tour::help,
        run: tour::run,
    },
    Command {
        name: "serve",
        summary: "a server to play with, until ctrl-c: echo, http",
        help: serve::help,
        run: serve::run,
    },
    Command {
        name: "top",
        summary: "what goes on inside a program that has a console",
        help: top::help,
        run: top::run,
    },
    Command {
        name: "bench",
        summary: "measures beside other runtimes: tables, and plots on a page",
        help: bench::help,
        run: bench::run,
    },
    Command {
        name: "trace",
        summary: "what a recording says: longest polls, slow wake-ups, idle time",
        help: trace::help,
        run: trace::run,
    },
];

/// Carries out what `args` (without the program's name) say.
pub(crate) fn run(args: &[String]) -> Result<Verdict, Failure> {
    match args.first().map(String::as_str) {
        Some("help" | "--help" | "-h") => help(&args[1..]),
        Some("--version" | "-V") => print(&format!("ropewalk {}\n", env!("CARGO_PKG_VERSION"))),
        Some(name) if !name.starts_with('-') => {
            let command = find(name)?;
            if args[1..].iter().any(|arg| arg == "--help" || arg == "-h") {
                return print(&(command.help)());
            }
            (command.run)(&args[1..])
        }
        _ if args.iter().any(|arg| arg == "--help" || arg == "-h") => help(&[]),
        _ => (COMMANDS[0].run)(args),
    }
}

/// How to ask for the help that explains what `args` may be.
pub(crate) fn help_of(args: &[String]) -> String {
    let named = args.first().and_then(|name| find(name).ok());
    named.map_or_else(|| "ropewalk --help".to_owned(), |command| format!("ropewalk {} --help", command.name))
}

fn find(name: &str) -> Result<&'static Command, Failure> {
    COMMANDS.iter().find(|command| command.name == name).ok_or_else(|| {
        let known: Vec<_> = COMMANDS.iter().map(|command| command.name).chain(["help"]).collect();
        Failure::Usage(format!("there is no command {name:?}; commands: {}", known.join(", ")))
    })
}

fn help(args: &[String]) -> Result<Verdict, Failure> {
    if let Some(name) = args.first() {
        return print(&(find(name)?.help)());
    }
    let mut text = String::from("usage: ropewalk [COMMAND] [OPTIONS]\n\nCommands:\n");
    for command in COMMANDS {
        text += &format!("  {:<13} {}\n", command.name, command.summary);
    }
    text += "  help [NAME]   what a command does and which options it has\n\n";
    text += &(COMMANDS[0].help)();
    text += "\nExit codes: 0 every check held; 1 one did not, or the output could not be\nwritten; 2 the arguments make no sense.\n";
    print(&text)
}

/// Writes to standard output; unlike `print!` it does not panic when nobody reads.
pub(crate) fn print(text: &str) -> Result<Verdict, Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Verdict::Held)
}
