//! How many lines each part gets.

/// Lines; the tasks have what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) charts: u16,
    pub(super) times: u16,
    pub(super) workers: u16,
}

/// A title, a heading and some rows.
const FEWEST_TASKS: u16 = 5;

impl Plan {
    pub(super) const NOTHING: Self = Self { charts: 0, times: 0, workers: 0 };

    pub(super) fn height(self) -> u16 {
        self.charts + self.times + self.workers
    }

    /// For so many lines between header and footer.
    pub(super) fn of(lines: u16, workers: usize, all_workers: bool) -> Self {
        let workers = u16::try_from(workers).unwrap_or(u16::MAX);
        let (charts, times) = match lines {
            0..14 => (1, 0),
            14..20 => (1, 4),
            20..34 => (1, 6),
            _ => (2, 6),
        };
        let room = lines.saturating_sub(charts + times + FEWEST_TASKS);
        let usual = match lines {
            0..14 => 1,
            14..18 => 2,
            _ => 2 + (lines / 6).max(3),
        };
        let wanted =
            if all_workers { workers.saturating_add(2) } else { usual.min(workers.saturating_add(2)) };
        Self { charts, times, workers: wanted.min(room) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_always_have_some_lines() {
        for lines in 8..200 {
            for workers in [0, 1, 2, 8, 64, 100_000] {
                for all in [false, true] {
                    let plan = Plan::of(lines, workers, all);
                    let left = lines - plan.height();
                    assert!(left >= FEWEST_TASKS, "{lines} {workers} {all}: {plan:?}");
                }
            }
        }
    }

    #[test]
    fn the_usual_screen_shows_everything() {
        assert_eq!(Plan::of(22, 4, false), Plan { charts: 1, times: 6, workers: 5 });
        assert_eq!(Plan::of(22, 2, false), Plan { charts: 1, times: 6, workers: 4 });
        assert_eq!(Plan::of(60, 64, true).workers, 47);
    }
}
