//! `ropewalk trace FILE`: what a recording says, in a few tables.

mod options;
mod read;
mod summary;

use crate::command::{Failure, Verdict, print};
use crate::json::Json;
use crate::show::{Style, columns, fitted};
use options::Options;
pub(crate) use options::help;
use read::Recording;
use std::io;

/// `ropewalk trace`.
pub(crate) fn run(args: &[String]) -> Result<Verdict, Failure> {
    let options = Options::parse(args)?;
    let bytes = std::fs::read(&options.file)
        .map_err(|error| Failure::Trouble(format!("cannot read {}: {error}", options.file)))?;
    let recording =
        Recording::read(&bytes).map_err(|what| Failure::Trouble(format!("{}: {what}", options.file)))?;
    let findings = summary::of(&recording, options.top);
    if options.json {
        let mut entries =
            vec![("command".to_owned(), Json::text("trace")), ("file".to_owned(), Json::text(&options.file))];
        entries.extend(findings.json().into_iter().filter(|(key, _)| key == "tables"));
        return print(&format!("{}\n", Json::Map(entries)));
    }
    let (style, room) = (Style::of(&io::stdout()), columns(&io::stdout()));
    let mut text = String::new();
    for figures in &findings.tables {
        for line in fitted(figures, style, room) {
            text += &format!("{line}\n");
        }
        text += "\n";
    }
    print(&text)
}
