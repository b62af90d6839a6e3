//! The report as Markdown: the verdicts, then everybody's figures.

use super::figures::{Figure, Ratio};
use super::number::{duration, number, percent};
use super::verdict::{Against, Finding, Goal};
use super::{Line, Report};
use crate::peers::Peer;
use crate::targets::Better;
use std::fmt::Write;

pub fn markdown(report: &Report) -> String {
    let mut text = head(report);
    if report.rows.iter().any(|line| line.verdict.ours.is_some()) {
        verdict_table(&mut text, report);
    }
    peer_table(&mut text, report);
    text
}

fn head(report: &Report) -> String {
    let machine = &report.machine;
    let mut text = format!(
        "Machine: {}, {} cores, {} GiB, Linux {}; {}; {}. Medians of {} interleaved \
         round(s), each measurement in its own process; others took {:.1} % of the machine meanwhile ({} of {} measurements \
         were disturbed; {} were taken again).",
        plain(&machine.cpu),
        machine.cores,
        machine.memory_gib,
        plain(&machine.kernel),
        plain(&machine.allocator),
        plain(&machine.versions.join(", ")),
        report.rounds,
        machine.quiet.foreign_share() * 100.0,
        machine.quiet.disturbed,
        machine.quiet.all,
        machine.quiet.repeated,
    );
    if let Some(noise) = report.noise() {
        let _ = write!(text, " Half of all figures vary by less than {} between rounds.", percent(noise));
    }
    text += "\n\n";
    for warning in warnings(report) {
        let _ = writeln!(text, "**{warning}**\n");
    }
    for reason in &report.skipped {
        let _ = writeln!(text, "Skipped: {}.\n", plain(reason));
    }
    for reason in &report.failed {
        let _ = writeln!(text, "Failed: {}.\n", plain(reason));
    }
    text
}

/// What a reader must know before he looks at the figures.
pub fn warnings(report: &Report) -> Vec<String> {
    let mut warnings = Vec::new();
    if report.quick {
        warnings.push("A quick run: short measurements that show what is there and judge nothing.".into());
    }
    if report.was_stopped() {
        warnings.push(format!(
            "Stopped after {}: {} of {} measurements were made.",
            duration(report.seconds),
            report.made,
            report.planned
        ));
    }
    if !report.machine.was_quiet() {
        warnings.push("The machine was not quiet: do not judge by these figures.".into());
    }
    warnings
}

/// Which of our forms is judged, unless that is the plain one.
fn form(ours: Peer) -> String {
    ours.name().strip_prefix("ropewalk-").map_or_else(String::new, |form| format!(" ({form})"))
}

/// Ropewalk against the best peer, tokio and its target.
fn verdict_table(text: &mut String, report: &Report) {
    *text += "| row | ropewalk | best peer | ratio | best tokio | ratio | not behind tokio, smol | target | reached | met |\n";
    *text += "|---|---|---|---|---|---|---|---|---|---|\n";
    for line in &report.rows {
        let verdict = &line.verdict;
        let [best, best_ratio] = against(verdict.best);
        let [tokio, tokio_ratio] = against(verdict.tokio);
        let [target, reached, met] = verdict.goal.map_or_else(dashes::<3>, |goal| goal_cells(line, goal));
        let form = form(line.ours);
        let ours =
            verdict.ours.map_or("-".into(), |ours| format!("{} {}{form}", number(ours), plain(&line.unit)));
        let floor = finding(verdict.floor_held);
        let _ = writeln!(
            text,
            "| {} | {ours} | {best} | {best_ratio} | {tokio} | {tokio_ratio} | {floor} | {target} | {reached} | {met} |",
            plain(&line.row)
        );
    }
    let (targets, floors) = (report.targets(), report.floors());
    let _ = writeln!(
        text,
        "\n{}\n\nRatios are medians of the ratios of measurements that were made together; in brackets where that median is, 19 times of \
         20 (of five or fewer: the least and the greatest). *close*: missed, but the bar is within them.\n\nTargets met: {} of {}, {} close. Rows behind the better of tokio and \
         smol: {}, {} close.\n",
        direction(report),
        targets.yes,
        targets.all(),
        targets.close,
        floors.no,
        floors.close,
    );
}

/// Whether a ratio above one is good or bad.
fn direction(report: &Report) -> String {
    let rows = |better| report.rows.iter().filter(move |line| line.better == better);
    let names: Vec<String> = rows(Better::Higher).map(|line| plain(&line.row)).collect();
    let which = match rows(Better::Lower).count() {
        _ if names.is_empty() => "less is better".to_string(),
        0 => "more is better".to_string(),
        _ => format!("more is better in {}, less in all others", names.join(", ")),
    };
    format!("A ratio is ropewalk divided by the other: {which}.")
}

/// Text that came from elsewhere, as it is: nothing in it is taken for Markdown's tables or for HTML, and it stays in its line.
fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => safe.push(' '),
            '|' | '<' | '>' => safe.extend(['\\', letter]),
            _ if letter.is_control() => safe.push('\u{fffd}'),
            _ => safe.push(letter),
        }
    }
    safe
}

fn against(against: Option<Against>) -> [String; 2] {
    against.map_or_else(dashes, |against| {
        [
            format!("{} {}", against.peer, number(against.figure)),
            against.ratio.filter(|ratio| ratio.median.is_finite()).map_or("-".into(), ratio),
        ]
    })
}

/// The figure as it was set, what it means as a ratio to whom, what we reached, and whether that is enough.
fn goal_cells(line: &Line, goal: Goal) -> [String; 3] {
    let set =
        format!("{} {}", line.better.sign(), with_stretch(line.target.unwrap_or(goal.target), line.stretch));
    let (target, reached) = match goal.against {
        Some(Against { peer, ratio, .. }) => {
            // One measurement says nothing about where the next one would be.
            let once = line.peers.get(&line.ours).is_some_and(|ours| ours.samples.len() == 1);
            let reached = |ratio: Ratio| if once { number(ratio.median) } else { spread(ratio) };
            (format!("{set} = {} x {peer}", with_stretch(goal.target, goal.stretch)), ratio.map(reached))
        }
        None => (set, line.verdict.ours.map(number)),
    };
    let met = match (goal.met, goal.stretch_met) {
        (Some(Finding::Yes), Some(Finding::Yes)) => "yes, and the stretch".into(),
        (met, _) => finding(met),
    };
    [target, reached.unwrap_or("-".into()), met]
}

fn with_stretch(target: f64, stretch: Option<f64>) -> String {
    let stretch = stretch.map_or(String::new(), |stretch| format!(" ({})", number(stretch)));
    format!("{}{stretch}", number(target))
}

fn dashes<const N: usize>() -> [String; N] {
    std::array::from_fn(|_| "-".to_string())
}

fn finding(finding: Option<Finding>) -> String {
    match finding {
        Some(Finding::Yes) => "yes",
        Some(Finding::Close) => "*close*",
        Some(Finding::No) => "**no**",
        None => "-",
    }
    .into()
}

/// Everybody's median, and in brackets the CPU time per operation in nanoseconds.
fn peer_table(text: &mut String, report: &Report) {
    let measured = |peer: &Peer| report.rows.iter().any(|line| line.peers.contains_key(peer));
    let peers: Vec<Peer> = Peer::ALL.into_iter().filter(measured).collect();
    *text += "Medians; in brackets the CPU time of the whole process per operation, ns.\n\n| row | unit |";
    peers.iter().for_each(|peer| *text += &format!(" {peer} |"));
    *text += "\n|---|---|";
    *text += &"---|".repeat(peers.len());
    for line in &report.rows {
        *text += &format!("\n| {} | {} |", plain(&line.row), plain(&line.unit));
        for peer in &peers {
            *text += &format!(" {} |", line.peers.get(peer).map_or("".into(), cell));
        }
    }
    *text += "\n";
}

fn cell(figure: &Figure) -> String {
    let cpu = figure.cpu_ns_per_op.map_or(String::new(), |cpu| format!(" ({})", number(cpu)));
    format!("{}{cpu}", number(figure.median))
}

fn ratio(ratio: Ratio) -> String {
    format!("{}x", number(ratio.median))
}

fn spread(ratio: Ratio) -> String {
    format!("{} ({}..{})", number(ratio.median), number(ratio.low), number(ratio.high))
}
