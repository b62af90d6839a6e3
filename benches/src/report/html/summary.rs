//! The head of the page: what came of it, on what it was measured, how, and how far it can be trusted.

use super::markup::{Element, el};
use super::overview::overviews;
use super::row::{data, scrolling};
use super::{plot, words};
use crate::report::date::utc;
use crate::report::markdown::warnings;
use crate::report::number::{duration, percent, readable};
use crate::report::verdict::Against;
use crate::report::{Line, Report, Tally};

pub fn head(report: &Report) -> Element {
    let kind = if report.quick { "a quick run" } else { "a full run" };
    let about = format!(
        "Ended {}, {kind} of {} {} that took {}.",
        utc(report.ended),
        report.rounds,
        if report.rounds == 1 { "round" } else { "rounds" },
        duration(report.seconds)
    );
    el("header")
        .child(el("h1").text("Ropewalk, side by side"))
        .child(el("p").class("lede").text(
            "What tasks, strands, locks, channels, timers and sockets cost, measured beside other runtimes on the same \
             machine in the same run.",
        ))
        .child(el("p").class("dateline").text(about))
        .children(warnings(report).into_iter().map(|text| {
            el("p").class("warning").attr("role", "note").child(el("strong").text("Note. ")).text(text)
        }))
}

pub fn summary(report: &Report) -> Element {
    let pictures = overviews(report);
    let mut section = el("section")
        .attr("id", "summary")
        .child(el("h2").text("Summary"))
        .child(el("dl").class("tiles").children(tiles(report)));
    if !pictures.is_empty() {
        section = section
            .child(el("p").text(
                "Each mark is a row: a disc where Ropewalk is as good or ahead, a diamond where it is behind. The axis counts \
                 how many times better, and is logarithmic.",
            ))
            .child(el("div").class("pair").children(pictures));
    }
    section
}

fn tiles(report: &Report) -> Vec<Element> {
    let judged = report.rows.iter().any(|line| line.verdict.ours.is_some());
    let mut tiles = Vec::new();
    if judged {
        let (targets, floors) = (report.targets(), report.floors());
        tiles.push(tile("Targets met", &of(targets.yes, targets), &close(targets)));
        tiles.push(tile("Not behind tokio, smol", &of(floors.yes, floors), &close(floors)));
    }
    let peers = plot::peers(report).len();
    tiles.push(tile("Rows", &report.rows.len().to_string(), &format!("by {peers} peers and forms")));
    let quiet = &report.machine.quiet;
    let noise = report.noise().map_or_else(|| "–".into(), percent);
    tiles.push(tile("Noise", &noise, "half of all figures vary less between rounds"));
    tiles.push(tile("Taken by others", &percent(quiet.foreign_share()), "of the machine’s CPU time"));
    tiles
}

fn of(yes: usize, all: Tally) -> String {
    format!("{yes} of {}", all.all())
}

fn close(tally: Tally) -> String {
    format!("{} close, {} not", tally.close, tally.no)
}

fn tile(name: &str, value: &str, note: &str) -> Element {
    el("div")
        .child(el("dt").text(name))
        .child(el("dd").child(el("strong").text(value)).child(el("span").text(note)))
}

/// On what and how it was measured, and how to read a plot.
pub fn method(report: &Report) -> Element {
    let (machine, quiet) = (&report.machine, &report.machine.quiet);
    let fact = |name: &str, text: String| el("div").child(el("dt").text(name)).child(el("dd").text(text));
    let facts = [
        fact("Processor", format!("{}, {} cores", machine.cpu, machine.cores)),
        fact("Memory", format!("{} GiB", machine.memory_gib)),
        fact("Kernel", format!("Linux {}", machine.kernel)),
        fact("Allocator", machine.allocator.clone()),
        fact("Versions", machine.versions.join(", ")),
        fact(
            "Measurements",
            format!(
                "{} of {} planned; {} of {} spells were disturbed by others, {} were taken again",
                report.made, report.planned, quiet.disturbed, quiet.all, quiet.repeated
            ),
        ),
    ];
    let lists = [("Left out", &report.skipped), ("Failed", &report.failed)];
    let lists = lists.into_iter().filter(|(_, reasons)| !reasons.is_empty()).flat_map(|(name, reasons)| {
        [el("h3").text(name), el("ul").children(reasons.iter().map(|reason| el("li").text(reason)))]
    });
    el("section")
        .attr("id", "method")
        .child(el("h2").text("How it was measured"))
        .child(el("dl").class("facts").children(facts))
        .children(PARAGRAPHS.map(|text| el("p").text(text)))
        .children(lists)
}

const PARAGRAPHS: [&str; 3] = [
    "Each measurement is a process of its own. A round measures every pair of problem and peer once; every second round goes \
     backwards, so that a slow minute of the machine falls on all alike. Servers are loaded in turns of a second or less, all of \
     them in one pass. In a full run a measurement during which others took more than 3 % of the machine is taken again, up to \
     four times; the quietest counts.",
    "In a plot the bar (on a logarithmic scale: the stem) ends at the median, which is written on the right. The thin line \
     reaches from the least to the greatest value, the dots are the single measurements. Ropewalk is set in bold and in colour; a \
     hatched bar is the limit: the same work by hand, without a runtime.",
    "A target was set as a figure beside the figures of peers on one machine. It is met here if the ratio to the same peer, measured \
     in the same run, is reached; the broken line is where that is. Close means that it is missed, but within what may be chance: \
     the range in which the median of the ratios would be again 19 times of 20; of five or fewer, from the least to the greatest.",
];

/// All rows in one table.
pub fn table(report: &Report) -> Element {
    const HEADS: [&str; 7] = [
        "Row",
        "Ropewalk",
        "Best peer",
        "Lead over it",
        "Lead over tokio",
        "Not behind tokio, smol",
        "Target met",
    ];
    let heads = HEADS.map(|head| el("th").attr("scope", "col").text(head));
    let table = el("table")
        .class("all")
        .child(el("caption").text("A lead below 1 means behind."))
        .child(el("thead").child(el("tr").children(heads)))
        .child(el("tbody").children(report.rows.iter().map(record)));
    el("section").attr("id", "table").child(el("h2").text("All rows")).child(scrolling("all rows", table))
}

fn record(line: &Line) -> Element {
    let verdict = &line.verdict;
    let link = el("a").attr("href", format!("#{}", words::id(&line.row))).text(&line.row);
    let unit = words::sign(&line.unit);
    let ours = verdict.ours.map_or_else(dash, |ours| el("td").child(data(ours)).text(format!(" {unit}")));
    let best = verdict
        .best
        .map_or_else(dash, |best| el("td").text(format!("{} ", best.peer)).child(data(best.figure)));
    el("tr")
        .child(el("th").attr("scope", "row").child(link))
        .child(ours)
        .child(best)
        .children([verdict.best, verdict.tokio].map(|against| lead(line, against)))
        .children([verdict.floor_held, verdict.goal.and_then(|goal| goal.met)].map(|found| {
            let (sign, word, class) = words::finding(found);
            el("td").class(class).text(format!("{sign} {word}"))
        }))
}

fn lead(line: &Line, against: Option<Against>) -> Element {
    words::lead(line, against).map_or_else(dash, |lead| el("td").text(format!("{}×", readable(lead))))
}

fn dash() -> Element {
    el("td").text("–")
}
