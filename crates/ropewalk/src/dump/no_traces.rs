//! Without the feature `backtraces`, or on another system, strands are not asked where they are.

use super::Backtrace;
use super::collect::Listed;
use crate::runtime::Shared;
use crate::sched::host;
use crate::task::TaskId;
use std::time::Instant;

/// Why there is none.
pub(super) const OFF: &str =
    "this program was built without the feature `backtraces` of ropewalk, or not for Linux";

/// Nothing.
#[derive(Debug)]
pub(crate) struct Traces;

impl Traces {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn answer(&self, _strand: TaskId) {}
}

pub(super) fn of(
    _shared: &Shared,
    listed: &[Listed],
    _most: usize,
    _until: (Option<Instant>, Option<Instant>),
) -> Vec<Backtrace> {
    let of = |listed: &Listed| match host::has_stack(&listed.task) {
        true => Backtrace::Missing(OFF),
        false => Backtrace::None,
    };
    listed.iter().map(of).collect()
}
