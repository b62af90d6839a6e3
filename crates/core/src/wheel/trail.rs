//! Which entries came into one slot lately, so that an entry can name another one a few steps away from it.
//!
//! A slot is a list, and its entries lie all over memory: who follows it step by step waits for each of them in turn. So
//! each entry also has an address some steps ahead, to be asked for in time. It is an address and nothing more: what was
//! there may have left the slot, or may be gone.

use core::ptr::null;

/// How many steps ahead: about as many as fit into the time that memory takes.
const AHEAD: usize = 4;

/// The last entries that were put into `slot`.
pub(super) struct Trail {
    slot: usize,
    last: [*const (); AHEAD],
    at: usize,
}

impl Trail {
    pub(super) const fn new() -> Self {
        Self { slot: usize::MAX, last: [null(); AHEAD], at: 0 }
    }

    /// `entry` is put into `slot`. The answer is the one that was put there a few before it, or null.
    #[inline]
    pub(super) fn step(&mut self, slot: usize, entry: *const ()) -> *const () {
        if slot != self.slot {
            *self = Self { slot, ..Self::new() };
        }
        self.at = (self.at + 1) % AHEAD;
        core::mem::replace(&mut self.last[self.at], entry)
    }
}

// SAFETY: addresses that are never followed.
unsafe impl Send for Trail {}
// SAFETY: as above.
unsafe impl Sync for Trail {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_the_one_a_few_before_in_the_same_slot() {
        let entries = [0_u8; 2 * AHEAD];
        let address = |at: usize| (&raw const entries[at]).cast::<()>();
        let mut trail = Trail::new();
        for at in 0..2 * AHEAD {
            let expected = if at < AHEAD { null() } else { address(at - AHEAD) };
            assert_eq!(trail.step(7, address(at)), expected);
        }
        assert!(trail.step(8, address(0)).is_null(), "another slot, another trail");
    }
}
