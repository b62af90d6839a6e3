//! The report as one page that needs nothing else: no script, no file beside it. Light or dark as the reader's system is, for wide
//! screens, phones and paper.

mod markup;
mod overview;
mod plot;
mod row;
mod scale;
mod summary;
mod words;

use super::{Line, Report};
use crate::problems::group::GROUPS;
use markup::{Element, el};

const STYLE: &str = include_str!("style.css");

pub fn page(report: &Report) -> String {
    let head = el("head")
        .child(el("meta").attr("charset", "utf-8"))
        .child(el("meta").attr("name", "viewport").attr("content", "width=device-width, initial-scale=1"))
        .child(el("meta").attr("name", "color-scheme").attr("content", "light dark"))
        .child(el("meta").attr("name", "generator").attr("content", "ropewalk bench"))
        .child(el("link").attr("rel", "icon").attr("href", "data:,"))
        .child(el("title").text("Ropewalk, side by side"))
        .child(el("style").style(STYLE));
    let main = el("main")
        .child(summary::summary(report))
        .child(contents(report))
        .children(chapters(report).map(|(at, name, lines)| chapter(at, &name, &lines)))
        .child(summary::table(report))
        .child(summary::method(report));
    let body = el("body").child(hatch()).child(summary::head(report)).child(main).child(footer());
    format!("<!DOCTYPE html>\n{}\n", el("html").attr("lang", "en").child(head).child(body).render())
}

/// The rows by chapter: those we know in their order, then those that only the file knows. The rows of a problem stand together.
fn chapters(report: &Report) -> impl Iterator<Item = (usize, String, Vec<&Line>)> {
    let mut names: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
    for line in &report.rows {
        if !names.contains(&line.group.as_str()) {
            names.push(&line.group);
        }
    }
    let first = |problem: &str| report.rows.iter().position(|line| line.problem == problem);
    let lines = |name: &str| {
        let mut lines: Vec<&Line> = report.rows.iter().filter(|line| line.group == name).collect();
        lines.sort_by_key(|line| first(&line.problem));
        lines
    };
    let chapters: Vec<_> = names.into_iter().map(|name| (name.to_string(), lines(name))).collect();
    let filled = chapters.into_iter().filter(|(_, lines)| !lines.is_empty());
    filled.enumerate().map(|(at, (name, lines))| (at + 1, name, lines))
}

fn contents(report: &Report) -> Element {
    let entry = |href: String, text: &str| el("li").child(el("a").attr("href", href).text(text));
    let chapters = chapters(report).map(|(at, name, _)| entry(format!("#chapter-{at}"), &name));
    let last = [entry("#table".into(), "All rows"), entry("#method".into(), "How it was measured")];
    el("nav").attr("aria-label", "Chapters").child(el("ol").children(chapters).children(last))
}

fn chapter(at: usize, name: &str, lines: &[&Line]) -> Element {
    let rows = el("div").class("rows").children(lines.iter().map(|line| row::row(line)));
    el("section").attr("id", format!("chapter-{at}")).child(el("h2").text(name)).child(rows)
}

/// The pattern of the bars that are limits.
fn hatch() -> Element {
    let pattern = el("pattern")
        .attr("id", "hatch")
        .attr("width", 4)
        .attr("height", 4)
        .attr("patternUnits", "userSpaceOnUse")
        .attr("patternTransform", "rotate(45)")
        .child(el("rect").class("hatch-ground").attr("width", 4).attr("height", 4))
        .child(el("rect").class("hatch-line").attr("width", 1.4).attr("height", 4));
    el("svg")
        .attr("xmlns", "http://www.w3.org/2000/svg")
        .attr("width", 0)
        .attr("height", 0)
        .class("hidden")
        .attr("aria-hidden", "true")
        .child(el("defs").child(pattern))
}

fn footer() -> Element {
    el("footer").child(el("p").text(
        "Made by ropewalk bench. What each row does and how each peer is set up is in benches/README.md of the sources.",
    ))
}

#[cfg(test)]
mod tests;
