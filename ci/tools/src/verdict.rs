//! What the output of one test under loom means.

/// How the process of a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It was ended by us after the time limit.
    TimedOut,
}

/// What a test said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    /// It failed; the text says how, in one line.
    Failed(String),
    /// It neither passed nor failed within the time limit.
    Hung,
    /// No test ran: the name did not match, or the process did not get that far.
    NotRun(String),
}

/// Judges one run of exactly one test.
///
/// Under loom a hang is normally a failure of its own (a model that makes no progress exceeds the number of branches, one
/// in which all threads wait is a deadlock). A process that has to be ended counts as failed only if it had panicked.
pub fn judge(exit: Exit, output: &str) -> Verdict {
    match exit {
        Exit::Code(0) if passed(output) == 0 => Verdict::NotRun("no test matched".to_string()),
        Exit::Code(0) => Verdict::Passed,
        Exit::Code(101) => {
            Verdict::Failed(panic_message(output).unwrap_or("failed without a message".to_string()))
        }
        Exit::Code(code) => Verdict::NotRun(format!("the test process ended with status {code}")),
        Exit::Signal(signal) => {
            let why = panic_message(output).map_or(String::new(), |message| format!(" after: {message}"));
            Verdict::Failed(format!("ended by signal {signal}{why}"))
        }
        Exit::TimedOut => match panic_message(output) {
            Some(message) => Verdict::Failed(format!("did not end after: {message}")),
            None => Verdict::Hung,
        },
    }
}

/// The sum of "N passed" over all summary lines of libtest.
pub fn passed(output: &str) -> usize {
    let counts = output.lines().filter_map(|line| {
        let (before, _) = line.strip_prefix("test result: ")?.split_once(" passed")?;
        before.rsplit(' ').next()?.parse::<usize>().ok()
    });
    counts.sum()
}

/// The first line of the panic that failed the test: one of loom's own if there is one (then the rest is fall-out),
/// otherwise the last (earlier ones may belong to the test, which may make tasks panic on purpose).
fn panic_message(output: &str) -> Option<String> {
    let lines: Vec<&str> = output.lines().collect();
    let panics = lines.iter().enumerate().filter(|(_, line)| line.contains("panicked at "));
    let said: Vec<&str> = panics.map(|(at, _)| lines.get(at + 1).copied().unwrap_or("").trim()).collect();
    let of_loom = said.iter().find_map(|message| loom_error(message));
    of_loom.or_else(|| said.iter().rev().find(|m| !m.is_empty()).map(|m| shorten(m)))
}

/// Loom's own complaints, in our words.
fn loom_error(message: &str) -> Option<String> {
    let known = [
        (
            "Model exceeded maximum number of branches",
            "no progress: the model exceeded its number of branches",
        ),
        ("Causality violation", "a data race (causality violation)"),
        ("deadlock; threads", "a deadlock"),
        ("Arc leaked", "a leak"),
        ("Messages leaked", "a leak"),
        ("Allocation leaked", "a leak"),
    ];
    known.iter().find(|(theirs, _)| message.contains(theirs)).map(|(_, ours)| format!("loom: {ours}"))
}

fn shorten(message: &str) -> String {
    const WIDTH: usize = 72;
    if message.chars().count() <= WIDTH {
        return message.to_string();
    }
    message.chars().take(WIDTH - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &str = "running 1 test\ntest ring::tests::model_steal ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";

    fn panicked(messages: &[&str]) -> String {
        messages
            .iter()
            .map(|m| format!("thread 'x' (7) panicked at src/ring.rs:3:5:\n{m}\nnote: run with\n"))
            .collect()
    }

    #[test]
    fn a_pass_needs_a_test_that_ran() {
        assert_eq!(judge(Exit::Code(0), OK), Verdict::Passed);
        let none = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 9 filtered out\n";
        assert!(matches!(judge(Exit::Code(0), none), Verdict::NotRun(_)));
        assert!(matches!(judge(Exit::Code(3), ""), Verdict::NotRun(_)));
    }

    #[test]
    fn passes_are_added_up() {
        assert_eq!(passed(&format!("{OK}noise, 7 passed\n{OK}")), 2);
        assert_eq!(passed("test result: FAILED. 12 passed; 1 failed; 0 ignored\n"), 12);
    }

    #[test]
    fn an_assertion_is_named_by_its_first_line() {
        let output = panicked(&["a task panics on purpose", "assertion `left == right` failed: lost"]);
        assert_eq!(
            judge(Exit::Code(101), &output),
            Verdict::Failed("assertion `left == right` failed: lost".to_string())
        );
    }

    #[test]
    fn a_complaint_of_loom_wins_over_its_fall_out() {
        let output =
            panicked(&["Model exceeded maximum number of branches. This is often", "dropped while held"]);
        let Verdict::Failed(how) = judge(Exit::Code(101), &output) else { panic!() };
        assert!(how.starts_with("loom: no progress"), "{how}");
    }

    #[test]
    fn an_abort_counts_and_is_named() {
        let Verdict::Failed(how) = judge(Exit::Signal(6), &panicked(&["boom"])) else { panic!() };
        assert_eq!(how, "ended by signal 6 after: boom");
    }

    #[test]
    fn a_time_out_counts_only_after_a_panic() {
        assert_eq!(judge(Exit::TimedOut, "running 1 test\n"), Verdict::Hung);
        assert!(matches!(judge(Exit::TimedOut, &panicked(&["boom"])), Verdict::Failed(_)));
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(shorten(&"x".repeat(200)).len(), 72);
    }
}
