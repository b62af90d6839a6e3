//! The longest polls of a pool: of each place where tasks are spawned the longest one, of few places.

use crate::metrics::LongPoll;
use ropewalk_core::task::TaskId;
use std::time::Duration;

/// Of so many places.
const MOST: usize = 8;

/// The longest first; no two of one place.
#[derive(Default)]
pub(crate) struct Longest(Vec<LongPoll>);

impl Longest {
    pub(crate) fn list(&self) -> &[LongPoll] {
        &self.0
    }

    /// Whether one that takes so long is much longer than all others.
    pub(super) fn is_beaten_by(&self, time: Duration) -> bool {
        self.0.first().is_none_or(|longest| time >= longest.time + longest.time / 4)
    }

    /// Whether one that takes so long may belong here.
    pub(super) fn has_room_for(&self, time: Duration) -> bool {
        self.0.len() < MOST || self.0.last().is_some_and(|least| least.time < time)
    }

    /// The poll of this task that is known goes on. False: none is.
    pub(super) fn lengthen(&mut self, task: TaskId, time: Duration) -> bool {
        let known = self.0.iter_mut().find(|poll| poll.task.id == task);
        let is_known = known.map(|poll| poll.time = poll.time.max(time)).is_some();
        self.sort();
        is_known
    }

    pub(super) fn put(&mut self, poll: LongPoll) {
        let place = poll.task.spawned_at;
        match self.0.iter_mut().find(|known| known.task.spawned_at == place) {
            Some(known) if known.time >= poll.time => {}
            Some(known) => *known = poll,
            None => self.0.push(poll),
        }
        self.sort();
        self.0.truncate(MOST);
    }

    fn sort(&mut self) {
        self.0.sort_by_key(|poll| std::cmp::Reverse(poll.time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::TaskInfo;
    use std::num::NonZeroU64;
    use std::panic::Location;

    /// Ten places, none like another.
    fn place(at: usize) -> &'static Location<'static> {
        let caller = Location::caller;
        let here = [caller(), caller(), caller(), caller(), caller()];
        let there = [caller(), caller(), caller(), caller(), caller()];
        [here, there][at / 5][at % 5]
    }

    fn id(id: u64) -> TaskId {
        TaskId::new(NonZeroU64::new(id).unwrap())
    }

    fn poll(task: u64, at: usize, millis: u64) -> LongPoll {
        let task = TaskInfo {
            id: id(task),
            kind: "task",
            name: None,
            parent: None,
            pool: "main".to_owned(),
            state: "running",
            pinned: false,
            spawned_at: place(at),
            observed: None,
        };
        LongPoll { time: Duration::from_millis(millis), task }
    }

    /// Ids and milliseconds.
    fn listed(longest: &Longest) -> Vec<(u64, u128)> {
        longest.list().iter().map(|poll| (poll.task.id.get(), poll.time.as_millis())).collect()
    }

    #[test]
    fn of_each_place_the_longest() {
        let mut longest = Longest::default();
        [poll(1, 0, 5), poll(2, 1, 9), poll(3, 0, 7), poll(4, 0, 6)]
            .into_iter()
            .for_each(|poll| longest.put(poll));
        assert_eq!(listed(&longest), [(2, 9), (3, 7)]);
    }

    #[test]
    fn of_few_places() {
        let mut longest = Longest::default();
        for at in 0..9 {
            assert!(longest.has_room_for(Duration::from_millis(2 + at)), "{at}");
            longest.put(poll(1 + at, at as usize, 2 + at));
        }
        assert_eq!(listed(&longest), (2..10).rev().map(|at| (at, u128::from(at) + 1)).collect::<Vec<_>>());
        assert!(!longest.has_room_for(Duration::from_millis(3)));
        longest.put(poll(99, 9, 1));
        assert_eq!(longest.list().len(), MOST);
        assert!(longest.list().iter().all(|poll| poll.task.id.get() != 99));
    }

    #[test]
    fn those_that_go_on_move_up() {
        let mut longest = Longest::default();
        [poll(1, 0, 5), poll(2, 1, 9)].into_iter().for_each(|poll| longest.put(poll));
        assert!(longest.lengthen(id(1), Duration::from_millis(12)));
        assert!(!longest.lengthen(id(3), Duration::from_millis(20)), "it is not known");
        assert!(longest.lengthen(id(2), Duration::from_millis(8)), "which is less than it took");
        assert_eq!(listed(&longest), [(1, 12), (2, 9)]);
    }

    #[test]
    fn much_longer_than_all() {
        let mut longest = Longest::default();
        assert!(longest.is_beaten_by(Duration::from_millis(2)));
        longest.put(poll(1, 0, 8));
        let beaten = [9, 10].map(|millis| longest.is_beaten_by(Duration::from_millis(millis)));
        assert_eq!(beaten, [false, true]);
    }
}
