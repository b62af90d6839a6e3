//! Nothing is left: descriptors and memory of this process.

use crate::kit::until;
use crate::ledger::live;
use std::time::Duration;

/// What there is. Two are taken at the same moment of two rounds that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Possessions {
    descriptors: usize,
    memory: (isize, isize),
}

impl Possessions {
    pub fn now() -> Self {
        Self { descriptors: descriptors(), memory: live() }
    }

    /// Goes on when there is not more than this: what ends last may take a moment to be gone.
    pub fn assert_nothing_more(self, when: &str) {
        let mut now = Self::now();
        for _ in 0..2_000 {
            if now.descriptors <= self.descriptors && now.memory.0 <= self.memory.0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
            now = Self::now();
        }
        panic!("{when}: {now:?}, and {self:?} before");
    }
}

/// How many descriptors this process has, without the one that looks.
pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count() - 1
}

/// The test harness allocates when it starts to wait for this test's end: goes on when it sleeps.
pub fn wait_for_the_harness() {
    let mut asleep = 0;
    until("the harness sleeps", || {
        std::thread::sleep(Duration::from_millis(2));
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", std::process::id())).unwrap();
        let sleeps = stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('S'));
        asleep = if sleeps { asleep + 1 } else { 0 };
        asleep == 5
    });
}
