//! What is on the screen, and what keys do to it.

use crate::mock::{Mock, task};
use crate::seat::Seat;

pub const USUAL: (u16, u16) = (80, 24);

/// Looks often, so that tests need not wait.
pub fn look(mock: &Mock, size: (u16, u16)) -> Seat {
    Seat::start(&[&mock.address.to_string(), "--interval", "100ms"], size, &[])
}

/// The line of the screen in which something is.
pub fn line<'a>(screen: &'a str, part: &str) -> &'a str {
    screen.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("no {part:?} in\n{screen}"))
}

/// The names in the table, from top to bottom.
fn names(screen: &str) -> Vec<&str> {
    let table =
        screen.lines().skip_while(|line| !(line.contains("waits for") && line.contains("busy"))).skip(1);
    let rows = table.take_while(|line| !line.trim().is_empty());
    rows.filter_map(|line| line.trim_start_matches(['├', '└', '│', '─', ' ']).split_whitespace().next())
        .collect()
}

#[test]
fn the_usual_screen_shows_everything() {
    let mock = Mock::start();
    let seat = look(&mock, USUAL);
    let screen = seat.until_shows(&["live", "25%"]);
    let header = screen.lines().next().unwrap();
    for part in ["waterworks", "pid 4711", "up 2m", "5 alive", "1 strand", &mock.address.to_string(), "live"]
    {
        assert!(header.contains(part), "{part:?} in {header:?}");
    }
    let charts = line(&screen, "polls/s ");
    assert!(charts.contains("15.0k") && charts.contains("queue") && charts.contains('█'), "{charts}");
    let words = |part: &str| line(&screen, part).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words("poll time")[2..], ["120ns", "900ns", "2.0µs", "12.3ms", "130ns", "100k"]);
    assert_eq!(words("wake to run")[3..], ["1.2µs", "35.0µs", "35.0µs", "35.0µs", "1.5µs", "10"]);
    assert!(line(&screen, "longest poll").contains("12.3ms  by task 3 \"cruncher\", src/worker/pool.rs:103"));
    assert!(line(&screen, "also").contains("3 blocking threads, 1 job running, 8 files at epoll, 4 timers"));
    assert!(line(&screen, "2 workers").contains("1 busy, 1 idle"));
    let workers: Vec<_> =
        screen.lines().skip_while(|line| !line.contains(" worker ")).skip(1).take(2).collect();
    let figures = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(figures(workers[0])[..6], ["0", "busy", "2", "5.0k", "7", "70"]);
    assert_eq!(figures(workers[1])[..6], ["1", "idle", "2", "10.0k", "7", "70"]);
    assert!(workers[0].contains("████████····") && workers[1].contains("████████████████"), "{workers:?}");
    assert_eq!(figures(line(&screen, " cruncher "))[1..], ["3", "task", "running", "3m00s", "40", "25%"]);
    assert_eq!(figures(line(&screen, " holder "))[1..6], ["2", "strand", "a", "moment", "900ms"]);
    assert!(line(&screen, "pool.rs:104").contains("a mutex of \"holder\""), "{screen}");
    assert!(line(&screen, "q quit").contains("? help"));
    assert!(screen.lines().all(|line| line.chars().count() <= 80));
    seat.press("q");
    assert_eq!(seat.end_restored().0.code(), Some(0));
}

#[test]
fn it_lives() {
    let mock = Mock::start();
    let seat = look(&mock, USUAL);
    seat.until_shows(&["5 alive", "cruncher"]);
    mock.change(|state| {
        state["pools"][0]["alive"] = 1_234_567.into();
        state["pools"][0]["workers"][0]["state"] = "retiring".into();
        state["unhandled_panics"] = 3.into();
        state["tasks"]["list"].as_array_mut().unwrap().push(task(6, Some("newcomer"), None));
    });
    seat.until_shows(&["1,234,567 alive", "newcomer", "1 retiring", "3 panics"]);
    mock.change(|state| {
        state["tasks"]["list"].as_array_mut().unwrap().retain(|task| task["id"] != 6);
        state["ended"] = true.into();
    });
    seat.until_gone("newcomer");
    seat.until_shows(&["ended", "the runtime has ended"]);
}

#[test]
fn a_pause_stays_as_it_is() {
    let mock = Mock::start();
    let seat = look(&mock, USUAL);
    seat.until_shows(&["25%"]);
    seat.press("p");
    seat.until_shows(&["paused"]);
    // A question that was under way may still be asked; what it brings is not shown.
    mock.change(|state| state["pools"][0]["alive"] = 77.into());
    seat.press("t");
    assert!(seat.until_shows(&["as a tree"]).contains("5 alive"));
    seat.press("p");
    seat.until_shows(&["77 alive", "live"]);
}

#[test]
fn rows_are_sorted_by_keys() {
    let mock = Mock::start();
    let seat = look(&mock, USUAL);
    seat.until_shows(&["busy▼", "25%"]);
    seat.press("s");
    assert_eq!(
        names(&seat.until_shows(&["task▲"])),
        ["acceptor", "cruncher", "holder", "logger", "pool.rs:104"]
    );
    seat.press("s");
    assert_eq!(
        names(&seat.until_shows(&["id▲"])),
        ["acceptor", "holder", "cruncher", "pool.rs:104", "logger"]
    );
    seat.press("r");
    assert_eq!(names(&seat.until_shows(&["id▼"]))[0], "logger");
    seat.press("SS");
    assert_eq!(names(&seat.until_shows(&["busy▼"]))[0], "cruncher");
    seat.press("SS");
    assert_eq!(names(&seat.until_shows(&["age▼"]))[0], "logger", "the oldest");
}

#[test]
fn a_search_asks_the_console_as_it_is_typed() {
    let mock = Mock::start();
    let seat = look(&mock, USUAL);
    seat.until_shows(&["25%"]);
    seat.press("/");
    let screen = seat.until("a cursor", |screen| !screen.hide_cursor());
    assert!(screen.contains("tasks: 5"));
    seat.press("crun");
    let screen = seat.until_shows(&["/crun", "tasks: 1 of 5 with \"crun\""]);
    assert_eq!(names(&screen), ["cruncher"]);
    seat.press("\x7f\x7f\x7f\x7fMUTEX");
    assert_eq!(names(&seat.until_shows(&["/MUTEX", "tasks: 1 of 5"])), ["pool.rs:104"]);
    seat.until("the console was asked for it", |_| {
        mock.asked().iter().any(|asked| asked.contains("q=MUTEX"))
    });
    seat.press("\r");
    seat.until("no cursor", vt100::Screen::hide_cursor);
    seat.press("t");
    assert_eq!(
        names(&seat.until_shows(&["└─"])),
        ["acceptor", "holder", "pool.rs:104"],
        "with its ancestors"
    );
    seat.press("\x1b");
    assert_eq!(names(&seat.until_shows(&["tasks: 5", "logger"])).len(), 5);
    seat.press("/no such thing");
    seat.until_shows(&["nothing is found; esc ends the search"]);
    seat.press("\x1b");
    seat.until_shows(&["logger", "q quit"]);
}

#[test]
fn a_tree_shows_who_stems_from_whom() {
    let mock = Mock::start();
    let seat = look(&mock, USUAL);
    seat.until_shows(&["25%"]);
    seat.press("t");
    let screen = seat.until_shows(&["as a tree"]);
    assert_eq!(names(&screen), ["acceptor", "cruncher", "holder", "pool.rs:104", "logger"]);
    assert!(line(&screen, "cruncher  ").starts_with(" ├─ cruncher"), "{screen}");
    assert!(line(&screen, "pool.rs:104").starts_with("    └─ pool.rs:104"), "{screen}");
}

#[test]
fn details_tell_everything_and_live() {
    let mock = Mock::start();
    let seat = look(&mock, USUAL);
    seat.until_shows(&["25%"]);
    seat.press("ss"); // by id
    seat.until_shows(&["id▲"]);
    seat.press("jjj\r");
    let parts = [
        "task 4",
        "waiting in the pool \"main\"",
        "a mutex at 0x7f12aa00, held by \"holder\" (strand 2), for 900ms",
        "src/worker/pool.rs:104:5",
        "holder (2) < acceptor (1)",
        "7 times, 0/s lately",
        "12.0µs, 0% lately",
    ];
    seat.until_shows(&parts);
    mock.change(|state| state["tasks"]["list"][3]["waits_for"] = "a new thing".into());
    seat.until_shows(&["a new thing"]);
    seat.press("\x1b[A");
    seat.until_shows(&["task 3", "cruncher", "running", "40/s lately", "25% lately"]);
    mock.change(|state| state["tasks"]["list"].as_array_mut().unwrap().retain(|task| task["id"] != 3));
    seat.until_shows(&["task 3", "it has ended"]);
    seat.press("\x1b");
    seat.until_shows(&["busy", "logger", "q quit"]);
    mock.change(|state| {
        let task = &mut state["tasks"]["list"][0];
        for field in ["age_ms", "polls", "busy_ns", "name", "waits_for", "waits_ms"] {
            task[field] = serde_json::Value::Null;
        }
        state["capabilities"]["observed"] = false.into();
    });
    seat.press("g\r");
    seat.until_shows(&["task 1", "not observed", "Builder::observe"]);
}

#[test]
fn many_tasks_are_scrolled() {
    let mock = Mock::start();
    mock.change(|state| {
        let list = (1..=200).map(|id| task(id, Some(&format!("task-{id:03}")), None));
        state["tasks"]["list"] = list.collect::<Vec<_>>().into();
        state["tasks"]["alive"] = 12_345.into();
    });
    let seat = look(&mock, USUAL);
    seat.until_shows(&["tasks: 200 of 12,345, / finds others"]);
    seat.press("ss\x1b[F"); // by id; end
    let screen = seat.until_shows(&["task-200", "of 200 ──"]);
    assert!(!screen.contains("task-001"));
    seat.press("\x1b[5~");
    seat.until_gone("task-200");
    seat.press("\x1b[H");
    let screen = seat.until_shows(&["task-001", " 1–"]);
    assert!(line(&screen, "tasks: 200").contains("of 200"), "{screen}");
}

#[test]
fn workers_without_room_are_counted_together_until_all_are_asked_for() {
    let mock = Mock::start();
    mock.change(|state| {
        let workers = state["pools"][0]["workers"].as_array_mut().unwrap();
        let one = workers[1].clone();
        workers.resize(12, one);
    });
    let seat = look(&mock, (100, 40));
    let screen = seat.until_shows(&["12 workers", "1 busy, 11 idle", "25%"]);
    assert!(line(&screen, " others ").contains("0 busy"), "{screen}");
    seat.press("w");
    let screen = seat.until_gone(" others ");
    assert!(screen.lines().any(|line| line.starts_with(" 11 ") && line.contains("idle")), "{screen}");
    mock.change(|state| {
        let mut second = state["pools"][0].clone();
        second["name"] = "batch".into();
        second["workers"].as_array_mut().unwrap().truncate(2);
        state["pools"].as_array_mut().unwrap().push(second);
    });
    let screen = seat.until_shows(&["14 workers", "10 alive"]);
    assert!(screen.contains("main 0") && screen.contains("batch 1"), "{screen}");
}

#[test]
fn keys_are_explained() {
    let mock = Mock::start();
    let seat = look(&mock, USUAL);
    seat.until_shows(&["live"]);
    seat.press("?");
    seat.until_shows(&["keys", "tasks below those they stem from", "also ctrl-c"]);
    seat.press("x");
    seat.until_shows(&["cruncher"]);
}
