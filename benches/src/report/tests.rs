//! The report as a whole; the plots are in `html/tests.rs`.

use super::*;
use crate::problems;
use crate::quiet::Quiet;
use serde_json::Value;

/// A report of these figures.
pub fn report(figures: &Figures) -> Report {
    let run = Run { problems: problems::all().collect(), ..Run::default() };
    Report::with_figures(&run, Machine::describe(Quiet::default()), figures, 61.0)
}

fn both(figures: &Figures) -> (String, Value) {
    let report = report(figures);
    (markdown(&report), serde_json::from_str(&report.json()).unwrap())
}

#[test]
fn the_report_says_who_is_ahead_and_what_is_met() {
    let figures = Figures::default()
        .with("yield_same", Peer::Ropewalk, 30.0)
        .with("yield_same", Peer::May, 60.0)
        .with("yield_same", Peer::TokioMt, 300.0);
    let (markdown, json) = both(&figures);
    assert!(
        markdown.contains("| yield_same | 30.0 ns | may 60.0 | 0.50x | tokio-mt 300 | 0.10x | yes |"),
        "{markdown}"
    );
    assert!(markdown.contains("| <= 35.0 = 0.51 x may | 0.50 | yes |"), "{markdown}");
    assert!(markdown.contains("Targets met: 1 of 1, 0 close."), "{markdown}");
    assert_eq!(json["rows"][0]["peers"]["may"]["median"], 60.0);
    assert_eq!(json["rows"][0]["verdict"]["goal"]["met"], "yes");
    assert_eq!(json["rows"][0]["better"], "lower");
    let thrice = Figures::default().with_all("yield_same", Peer::Ropewalk, &[30.0, 33.0, 27.0]).with_all(
        "yield_same",
        Peer::May,
        &[60.0; 3],
    );
    assert!(both(&thrice).0.contains(" | 0.50 (0.45..0.55) | yes |"), "a range, where there is one");
}

#[test]
fn it_says_whether_a_ratio_above_one_is_good() {
    let less = || Figures::default().with("yield_same", Peer::Ropewalk, 30.0);
    let more = |figures: Figures| figures.with("spawn_many_outside", Peer::Ropewalk, 4.9);
    let said = |figures: Figures, which: &str| {
        let text = both(&figures).0;
        let wanted = format!("A ratio is ropewalk divided by the other: {which}.");
        assert!(text.contains(&wanted), "{wanted}: {text}");
    };
    said(less(), "less is better");
    said(more(Figures::default()), "more is better");
    said(more(less()), "more is better in spawn_many_outside, less in all others");
}

#[test]
fn names_and_reasons_stay_in_their_line_and_cell() {
    let figures = Figures::default().with("yield_same", Peer::Ropewalk, 30.0);
    let plain = markdown(&report(&figures));
    let mut nasty = report(&figures);
    nasty.rows[0].row = "a|b\n<script>\u{1b}[2J".into();
    nasty.machine.cpu = "a\u{9b}2J\rb".into();
    nasty.failed.push("one\ntwo".into());
    let text = markdown(&nasty);
    assert!(text.contains("\n| a\\|b \\<script\\>\u{fffd}[2J | 30.0 ns |"), "{text}");
    assert!(text.contains("Machine: a\u{fffd}2J b,") && text.contains("\nFailed: one two.\n"), "{text}");
    assert_eq!(text.lines().count(), plain.lines().count() + 2, "{text}");
    assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'));
}

#[test]
fn without_us_only_the_peers_are_shown() {
    let (markdown, _) = both(&Figures::default().with("yield_same", Peer::May, 60.0));
    assert!(!markdown.contains("Targets met"));
    assert!(markdown.contains("| yield_same | ns | 60.0 |"), "{markdown}");
}

#[test]
fn what_was_written_is_read_again() {
    // Of nothing over nothing JSON can only say null.
    let figures = Figures::default()
        .with("idle_cpu", Peer::Ropewalk, 0.0)
        .with("idle_cpu", Peer::TokioMt, 0.0)
        .with_all("yield_same", Peer::Ropewalk, &[30.5, 31.25, 29.0])
        .with_all("yield_same", Peer::Std, &[60.0]);
    let mut report = report(&figures);
    report.planned = 7;
    let again = Report::parse(&report.json()).unwrap();
    assert_eq!(again.json(), report.json());
    assert_eq!(markdown(&again), markdown(&report));
    assert_eq!(html::page(&again), html::page(&report));
    assert!(again.was_stopped() && markdown(&again).contains("Stopped after 1 min 1 s: 0 of 7 measurements"));
}

#[test]
fn what_is_no_report_is_refused_with_what_is_accepted() {
    let cases = [
        ("{}", "no field `format`"),
        ("[1, 2", "these are no results"),
        (r#"{"format": 1, "rows": []}"#, "in format 1"),
        (r#"{"format": 2, "rows": []}"#, "missing field"),
    ];
    for (text, part) in cases {
        let refused = Report::parse(text).unwrap_err();
        assert!(refused.contains(part) && refused.contains("accepted: what `--json` wrote"), "{refused}");
    }
    let unknown =
        report(&Figures::default().with("yield_same", Peer::May, 60.0)).json().replace("may\"", "my\"");
    let refused = Report::parse(&unknown).unwrap_err();
    assert!(
        refused.contains("there is no peer \\\"my\\\"") || refused.contains("there is no peer \"my\""),
        "{refused}"
    );
    let refused = Report::read(Path::new("no/such/file.json")).unwrap_err();
    assert!(refused.starts_with("no/such/file.json: "), "{refused}");
}

#[test]
fn the_noise_is_the_middle_of_the_spreads() {
    let figures = Figures::default()
        .with_all("yield_same", Peer::Ropewalk, &[90.0, 100.0, 110.0])
        .with_all("yield_same", Peer::May, &[100.0, 100.0, 140.0])
        .with("yield_same", Peer::Go, 50.0);
    let report = report(&figures);
    assert_eq!(report.rows[0].peers[&Peer::Ropewalk].spread, Some(0.2));
    assert_eq!(report.rows[0].peers[&Peer::Go].spread, None, "one measurement has no spread");
    assert!((report.noise().unwrap() - 0.3).abs() < 1e-12);
    assert!(markdown(&report).contains("vary by less than 30 % between rounds"));
}
