//! System calls that are refused, each in turn, from the beginning or from the middle on: a filter answers in place of the
//! kernel. A runtime is not built, or does without, or says so to whoever asked; nothing waits for ever.

#[path = "refused/uses.rs"]
mod uses;
#[path = "refused/waiting.rs"]
mod waiting;

use crate::answers::forbid;
use crate::child::{Kind, child_of, in_children, seconds, stage};
use ropewalk::driver::IoDriverKind;
use std::fmt;
use std::io;
use waiting::Waiting;

/// What the drivers, and what falls back, ask the kernel for.
const CALLS: [(&str, libc::c_long); 17] = [
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("io_uring_register", libc::SYS_io_uring_register),
    ("epoll_create1", libc::SYS_epoll_create1),
    ("epoll_ctl", libc::SYS_epoll_ctl),
    ("epoll_wait", libc::SYS_epoll_wait),
    ("epoll_pwait", libc::SYS_epoll_pwait),
    ("epoll_pwait2", libc::SYS_epoll_pwait2),
    ("eventfd2", libc::SYS_eventfd2),
    ("ppoll", libc::SYS_ppoll),
    ("socketpair", libc::SYS_socketpair),
    ("accept4", libc::SYS_accept4),
    ("pidfd_open", libc::SYS_pidfd_open),
    ("membarrier", libc::SYS_membarrier),
    ("sched_getaffinity", libc::SYS_sched_getaffinity),
    ("process_madvise", libc::SYS_process_madvise),
    ("sched_setattr", libc::SYS_sched_setattr),
];
const ERRORS: [(&str, i32); 3] = [("EPERM", libc::EPERM), ("ENOSYS", libc::ENOSYS), ("ENOMEM", libc::ENOMEM)];

struct Case {
    call: (&'static str, libc::c_long),
    error: (&'static str, i32),
    in_the_middle: bool,
    kind: Kind,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.in_the_middle { "in the middle" } else { "from the beginning" };
        write!(f, "{} says {} {when}, {}", self.call.0, self.error.0, self.kind)
    }
}

impl Case {
    fn hung_once(&self) -> bool {
        let call = match self.kind.0 {
            IoDriverKind::IoUring => "io_uring_enter",
            IoDriverKind::Poll => "ppoll",
            _ => "epoll_pwait2",
        };
        self.in_the_middle && self.call.0 == call && self.error.0 == "EPERM"
    }

    fn refuse(&self) {
        forbid(self.call.1, self.error.1);
    }
}

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    // One worker is the one that polls, whatever it is woken for.
    for kind in Kind::all().into_iter().chain([Kind(IoDriverKind::IoUring, 1), Kind(IoDriverKind::Epoll, 1)])
    {
        for call in CALLS {
            for error in ERRORS {
                all.extend([false, true].map(|in_the_middle| Case { call, error, in_the_middle, kind }));
            }
        }
    }
    // Without much time every so-many-th of them, a number that has nothing in common with those of the loops; and what once hung.
    let step = if seconds().is_some() { 1 } else { 53 };
    let chosen = |(number, case): &(usize, Case)| number % step == 0 || case.hung_once();
    all.into_iter().enumerate().filter(chosen).map(|(_, case)| case).collect()
}

#[test]
fn each_call_refused_in_turn() {
    let test = "refused::each_call_refused_in_turn";
    in_children(test, &cases(), 2, attack, |case| child_of(test, case));
}

fn attack(case: &Case) {
    if !case.in_the_middle {
        case.refuse();
    }
    stage("build");
    let runtime = match case.kind.builder().build() {
        Ok(runtime) => runtime,
        Err(error) => return println!("attack: not built: {error}"),
    };
    let mut told = Vec::new();
    if case.in_the_middle {
        let before = uses::all(&runtime);
        assert!(before.iter().all(|(_, outcome)| outcome.is_ok()), "before anything is refused: {before:?}");
        let waiting = runtime.block_on(Waiting::begin());
        told.extend(waiting.end(&runtime, || case.refuse()));
    }
    told.extend(uses::all(&runtime));
    stage("the end of the runtime");
    drop(runtime);
    report(case, &told);
}

/// Who was refused something was told what: the error of the call, or what comes of it at the other end.
fn report(case: &Case, told: &[(&str, io::Result<()>)]) {
    let refused: Vec<_> =
        told.iter().filter_map(|(what, outcome)| Some((what, outcome.as_ref().err()?))).collect();
    for (what, error) in &refused {
        let is_it = error.raw_os_error() == Some(case.error.1)
            || error.to_string().contains(&io::Error::from_raw_os_error(case.error.1).to_string());
        let comes_of_it = matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionRefused
        );
        assert!(is_it || comes_of_it, "{what}: {error:?}");
    }
    if !refused.is_empty() {
        println!("attack: refused: {refused:?}");
    }
}
