//! A row: what it is, the plot, and the table beneath.

use super::markup::{Element, el};
use super::{plot, words};
use crate::peers::Peer;
use crate::report::Line;
use crate::report::figures::Figure;
use crate::report::number::{percent, readable};
use crate::report::verdict::Finding;

pub fn row(line: &Line) -> Element {
    el("figure")
        .class("row")
        .attr("id", words::id(&line.row))
        .child(caption(line))
        .child(plot::plot(line))
        .children(note(line))
        .child(table(line))
}

fn caption(line: &Line) -> Element {
    let name = el("h3").child(el("code").text(&line.row));
    let scale = if plot::scale(line).is_log() { ", logarithmic scale" } else { "" };
    let unit = format!("{}, {}{scale}", words::capital(words::unit(&line.unit)), words::better(line.better));
    let mut caption = el("figcaption").child(name);
    if let Some(met) = line.verdict.goal.and_then(|goal| goal.met) {
        let (sign, _, class) = words::finding(Some(met));
        let beyond = line.verdict.goal.and_then(|goal| goal.stretch_met) == Some(Finding::Yes);
        let word = match met {
            Finding::Yes if beyond => "stretch target met",
            Finding::Yes => "target met",
            Finding::Close => "target close",
            Finding::No => "target missed",
        };
        caption = caption.child(badge(class, sign, word));
    }
    if let Some(Finding::No) = line.verdict.floor_held {
        caption = caption.child(badge("no", "✗", "behind tokio or smol"));
    }
    let about = el("p").class("about").text(words::capital(&line.about));
    caption.child(about).child(el("p").class("unit").text(unit))
}

fn badge(class: &str, sign: &str, word: &str) -> Element {
    el("span").class(format!("badge {class}")).text(format!("{sign} {word}"))
}

/// Who is ahead, and where the target comes from.
fn note(line: &Line) -> Option<Element> {
    let verdict = &line.verdict;
    let lead = |against: Option<crate::report::verdict::Against>| {
        let whom = against?;
        Some(words::lead_over(words::lead(line, against)?, whom.peer.name()))
    };
    let mut said = Vec::new();
    said.extend(lead(verdict.best));
    let best_is_tokio = verdict.best.map(|best| best.peer) == verdict.tokio.map(|tokio| tokio.peer);
    said.extend(lead(verdict.tokio).filter(|_| !best_is_tokio));
    let mut text = said.join(", ");
    if !text.is_empty() {
        text = format!("{}.", words::capital(&text));
    }
    let against = verdict.goal.and_then(|goal| Some((goal, goal.against?)));
    if let Some((goal, against)) = against {
        let (bound, factor) = (words::bound(line.better), readable(goal.target));
        text += &format!(" Target: {bound} {factor} × {} of the same run.", against.peer);
    }
    if verdict.goal.is_some_and(|goal| goal.stretch.is_some()) {
        text += " Dotted: the stretch target.";
    }
    (!text.is_empty()).then(|| el("p").class("note").text(text.trim()))
}

const HEADS: [(&str, &str); 6] = [
    ("Median", "the middle of all measurements"),
    ("Least", "the least of them"),
    ("Greatest", "the greatest of them"),
    ("Spread", "greatest less least, as a share of the median"),
    ("CPU ns", "CPU time of the whole process per operation, in nanoseconds"),
    ("n", "how many measurements"),
];

fn table(line: &Line) -> Element {
    let heads = HEADS.map(|(head, about)| el("th").attr("scope", "col").attr("title", about).text(head));
    let caption = format!("{}, in {}, best first", line.row, words::unit(&line.unit));
    let table = el("table")
        .child(el("caption").text(caption))
        .child(el("thead").child(el("tr").child(el("th").attr("scope", "col").text("Peer")).children(heads)))
        .child(
            el("tbody").children(line.ranked().into_iter().map(|(peer, figure)| record(line, peer, figure))),
        );
    el("details").child(el("summary").text("Figures")).child(scrolling(&line.row, table))
}

fn record(line: &Line, peer: Peer, figure: &Figure) -> Element {
    let class = if peer == line.ours { "ours" } else { "other" };
    let cell = || el("td");
    let cpu = figure.cpu_ns_per_op.map_or_else(|| cell().text("–"), |cpu| cell().child(data(cpu)));
    el("tr")
        .class(class)
        .child(el("th").attr("scope", "row").text(peer))
        .children([figure.median, figure.min, figure.max].map(|value| cell().child(data(value))))
        .child(cell().text(figure.spread.map_or("–".into(), percent)))
        .child(cpu)
        .child(cell().text(figure.samples.len()))
}

/// A number for people, and the whole of it for programs.
pub fn data(value: f64) -> Element {
    el("data").attr("value", value).text(readable(value))
}

/// A table that may be wider than the screen; the keyboard can scroll it too.
pub fn scrolling(name: &str, table: Element) -> Element {
    let region = el("div").class("scroll").attr("role", "region").attr("tabindex", 0);
    region.attr("aria-label", format!("Table of {name}")).child(table)
}
