//! The report: Markdown for people, JSON for programs.

use super::figures::{Figure, Figures, Ratio};
use super::machine::Machine;
use super::verdict::{Against, Finding, Goal, Verdict};
use super::{Run, Samples};
use crate::meter::Speed;
use crate::peers::Peer;
use serde_json::{Value, json};
use std::fmt::Write;

pub fn markdown(
    run: &Run,
    machine: &Machine,
    samples: &Samples,
    figures: &Figures,
    verdicts: &[Verdict],
) -> String {
    let mut text = head(run, machine, samples);
    if verdicts.iter().any(|verdict| verdict.ours.is_some()) {
        verdict_table(&mut text, verdicts);
    }
    peer_table(&mut text, figures);
    text
}

fn head(run: &Run, machine: &Machine, samples: &Samples) -> String {
    let Machine { cpu, cores, memory_gib, kernel, allocator, .. } = machine;
    let mut text = format!(
        "Machine: {cpu}, {cores} cores, {memory_gib} GiB, Linux {kernel}; {allocator}; {}. Medians of {} interleaved \
         round(s), each measurement in its own process; others took {:.1} % of the machine meanwhile ({} of {} measurements \
         were disturbed; {} were taken again).\n\n",
        machine.versions.join(", "),
        run.rounds,
        machine.quiet.foreign_share() * 100.0,
        machine.quiet.disturbed,
        machine.quiet.all,
        machine.quiet.repeated,
    );
    if run.speed == Speed::Quick {
        text += "A quick run: it shows that everything works and judges nothing.\n\n";
    }
    if !machine.was_quiet() {
        text += "**The machine was not quiet: do not judge by these figures.**\n\n";
    }
    for reason in &samples.skipped {
        let _ = writeln!(text, "Skipped: {reason}.\n");
    }
    for reason in &samples.failed {
        let _ = writeln!(text, "Failed: {reason}.\n");
    }
    text
}

/// Ropewalk against the best peer, tokio and its target.
fn verdict_table(text: &mut String, verdicts: &[Verdict]) {
    *text += "| row | ropewalk | best peer | ratio | best tokio | ratio | not behind tokio, smol | target | reached | met |\n";
    *text += "|---|---|---|---|---|---|---|---|---|---|\n";
    for verdict in verdicts {
        let row = verdict.row;
        let [best, best_ratio] = against(verdict.best);
        let [tokio, tokio_ratio] = against(verdict.tokio);
        let [target, reached, met] = verdict.goal.map_or_else(dashes::<3>, |goal| goal_cells(verdict, goal));
        let ours = verdict.ours.map_or("-".into(), |ours| format!("{} {}", number(ours), row.unit));
        let floor = finding(verdict.floor_held);
        let _ = writeln!(
            text,
            "| {} | {ours} | {best} | {best_ratio} | {tokio} | {tokio_ratio} | {floor} | {target} | {reached} | {met} |",
            row.name
        );
    }
    let targets: Vec<Finding> = verdicts.iter().filter_map(|verdict| verdict.goal?.met).collect();
    let floors: Vec<Finding> = verdicts.iter().filter_map(|verdict| verdict.floor_held).collect();
    let count = |findings: &[Finding], wanted| findings.iter().filter(|&&finding| finding == wanted).count();
    let _ = writeln!(
        text,
        "\nRatios are medians of the ratios of measurements that were made together; in brackets where that median is, 19 times of \
         20. *close*: missed, but the bar is within them.\n\nTargets met: {} of {}, {} close. Rows behind the better of tokio and \
         smol: {}, {} close.\n",
        count(&targets, Finding::Yes),
        targets.len(),
        count(&targets, Finding::Close),
        count(&floors, Finding::No),
        count(&floors, Finding::Close),
    );
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
fn goal_cells(verdict: &Verdict, goal: Goal) -> [String; 3] {
    let row = verdict.row;
    let set =
        format!("{} {}", row.better.sign(), with_stretch(row.target.unwrap_or(goal.target), row.stretch));
    let (target, reached) = match goal.against {
        Some(Against { peer, ratio, .. }) => {
            (format!("{set} = {} x {peer}", with_stretch(goal.target, goal.stretch)), ratio.map(spread))
        }
        None => (set, verdict.ours.map(number)),
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
fn peer_table(text: &mut String, figures: &Figures) {
    let measured = |peer: &Peer| figures.rows().any(|row| figures.get(row.name, *peer).is_some());
    let peers: Vec<Peer> = Peer::ALL.into_iter().filter(measured).collect();
    *text += "Medians; in brackets the CPU time of the whole process per operation, ns.\n\n| row | unit |";
    peers.iter().for_each(|peer| *text += &format!(" {peer} |"));
    *text += "\n|---|---|";
    *text += &"---|".repeat(peers.len());
    for row in figures.rows() {
        *text += &format!("\n| {} | {} |", row.name, row.unit);
        for &peer in &peers {
            *text += &format!(" {} |", figures.get(row.name, peer).map_or("".into(), cell));
        }
    }
    *text += "\n";
}

fn cell(figure: &Figure) -> String {
    let cpu = figure.cpu_ns_per_op.map_or(String::new(), |cpu| format!(" ({})", number(cpu)));
    format!("{}{cpu}", number(figure.median))
}

/// Three digits that matter.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

fn ratio(ratio: Ratio) -> String {
    format!("{}x", number(ratio.median))
}

fn spread(ratio: Ratio) -> String {
    format!("{} ({}..{})", number(ratio.median), number(ratio.low), number(ratio.high))
}

pub fn json(
    run: &Run,
    machine: &Machine,
    samples: &Samples,
    figures: &Figures,
    verdicts: &[Verdict],
) -> String {
    let rows: Vec<Value> = verdicts.iter().map(|verdict| json_row(figures, verdict)).collect();
    let report = json!({
        "machine": machine,
        "rounds": run.rounds,
        "quick": run.speed == Speed::Quick,
        "skipped": samples.skipped,
        "failed": samples.failed,
        "rows": rows,
    });
    format!("{report:#}\n")
}

fn json_row(figures: &Figures, verdict: &Verdict) -> Value {
    let row = verdict.row;
    let peers: serde_json::Map<String, Value> =
        figures.peers(row.name).map(|(peer, figure)| (peer.name().into(), json!(figure))).collect();
    json!({
        "row": row.name,
        "unit": row.unit,
        "better": if row.better.sign() == "<=" { "lower" } else { "higher" },
        "target": row.target,
        "stretch": row.stretch,
        "verdict": verdict,
        "peers": peers,
    })
}

#[cfg(test)]
mod tests {
    use super::super::verdict;
    use super::*;
    use crate::problems;
    use crate::quiet::Quiet;

    fn report(figures: &Figures) -> (String, Value) {
        let run = Run {
            rounds: 5,
            speed: Speed::Full,
            problems: problems::all().collect(),
            peers: Peer::ALL.to_vec(),
            json: None,
            markdown: None,
        };
        let (machine, samples) = (Machine::describe(Quiet::default()), Samples::default());
        let verdicts = verdict::judge(figures);
        let json = json(&run, &machine, &samples, figures, &verdicts);
        (markdown(&run, &machine, &samples, figures, &verdicts), serde_json::from_str(&json).unwrap())
    }

    #[test]
    fn the_report_says_who_is_ahead_and_what_is_met() {
        let figures = Figures::default()
            .with("yield_same", Peer::Ropewalk, 30.0)
            .with("yield_same", Peer::May, 60.0)
            .with("yield_same", Peer::TokioMt, 300.0);
        let (markdown, json) = report(&figures);
        assert!(
            markdown.contains("| yield_same | 30.0 ns | may 60.0 | 0.50x | tokio-mt 300 | 0.10x | yes |"),
            "{markdown}"
        );
        assert!(markdown.contains("| <= 35.0 = 0.51 x may | 0.50 (0.50..0.50) | yes |"), "{markdown}");
        assert!(markdown.contains("Targets met: 1 of 1, 0 close."), "{markdown}");
        assert_eq!(json["rows"][0]["peers"]["may"]["median"], 60.0);
        assert_eq!(json["rows"][0]["verdict"]["goal"]["met"], "yes");
    }

    #[test]
    fn without_us_only_the_peers_are_shown() {
        let (markdown, _) = report(&Figures::default().with("yield_same", Peer::May, 60.0));
        assert!(!markdown.contains("Targets met"));
        assert!(markdown.contains("| yield_same | ns | 60.0 |"), "{markdown}");
    }

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!([1.234, 12.34, 123.4, 1234.0].map(number), ["1.23", "12.3", "123", "1234"]);
    }
}
