//! What is wrong is said, with what is accepted; and the terminal is given back whatever happens.

use crate::mock::Mock;
use crate::piped::{text, top};
use crate::seat::Seat;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

fn refused(args: &[&str], code: i32, parts: &[&str]) {
    let output = top(args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    assert!(output.stdout.is_empty() && said.starts_with("ropewalk: "), "{args:?}: {said}");
    assert!(parts.iter().all(|part| said.contains(part)), "{args:?}: {said}");
}

#[test]
fn bad_arguments_are_refused_with_what_is_accepted() {
    let cases: [(&[&str], &[&str]); 12] = [
        (&[], &["top needs to know where", "127.0.0.1:6680"]),
        (&["nowhere"], &["\"nowhere\" is no address of a console", "it has no port", "HOST:PORT"]),
        (&["127.0.0.1:0"], &["\"0\" is no port", "1 to 65535"]),
        (&["https://127.0.0.1:1"], &["a console speaks http"]),
        (&["1", "2"], &["\"2\" is not an option of top"]),
        (&["1", "--fast"], &["\"--fast\"", "--interval TIME, --token TOKEN, --once, --json, --help"]),
        (&["1", "--interval", "soon"], &["--interval: \"soon\"", "100ms to 1h"]),
        (&["1", "--interval=1ms"], &["--interval: \"1ms\"", "100ms to 1h"]),
        (&["1", "--interval"], &["--interval: \"\""]),
        (&["1", "--token", "a b"], &["--token", "\"a b\""]),
        (&["http://127.0.0.1:1/?token="], &["--token", "\"\""]),
        (&["1", "--json=yes"], &["--json takes no value"]),
    ];
    for (args, parts) in cases {
        refused(args, 2, parts);
    }
}

#[test]
fn nobody_listens() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let advice = format!("ropewalk serve http --console {free}");
    refused(&[&free], 1, &[&format!("nobody listens at {free}"), "Console::builder()", &advice]);
    refused(
        &["no-such-host.invalid:1", "--json"],
        1,
        &["there is no host \"no-such-host.invalid\"", "accepted"],
    );
}

#[test]
fn a_token_is_missing_or_wrong() {
    let mock = Mock::with_token(Some("0123456789abcdef"));
    let address = mock.address.to_string();
    refused(&[&address], 1, &["wants a token", "--token"]);
    refused(&[&address, "--token", "fedcba9876543210"], 1, &["does not accept this token"]);
}

/// Something that answers everybody with the same.
fn answering(answer: impl Fn(&[u8]) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let count = stream.read(&mut request).unwrap_or(0);
            let _it_may_have_gone = stream.write_all(&answer(&request[..count]));
        }
    });
    address
}

#[test]
fn what_is_no_console_is_told_from_one() {
    let http = |status: &str, body: &str| {
        let text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        answering(move |_| text.clone().into_bytes())
    };
    let is_none = "is not a Ropewalk console";
    refused(&[&answering(<[u8]>::to_vec)], 1, &[is_none, "Console::url"]); // an echo
    refused(&[&answering(|_| Vec::new())], 1, &[is_none]); // hangs up
    refused(&[&http("200 OK", "<html>")], 1, &[is_none, "no JSON"]);
    refused(&[&http("200 OK", "{\"version\": 1}")], 1, &[is_none, "no pools"]);
    refused(&[&http("200 OK", "{\"version\": 9, \"pools\": []}")], 1, &["answers by version 9, not 1"]);
    refused(&[&http("404 Not Found", "not here")], 1, &[is_none, "404"]);
    refused(
        &[&http("500 Oh", "{\"error\": \"it\\u001b[2J broke\"}")],
        1,
        &["refuses (500", "it\\u{1b}[2J broke"],
    );
}

#[test]
fn a_terminal_gets_the_same_errors_and_is_left_alone() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (status, screen) = Seat::start(&[&free], (80, 24), &[]).end_restored();
    assert_eq!(status.code(), Some(1));
    assert!(screen.starts_with("ropewalk: nobody listens at"), "{screen}");
    let mock = Mock::start();
    let (status, screen) =
        Seat::start(&[&mock.address.to_string()], (80, 48), &[("TERM", "dumb")]).end_restored();
    assert_eq!(status.code(), Some(0));
    assert!(screen.contains("waterworks, pid 4711") && screen.contains("task 1 \"acceptor\""), "{screen}");
}

#[test]
fn keys_and_signals_end_it_and_the_terminal_is_as_it_was() {
    let mock = Mock::start();
    let start = || {
        let seat = Seat::start(&[&mock.address.to_string()], (80, 24), &[]);
        seat.until("the screen", |screen| screen.alternate_screen() && screen.contents().contains("live"));
        assert!(seat.is_raw());
        seat
    };
    for keys in ["q", "\x03", "/abc\x03"] {
        let seat = start();
        seat.press(keys);
        let (status, screen) = seat.end_restored();
        assert_eq!((status.code(), screen.as_str()), (Some(0), ""), "{keys:?}");
    }
    for signal in ["-TERM", "-INT", "-HUP", "-QUIT"] {
        let seat = start();
        seat.signal(signal);
        let (status, screen) = seat.end_restored();
        assert_eq!((status.code(), screen.as_str()), (Some(0), ""), "{signal}");
    }
    let mut seat = start();
    seat.hang_up();
    assert!(seat.ended().code().is_some(), "it ended by itself");
}

/// A terminal that takes nothing does not keep it from ending.
#[test]
fn a_terminal_that_is_stuck_is_left() {
    let mock = Mock::start();
    let mut seat = Seat::start(&[&mock.address.to_string(), "--interval", "100ms"], (80, 24), &[]);
    seat.until_shows(&["live"]);
    seat.stop_reading();
    seat.fill();
    seat.signal("-TERM");
    assert!(seat.ended().code().is_some());
}

#[test]
fn who_was_stopped_draws_anew() {
    let mock = Mock::start();
    let seat = Seat::start(&[&mock.address.to_string()], (80, 24), &[]);
    seat.until_shows(&["live", "cruncher"]);
    seat.signal("-STOP");
    seat.scribble("\x1b[?1049l\x1b[2J\x1b[?25hsomebody else's");
    seat.until_shows(&["somebody else's"]);
    seat.signal("-CONT");
    seat.until("the screen", |screen| screen.alternate_screen() && screen.contents().contains("cruncher"));
    // Ctrl-z: nobody could make it go on here, so the system does not stop it; but the screen was left, and entered again.
    let before = seat.entered();
    seat.press("\x1a");
    seat.until_entered(before + 1);
    seat.until("the screen", |screen| screen.alternate_screen() && screen.contents().contains("cruncher"));
    seat.press("q");
    assert_eq!(seat.end_restored().0.code(), Some(0));
}
