//! What comes from outside: windows of all sizes, connections that are lost, files, colours, names.

use crate::mock::Mock;
use crate::screen::{USUAL, line, look};
use crate::seat::Seat;
use std::path::Path;

#[test]
fn the_window_may_have_any_size() {
    let mock = Mock::start();
    let seat = look(&mock, USUAL);
    seat.until_shows(&["25%", "wake to run"]);
    seat.resize(140, 40);
    let screen = seat.until_shows(&["waits for", "held by \"holder\" (strand 2)", "w workers"]);
    assert!(!screen.contains("state, waits for"), "both have a column");
    seat.resize(40, 10);
    let screen = seat.until_shows(&["polls/s 15.0k  queue 5  alive 5", "2 workers: 1 busy, 1 idle"]);
    assert!(
        !screen.contains("wake to run") && screen.contains("cruncher") && screen.contains("25%"),
        "{screen}"
    );
    assert!(
        screen.lines().count() <= 10 && screen.lines().all(|line| line.chars().count() <= 40),
        "{screen}"
    );
    seat.press("\r");
    seat.until_shows(&["running in the pool", "acceptor (1)", "25% lately", "esc back"]);
    seat.press("\x1b?");
    seat.until_shows(&["keys", "search", "pause", "quit"]);
    seat.press("\x1b");
    seat.until_shows(&["cruncher"]);
    seat.resize(39, 10);
    seat.until_shows(&["39 by 10 is too small", "40 by 10 is enough"]);
    seat.resize(200, 9);
    seat.until_shows(&["200 by 9 is too small"]);
    seat.resize(1, 1);
    seat.until("one letter", |screen| screen.contents() == "1");
    seat.resize(80, 24);
    seat.until_shows(&["wake to run", "cruncher", "live"]);
    seat.press("q");
    assert_eq!(seat.end_restored().0.code(), Some(0));
}

#[test]
fn a_dump_goes_to_a_file_that_is_named() {
    let mock = Mock::start();
    let folder = std::env::temp_dir().join(format!("ropewalk-top-dump-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let seat = Seat::start_in(&folder, &[&mock.address.to_string()], (160, 24), &[]);
    seat.until_shows(&["live"]);
    seat.press("d");
    let screen = seat.until_shows(&["dumped to "]);
    let path = line(&screen, "dumped to ").split_once("dumped to ").unwrap().1.trim();
    assert!(path.starts_with(folder.to_str().unwrap()) && path.contains("ropewalk-dump-4711-"), "{path}");
    assert_eq!(std::fs::read_to_string(Path::new(path)).unwrap(), "a dump of everything\n");
    seat.press("j");
    seat.until_gone("dumped to ");
    drop(seat);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_lost_connection_is_said_and_tried_again() {
    let mut mock = Mock::start();
    let seat = look(&mock, USUAL);
    seat.until_shows(&["live", "25%"]);
    mock.stop();
    let nobody = format!("nobody listens at {}", mock.address);
    let screen = seat.until_shows(&["lost", &nobody, "trying again for"]);
    assert!(screen.contains("cruncher"), "what was last seen stays: {screen}");
    seat.press("t"); // keys still do what they do
    seat.until_shows(&["as a tree"]);
    mock.change(|state| state["pools"][0]["alive"] = 6.into());
    mock.listen();
    let screen = seat.until_shows(&["live", "6 alive", "q quit"]);
    assert!(!screen.contains("nobody listens"), "{screen}");
    // Another program at the same address begins anew.
    mock.change(|state| {
        state["pid"] = 4712.into();
        state["uptime_ms"] = 5.into();
        state["pools"][0]["workers"][0]["polls"] = 0.into();
    });
    seat.until_shows(&["pid 4712", "15.0k"]);
    mock.change(|state| state["version"] = 2.into());
    seat.until_shows(&["lost", "answers by version 2, not 1"]);
}

#[test]
fn colours_are_left_out_if_they_are_not_wanted() {
    let mock = Mock::start();
    let address = mock.address.to_string();
    let has_colour = |screen: &vt100::Screen| {
        let (rows, columns) = screen.size();
        let cells = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
        cells
            .filter_map(|(row, column)| screen.cell(row, column))
            .any(|cell| cell.fgcolor() != vt100::Color::Default)
    };
    let seat = Seat::start(&[&address], USUAL, &[]);
    seat.until("colours", |screen| screen.contents().contains("live") && has_colour(screen));
    let seat = Seat::start(&[&address], USUAL, &[("NO_COLOR", "1")]);
    seat.until("no colours", |screen| screen.contents().contains("live") && !has_colour(screen));
    seat.until_shows(&["cruncher"]);
    seat.until("the chosen row", |screen| {
        let (rows, _) = screen.size();
        (0..rows.get()).filter_map(|row| screen.cell(row, 1)).any(vt100::Cell::inverse)
    });
    assert!(!seat.until_shows(&["25%"]).is_empty());
}

#[test]
fn names_cannot_draw() {
    let mock = Mock::start();
    mock.change(|state| state["tasks"]["list"][0]["name"] = "\u{1b}[2J\u{1b}[?1049lgone".into());
    let seat = look(&mock, (120, 24));
    let screen = seat.until("it", |screen| screen.contents().contains("gone") && screen.alternate_screen());
    assert!(screen.contains("\\u{1b}[2J") && screen.contains("waterworks"), "{screen}");
}

/// Of some letters each takes two columns, of others none.
#[test]
fn wide_letters_have_their_room() {
    let mock = Mock::start();
    let name = "港口的工人".repeat(12);
    mock.change(|state| {
        state["program"] = "自来水厂服务器".into();
        state["tasks"]["list"][2]["name"] = name.as_str().into();
        state["tasks"]["list"][0]["name"] = "e\u{301}cluse\u{202e}".into();
    });
    let seat = look(&mock, USUAL);
    let screen = seat.until_shows(&["自来水厂服务器  pid 4711", "e\u{301}cluse\\u{202e}", "港口", "25%"]);
    assert!(line(&screen, "港口").contains('…'), "something is missing: {screen}");
    seat.press("\r");
    seat.until("the whole name", |screen| {
        screen.contents().split_whitespace().collect::<String>().contains(&name)
    });
    seat.press(
        "\x1b/港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港港末",
    );
    seat.until_shows(&["港港末"]);
}
