//! A dump whenever a signal comes: by a thread of its own, so that it needs no worker.

use super::{Dump, DumpOptions};
use crate::runtime::{RuntimeError, Shared, complain};
use crate::signal::unix::{Signal, SignalKind, signal};
use ropewalk_core::sync::CancellationToken;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

/// Where [`Builder::dump_on_signal`](crate::Builder::dump_on_signal) writes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DumpTarget {
    /// Standard error.
    Stderr,
    /// The end of this file, which is opened for each dump and made if there is none.
    File(PathBuf),
}

impl DumpTarget {
    fn write(&self, dump: &Dump) -> io::Result<()> {
        let text = dump.to_string(); // at once, so that it is not mixed with what others write
        match self {
            Self::Stderr => io::stderr().write_all(text.as_bytes()),
            Self::File(path) => {
                let mut file = OpenOptions::new().create(true).append(true).open(path)?;
                file.write_all(text.as_bytes())
            }
        }
    }
}

impl fmt::Display for DumpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stderr => f.write_str("standard error"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Listens from now on, until `over`.
pub(crate) fn start(
    runtime: &Arc<Shared>,
    kind: SignalKind,
    target: DumpTarget,
    over: CancellationToken,
) -> Result<JoinHandle<()>, RuntimeError> {
    let listener = signal(kind).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => RuntimeError::Misuse(format!("dump_on_signal: {error}")),
        _ => RuntimeError::System(error),
    })?;
    let runtime = Arc::downgrade(runtime);
    let listen = move || listen(listener, &runtime, &target, &over);
    Ok(thread::Builder::new().name("ropewalk-dump".to_owned()).spawn(listen)?)
}

fn listen(mut listener: Signal, runtime: &Weak<Shared>, target: &DumpTarget, over: &CancellationToken) {
    let mut comes = || {
        crate::wait(async {
            crate::select! {
                () = over.cancelled() => false,
                () = listener.recv() => true,
            }
        })
    };
    while comes() {
        let Some(runtime) = runtime.upgrade() else { return };
        let dump = Dump::of(&runtime, &DumpOptions::default());
        drop(runtime);
        if let Err(error) = target.write(&dump) {
            complain(format_args!("a dump cannot be written to {target}: {error}"));
        }
    }
}
