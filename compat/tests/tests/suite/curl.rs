//! curl as a client that is not ours.

use crate::kit::{RuntimeKind, guarded};
use ropewalk_compat_tests::{Protocol, pattern, start};
use std::process::{Command, Stdio};

/// What curl can speak, or `None` with a printed reason.
fn protocols() -> Option<Vec<(Protocol, &'static str)>> {
    let Ok(output) = Command::new("curl").arg("-V").output() else {
        eprintln!("skipped: there is no `curl` on the PATH");
        return None;
    };
    let mut spoken = vec![(Protocol::One, "--http1.1")];
    if String::from_utf8_lossy(&output.stdout).contains("HTTP2") {
        spoken.push((Protocol::Two, "--http2-prior-knowledge"));
    } else {
        eprintln!("skipped: this curl does not speak HTTP/2");
    }
    Some(spoken)
}

/// Runs curl; gives what it wrote.
fn curl(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = Command::new("curl");
    command.args(["-sS", "--fail", "--noproxy", "*"]).args(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &input));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "curl {arguments:?}: {}", output.status);
    let _the_input_was_not_wanted = writer.join().unwrap();
    output.stdout
}

fn with_server(test: impl Fn(&str, &str)) {
    for (protocol, flag) in protocols().unwrap_or_default() {
        for kind in [RuntimeKind::Threads(1), RuntimeKind::Threads(2)] {
            guarded(format!("{kind:?} {flag}"), || {
                let runtime = kind.build();
                let (address, _) = runtime.block_on(start(protocol)).unwrap();
                test(flag, &format!("http://{address}"));
            });
        }
    }
}

#[test]
fn pages_are_served() {
    with_server(|flag, site| {
        assert_eq!(curl(&[flag, &format!("{site}/hello")], b""), b"hello");
        assert_eq!(curl(&[flag, &format!("{site}/bytes/2000000")], b""), pattern(2_000_000));
    });
}

#[test]
fn what_is_posted_comes_back() {
    with_server(|flag, site| {
        let sent = pattern(3_000_000);
        // `Expect` makes curl ask first whether it may send so much.
        let back = curl(
            &[flag, "-H", "Expect: 100-continue", "--data-binary", "@-", &format!("{site}/echo")],
            &sent,
        );
        assert!(back == sent, "{} of {} bytes came back", back.len(), sent.len());
    });
}

#[test]
fn many_transfers_run_in_parallel() {
    with_server(|flag, site| {
        // Fewer than curl's limit of 50 at once, so that each has a connection of its own: curl 7.88 fails when it uses one again
        // that was HTTP/2 from its first byte (curl issue 10634).
        let said = curl(&[flag, "-Z", "--parallel-immediate", &format!("{site}/bytes/[1000-1039]")], b"");
        assert_eq!(said.len(), (1000..1040).sum::<usize>());
    });
}
