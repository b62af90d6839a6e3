//! The commit of a transaction.
//!
//! ```text
//!   1. lock the words of all that is to be written, in the order of their addresses; give up rather than wait long
//!   2. take a time from the clock                                                     <- from here on it is `moment`
//!   3. unless nobody else did so since the last look: all that was read is as it was read, and is not locked by another
//!   4. replace each value, publish its word with `moment`
//!   5. those who watched are called, what was replaced is retired
//! ```
//!
//! Between 1 and 4 there is no code of the user, no allocation that is not a log's, and no wait for anybody who waits: so whoever
//! finds a word locked may wait for it. Who only read is done without any of it: all that it read was there at one moment (T1).
//!
//! Why no other transaction sees a half of it: one that starts at `moment` or later has seen the locks of step 1 (it read a time that
//! was written after them), and waits. One that started before finds that every word written here is locked, or later than
//! its start; so it looks at all that it has read, and if one of those is written here too, it ends.

use super::clock::Tick;
use super::desk::Desk;
use super::log::{Read, Write};
use super::space;
use super::stop::{Stop, TxResult};
use super::tx::Tx;
use super::var::Core;
use super::word::Word;
use ropewalk_core::prim::{Ordering::*, pause};

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
                self.desk.time = moment;
                self.retire(moment);
                Ok(())
            }
            Err(met) => Err(self.conflict(met)),
        }
    }

    /// Returns when; or where it met another one, if it did at a variable.
    #[inline(always)]
    fn publish(&mut self) -> Result<u64, Option<*const Core>> {
        let (before, alone) = (self.before, self.alone);
        let Desk { reads, writes, unused, replaced, wakes, slot, .. } = &mut **self.desk;
        let mut locked = Locked { writes: writes.in_order(unused), count: 0 };
        locked.lock_all(alone).inspect_err(|_| slot.counters.conflicts_locked.bump()).map_err(Some)?;
        let Tick::At(moment) = space().clock.tick(alone) else {
            slot.counters.conflicts_alone.bump();
            return Err(None);
        };
        if moment != before {
            locked
                .check(reads.all(), alone)
                .inspect_err(|_| slot.counters.conflicts_committing.bump())
                .map_err(Some)?;
        }
        locked.publish(moment, |core, old, watched| {
            replaced.extend(core.remains_of(old));
            if watched {
                wakes.append(&mut core.watchers.lock());
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
            let Desk { replaced, .. } = &mut **self.desk;
            space().presence.retire(moment, replaced);
        }
    }
}

impl Locked<'_> {
    #[inline(always)]
    fn lock_all(&mut self, patient: bool) -> Result<(), *const Core> {
        for write in self.writes.iter_mut() {
            // SAFETY: the transaction is under way (V2).
            write.before = Some(unsafe { &*write.core }.lock(patient).ok_or(write.core)?);
            self.count += 1;
        }
        Ok(())
    }

    /// Whether all that was read is still so.
    fn check(&self, reads: &[Read], patient: bool) -> Result<(), *const Core> {
        let changed = |read: &&Read| !self.is_as_read(read, patient);
        reads.iter().find(changed).map_or(Ok(()), |read| Err(read.core))
    }

    #[inline(always)]
    fn is_as_read(&self, read: &Read, patient: bool) -> bool {
        // SAFETY: the transaction is under way (V2).
        let core = unsafe { &*read.core };
        let mut looks = 0;
        loop {
            let word = core.word.load();
            if !word.is_locked() {
                return word.is_free_at(read.version);
            }
            if let Ok(at) = self.writes.binary_search_by_key(&read.order(), Write::order) {
                return self.writes[at].before.is_some_and(|before| before.version() == read.version);
            }
            if !patient {
                return false;
            }
            looks += 1;
            pause(looks); // another commit, which will be refused
        }
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
            with(core, old, write.before.is_some_and(Word::is_watched));
            core.word.publish(moment);
        }
    }
}

impl Drop for Locked<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        for write in &self.writes[..self.count] {
            if let Some(before) = write.before {
                // SAFETY: the transaction is under way (V2).
                unsafe { &*write.core }.word.restore(before);
            }
        }
    }
}
