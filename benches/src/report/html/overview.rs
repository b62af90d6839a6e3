//! All rows at a glance: a line for each chapter, a mark for each row, the further to the right the further we are ahead.

use super::markup::{Element, el};
use super::plot::{frame, label, px, stroke};
use super::words;
use crate::problems::group::GROUPS;
use crate::report::number::short;
use crate::report::verdict::Against;
use crate::report::{Line, Report};

const WIDTH: f64 = 480.0;
const LEFT: f64 = 168.0;
const RIGHT: f64 = 468.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 22.0;
/// Marks of a chapter are stacked where they would hide each other, so far apart.
const STACK: f64 = 6.5;
/// Half of a line without a stack.
const HALF: f64 = 11.0;

/// A picture: against whom.
struct Picture {
    id: &'static str,
    title: &'static str,
    pick: fn(&Line) -> Option<Against>,
}

const PICTURES: [Picture; 2] = [
    Picture { id: "over-best", title: "Against the best of all peers", pick: |line| line.verdict.best },
    Picture {
        id: "over-tokio",
        title: "Against the better of tokio’s two runtimes",
        pick: |line| line.verdict.tokio,
    },
];

/// A row's mark.
struct Mark<'a> {
    line: &'a Line,
    whom: Against,
    lead: f64,
    x: f64,
    /// How many steps above or below the middle.
    level: i32,
}

/// Powers of ten, from left to right.
#[derive(Clone, Copy)]
struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    fn x(self, lead: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (lead.log10() - self.from) / (self.to - self.from)
    }
}

type Lead<'a> = (&'a Line, Against, f64);

fn leads(report: &Report, pick: fn(&Line) -> Option<Against>) -> Vec<Lead<'_>> {
    let rows = report.rows.iter();
    rows.filter_map(|line| Some((line, pick(line)?, words::lead(line, pick(line))?))).collect()
}

/// Those in which something can be compared; they have the same axis and the same lines, so that one can look across.
pub fn overviews(report: &Report) -> Vec<Element> {
    let all = PICTURES.map(|picture| (leads(report, picture.pick), picture));
    let powers = || all.iter().flat_map(|(leads, _)| leads).map(|(_, _, lead)| lead.log10());
    let axis = Axis { from: powers().fold(-0.3, f64::min) - 0.1, to: powers().fold(0.3, f64::max) + 0.1 };
    let height = |name: &str| {
        let marks = all.iter().flat_map(|(leads, _)| of_chapter(leads, name, axis));
        marks.map(|mark| mark.level.abs()).max()
    };
    let lines: Vec<(&str, f64)> = GROUPS
        .iter()
        .filter_map(|group| Some((group.name, HALF + STACK * f64::from(height(group.name)?))))
        .collect();
    let drawn = all.iter().filter(|(leads, _)| !leads.is_empty());
    drawn
        .map(|(leads, picture)| {
            let chapters = lines.iter().map(|&(name, half)| (name, half, of_chapter(leads, name, axis)));
            draw(picture, axis, leads, chapters)
        })
        .collect()
}

fn draw<'a>(
    picture: &Picture,
    axis: Axis,
    leads: &[Lead<'_>],
    chapters: impl Iterator<Item = (&'a str, f64, Vec<Mark<'a>>)>,
) -> Element {
    let (mut lines, mut y) = (Vec::new(), TOP);
    for (name, half, marks) in chapters {
        lines.push(chapter(name, y + half, &marks));
        y += 2.0 * half;
    }
    let (id, even) = (picture.id, axis.x(1.0));
    let svg = frame(WIDTH, y + BOTTOM, id)
        .child(el("title").attr("id", format!("{id}-title")).text(picture.title))
        .child(el("desc").attr("id", format!("{id}-desc")).text(describe(leads)))
        .children(marks(axis, y))
        .child(stroke("even", (even, TOP - 4.0), (even, y)))
        .child(label("side", (even - 6.0, TOP - 9.0), "end", "← behind"))
        .child(label("side", (even + 6.0, TOP - 9.0), "start", "ahead →"))
        .children(lines);
    el("figure").class("overview").child(el("figcaption").text(picture.title)).child(svg)
}

fn of_chapter<'a>(leads: &[Lead<'a>], name: &str, axis: Axis) -> Vec<Mark<'a>> {
    let of_chapter = leads.iter().filter(|(line, ..)| line.group == name);
    stacked(of_chapter.map(|&(line, whom, lead)| (line, whom, lead, axis.x(lead))))
}

/// From left to right, each at the first level where it hides nobody.
fn stacked<'a>(marks: impl Iterator<Item = (&'a Line, Against, f64, f64)>) -> Vec<Mark<'a>> {
    let mut sorted: Vec<_> = marks.collect();
    sorted.sort_by(|a, b| a.3.total_cmp(&b.3));
    let mut placed: Vec<Mark> = Vec::new();
    for (line, whom, lead, x) in sorted {
        let free = |level: &i32| !placed.iter().any(|mark| mark.level == *level && x - mark.x < STACK);
        let mut levels = (0..).map(|step: i32| if step % 2 == 1 { (step + 1) / 2 } else { -step / 2 });
        let level = levels.find(free).expect("there are more levels than marks");
        placed.push(Mark { line, whom, lead, x, level });
    }
    placed
}

fn marks(axis: Axis, floor: f64) -> Vec<Element> {
    let Axis { from, to } = axis;
    let powers = (from.ceil() as i32 - 1)..=(to.floor() as i32);
    let steps: &[f64] = if to - from > 2.2 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let marks = powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    let inside = marks.filter(|mark| (from..=to).contains(&mark.log10()));
    inside
        .flat_map(|mark| {
            let (x, word) = (axis.x(mark), format!("{}×", short(mark)));
            [stroke("grid", (x, TOP), (x, floor)), label("mark", (x, floor + 15.0), "middle", &word)]
        })
        .collect()
}

fn chapter(name: &str, middle: f64, marks: &[Mark]) -> Element {
    let rope = stroke("rope", (LEFT, middle), (RIGHT, middle));
    let name = label("name", (LEFT - 10.0, middle + 4.0), "end", name);
    el("g").class("chapter").child(rope).child(name).children(marks.iter().map(|mark| sign(mark, middle)))
}

/// A disc where we are ahead, a diamond where we are behind.
fn sign(mark: &Mark, middle: f64) -> Element {
    let (x, y) = (mark.x, middle + STACK * f64::from(mark.level));
    let said = words::lead_over(mark.lead, mark.whom.peer.name());
    let hover = el("title").text(format!("{}: {said}", mark.line.row));
    if mark.lead >= 0.995 {
        el("g").class("ahead").child(hover).child(circle(x, y))
    } else {
        let (left, right, top, bottom) = (px(x - 4.0), px(x + 4.0), px(y - 4.0), px(y + 4.0));
        let path = format!("M{left} {}L{} {top}L{right} {}L{} {bottom}Z", px(y), px(x), px(y), px(x));
        el("g").class("behind").child(hover).child(el("path").attr("d", path))
    }
}

fn circle(x: f64, y: f64) -> Element {
    el("circle").attr("cx", px(x)).attr("cy", px(y)).attr("r", 3)
}

fn describe(leads: &[Lead<'_>]) -> String {
    let ahead = leads.iter().filter(|(_, _, lead)| *lead >= 0.995).count();
    let mut sorted: Vec<f64> = leads.iter().map(|(_, _, lead)| *lead).collect();
    let middle = crate::meter::median(&mut sorted);
    format!(
        "{} rows on a logarithmic axis. Ropewalk is as good or ahead in {ahead}, behind in {}. In the middle row it is {}.",
        leads.len(),
        leads.len() - ahead,
        words::lead_over(middle, "the other")
    )
}
