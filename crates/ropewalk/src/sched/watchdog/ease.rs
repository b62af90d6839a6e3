//! Whether it may look less often: little runs, and nothing has run for long.
//!
//! A thread that gets up costs some ten microseconds, whatever it does then, and a few hundred small tasks wake up in the time between two looks: beside
//! a server with little to do, looking is a tenth of all that it costs. So after a quarter of a second in which most looks found everybody asleep, and none
//! found a poll that was long, there are fewer. The first hog is seen some milliseconds later then; from then on, as early as ever.

/// After so many looks that found everybody asleep, beyond two for each that did not.
const ENOUGH: u32 = 160;
/// So many looks in a row that find somebody awake are no coincidence.
const IN_A_ROW: u32 = 8;

#[derive(Debug, Default)]
pub(super) struct Ease {
    quiet: u32,
    awake: u32,
    is_at_ease: bool,
}

impl Ease {
    /// What a look has found.
    pub(super) fn see(&mut self, anybody_awake: bool, any_long: bool) {
        if !anybody_awake {
            self.awake = 0;
            self.quiet = (self.quiet + 1).min(ENOUGH);
        } else {
            self.awake += 1;
            self.quiet = self.quiet.saturating_sub(2);
        }
        if any_long || self.awake >= IN_A_ROW {
            *self = Self::default();
        }
        self.is_at_ease = self.quiet == ENOUGH || self.is_at_ease && self.quiet > 0;
    }

    pub(super) fn is_at_ease(&self) -> bool {
        self.is_at_ease
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn at_ease() -> Ease {
        let mut ease = Ease::default();
        (0..ENOUGH).for_each(|_| ease.see(false, false));
        ease
    }

    /// Whether it comes to be at ease, if of so many looks one finds somebody awake.
    fn with_one_awake_in(looks: u32) -> bool {
        let mut ease = Ease::default();
        (0..ENOUGH * 10).for_each(|look| ease.see(look % looks == 0, false));
        ease.is_at_ease()
    }

    #[test]
    fn it_is_at_ease_after_a_while_with_little_to_do() {
        let mut ease = Ease::default();
        (1..ENOUGH).for_each(|_| ease.see(false, false));
        assert!(!ease.is_at_ease());
        ease.see(false, false);
        assert!(ease.is_at_ease());
        assert_eq!([8, 4, 3, 2, 1].map(with_one_awake_in), [true, true, false, false, false]);
    }

    #[test]
    fn somebody_awake_does_not_end_it_and_many_do() {
        let mut ease = at_ease();
        for _ in 1..IN_A_ROW {
            ease.see(true, false);
            assert!(ease.is_at_ease());
        }
        ease.see(true, false);
        assert!(!ease.is_at_ease(), "{IN_A_ROW} in a row");
        ease.see(false, false);
        assert!(!ease.is_at_ease(), "it begins anew");
    }

    #[test]
    fn a_long_poll_ends_it() {
        let mut ease = at_ease();
        ease.see(true, true);
        assert!(!ease.is_at_ease());
        (1..ENOUGH).for_each(|_| ease.see(false, false));
        assert!(!ease.is_at_ease(), "it begins anew");
    }
}
