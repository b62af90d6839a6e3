//! A walk that looks for some among many. It holds those only, however many there are.

use super::collect::{Found, Pick};
use super::{Backtrace, Dump, DumpOptions};
use crate::inspect::TaskInfo;
use crate::runtime::Shared;
use crate::task::TaskId;
use std::collections::HashSet;
use std::time::{Instant, SystemTime};

/// Those that something stems from are looked for so many times: each time one level more is known.
const LEVELS: usize = 32;

impl Dump {
    /// As [`Dump::of`], but listed are those that are wanted, as many as may be; then `also`, and those that they stem from. And
    /// how many are wanted. Nobody is asked where it is.
    pub(crate) fn search(
        shared: &Shared,
        options: &DumpOptions,
        is_wanted: &dyn Fn(&TaskInfo) -> bool,
        also: Option<TaskId>,
    ) -> (Self, u64) {
        let (at, from) = (SystemTime::now(), Instant::now());
        let until = from.checked_add(options.time_limit);
        let mut found = Found::walk(shared, options, until, Pick::If(is_wanted));
        let mut known: HashSet<_> = found.listed.iter().map(|listed| listed.info.id).collect();
        for _ in 0..LEVELS {
            let above = found.listed.iter().filter_map(|listed| listed.info.parent);
            let missing: HashSet<_> = above.chain(also).filter(|id| !known.contains(id)).collect();
            if missing.is_empty() {
                break;
            }
            found.listed.extend(Found::walk(shared, options, until, Pick::These(&missing)).listed);
            known.extend(missing); // found or not: nobody is looked for twice
        }
        let (matching, count) = (found.matching, found.listed.len());
        let nobody_asked = std::iter::repeat_n(Backtrace::None, count);
        (Self::put_together(found, nobody_asked, (at, from)), matching)
    }
}
