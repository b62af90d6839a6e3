//! The plot of a row: for each peer a bar as long as its median, a line from its least to its greatest value, and a dot for each
//! single one; the target as a broken line across.

use super::markup::{Element, el};
use super::scale::Scale;
use super::words;
use crate::peers::Peer;
use crate::report::figures::Figure;
use crate::report::number::{readable, short};
use crate::report::{Line, Report};

/// Columns: names, bars, values.
const WIDTH: f64 = 480.0;
const LEFT: f64 = 140.0;
const RIGHT: f64 = 412.0;
/// Lines: the word on the target, one for each peer, the axis.
const TOP: f64 = 18.0;
const PITCH: f64 = 21.0;
const BOTTOM: f64 = 22.0;
const BAR: f64 = 11.0;
/// More dots than these are drawn finer.
const MANY: usize = 12;

/// What the target is in this run, in the unit of the row, and what is beyond it.
pub fn target(line: &Line) -> Option<(f64, Option<f64>)> {
    let goal = line.verdict.goal?;
    let unit = goal.against.map_or(1.0, |against| against.figure);
    Some((goal.target * unit, goal.stretch.map(|stretch| stretch * unit)))
}

pub fn scale(line: &Line) -> Scale {
    let figures = line.peers.values().flat_map(|figure| [figure.median, figure.min, figure.max]);
    let (target, stretch) = target(line).unzip();
    Scale::of(figures.chain(target).chain(stretch.flatten()))
}

pub fn plot(line: &Line) -> Element {
    let (scale, ranked) = (scale(line), line.ranked());
    let floor = TOP + PITCH * ranked.len() as f64;
    let id = words::id(&line.row);
    let mut svg = frame(WIDTH, floor + BOTTOM, &id)
        .child(el("title").attr("id", format!("{id}-title")).text(format!("{}: {}", line.row, line.about)))
        .child(el("desc").attr("id", format!("{id}-desc")).text(describe(line, scale)))
        .children(axis(scale, floor));
    for (at, &(peer, figure)) in ranked.iter().enumerate() {
        svg = svg.child(bar(line, scale, TOP + PITCH * (at as f64 + 0.5), peer, figure));
    }
    svg.children(target_lines(line, scale, floor))
}

/// An empty drawing; its title and description are the elements `ID-title` and `ID-desc`.
pub fn frame(width: f64, height: f64, id: &str) -> Element {
    el("svg")
        .attr("xmlns", "http://www.w3.org/2000/svg")
        .attr("viewBox", format!("0 0 {} {}", px(width), px(height)))
        .attr("role", "img")
        .attr("aria-labelledby", format!("{id}-title {id}-desc"))
}

/// A place in the drawing, to a tenth.
pub fn px(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

pub fn stroke(class: &str, from: (f64, f64), to: (f64, f64)) -> Element {
    let line = el("line").class(class).attr("x1", px(from.0)).attr("y1", px(from.1));
    line.attr("x2", px(to.0)).attr("y2", px(to.1))
}

pub fn label(class: &str, at: (f64, f64), anchor: &str, text: &str) -> Element {
    let place = el("text").class(class).attr("x", px(at.0)).attr("y", px(at.1));
    place.attr("text-anchor", anchor).text(text)
}

fn x(scale: Scale, value: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * scale.at(value)
}

fn axis(scale: Scale, floor: f64) -> impl Iterator<Item = Element> {
    let marks = scale.marks().into_iter().flat_map(move |mark| {
        let x = x(scale, mark);
        [stroke("grid", (x, TOP), (x, floor)), label("mark", (x, floor + 14.0), "middle", &short(mark))]
    });
    marks.chain([stroke("axis", (LEFT, TOP), (LEFT, floor))])
}

fn bar(line: &Line, scale: Scale, middle: f64, peer: Peer, figure: &Figure) -> Element {
    let (kind, end) = (kind(line, peer), x(scale, figure.median));
    // On a logarithmic scale a length means nothing: there the bar is a thin stem that leads to the median.
    let height = if scale.is_log() { BAR / 3.0 } else { BAR };
    let body = el("rect").class("bar").attr("x", px(LEFT)).attr("y", px(middle - height / 2.0));
    let body = body.attr("width", px((end - LEFT).max(0.8))).attr("height", px(height));
    let hover = el("title").text(format!(
        "{peer}: {} {} (from {} to {}, {} measured)",
        readable(figure.median),
        words::unit(&line.unit),
        readable(figure.min),
        readable(figure.max),
        figure.samples.len()
    ));
    el("g")
        .class(format!("peer {kind}"))
        .child(hover)
        .child(label("name", (LEFT - 7.0, middle + 4.0), "end", peer.name()))
        .child(body)
        .children(whisker(scale, middle, figure))
        .child(stroke("median", (end, middle - 7.0), (end, middle + 7.0)))
        .children(dots(scale, middle, figure))
        .child(label("value", (WIDTH - 2.0, middle + 4.0), "end", &readable(figure.median)))
}

fn kind(line: &Line, peer: Peer) -> &'static str {
    match peer {
        _ if peer == line.ours => "ours",
        _ if peer.is_ours() => "kin",
        Peer::Limit => "limit",
        _ => "other",
    }
}

/// From the least to the greatest value. Where the dots are too fine to show them, it has ends.
fn whisker(scale: Scale, middle: f64, figure: &Figure) -> Vec<Element> {
    let (from, to) = (x(scale, figure.min), x(scale, figure.max));
    let mut whisker = vec![stroke("whisker", (from, middle), (to, middle))];
    if figure.samples.len() > MANY {
        whisker.extend([from, to].map(|x| stroke("whisker", (x, middle - 3.5), (x, middle + 3.5))));
    }
    whisker
}

/// Single values, a little above and below the middle, so that equal ones are seen.
fn dots(scale: Scale, middle: f64, figure: &Figure) -> impl Iterator<Item = Element> {
    let many = figure.samples.len() > MANY;
    let (radius, apart, class) = if many { (1.2, 3.4, "dot many") } else { (2.1, 2.6, "dot") };
    let finite = figure.samples.iter().filter(|sample| sample.is_finite()).enumerate();
    finite.map(move |(at, &sample)| {
        let offset = [0.0, 1.0, -1.0, 0.5, -0.5][at % 5] * apart;
        let dot = el("circle").class(class).attr("cx", px(x(scale, sample)));
        dot.attr("cy", px(middle + offset)).attr("r", radius)
    })
}

fn target_lines(line: &Line, scale: Scale, floor: f64) -> Vec<Element> {
    let Some((target, stretch)) = target(line) else { return Vec::new() };
    let place = x(scale, target);
    // The word keeps within the drawing.
    let anchor = match place {
        near_start if near_start < LEFT + 40.0 => "start",
        near_end if near_end > RIGHT - 40.0 => "end",
        _ => "middle",
    };
    let words = format!("target {} {}", line.better.sign_in_print(), readable(target));
    let mut lines = vec![
        stroke("target", (place, TOP - 3.0), (place, floor)),
        label("target-word", (place, TOP - 7.0), anchor, &words),
    ];
    if let Some(stretch) = stretch {
        let place = x(scale, stretch);
        lines.push(stroke("stretch", (place, TOP - 3.0), (place, floor)));
    }
    lines
}

/// The plot in words.
fn describe(line: &Line, scale: Scale) -> String {
    let all: Vec<String> =
        line.ranked().iter().map(|(peer, figure)| format!("{peer} {}", readable(figure.median))).collect();
    let axis = if scale.is_log() { "Logarithmic scale." } else { "Linear scale from zero." };
    let target = target(line).map_or(String::new(), |(target, _)| {
        format!(" The target is {} {}.", words::bound(line.better), readable(target))
    });
    format!(
        "Medians in {}, best first: {}. {}. {axis}{target}",
        words::unit(&line.unit),
        all.join(", "),
        words::capital(words::better(line.better))
    )
}

/// Every peer that is anywhere in the report.
pub fn peers(report: &Report) -> Vec<Peer> {
    let measured = |peer: &Peer| report.rows.iter().any(|line| line.peers.contains_key(peer));
    Peer::ALL.into_iter().filter(measured).collect()
}
