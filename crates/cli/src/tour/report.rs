//! The tour told to its audience: a person reads along, a machine gets one document at the end.

use super::options::Options;
use super::{STOPS, Stop, Visit};
use crate::figure::Findings;
use crate::json::Json;
use crate::show::{Hue, Style, counted, table, timeline};
use std::io::{self, Write};
use std::time::Duration;

/// The width everything is laid out for: what every terminal has.
const WIDTH: usize = 78;

/// Who the tour is told to, while it goes on.
pub(crate) trait Audience {
    fn welcome(&self, _options: &Options) -> io::Result<()> {
        Ok(())
    }

    fn announce(&self, _at: usize, _of: usize, _stop: &dyn Stop) -> io::Result<()> {
        Ok(())
    }

    fn show(&self, _visit: &Visit) -> io::Result<()> {
        Ok(())
    }

    fn farewell(&self, visits: &[Visit], options: &Options, took: Duration) -> io::Result<()>;
}

/// Gets one JSON document.
pub(crate) struct Machine;

impl Audience for Machine {
    fn farewell(&self, visits: &[Visit], options: &Options, took: Duration) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", document(visits, options, took))?;
        out.flush()
    }
}

fn document(visits: &[Visit], options: &Options, took: Duration) -> Json {
    Json::map([
        ("ropewalk", Json::text(env!("CARGO_PKG_VERSION"))),
        ("command", Json::text("tour")),
        ("quick", Json::Bool(options.quick)),
        ("cores", Json::Whole(cores() as u64)),
        ("optimized", Json::Bool(!cfg!(debug_assertions))),
        ("seconds", Json::Real(took.as_secs_f64())),
        ("ok", Json::Bool(visits.iter().all(Visit::held))),
        ("stops", Json::list(visits.iter().map(stop_json))),
    ])
}

fn stop_json(visit: &Visit) -> Json {
    let mut entries = vec![
        ("name".to_owned(), Json::text(visit.stop.name())),
        ("title".to_owned(), Json::text(visit.stop.title())),
        ("seconds".to_owned(), Json::Real(visit.took.as_secs_f64())),
        ("ok".to_owned(), Json::Bool(visit.held())),
    ];
    match &visit.result {
        Ok(findings) => entries.extend(findings.json()),
        Err(why) => entries.push(("error".to_owned(), Json::text(why))),
    }
    Json::Map(entries)
}

/// `--list`.
pub(crate) fn list() -> String {
    STOPS.iter().map(|stop| format!("{:<10} {}\n", stop.name(), stop.title())).collect()
}

/// `--list --json`.
pub(crate) fn list_json() -> Json {
    Json::list(STOPS.iter().map(|stop| {
        let [name, title, about] = [stop.name(), stop.title(), stop.about()].map(Json::text);
        Json::map([("name", name), ("title", title), ("about", about)])
    }))
}

/// Reads along at standard output.
pub(crate) struct Person {
    style: Style,
}

impl Person {
    pub(crate) fn at_stdout() -> Self {
        Self { style: Style::of(&io::stdout()) }
    }

    /// Writes lines with a margin, at once.
    fn say(&self, lines: &[String]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for line in lines {
            writeln!(out, "{}", format!("  {line}").trim_end())?;
        }
        out.flush()
    }

    fn findings(&self, findings: &Findings) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(picture) = &findings.timeline {
            lines.extend(timeline(picture, self.style));
            lines.push(String::new());
        }
        for figures in &findings.tables {
            lines.extend(table(figures, self.style));
            lines.push(String::new());
        }
        lines.extend(findings.checks.iter().map(|check| self.verdict(check.held, &check.what)));
        lines
    }

    fn verdict(&self, held: bool, what: &str) -> String {
        let mark = match held {
            true => self.style.paint(Hue::Good, self.style.pick("✓", "ok    ")),
            false => self.style.paint(Hue::Bad, self.style.pick("✗", "FAILED")),
        };
        format!("{mark} {what}")
    }
}

impl Audience for Person {
    fn welcome(&self, options: &Options) -> io::Result<()> {
        let (style, count) = (self.style, options.stops.len());
        let name = style.paint(Hue::Rope, &format!("ropewalk {}", env!("CARGO_PKG_VERSION")));
        let stops = counted(count as u64, "stop");
        let facts = [format!("a guided tour, {stops}"), counted(cores() as u64, "core")]
            .join(style.pick(" · ", " | "));
        let mut lines = vec![String::new(), format!("{name}  {}", style.paint(Hue::Dim, &facts))];
        let doubts =
            [(options.quick, "a quick run"), (cfg!(debug_assertions), "a debug build, use --release")];
        let doubts: Vec<_> = doubts.into_iter().filter_map(|(holds, what)| holds.then_some(what)).collect();
        if !doubts.is_empty() {
            lines.push(
                style.paint(Hue::Dim, &format!("Take the figures as a hint only: {}.", doubts.join(", "))),
            );
        }
        self.say(&lines)
    }

    fn announce(&self, at: usize, of: usize, stop: &dyn Stop) -> io::Result<()> {
        let style = self.style;
        let (place, name) = (format!("{}/{of}", at + 1), stop.name());
        let used = place.len() + stop.title().len() + name.len() + 9;
        let fill = style.pick("━", "=").repeat(WIDTH.saturating_sub(used));
        let edge = style.pick("━━", "==");
        let heading = format!(
            "{} {} {} {} {}",
            style.paint(Hue::Rope, &format!("{edge} {place}")),
            style.paint(Hue::Bold, stop.title()),
            style.paint(Hue::Rope, &fill),
            style.paint(Hue::Dim, name),
            style.paint(Hue::Rope, edge),
        );
        let about = stop.about().lines().map(str::to_owned);
        self.say(
            &[String::new(), heading].into_iter().chain(about).chain([String::new()]).collect::<Vec<_>>(),
        )
    }

    fn show(&self, visit: &Visit) -> io::Result<()> {
        let mut lines = match &visit.result {
            Ok(findings) => self.findings(findings),
            Err(why) => vec![self.verdict(false, why)],
        };
        lines.push(self.style.paint(Hue::Dim, &format!("took {:.1} s", visit.took.as_secs_f64())));
        self.say(&lines)
    }

    fn farewell(&self, visits: &[Visit], _options: &Options, took: Duration) -> io::Result<()> {
        let found = visits.iter().filter_map(|visit| visit.result.as_ref().ok());
        let checks = counted(found.map(|found| found.checks.len() as u64).sum(), "check");
        let failed: Vec<_> =
            visits.iter().filter(|visit| !visit.held()).map(|visit| visit.stop.name()).collect();
        let (stops, seconds) = (counted(visits.len() as u64, "stop"), took.as_secs_f64());
        let verdict = if failed.is_empty() {
            self.verdict(true, &format!("{stops}, {checks}, all held, in {seconds:.1} s."))
        } else {
            let names = failed.join(", ");
            self.verdict(
                false,
                &format!("{} of {stops} did not hold: {names} ({seconds:.1} s).", failed.len()),
            )
        };
        let next = "Next: examples/README.md, one idea per file. Options: `ropewalk --help`.";
        let edge = self.style.pick("━", "=").repeat(WIDTH);
        self.say(&[
            String::new(),
            self.style.paint(Hue::Rope, &edge),
            verdict,
            self.style.paint(Hue::Dim, next),
            String::new(),
        ])
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}
