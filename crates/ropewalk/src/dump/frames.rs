//! The functions on a stack, by name.

use std::fmt;

/// A function on a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Frame {
    /// Its name, or the address where it is, if it has none.
    pub function: String,
    /// The file in which it is, if the program tells.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " at {file}:{line}"),
            (Some(file), None) => write!(f, " at {file}"),
            _ => Ok(()),
        }
    }
}

/// Those at this address: of one that was inlined, and of what it was inlined into, the innermost first.
#[cfg(all(feature = "backtraces", target_os = "linux"))]
pub(crate) fn at(address: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    backtrace::resolve(std::ptr::without_provenance_mut(address), |symbol| {
        let function = symbol.name().map_or_else(|| format!("{address:#x}"), |name| format!("{name:#}"));
        let file = symbol.filename().map(|file| file.display().to_string());
        frames.push(Frame { function, file, line: symbol.lineno() });
    });
    if frames.is_empty() { vec![unknown(address)] } else { frames }
}

/// There was no time to look for the name.
#[cfg(all(feature = "backtraces", target_os = "linux"))]
pub(super) fn unknown(address: usize) -> Frame {
    Frame { function: format!("{address:#x}"), file: None, line: None }
}

/// What a strand has written down, without the runtime's part: how it came to write, and how it was started.
#[cfg(any(test, all(feature = "backtraces", target_os = "linux")))]
pub(super) fn of_strand(mut frames: Vec<Frame>) -> Vec<Frame> {
    frames = without_callees(frames);
    let starts = [COROSENSEI, INIT, STRAND];
    let start = frames.iter().position(|frame| starts.into_iter().any(|part| frame.is_of(part)));
    frames.truncate(start.unwrap_or(frames.len()));
    without_callers(frames)
}

/// What is on the stack of who takes the dump: without how that is done, and without who polls it.
#[cfg(any(test, all(feature = "backtraces", target_os = "linux")))]
pub(super) fn of_caller(frames: Vec<Frame>) -> Vec<Frame> {
    of_task(without_callees(frames))
}

/// Without what is the runtime's, or the standard library's, at the inner end.
#[cfg(any(test, all(feature = "backtraces", target_os = "linux")))]
fn without_callees(mut frames: Vec<Frame>) -> Vec<Frame> {
    let inner = frames.iter().position(|frame| !frame.is_of_the_runtime()).unwrap_or(frames.len());
    frames.drain(..inner);
    frames
}

/// Where a thread is in its task, without who polls that.
#[cfg(any(test, all(feature = "backtraces", target_os = "linux")))]
pub(crate) fn of_task(mut frames: Vec<Frame>) -> Vec<Frame> {
    let polls = [STRAND, SCHEDULER, TASKS, COROSENSEI, INIT];
    let start = frames.iter().position(|frame| polls.into_iter().any(|part| frame.is_of(part)));
    frames.truncate(start.unwrap_or(frames.len()));
    without_callers(frames)
}

/// Without what is the runtime's, or the standard library's, at the outer end.
#[cfg(any(test, all(feature = "backtraces", target_os = "linux")))]
fn without_callers(mut frames: Vec<Frame>) -> Vec<Frame> {
    let outer = frames.iter().rposition(|frame| !frame.is_of_the_runtime()).map_or(0, |last| last + 1);
    frames.truncate(outer);
    frames
}

/// A part of the program: how the names of its functions begin, and what is in the path of its files. (The name of a function that was
/// inlined may be without its path, depending on how much the program tells.)
#[cfg(any(test, all(feature = "backtraces", target_os = "linux")))]
type Part = (&'static str, &'static str, &'static str);

#[cfg(any(test, all(feature = "backtraces", target_os = "linux")))]
mod parts {
    use super::Part;

    /// Where this crate's files are, as the compiler was told.
    const HERE: &str = {
        let (own, file) = ("dump/frames.rs".len(), file!());
        file.split_at(file.len() - own).0
    };
    pub(super) const ROPEWALK: Part = ("ropewalk::", HERE, "");
    pub(super) const CORE: Part = ("ropewalk_core::", ropewalk_core::SOURCES, "");
    pub(super) const SCHEDULER: Part = ("ropewalk::sched::", HERE, "sched/");
    pub(super) const STRAND: Part = ("ropewalk::strand::body::", HERE, "strand/body.rs");
    pub(super) const TASKS: Part = ("ropewalk_core::task::", ropewalk_core::SOURCES, "task/");
    pub(super) const COROSENSEI: Part = ("corosensei::", "/corosensei-", "");
    /// How it calls a function on another stack, and where each of ours begins.
    pub(super) const CALL: Part = ("stack_call_trampoline", NO_FILE, "");
    pub(super) const INIT: Part = ("stack_init_trampoline", NO_FILE, "");
    const NO_FILE: &str = "\0";
    pub(super) const RUNTIME: [Part; 11] = [
        ROPEWALK,
        CORE,
        COROSENSEI,
        CALL,
        INIT,
        ("backtrace::", "/backtrace-0", ""),
        ("core::", "/library/core/src/", ""),
        ("std::", "/library/std/src/", ""),
        ("alloc::", "/library/alloc/src/", ""),
        ("__rust", "/library/panic_unwind/", ""),
        ("_Unwind", "/library/unwind/", ""),
    ];
}
#[cfg(any(test, all(feature = "backtraces", target_os = "linux")))]
use parts::*;

#[cfg(any(test, all(feature = "backtraces", target_os = "linux")))]
impl Frame {
    fn is_of(&self, (path, sources, within): Part) -> bool {
        // `<F as ropewalk::..>`: for any type, so not the user's.
        let of_any = self.function.strip_prefix('<').and_then(|rest| rest.split_once(" as "));
        let of_any = of_any.filter(|(of, _)| !of.contains("::")).map(|(_, path)| path);
        let by_name = self.function.trim_start_matches(['<', '&']).starts_with(path);
        let in_file = |file: &String| {
            let rest = file.find(sources).map(|at| &file[at + sources.len()..]);
            rest.is_some_and(|rest| rest.starts_with(within))
        };
        by_name || of_any.is_some_and(|of| of.starts_with(path)) || self.file.as_ref().is_some_and(in_file)
    }

    /// Whether it is ours, or of the libraries around us.
    fn is_of_the_runtime(&self) -> bool {
        RUNTIME.into_iter().any(|part| self.is_of(part))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn frames(names: &[&str]) -> Vec<Frame> {
        let frame = |name: &&str| Frame { function: (*name).to_owned(), file: None, line: None };
        names.iter().map(frame).collect()
    }

    #[test]
    fn what_is_the_runtimes_is_cut_off_at_both_ends_and_nowhere_else() {
        let seen = frames(&[
            "backtrace::backtrace::trace",
            "ropewalk::dump::traces::here",
            "corosensei::coroutine::on_stack::wrapper",
            "<ropewalk::strand::seat::Seat>::wait",
            "<F as ropewalk::wait::Wait>::wait",
            "shop::fetch",
            "ropewalk::strand::scope",
            "<shop::Till as core::ops::FnOnce>::call_once",
            "core::ops::function::FnOnce::call_once",
            "std::panicking::catch_unwind",
            "ropewalk::strand::body::Run::start",
            "shop::what_the_worker_was_started_by",
        ]);
        let kept = ["shop::fetch", "ropewalk::strand::scope", "<shop::Till as core::ops::FnOnce>::call_once"];
        assert_eq!(of_strand(seen), frames(&kept));
        assert_eq!(of_strand(frames(&["ropewalk::strand::yield_now", "std::x"])), []);
    }

    #[test]
    fn what_was_inlined_is_known_by_its_file() {
        let mut seen = frames(&["trace", "do_call<shop::Till>", "{closure#0}", "suspend<()>", "shop::main"]);
        let files = [
            "/registry/backtrace-0.3.77/src/backtrace/libunwind.rs".to_owned(),
            "/rustc/5980/library/std/src/panicking.rs".to_owned(),
            "/home/shop/src/main.rs".to_owned(),
            "/registry/corosensei-0.3.1/src/coroutine.rs".to_owned(),
            file!().to_owned(),
        ];
        for (frame, file) in seen.iter_mut().zip(files) {
            frame.file = Some(file);
        }
        let kept: Vec<_> = of_strand(seen).into_iter().map(|frame| frame.function).collect();
        assert_eq!(kept, ["{closure#0}"]);
    }

    #[test]
    fn who_takes_the_dump_is_seen_without_what_that_takes() {
        let seen =
            ["ropewalk::dump::traces::here", "shop::debug", "ropewalk::sched::blocking::run", "start_thread"];
        assert_eq!(of_caller(frames(&seen)), frames(&["shop::debug"]));
    }

    #[test]
    fn of_a_task_the_innermost_functions_stay() {
        let seen = frames(&[
            "core::slice::copy",
            "shop::sort",
            "core::future::poll",
            "ropewalk_core::task::raw::run",
        ]);
        assert_eq!(of_task(seen), frames(&["core::slice::copy", "shop::sort"]));
    }

    #[test]
    fn a_frame_says_where_it_is() {
        let mut frame = frames(&["shop::fetch"]).remove(0);
        assert_eq!(frame.to_string(), "shop::fetch");
        (frame.file, frame.line) = (Some("shop.rs".to_owned()), Some(7));
        assert_eq!(frame.to_string(), "shop::fetch at shop.rs:7");
    }
}
