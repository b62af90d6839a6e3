//! The page as a parser sees it.

use super::*;
use crate::peers::Peer;
use crate::report::figures::Figures;
use crate::report::tests::report;
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::Value;
use std::collections::BTreeSet;

/// Rows of several kinds: linear and logarithmic, judged and not, with zeros, with one value and with many.
fn figures() -> Figures {
    let many: Vec<f64> = (0..40).map(|at| 100.0 + f64::from(at % 7)).collect();
    Figures::default()
        .with_all("yield_same", Peer::Ropewalk, &[30.123_456, 31.0, 29.5])
        .with_all("yield_same", Peer::May, &[60.0, 66.5, 61.0])
        .with_all("yield_same", Peer::TokioMt, &[300.0, 290.0, 310.0])
        .with("spawn_join_one", Peer::Ropewalk, 80.0)
        .with("spawn_join_one", Peer::TokioCt, 340.0)
        .with("idle_cpu", Peer::Ropewalk, 0.0)
        .with("idle_cpu", Peer::Smol, 12_345.6)
        .with_all("tcp_echo", Peer::Ropewalk, &many)
        .with_all("tcp_echo", Peer::TokioMt, &[90.0; 40])
        .with("matmul_1t", Peer::Limit, 1_234.5)
        .with("latency_under_load_100k_p99", Peer::Ropewalk, 2_900.0)
        .with("latency_under_load_100k_p99", Peer::Go, 182_452.0)
        .with("latency_under_load_100k_p99", Peer::Smol, 4_162.0)
}

fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(page, options).expect("the page is well-formed")
}

fn text(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|node| node.is_text().then(|| node.text()).flatten()).collect()
}

fn find<'a>(document: &'a Document<'a>, id: &str) -> Node<'a, 'a> {
    document.descendants().find(|node| node.attribute("id") == Some(id)).expect(id)
}

fn all<'a>(node: Node<'a, 'a>, tag: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.descendants().filter(move |node| node.tag_name().name() == tag)
}

#[test]
fn every_number_of_the_json_is_on_the_page() {
    let report = report(&figures());
    let (page, json): (_, Value) = (page(&report), serde_json::from_str(&report.json()).unwrap());
    let document = parse(&page);
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    let mut compared = 0;
    for row in rows {
        let figure = find(&document, &words::id(row["row"].as_str().unwrap()));
        let peers = row["peers"].as_object().unwrap();
        let records: Vec<_> = all(figure, "tr").skip(1).collect();
        assert_eq!(records.len(), peers.len(), "{row}");
        for record in records {
            let peer = text(all(record, "th").next().unwrap());
            let expected = &peers[&peer];
            let shown: Vec<f64> =
                all(record, "data").map(|data| data.attribute("value").unwrap().parse().unwrap()).collect();
            let recorded = ["median", "min", "max"].map(|key| expected[key].as_f64().unwrap());
            assert_eq!(shown, recorded, "{peer} of {row}");
            let cells: Vec<_> = all(record, "td").map(text).collect();
            assert_eq!(cells[5], expected["samples"].as_array().unwrap().len().to_string());
            // The drawing says the same.
            let drawn = all(figure, "g").find(|g| text(*g).contains(&format!("{peer}: "))).expect(&peer);
            let value = all(drawn, "text").find(|word| word.attribute("class") == Some("value")).unwrap();
            assert_eq!(text(value), cells[0]);
            let dots = all(drawn, "circle").count();
            assert_eq!(dots, expected["samples"].as_array().unwrap().len());
            compared += 1;
        }
    }
    assert_eq!(compared, 13);
}

#[test]
fn bars_are_as_long_as_their_medians_where_the_scale_is_linear() {
    let page = page(&report(&figures()));
    let document = parse(&page);
    let widths = |row: &str| -> Vec<f64> {
        all(find(&document, row), "rect")
            .map(|bar| bar.attribute("width").unwrap().parse().unwrap())
            .collect()
    };
    let linear = widths("row-yield_same");
    assert!((linear[1] / linear[0] - 61.0 / 30.123_456).abs() < 0.02, "{linear:?}");
    assert!((linear[2] / linear[0] - 300.0 / 30.123_456).abs() < 0.1, "{linear:?}");
    let log = widths("row-latency_under_load_100k_p99");
    assert!(log[2] / log[0] < 6.0, "63 times as much: {log:?}");
    let said = |row: &str| text(find(&document, row)).contains("logarithmic scale");
    assert!(said("row-latency_under_load_100k_p99") && !said("row-yield_same"));
}

#[test]
fn every_drawing_has_a_title_and_a_description_and_every_id_is_there_once() {
    let page = page(&report(&figures()));
    let document = parse(&page);
    let ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    let drawings: Vec<_> =
        all(document.root(), "svg").filter(|svg| svg.attribute("aria-hidden").is_none()).collect();
    assert_eq!(drawings.len(), 6 + 2, "a plot for each row, and two for all");
    for svg in drawings {
        assert_eq!(svg.attribute("role"), Some("img"));
        for id in svg.attribute("aria-labelledby").unwrap().split(' ') {
            let named = svg.descendants().find(|node| node.attribute("id") == Some(id)).expect(id);
            assert!(!text(named).is_empty(), "{id}");
        }
    }
    for link in all(document.root(), "a") {
        let target = link.attribute("href").unwrap().strip_prefix('#').expect("only to places on the page");
        assert!(ids.contains(&target), "{target}");
    }
    let described = text(find(&document, "row-yield_same-desc"));
    assert!(
        described.contains("best first: ropewalk 30.1, may 61.0, tokio-mt 300. Lower is better."),
        "{described}"
    );
    assert!(
        described.contains("The target is at most 31.4"),
        "35 beside may's 68 is 31.4 beside 61: {described}"
    );
}

#[test]
fn nothing_outside_of_the_page_is_needed_and_no_script() {
    let page = page(&report(&figures()));
    let document = parse(&page);
    for node in document.descendants() {
        assert!(!["script", "img", "iframe", "object"].contains(&node.tag_name().name()));
        assert!(node.attribute("src").is_none() && node.attributes().all(|a| !a.name().starts_with("on")));
    }
    assert!(!page.contains("@import") && !page.replace("url(#hatch)", "").contains("url("));
    let addresses = page.matches("http").count();
    assert_eq!(addresses, page.matches("http://www.w3.org/2000/svg").count(), "only names of XML");
    assert!(STYLE.contains("prefers-color-scheme: dark") && !STYLE.contains(['<', '&']));
}

#[test]
fn names_and_reasons_cannot_break_out() {
    let nasty = "</style><script>alert(\"1\")</script> & 'x' \u{1b}[31m <b>";
    let mut report = report(&figures());
    report.machine.cpu = nasty.into();
    report.machine.versions.push(nasty.into());
    report.skipped.push(nasty.into());
    report.failed.push(nasty.into());
    let line = &mut report.rows[0];
    for part in [&mut line.row, &mut line.about, &mut line.group, &mut line.unit] {
        *part = nasty.into();
    }
    let page = page(&report);
    let document = parse(&page);
    assert_eq!(all(document.root(), "script").count() + all(document.root(), "b").count(), 0);
    let shown = nasty.replace('\u{1b}', "\u{fffd}");
    let times =
        document.descendants().filter(|node| node.is_text() && node.text().unwrap().contains(&shown)).count();
    assert!(times >= 8, "it is shown as it is, {times} times");
    let href = format!("#{}", words::id(nasty));
    assert!(all(document.root(), "a").any(|link| link.attribute("href") == Some(&href)));
}

#[test]
fn who_is_behind_is_not_said_to_be_ahead() {
    let behind =
        Figures::default().with("yield_same", Peer::Ropewalk, 60.0).with("yield_same", Peer::May, 30.0);
    let page = page(&report(&behind));
    let said = text(find(&parse(&page), "over-best-desc"));
    assert!(said.contains("behind in 1. In the middle row it is 2.00× behind the other."), "{said}");
}

#[test]
fn a_quick_a_stopped_and_an_empty_run_say_so() {
    let mut quick = report(&figures());
    (quick.quick, quick.planned, quick.made) = (true, 90, 30);
    let text = text(parse(&page(&quick)).root());
    assert!(text.contains("A quick run") && text.contains("30 of 90 measurements were made"), "{text}");
    assert!(text.contains("Noise"), "and how noisy it was");
    let page = page(&report(&Figures::default()));
    let empty = parse(&page);
    assert_eq!(all(empty.root(), "figure").count(), 0);
}
