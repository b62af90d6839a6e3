//! Operations on files that the kernel completes: with a runtime whose I/O driver is io_uring they go there, not to the blocking
//! pool. This is the only file of `fs` that knows of it.
//!
//! Each function gives back what it was given if that is not for the ring: another driver; a runtime with a clock that is
//! moved by hand, which waits for its blocking pool before it jumps and knows nothing of a ring; something that takes more than
//! one call. The pool does it then.

use super::engine::{Extent, Op, ReadDone, ReadOrder};
use super::open::Asked;
use crate::drive::io::uring::{AT_CURSOR, Held, Landing, Uring, Work};
use crate::runtime::Handle;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// The ring of the current runtime.
struct Here(Handle, Arc<Uring>);

impl Here {
    fn find() -> Option<Self> {
        let runtime = Handle::current();
        let uring = runtime.shared.io.files().filter(|uring| !uring.is_refused())?;
        runtime.shared.config.clock.manual().is_none().then_some(Self(runtime, uring))
    }

    fn start<T>(
        self,
        work: Work,
        finish: impl FnOnce(Landing) -> io::Result<T> + Send + Sync + 'static,
    ) -> Op<T> {
        let is_first = !self.1.is_flying();
        let flight = self.1.start(work);
        if is_first {
            self.0.shared.watch_begins();
        }
        Op::flight(flight, finish)
    }
}

fn buffer(work: Work) -> Vec<u8> {
    match work {
        Work::Read { buf, .. } | Work::Write { buf, .. } => buf,
        Work::Sync { .. } | Work::Open { .. } => Vec::new(),
    }
}

/// Reads at the cursor, if nothing has to be found out or moved first.
pub(super) fn read(file: &Held, mut order: ReadOrder) -> Result<Op<ReadDone>, ReadOrder> {
    let (Some(is_regular), 0) = (order.is_regular, order.rewind) else { return Err(order) };
    let Some(here) = Here::find() else { return Err(order) };
    order.buf.resize(if is_regular { order.at_most } else { order.at_most_if_special }, 0);
    let work = Work::Read { file: file.clone(), buf: order.buf, offset: AT_CURSOR };
    Ok(here.start(work, move |landing| {
        let (count, error) = landing.result.map_or_else(|error| (0, Some(error)), |count| (count, None));
        Ok(ReadDone { buf: buffer(landing.work), count, rewound: true, is_regular, error })
    }))
}

pub(super) fn read_at(file: &Held, buf: Vec<u8>, offset: u64) -> Result<Op<(Vec<u8>, usize)>, Vec<u8>> {
    let Some((here, offset)) = Here::find().zip(place(offset)) else { return Err(buf) };
    let work = Work::Read { file: file.clone(), buf, offset };
    Ok(here.start(work, |landing| landing.result.map(|count| (buffer(landing.work), count))))
}

pub(super) fn write_at(file: &Held, buf: Vec<u8>, offset: u64) -> Result<Op<usize>, Vec<u8>> {
    let Some((here, offset)) = Here::find().zip(place(offset)) else { return Err(buf) };
    Ok(here.start(Work::Write { file: file.clone(), buf, offset }, |landing| landing.result))
}

/// An offset as the kernel has it; beyond that the system call says what is wrong.
fn place(offset: u64) -> Option<u64> {
    i64::try_from(offset).ok().map(|_| offset)
}

pub(super) fn sync(file: &Held, what: Extent) -> Option<Op<()>> {
    let work = Work::Sync { file: file.clone(), data_only: matches!(what, Extent::Data) };
    Some(Here::find()?.start(work, |landing| landing.result.map(drop)))
}

pub(super) fn open(asked: &Asked, path: &Path) -> Option<Op<File>> {
    let (flags, path) = (asked.flags()?, CString::new(path.as_os_str().as_bytes()).ok()?);
    let work = Work::Open { path, flags, mode: asked.mode };
    Some(Here::find()?.start(work, |landing| {
        landing.result?;
        Ok(File::from(landing.opened.expect("what was opened is there")))
    }))
}
