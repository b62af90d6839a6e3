//! The commit of a transaction.
//!
//! ```text
//!   1. lock the words of all that is to be written, in the order of their addresses; give up rather than wait long
//!   2. look at the clock (C1): `moment` is later than that, and than the version of each of them
//!   3. all that was read is as it was read, and is not locked by another
//!   4. replace each value, publish its word with `moment`
//!   5. those who watched are called, what was replaced is retired
//! ```
//!
//! Between 1 and 4 there is no code of the user, no allocation that is not a log's, and no wait for anybody who waits: so whoever
//! finds a word locked may wait for it. Who only read is done without any of it: all that it read was there at one moment (T1).
//!
//! Why no other transaction sees a half of it: who reads one of its values sees the locks of step 1, so it finds each other word that
//! is written here locked, or published. If it has read one of them before, it must notice that it has changed: one that goes by the clock, at
//! `moment` or later, has seen the locks before it read anything, and waited (C1); at an earlier time, or without the clock, it looks at
//! all that it has read before it takes this value, and ends.
//!
//! Why two commits are as if one came after the other: each locks what it writes, then looks at what it read, all by SeqCst: one of two
//! that read what the other one writes sees the other's lock, or its version, and gives up.

use super::desk::Desk;
use super::log::{Read, SHORT, Write};
use super::stop::{Stop, TxResult};
use super::tx::Tx;
use super::var::Core;
use super::{Space, space};
use ropewalk_core::prim::Ordering::*;

/// Words that are locked, from the first one on; given back if nothing comes of it.
struct Locked<'a> {
    writes: &'a mut [Write],
    count: usize,
}

impl Tx {
    /// Makes what was written visible to all, at one moment; or not at all.
    #[inline(always)]
    pub(super) fn commit(&mut self) -> TxResult<()> {
        if self.is_doomed() {
            return Err(Stop(super::stop::Why::Conflict));
        }
        if self.desk.writes.is_empty() {
            self.desk.slot.counters.reads.bump();
            return Ok(());
        }
        match self.publish() {
            Ok(moment) => {
                self.desk.slot.counters.commits.bump();
                self.retire(moment);
                Ok(())
            }
            Err(met) => Err(self.conflict(met)),
        }
    }

    /// Returns when; or where it met another one, if it did at a variable.
    #[inline(always)]
    fn publish(&mut self) -> Result<u64, Option<*const Core>> {
        let alone = self.alone;
        let Desk { reads, writes, unused, replaced, wakes, slot, .. } = &mut **self.desk;
        let mut locked = Locked { writes: writes.in_order(unused), count: 0 };
        let latest =
            locked.lock_all(alone).inspect_err(|_| slot.counters.conflicts_locked.bump()).map_err(Some)?;
        let Some(now) = space().clock.look(alone) else {
            slot.counters.conflicts_alone.bump();
            return Err(None);
        };
        let moment = latest.max(now) + 1;
        locked
            .check(reads.all(), alone)
            .inspect_err(|_| slot.counters.conflicts_committing.bump())
            .map_err(Some)?;
        locked.publish(moment, |core, old, watched| {
            if let Some(old) = core.remains_of(old) {
                replaced.push(old);
            }
            if watched {
                core.call(wakes);
            }
        });
        writes.forget();
        Ok(moment)
    }

    /// What was replaced may be looked at by others; by us no more.
    #[inline(always)]
    fn retire(&mut self, moment: u64) {
        if !self.desk.replaced.is_empty() {
            self.desk.leave();
            let Space { clock, presence, .. } = space();
            presence.retire(clock, moment, &mut self.desk.replaced);
        }
    }
}

impl Locked<'_> {
    /// Returns the latest version of them.
    #[inline(always)]
    fn lock_all(&mut self, patient: bool) -> Result<u64, *const Core> {
        let mut latest = 0;
        for write in self.writes.iter_mut() {
            // SAFETY: the transaction is under way (V2).
            write.before = unsafe { &*write.core }.lock(patient).ok_or(write.core)?;
            latest = latest.max(write.before.version());
            self.count += 1;
        }
        Ok(latest)
    }

    /// Whether all that was read is still so.
    #[inline(always)]
    fn check(&self, reads: &[Read], patient: bool) -> Result<(), *const Core> {
        for read in reads {
            if !self.is_as_read(read, patient) {
                return Err(read.core);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn is_as_read(&self, read: &Read, patient: bool) -> bool {
        if read.is_so(false) {
            return true;
        }
        match self.find(read) {
            Some(own) => own.before.version() == read.version,
            None => read.is_so(patient),
        }
    }

    #[inline(always)]
    fn find(&self, read: &Read) -> Option<&Write> {
        if self.writes.len() <= SHORT {
            return self.writes.iter().find(|write| write.core == read.core);
        }
        let found = self.writes.binary_search_by_key(&read.order(), Write::order);
        found.ok().map(|at| &self.writes[at])
    }

    /// Replaces all values. `with` is told what was there, and whether somebody watched, while the word is locked.
    #[inline(always)]
    fn publish(mut self, moment: u64, mut with: impl FnMut(&Core, super::held::Held, bool)) {
        self.count = 0; // they are not given back
        for write in self.writes.iter() {
            // SAFETY: the transaction is under way (V2).
            let core = unsafe { &*write.core };
            let old = core.value.load(Relaxed);
            core.value.store(write.value, Release); // with the lock (V1)
            with(core, old, write.before.is_watched());
            core.word.publish(moment);
        }
    }
}

impl Drop for Locked<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        for write in &self.writes[..self.count] {
            // SAFETY: the transaction is under way (V2).
            unsafe { &*write.core }.word.restore(write.before);
        }
    }
}
